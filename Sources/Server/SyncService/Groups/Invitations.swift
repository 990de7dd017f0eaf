import Providers
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
            guard let owner = member.owningUser else { throw Refusal(.ownerMissing) }
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

/// Returns what an invitation offers, who created it and to which group, to anyone who knows its code.
///
/// Reads only; may be repeated.
struct GetSharingInvitationInfoEndpoint: Endpoint {
    /// - Throws: ``ErrorCode/invitationGone`` if the invitation does not exist, has expired or is used up.
    func respond(
        to request: GetSharingInvitationInfoRequest, from caller: Anyone, in context: RequestContext
    ) throws -> EndpointReply {
        let found = try context.store.withSession { session in
            try session.invitation(request.sharingInvitationUUID, at: context.now)
        }
        guard let found else { throw Refusal(.invitationGone) }
        return .json(
            GetSharingInvitationInfoResponse(
                permission: found.permission, allowSocialAcceptance: found.allowsSocialAcceptance,
                sharingGroupName: found.groupName,
                invitingUserName: found.invitingUserName.flatMap { $0.isEmpty ? nil : $0 }))
    }
}

extension GetSharingInvitationInfoRequest: ServedRequest {
    typealias Handler = GetSharingInvitationInfoEndpoint
}

/// Makes the caller a member of the group they were invited to, and creates their user if they have none yet.
///
/// A repeated request finds the membership that the same invitation created and gets the same reply. Everything is one
/// transaction: a failure leaves acceptances and master version unchanged.
struct RedeemSharingInvitationEndpoint: Endpoint {
    func respond(
        to request: RedeemSharingInvitationRequest, from caller: SignedInPerson, in context: RequestContext
    ) throws -> EndpointReply {
        let exchange = CredentialExchange(caller, context)
        let redeemer = Redeemer(invitation: request.sharingInvitationUUID, person: caller, context: context)
        let identity = IdentityReport(to: caller, isWanted: request.reportIdentity, context)
        if let done = try redeemer.earlierRedemption() { return .json(try done.with(identity)) }
        try RebuildGate(context)?.admit(newcomer: caller, folderName: request.cloudFolderName)
        do {
            let (redeemed, isNew) = try EarlierGrant.retryingOnceIfRevoked {
                try redeem(request, redeemer, exchange, context)
            }
            return .json(try redeemed.with(identity, isProved: isNew))
        } catch {
            // A concurrent redemption by the same person may have been faster; the rejection is then only its
            // consequence.
            switch error {
            case Refusal(.invitationUnknown), Refusal(.alreadyMember), StoreError.alreadyExists:
                if let done = try redeemer.earlierRedemption() { return .json(try done.with(identity)) }
            default: break
            }
            if case StoreError.alreadyExists = error { throw Refusal(.alreadyMember) }
            throw error
        }
    }

    private func redeem(
        _ request: RedeemSharingInvitationRequest, _ redeemer: Redeemer, _ exchange: CredentialExchange,
        _ context: RequestContext
    ) throws -> (RedeemSharingInvitationResponse, isNew: Bool) {
        // Providers are called before the transaction; this check avoids calls for requests that would be rejected
        // anyway.
        let isNew = try redeemer.checkBeforehand()
        var newUser: NewUser?
        if isNew {
            let folderName = try NewUser.folderName(request.cloudFolderName, for: exchange.presented.accountType)
            newUser = try NewUser.obtained(by: exchange, folderName: folderName, in: context)
        }
        let response = try redeemer.redeem(as: newUser)
        if isNew { addReplacementToken(exchange, context) }
        if let newUser { OfflineAccess.note(newUser.credentials, of: newUser.accountType, isNew: true, context) }
        return (response, isNew)
    }
}

extension RedeemSharingInvitationRequest: ServedRequest {
    typealias Handler = RedeemSharingInvitationEndpoint
}

