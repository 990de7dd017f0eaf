import Store
import SyncProtocol

/// Lists the members of a sharing group with what each may do.
///
/// Reads only; may be repeated.
struct GetSharingGroupMembersEndpoint: Endpoint {
    func respond(to request: GetSharingGroupMembersRequest, in context: RequestContext) throws -> EndpointReply {
        let response = try context.store.snapshot { session in
            let membership = try context.membership(
                in: request.sharingGroupUUID, needing: .read, using: &session)
            return GetSharingGroupMembersResponse(
                masterVersion: membership.masterVersion,
                sharingGroupMembers: try session.describeMembers(of: membership.groupID))
        }
        return .json(response)
    }
}
