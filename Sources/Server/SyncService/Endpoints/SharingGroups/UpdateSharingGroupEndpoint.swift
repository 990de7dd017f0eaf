import Store
import SyncProtocol

/// Gives a sharing group another name.
///
/// A repeated request is stale, since the first one has advanced the master version.
struct UpdateSharingGroupEndpoint: Endpoint {
    func respond(to request: UpdateSharingGroupRequest, in context: RequestContext) throws -> EndpointReply {
        let change = GroupChange(
            group: request.sharingGroupUUID, masterVersion: request.masterVersion, permission: .admin,
            context: context)
        let response = try change.make { session, membership, _ in
            try session.rename(membership.groupID, to: request.sharingGroupName)
        }
        return .json(response)
    }
}
