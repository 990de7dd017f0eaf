import Store
import SyncProtocol

/// Creates an invitation to a sharing group.
///
/// A repeated request creates another invitation, which does no harm: nobody knows its code, and it expires.
struct CreateSharingInvitationEndpoint: Endpoint {
    func respond(
        to request: CreateSharingInvitationRequest, from caller: GroupCaller, in context: RequestContext
    ) throws -> EndpointReply {
        guard let invitation = SharingInvitationUUID(try context.services.makeUUID()) else {
            preconditionFailure("a generated UUID must be a UUID")
        }
        let expires = WireDate(
            secondsSince1970: context.now.secondsSince1970 + context.services.settings.invitationLifetimeSeconds)
        try context.store.transaction { session in
            let read = try caller.member(of: request.sharingGroupUUID, using: &session)
            let member = try caller.member(
                read, lockedAt: session.lockMasterVersionShared(of: read.groupID), using: &session)
            guard let owner = member.owningUser else { throw EndpointError.ownerMissing }
            try session.addInvitation(
                invitation, to: member.groupID, by: member.userID, owningUserID: owner.userID,
                permission: request.permission, allowsSocialAcceptance: request.allowSocialAcceptance,
                acceptors: Int(request.numberOfAcceptors), expires: expires)
            // The quota row of the current hour is locked here, which serializes the caller's invitations.
            try context.use(.invitationsPerHour, of: member.user.person, in: &session)
            try context.checkInvitations(of: member.userID, in: &session)
        }
        return .json(CreateSharingInvitationResponse(sharingInvitationUUID: invitation))
    }
}

extension CreateSharingInvitationRequest: ServedRequest {
    typealias Handler = CreateSharingInvitationEndpoint
}
