import Store
import SyncProtocol

/// Withdraws an invitation to a sharing group.
///
/// Nobody is told whether it was still there: a repeated request, and one that comes after the last acceptance, find
/// nothing to do. Whoever redeems it at the same moment is either a member before, or refused.
struct RevokeSharingInvitationEndpoint: Endpoint {
    func respond(to request: RevokeSharingInvitationRequest, in context: RequestContext) throws -> EndpointReply {
        try context.store.transaction { session in
            let read = try context.membership(in: request.sharingGroupUUID, needing: .admin, using: &session)
            let membership = try context.membership(
                read, lockedAt: session.lockMasterVersionExclusive(of: read.groupID), needing: .admin, using: &session)
            try session.removeInvitation(request.sharingInvitationUUID, to: membership.groupID)
        }
        return .json(EmptyResponse())
    }
}
