/// Asks what an invitation offers; needs no credentials.
public struct GetSharingInvitationInfoRequest: RequestMessage {
    public typealias Response = GetSharingInvitationInfoResponse
    public typealias Access = AnyoneAccess
    public static let endpoint = EndpointName.getSharingInvitationInfo
    public static let parameters = ParameterList(required: [.sharingInvitationUUID])

    /// The invitation.
    public let sharingInvitationUUID: SharingInvitationUUID

    /// Puts a request together.
    public init(sharingInvitationUUID: SharingInvitationUUID) {
        self.sharingInvitationUUID = sharingInvitationUUID
    }

    public init(_ query: DecodedQuery) throws(RequestError) {
        sharingInvitationUUID = try query.required(.sharingInvitationUUID)
    }

    public func encode(to encoder: inout QueryEncoder) {
        encoder.add(.sharingInvitationUUID, sharingInvitationUUID)
    }
}

/// Tells what an invitation offers. Clients crash if one of the two is missing.
public struct GetSharingInvitationInfoResponse: ResponseMessage {
    /// What those who accept may do.
    public let permission: Permission
    /// Whether accounts without cloud storage may accept.
    public let allowSocialAcceptance: Bool

    /// Puts the answer together.
    public init(permission: Permission, allowSocialAcceptance: Bool) {
        self.permission = permission
        self.allowSocialAcceptance = allowSocialAcceptance
    }

    public func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.field("permission", permission)
            writer.field("allowSocialAcceptance", allowSocialAcceptance)
        }
    }
}
