import Store
import SyncProtocol

/// Returns what an invitation offers, to anyone who knows its code.
///
/// Reads only; may be repeated.
struct GetSharingInvitationInfoEndpoint: Endpoint {
    /// - Throws: ``EndpointError/invitationGone`` also if it has expired or is used up.
    func respond(
        to request: GetSharingInvitationInfoRequest, from caller: Anyone, in context: RequestContext
    ) throws -> EndpointReply {
        let found = try context.store.withSession { session in
            try session.invitation(request.sharingInvitationUUID, at: context.now)
        }
        guard let found else { throw EndpointError.invitationGone }
        return .json(
            GetSharingInvitationInfoResponse(
                permission: found.permission, allowSocialAcceptance: found.allowsSocialAcceptance))
    }
}

extension GetSharingInvitationInfoRequest: ServedRequest {
    typealias Handler = GetSharingInvitationInfoEndpoint
}
