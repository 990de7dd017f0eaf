import Store
import SyncProtocol

/// Ends a sharing group for all its members; the files stay in their owners' storage.
///
/// On a repeated request the caller is no longer a member.
struct RemoveSharingGroupEndpoint: Endpoint {
    func respond(
        to request: RemoveSharingGroupRequest, from caller: GroupCaller, in context: RequestContext
    ) throws -> EndpointReply {
        let change = GroupChange(
            group: request.sharingGroupUUID, masterVersion: request.masterVersion, caller: caller, context: context)
        let response = try change.make { session, member, version in
            try session.endGroup(member.groupID, as: version, at: context.now)
        }
        return .json(response)
    }
}

extension RemoveSharingGroupRequest: ServedRequest {
    typealias Handler = RemoveSharingGroupEndpoint
}
