import Store
import SyncProtocol

/// Withdraws an invitation to a sharing group.
///
/// Nobody is told whether it was still there: a repeated request, and one that comes after the last acceptance, find
/// nothing to do. Whoever redeems it at the same moment is either a member before, or refused.
struct RevokeSharingInvitationEndpoint: Endpoint {
    func respond(
        to request: RevokeSharingInvitationRequest, from caller: GroupCaller, in context: RequestContext
    ) throws -> EndpointReply {
        try context.store.transaction { session in
            let read = try caller.member(of: request.sharingGroupUUID, using: &session)
            let member = try caller.member(
                read, lockedAt: session.lockMasterVersionExclusive(of: read.groupID), using: &session)
            try session.removeInvitation(request.sharingInvitationUUID, to: member.groupID)
        }
        return .json(EmptyResponse())
    }
}
