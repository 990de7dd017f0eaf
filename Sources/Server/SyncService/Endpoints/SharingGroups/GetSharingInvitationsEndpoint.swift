import Store
import SyncProtocol

/// Lists the open invitations to a sharing group.
///
/// Reads only; may be repeated.
struct GetSharingInvitationsEndpoint: Endpoint {
    func respond(to request: GetSharingInvitationsRequest, in context: RequestContext) throws -> EndpointReply {
        let invitations = try context.store.snapshot { session in
            let membership = try context.membership(
                in: request.sharingGroupUUID, needing: .admin, using: &session)
            return try session.openInvitations(to: membership.groupID, at: context.now)
        }
        return .json(GetSharingInvitationsResponse(sharingInvitations: invitations))
    }
}
