import Store
import SyncProtocol

/// Takes the caller out of a sharing group, which ends with its last member.
///
/// For a repeated request the caller is no member any more.
struct RemoveUserFromSharingGroupEndpoint: Endpoint {
    func respond(to request: RemoveUserFromSharingGroupRequest, in context: RequestContext) throws -> EndpointReply {
        let change = GroupChange(
            group: request.sharingGroupUUID, masterVersion: request.masterVersion, permission: .read,
            context: context)
        let response = try change.make { session, membership, version in
            try session.removeMember(
                context.caller.userID, from: membership.groupID, as: version, at: context.now)
        }
        return .json(response)
    }
}
