/// Creates an invitation to a sharing group, valid for 24 hours.
public struct CreateSharingInvitationRequest: RequestMessage {
    public typealias Response = CreateSharingInvitationResponse
    public typealias Access = MemberAccess
    public static let endpoint = EndpointName.createSharingInvitation
    public static let fields = QueryFields(
        Self.init,
        .required(.permission, \.permission),
        .required(.sharingGroupUUID, \.sharingGroupUUID),
        .optional(.allowSocialAcceptance, \.allowSocialAcceptance, default: true),
        .number(.numberOfAcceptors, \.numberOfAcceptors, default: Int32(1), in: allowedNumberOfAcceptors))

    /// The allowed number of people for one invitation.
    public static let allowedNumberOfAcceptors: ClosedRange<Int32> = 1...10

    /// The permission of users who accept.
    public let permission: Permission
    /// The group.
    public let sharingGroupUUID: SharingGroupUUID
    /// Whether accounts without cloud storage may accept.
    public let allowSocialAcceptance: Bool
    /// The number of people who may accept, 1 to 10.
    public let numberOfAcceptors: Int32

    /// Creates a request.
    public init(
        permission: Permission, sharingGroupUUID: SharingGroupUUID, allowSocialAcceptance: Bool = true,
        numberOfAcceptors: Int32 = 1
    ) {
        self.permission = permission
        self.sharingGroupUUID = sharingGroupUUID
        self.allowSocialAcceptance = allowSocialAcceptance
        self.numberOfAcceptors = numberOfAcceptors
    }
}

/// Returns the code of a new invitation.
public struct CreateSharingInvitationResponse: ResponseMessage {
    /// The code that people pass on.
    public let sharingInvitationUUID: SharingInvitationUUID

    /// Creates a response.
    public init(sharingInvitationUUID: SharingInvitationUUID) {
        self.sharingInvitationUUID = sharingInvitationUUID
    }

    public func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.field("sharingInvitationUUID", sharingInvitationUUID)
        }
    }
}

/// Requests the offer of an invitation; needs no credentials.
public struct GetSharingInvitationInfoRequest: RequestMessage {
    public typealias Response = GetSharingInvitationInfoResponse
    public typealias Access = AnyoneAccess
    public static let endpoint = EndpointName.getSharingInvitationInfo
    public static let fields = QueryFields(
        Self.init,
        .required(.sharingInvitationUUID, \.sharingInvitationUUID))

    /// The invitation.
    public let sharingInvitationUUID: SharingInvitationUUID

    /// Creates a request.
    public init(sharingInvitationUUID: SharingInvitationUUID) {
        self.sharingInvitationUUID = sharingInvitationUUID
    }
}

/// The offer of an invitation. Clients crash without permission and social acceptance.
public struct GetSharingInvitationInfoResponse: ResponseMessage {
    /// The permission of users who accept.
    public let permission: Permission
    /// Whether accounts without cloud storage may accept.
    public let allowSocialAcceptance: Bool
    /// The group's name; nil if it has none, or the server does not report it.
    public let sharingGroupName: String?
    /// The display name of the user who invites; nil if it is empty, or the server does not report it.
    public let invitingUserName: String?

    /// Creates a response.
    public init(
        permission: Permission, allowSocialAcceptance: Bool, sharingGroupName: String? = nil,
        invitingUserName: String? = nil
    ) {
        self.permission = permission
        self.allowSocialAcceptance = allowSocialAcceptance
        self.sharingGroupName = sharingGroupName
        self.invitingUserName = invitingUserName
    }

    public func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.field("permission", permission)
            writer.field("allowSocialAcceptance", allowSocialAcceptance)
            writer.field("sharingGroupName", text: sharingGroupName)
            writer.field("invitingUserName", text: invitingUserName)
        }
    }
}

/// Accepts an invitation and creates the user if necessary.
public struct RedeemSharingInvitationRequest: RequestMessage {
    public typealias Response = RedeemSharingInvitationResponse
    public typealias Access = SignedInAccess
    public static let endpoint = EndpointName.redeemSharingInvitation
    public static let fields = QueryFields(
        Self.init,
        .required(.sharingInvitationUUID, \.sharingInvitationUUID),
        .optionalText(.cloudFolderName, \.cloudFolderName, maximumCharacters: TextLimit.cloudFolderName),
        .flag(.reportIdentity, \.reportIdentity))

    /// The invitation.
    public let sharingInvitationUUID: SharingInvitationUUID
    /// Folder at the root of the user's storage, at most 256 characters. Ignored unless the account type needs one.
    public let cloudFolderName: String?
    /// Whether the reply should contain the ``AccountIdentity``.
    public let reportIdentity: Bool

    /// Creates a request.
    public init(
        sharingInvitationUUID: SharingInvitationUUID, cloudFolderName: String? = nil, reportIdentity: Bool = false
    ) {
        self.sharingInvitationUUID = sharingInvitationUUID
        self.cloudFolderName = cloudFolderName
        self.reportIdentity = reportIdentity
    }
}

/// Identifies the caller's user, and the group that the caller has joined.
public struct RedeemSharingInvitationResponse: ResponseMessage {
    /// The caller, possibly just created.
    public let userId: UserID
    /// The group that was joined.
    public let sharingGroupUUID: SharingGroupUUID
    /// The identity above the caller's account; nil unless the request asked for it.
    public let identity: AccountIdentity?

