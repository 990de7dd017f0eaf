/// Creates an invitation to a sharing group, good for 24 hours.
public struct CreateSharingInvitationRequest: RequestMessage {
    public typealias Response = CreateSharingInvitationResponse
    public typealias Access = MemberAccess
    public static let endpoint = EndpointName.createSharingInvitation
    public static let parameters = ParameterList(
        required: [.permission, .sharingGroupUUID], optional: [.allowSocialAcceptance, .numberOfAcceptors])

    /// How many people one invitation may be for.
    public static let allowedNumberOfAcceptors: ClosedRange<Int32> = 1...10

    /// What those who accept may do.
    public let permission: Permission
    /// The group.
    public let sharingGroupUUID: SharingGroupUUID
    /// Whether accounts without cloud storage may accept.
    public let allowSocialAcceptance: Bool
    /// How many may accept, 1 to 10.
    public let numberOfAcceptors: Int32

    /// Puts a request together.
    public init(
        permission: Permission, sharingGroupUUID: SharingGroupUUID, allowSocialAcceptance: Bool = true,
        numberOfAcceptors: Int32 = 1
    ) {
        self.permission = permission
        self.sharingGroupUUID = sharingGroupUUID
        self.allowSocialAcceptance = allowSocialAcceptance
        self.numberOfAcceptors = numberOfAcceptors
    }

    public init(_ query: DecodedQuery) throws(RequestError) {
        permission = try query.required(.permission)
        sharingGroupUUID = try query.required(.sharingGroupUUID)
        allowSocialAcceptance = try query.optional(.allowSocialAcceptance) ?? true
        numberOfAcceptors = try query.optional(.numberOfAcceptors) ?? 1
        guard Self.allowedNumberOfAcceptors.contains(numberOfAcceptors) else {
            let allowed = Self.allowedNumberOfAcceptors
            throw .outOfRange(.numberOfAcceptors, allowed: Int64(allowed.lowerBound)...Int64(allowed.upperBound))
        }
    }

    public func encode(to encoder: inout QueryEncoder) {
        encoder.add(.permission, permission)
        encoder.add(.sharingGroupUUID, sharingGroupUUID)
        encoder.add(.allowSocialAcceptance, allowSocialAcceptance)
        encoder.add(.numberOfAcceptors, numberOfAcceptors)
    }
}

/// Hands over the code of a new invitation.
public struct CreateSharingInvitationResponse: ResponseMessage {
    /// The code that people pass on.
    public let sharingInvitationUUID: SharingInvitationUUID

    /// Puts the answer together.
    public init(sharingInvitationUUID: SharingInvitationUUID) {
        self.sharingInvitationUUID = sharingInvitationUUID
    }

    public func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.field("sharingInvitationUUID", sharingInvitationUUID)
        }
    }
}
