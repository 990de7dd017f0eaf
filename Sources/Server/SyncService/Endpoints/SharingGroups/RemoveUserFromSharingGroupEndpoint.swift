import Store
import SyncProtocol

/// Removes the caller from a sharing group, which ends with its last member.
///
/// On a repeated request the caller is no longer a member.
struct RemoveUserFromSharingGroupEndpoint: Endpoint {
    func respond(
        to request: RemoveUserFromSharingGroupRequest, from caller: GroupCaller, in context: RequestContext
    ) throws -> EndpointReply {
        let change = GroupChange(
            group: request.sharingGroupUUID, masterVersion: request.masterVersion, caller: caller, context: context)
        let response = try change.make { session, member, version in
            try session.removeMember(
                member.userID, from: member.groupID, as: version, at: context.now)
        }
        return .json(response)
    }
}

extension RemoveUserFromSharingGroupRequest: ServedRequest {
    typealias Handler = RemoveUserFromSharingGroupEndpoint
}