/// One person redeeming one invitation.
private struct Redeemer {
    let invitation: SharingInvitationUUID
    let person: SignedInPerson
    let context: RequestContext

    private var accountType: AccountType { person.presented.accountType }

    /// The reply to an earlier request that has already redeemed the invitation.
    func earlierRedemption() throws -> RedeemSharingInvitationResponse? {
        try context.store.snapshot { session in
            guard let user = try self.user(&session),
                let group = try session.group(joinedBy: user.userID, through: invitation)
            else { return nil }
            return RedeemSharingInvitationResponse(userId: user.userID, sharingGroupUUID: group)
        }
    }

    /// Throws what the transaction would throw.
    /// - Returns: whether the caller is not yet a user.
    func checkBeforehand() throws -> Bool {
        try context.store.snapshot { session in
            let offer = try self.offer(&session)
            guard let user = try self.user(&session) else {
                let active = try session.activeAccountType(insteadOf: accountType, person.profile.providerUserID)
                if let active { throw Refusal.accountRetired(by: active) }
                return true
            }
            guard try !session.isMember(user.userID, of: offer.groupID) else { throw Refusal(.alreadyMember) }
            return false
        }
    }

    func redeem(as newUser: NewUser?) throws -> RedeemSharingInvitationResponse {
        try context.store.transaction { session in
            guard let groupID = try session.invitation(invitation, at: context.now)?.groupID else {
                throw Refusal(.invitationUnknown)
            }
            // The group's row is locked first, as everywhere; a group that has since ended has no invitations.
            let version: MasterVersion
            do {
                version = try session.lockMasterVersionExclusive(of: groupID)
            } catch StoreError.notFound {
                throw Refusal(.invitationUnknown)
            }
            let offer = try self.offer(&session)
            guard try session.isMember(offer.owningUserID, of: groupID) else { throw Refusal(.ownerMissing) }
            guard try session.useAcceptance(of: invitation, at: context.now) else {
                throw Refusal(.invitationUnknown)
            }
            let userID: UserID
            if let newUser {
                userID = try newUser.add(to: &session, in: context)
                if let storageType = accountType.cloudStorageType, context.services.settings.writesWarningFile {
                    try session.addWarningFile(
                        for: OwningUser(userID: userID, storageType: storageType), at: context.now)
                }
            } else {
                guard let user = try self.user(&session), try session.lockUser(user.userID) else {
                    throw Refusal(.userUnknown)
                }
                userID = user.userID
            }
            try session.addMember(
                userID, to: groupID, permission: offer.permission,
                owningUserID: accountType.cloudStorageType == nil ? offer.owningUserID : nil, invitation: invitation,
                at: context.now)
            try context.checkGroups(of: userID, in: &session)
            _ = try session.advanceMasterVersion(of: groupID, from: version)
            return RedeemSharingInvitationResponse(userId: userID, sharingGroupUUID: offer.groupUUID)
        }
    }

    /// The invitation as it applies to this caller.
    private func offer(_ session: inout StoreSession) throws -> InvitationRecord {
        guard let offer = try session.invitation(invitation, at: context.now) else {
            throw Refusal(.invitationUnknown)
        }
        guard offer.allowsSocialAcceptance || accountType.cloudStorageType != nil else {
            throw Refusal(.storageAccountRequired)
        }
        return offer
    }

    private func user(_ session: inout StoreSession) throws -> UserRecord? {
        try session.user(accountType, person.profile.providerUserID, device: nil)?.user
    }
}

extension RedeemSharingInvitationResponse {
    /// The same reply with the identity of its user, if requested.
    fileprivate func with(
        _ identity: IdentityReport, isProved: Bool = false
    ) throws -> RedeemSharingInvitationResponse {
        RedeemSharingInvitationResponse(
            userId: userId, sharingGroupUUID: sharingGroupUUID,
            identity: try identity.make(about: userId, isProved: isProved))
    }
}

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
