import Store
import SyncProtocol

/// Renames a sharing group.
///
/// A repeated request is stale, since the first one has advanced the master version.
struct UpdateSharingGroupEndpoint: Endpoint {
    func respond(
        to request: UpdateSharingGroupRequest, from caller: GroupCaller, in context: RequestContext
    ) throws -> EndpointReply {
        let change = GroupChange(
            group: request.sharingGroupUUID, masterVersion: request.masterVersion, caller: caller, context: context)
        let response = try change.make(isRenaming: true) { session, member, _ in
            try session.rename(member.groupID, to: request.sharingGroupName)
        }
        return .json(response)
    }
}

extension UpdateSharingGroupRequest: ServedRequest {
    typealias Handler = UpdateSharingGroupEndpoint
}
