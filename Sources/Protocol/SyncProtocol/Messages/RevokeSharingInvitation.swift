/// Withdraws an invitation, so that nobody can redeem it any more.
public struct RevokeSharingInvitationRequest: RequestMessage {
    public typealias Response = EmptyResponse
    public typealias Access = MemberAccess
    public static let endpoint = EndpointName.revokeSharingInvitation
    public static let parameters = ParameterList(required: [.sharingGroupUUID, .sharingInvitationUUID])

    /// The group that the invitation is for.
    public let sharingGroupUUID: SharingGroupUUID
    /// The invitation.
    public let sharingInvitationUUID: SharingInvitationUUID

    /// Puts a request together.
    public init(sharingGroupUUID: SharingGroupUUID, sharingInvitationUUID: SharingInvitationUUID) {
        self.sharingGroupUUID = sharingGroupUUID
        self.sharingInvitationUUID = sharingInvitationUUID
    }

    public init(_ query: DecodedQuery) throws(RequestError) {
        sharingGroupUUID = try query.required(.sharingGroupUUID)
        sharingInvitationUUID = try query.required(.sharingInvitationUUID)
    }

    public func encode(to encoder: inout QueryEncoder) {
        encoder.add(.sharingGroupUUID, sharingGroupUUID)
        encoder.add(.sharingInvitationUUID, sharingInvitationUUID)
    }
}
