import Store
import SyncProtocol

/// Lists the members of a sharing group and their permissions.
///
/// Reads only; may be repeated.
struct GetSharingGroupMembersEndpoint: Endpoint {
    func respond(
        to request: GetSharingGroupMembersRequest, from caller: GroupCaller, in context: RequestContext
    ) throws -> EndpointReply {
        let response = try context.store.snapshot { session in
            let member = try caller.member(of: request.sharingGroupUUID, using: &session)
            return GetSharingGroupMembersResponse(
                masterVersion: member.masterVersion,
                sharingGroupMembers: try session.describeMembers(of: member.groupID))
        }
        return .json(response)
    }
}

extension GetSharingGroupMembersRequest: ServedRequest {
    typealias Handler = GetSharingGroupMembersEndpoint
}
