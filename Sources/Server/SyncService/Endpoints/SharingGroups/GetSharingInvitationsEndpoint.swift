import Store
import SyncProtocol

/// Lists the open invitations to a sharing group.
///
/// Reads only; may be repeated.
struct GetSharingInvitationsEndpoint: Endpoint {
    func respond(
        to request: GetSharingInvitationsRequest, from caller: GroupCaller, in context: RequestContext
    ) throws -> EndpointReply {
        let invitations = try context.store.snapshot { session in
            let member = try caller.member(of: request.sharingGroupUUID, using: &session)
            return try session.openInvitations(to: member.groupID, at: context.now)
        }
        return .json(GetSharingInvitationsResponse(sharingInvitations: invitations))
    }
}

extension GetSharingInvitationsRequest: ServedRequest {
    typealias Handler = GetSharingInvitationsEndpoint
}