    /// Creates a response.
    public init(userId: UserID, sharingGroupUUID: SharingGroupUUID, identity: AccountIdentity? = nil) {
        self.userId = userId
        self.sharingGroupUUID = sharingGroupUUID
        self.identity = identity
    }

    private enum CodingKeys: String, CodingKey {
        case userId, sharingGroupUUID
    }

    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        userId = try container.decode(UserID.self, forKey: .userId)
        sharingGroupUUID = try container.decode(SharingGroupUUID.self, forKey: .sharingGroupUUID)
        identity = try AccountIdentity(inReply: decoder)
    }

    public func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.field("userId", userId)
            writer.field("sharingGroupUUID", sharingGroupUUID)
            identity?.writeMembers(to: &writer)
        }
    }
}

/// Lists the open invitations to a sharing group.
public struct GetSharingInvitationsRequest: RequestMessage {
    public typealias Response = GetSharingInvitationsResponse
    public typealias Access = MemberAccess
    public static let endpoint = EndpointName.getSharingInvitations
    public static let fields = QueryFields(
        Self.init,
        .required(.sharingGroupUUID, \.sharingGroupUUID))

    /// The group.
    public let sharingGroupUUID: SharingGroupUUID

    /// Creates a request.
    public init(sharingGroupUUID: SharingGroupUUID) {
        self.sharingGroupUUID = sharingGroupUUID
    }
}

/// Invitations that are neither expired nor used up.
public struct GetSharingInvitationsResponse: ResponseMessage {
    /// One invitation as seen by the group's admins.
    public struct Invitation: Sendable, Hashable, Decodable {
        /// The code that people pass on.
        public let sharingInvitationUUID: SharingInvitationUUID
        /// The permission of users who accept.
        public let permission: Permission
        /// Whether accounts without cloud storage may accept.
        public let allowSocialAcceptance: Bool
        /// The number of people who may still accept.
        public let numberOfAcceptors: Int32
        /// When the invitation expires.
        public let expirationDate: WireDate
        /// The user who created it.
        public let invitingUserId: UserID

        /// Creates an invitation.
        public init(
            sharingInvitationUUID: SharingInvitationUUID, permission: Permission, allowSocialAcceptance: Bool,
            numberOfAcceptors: Int32, expirationDate: WireDate, invitingUserId: UserID
        ) {
            self.sharingInvitationUUID = sharingInvitationUUID
            self.permission = permission
            self.allowSocialAcceptance = allowSocialAcceptance
            self.numberOfAcceptors = numberOfAcceptors
            self.expirationDate = expirationDate
            self.invitingUserId = invitingUserId
        }

        private enum CodingKeys: String, CodingKey {
            case sharingInvitationUUID, permission, allowSocialAcceptance, numberOfAcceptors, expirationDate
            case invitingUserId
        }

        /// Decodes an element of the list.
        public init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            sharingInvitationUUID = try container.decode(SharingInvitationUUID.self, forKey: .sharingInvitationUUID)
            permission = try container.decode(Permission.self, forKey: .permission)
            allowSocialAcceptance = try container.decode(Bool.self, forKey: .allowSocialAcceptance)
            numberOfAcceptors = try container.number(.numberOfAcceptors)
            expirationDate = try container.decode(WireDate.self, forKey: .expirationDate)
            invitingUserId = try container.decode(UserID.self, forKey: .invitingUserId)
        }
    }

    /// Sorted by expiration, the earliest first.
    public let sharingInvitations: [Invitation]

    /// Creates a response.
    public init(sharingInvitations: [Invitation]) {
        self.sharingInvitations = sharingInvitations
    }

    public func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.field("sharingInvitations", objects: sharingInvitations) { invitation, writer in
                writer.field("sharingInvitationUUID", invitation.sharingInvitationUUID)
                writer.field("permission", invitation.permission)
                writer.field("allowSocialAcceptance", invitation.allowSocialAcceptance)
                writer.field("numberOfAcceptors", invitation.numberOfAcceptors)
                writer.field("expirationDate", invitation.expirationDate)
                writer.field("invitingUserId", invitation.invitingUserId)
            }
        }
    }
}

/// Revokes an invitation, so that it can no longer be redeemed.
public struct RevokeSharingInvitationRequest: RequestMessage {
    public typealias Response = EmptyResponse
    public typealias Access = MemberAccess
    public static let endpoint = EndpointName.revokeSharingInvitation
    public static let fields = QueryFields(
        Self.init,
        .required(.sharingGroupUUID, \.sharingGroupUUID),
        .required(.sharingInvitationUUID, \.sharingInvitationUUID))

    /// The group that the invitation is for.
    public let sharingGroupUUID: SharingGroupUUID
    /// The invitation.
    public let sharingInvitationUUID: SharingInvitationUUID

    /// Creates a request.
    public init(sharingGroupUUID: SharingGroupUUID, sharingInvitationUUID: SharingInvitationUUID) {
        self.sharingGroupUUID = sharingGroupUUID
        self.sharingInvitationUUID = sharingInvitationUUID
    }
}
