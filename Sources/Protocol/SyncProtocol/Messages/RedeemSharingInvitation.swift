/// Accepts an invitation, creating the user if there is none.
public struct RedeemSharingInvitationRequest: RequestMessage {
    public typealias Response = RedeemSharingInvitationResponse
    public typealias Access = SignedInAccess
    public static let endpoint = EndpointName.redeemSharingInvitation
    public static let parameters = ParameterList(required: [.sharingInvitationUUID], optional: [.cloudFolderName])

    /// The invitation.
    public let sharingInvitationUUID: SharingInvitationUUID
    /// Folder at the root of the user's storage, at most 256 characters. Ignored unless the account type needs one.
    public let cloudFolderName: String?

    /// Puts a request together.
    public init(sharingInvitationUUID: SharingInvitationUUID, cloudFolderName: String? = nil) {
        self.sharingInvitationUUID = sharingInvitationUUID
        self.cloudFolderName = cloudFolderName
    }

    public init(_ query: DecodedQuery) throws(RequestError) {
        sharingInvitationUUID = try query.required(.sharingInvitationUUID)
        cloudFolderName = try query.optionalText(.cloudFolderName, maximumCharacters: TextLimit.cloudFolderName)
    }

    public func encode(to encoder: inout QueryEncoder) {
        encoder.add(.sharingInvitationUUID, sharingInvitationUUID)
        encoder.add(.cloudFolderName, cloudFolderName)
    }
}

/// Tells who the caller is now, and of which group a member.
public struct RedeemSharingInvitationResponse: ResponseMessage {
    /// The caller, perhaps just created.
    public let userId: UserID
    /// The group that was joined.
    public let sharingGroupUUID: SharingGroupUUID

    /// Puts the answer together.
    public init(userId: UserID, sharingGroupUUID: SharingGroupUUID) {
        self.userId = userId
        self.sharingGroupUUID = sharingGroupUUID
    }

    public func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.field("userId", userId)
            writer.field("sharingGroupUUID", sharingGroupUUID)
        }
    }
}
