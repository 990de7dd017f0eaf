import SyncProtocol

/// What the route table and the messages do not say about an endpoint. Each has one description, in `Endpoints`.
struct EndpointDescription {
    /// One sentence.
    var summary: String
    var parameters: ParameterList
    /// Whether the group's identifier must be a real UUID.
    var isGroupUUID = false
    /// The object of a successful reply, wherever it is placed.
    var reply: JSON
    /// A body, where the endpoint takes one.
    var body: JSON?
    /// Codes in addition to those that follow from route and parameters.
    var errors: Set<ErrorCode> = []
    /// Headers of a successful reply, in addition to those of every reply.
    var replyHeaders: [String: JSON] = [:]
    /// Request headers, in addition to those for signing in.
    var requestHeaders: [RequestHeader: String] = [:]
    /// Whether a client may send a conditional request.
    var canBeNotModified = false

    /// No default: a new endpoint must be described.
    static func of(_ endpoint: EndpointName) -> EndpointDescription? {
        switch endpoint {
        case .healthCheck: healthCheck
        case .checkPrimaryCreds: nil
        case .checkCreds: checkCreds
        case .addUser: addUser
        case .removeUser: removeUser
        case .index: index
        case .uploadFile: uploadFile
        case .uploadAppMetaData: uploadAppMetaData
        case .uploadDeletion: uploadDeletion
        case .getUploads: getUploads
        case .doneUploads: doneUploads
        case .downloadFile: downloadFile
        case .downloadAppMetaData: downloadAppMetaData
        case .createSharingInvitation: createSharingInvitation
        case .getSharingInvitationInfo: getSharingInvitationInfo
        case .redeemSharingInvitation: redeemSharingInvitation
        case .createSharingGroup: createSharingGroup
        case .updateSharingGroup: updateSharingGroup
        case .removeSharingGroup: removeSharingGroup
        case .removeUserFromSharingGroup: removeUserFromSharingGroup
        case .registerPushNotificationToken: registerPushNotificationToken
        case .appleNotifications: appleNotifications
        case .discardUploads: discardUploads
        case .getSharingInvitations: getSharingInvitations
        case .revokeSharingInvitation: revokeSharingInvitation
        case .getSharingGroupMembers: getSharingGroupMembers
        case .updateSharingGroupMember: updateSharingGroupMember
        case .removeSharingGroupMember: removeSharingGroupMember
        }
    }

    /// Every code that a request to the endpoint can get.
    func codes(_ route: EndpointRoute) -> Set<ErrorCode> {
        var codes = ErrorCode.anywhere.union(errors)
        if !parameters.names.isEmpty { codes.formUnion(ErrorCode.parameters) }
        if route.authentication != .none { codes.formUnion(ErrorCode.signingIn) }
        if route.authentication == .secondary { codes.formUnion(ErrorCode.users) }
        switch route.groupAccess {
        case .none, .membershipIfNamed: break
        case .membership: codes.insert(.notAMember)
        case .permission(let needed):
            codes.insert(.notAMember)
            if needed != .read { codes.insert(.permissionTooLow) }
        }
        return codes
    }
}
