import Store
import SyncProtocol

/// Ends a sharing group for all its members; the files stay in their owners' storages.
///
/// For a repeated request the caller is no member any more.
struct RemoveSharingGroupEndpoint: Endpoint {
    func respond(to request: RemoveSharingGroupRequest, in context: RequestContext) throws -> EndpointReply {
        let change = GroupChange(
            group: request.sharingGroupUUID, masterVersion: request.masterVersion, permission: .admin,
            context: context)
        let response = try change.make { session, membership, version in
            try session.endGroup(membership.groupID, as: version, at: context.now)
        }
        return .json(response)
    }
}
