import Store
import SyncProtocol

/// Revokes an invitation to a sharing group.
///
/// The reply does not say whether the invitation still existed: a repeated request, or one after the last acceptance,
/// finds nothing to do. A user who redeems it at the same moment either becomes a member first or is rejected.
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

extension RevokeSharingInvitationRequest: ServedRequest {
    typealias Handler = RevokeSharingInvitationEndpoint
}
