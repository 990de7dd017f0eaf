/// Lists the open invitations to a sharing group.
public struct GetSharingInvitationsRequest: RequestMessage {
    public typealias Response = GetSharingInvitationsResponse
    public typealias Access = MemberAccess
    public static let endpoint = EndpointName.getSharingInvitations
    public static let parameters = ParameterList(required: [.sharingGroupUUID])

    /// The group.
    public let sharingGroupUUID: SharingGroupUUID

    /// Puts a request together.
    public init(sharingGroupUUID: SharingGroupUUID) {
        self.sharingGroupUUID = sharingGroupUUID
    }

    public init(_ query: DecodedQuery) throws(RequestError) {
        sharingGroupUUID = try query.required(.sharingGroupUUID)
    }

    public func encode(to encoder: inout QueryEncoder) {
        encoder.add(.sharingGroupUUID, sharingGroupUUID)
    }
}

/// Invitations that are neither expired nor used up.
public struct GetSharingInvitationsResponse: ResponseMessage {
    /// One invitation as the group's admins see it.
    public struct Invitation: Sendable, Hashable, Decodable {
        /// The code that people pass on.
        public let sharingInvitationUUID: SharingInvitationUUID
        /// What those who accept may do.
        public let permission: Permission
        /// Whether accounts without cloud storage may accept.
        public let allowSocialAcceptance: Bool
        /// How many may still accept.
        public let numberOfAcceptors: Int32
        /// Until when.
        public let expirationDate: WireDate
        /// Who made it.
        public let invitingUserId: UserID

        /// Puts an invitation together.
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

    /// The one that expires first comes first.
    public let sharingInvitations: [Invitation]

    /// Puts the answer together.
    public init(sharingInvitations: [Invitation]) {
        self.sharingInvitations = sharingInvitations
    }

    public func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.key("sharingInvitations")
            writer.array { writer in
                for invitation in sharingInvitations {
                    writer.object { writer in
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
    }
}
