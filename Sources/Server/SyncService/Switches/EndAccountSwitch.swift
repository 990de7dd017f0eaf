import Logging
import Providers
import Store
import SyncProtocol
import Vault

/// Withdraws a proposed switch. May be repeated: a proposal that no longer exists counts as withdrawn.
struct CancelAccountSwitchEndpoint: Endpoint {
    func respond(
        to request: CancelAccountSwitchRequest, from caller: SignedInPerson, in context: RequestContext
    ) throws -> EndpointReply {
        try context.store.transaction { session in
            guard let known = try session.accountSwitch(request.switchId, locked: true, at: context.now) else { return }
            let party: SwitchParty
            do {
                party = try SwitchParty(caller, about: request.switchId, at: context.now, &session)
            } catch Refusal(.userUnknown) {
                throw Refusal(.switchUnknown)
            }
            guard party.accountSwitch?.id == known.id else { throw Refusal(.switchUnknown) }
            guard known.state == .proposed else { throw Refusal(.switchConfirmed) }
            try session.withdraw(known.id)
        }
        return .json(EmptyResponse())
    }
}

extension CancelAccountSwitchRequest: ServedRequest {
    typealias Handler = CancelAccountSwitchEndpoint
}

/// Ends a switch. One transaction; a repeated request finds the switch finished and gets the same reply.
struct FinishAccountSwitchEndpoint: Endpoint {
    func respond(
        to request: FinishAccountSwitchRequest, from caller: SignedInUser, in context: RequestContext
    ) throws -> EndpointReply {
        let isKnown = try context.store.transaction { session in
            let isKnown = try session.finishSwitch(
                request.switchId, of: caller.userID, request.missing, at: context.now)
            try context.scheduleIndexPage(of: caller.record, using: &session)
            return isKnown
        }
        guard isKnown else { throw Refusal(.switchUnknown) }
        return .json(FinishAccountSwitchResponse(accountEpoch: caller.record.accountEpoch))
    }
}

extension FinishAccountSwitchRequest: ServedRequest {
    typealias Handler = FinishAccountSwitchEndpoint
}

/// Reactivates the caller's account, from which their identity was switched away.
///
/// It requires two things that a stolen token does not provide: a new authorization code of the account, or its
/// password; and a device's grant at least as old as the grant that began the switch, even if it has been revoked
/// since. Later switches are undone as well. One transaction; a repeated request finds the switch undone and gets the
/// same reply.
struct UndoAccountSwitchEndpoint: Endpoint {
    func respond(
        to request: UndoAccountSwitchRequest, from caller: SignedInPerson, in context: RequestContext
    ) throws -> EndpointReply {
        let (user, found) = try context.store.withSession { try look(request, caller, context, &$0) }
        context.note(user)
        guard case .undoable(let undone) = found else {
            if case .done(let earlier) = found { return try reply(earlier, context) }
            throw Refusal(.undoExpired)
        }
        try context.store.transaction { session in
            try context.use(
                .accountSwitchesPerHour, of: caller.presented.accountType, caller.profile.providerUserID, in: &session)
        }
        let exchange = CredentialExchange(caller, context)
        guard let credentials = try exchange.provedCredentials(for: "UndoAccountSwitch") else {
            throw Refusal(.freshSignInRequired)
        }
        guard let id = AccountSwitchID(try context.services.makeUUID()) else { preconditionFailure("a UUID") }
        let undo = SwitchUndo(
            id: id,
            credentials: try context.services.storage.vault.sealed(credentials, ofNextAccountOf: user.userID),
            hasOfflineAccess: credentials.hasOfflineAccess, grant: context.presentedGrant?.hash,
            move: try ContentMoveOffer(context: context).offer(outOfAccountOf: user))
        let done = try context.store.transaction { session in
            let done = try session.undoSwitch(undone, expecting: user.accountEpoch, by: undo, at: context.now)
            try session.addPush(
                SwitchNotice.undone(to: caller.presented.accountType), toDevicesOf: user.userID, except: caller.device,
                at: context.now)
            if let now = try session.user(user.userID) { try context.scheduleIndexPage(of: now, using: &session) }
            return done
        }
        OfflineAccess.note(credentials, of: caller.presented.accountType, isNew: true, context)
        context.logger.notice("Account switch undone")
        return try reply(done, context)
    }

    private enum Found {
        case undoable(UndoableSwitch)
        /// By an earlier request.
        case done(AccountSwitch)
        case expired
    }

    /// Determines what to undo.
    /// - Throws: ``ErrorCode/grantInvalid`` even if the identity is unknown or the grant can undo nothing, so that
    ///   callers cannot find out which identities exist; ``ErrorCode/accountInUse`` if the account now belongs to
    ///   another identity.
    private func look(
        _ request: UndoAccountSwitchRequest, _ caller: SignedInPerson, _ context: RequestContext,
        _ session: inout StoreSession
    ) throws -> (UserRecord, Found) {
        let (accountType, providerUserID) = (caller.presented.accountType, caller.profile.providerUserID)
        guard let grant = context.presentedGrant, let user = try session.user(of: request.userAppId),
            let last = try session.undoableSwitch(
                of: user.userID, awayFrom: accountType, providerUserID, since: .earliest),
            try session.mayUndo(last.id, withGrant: grant.hash, of: caller.device, at: context.now)
        else { throw Refusal(.grantInvalid) }
        switch try session.binding(of: accountType, providerUserID) {
        case .active(user.userID):
            guard let newest = try session.newestConfirmedSwitch(of: user.userID), newest.undoes == last.id else {
                throw Refusal(.switchUnknown)
            }
            return (user, .done(newest))
        case .retired(user.userID), .free: break
        case .active, .retired: throw Refusal(.accountInUse)
        }
        guard !last.isUndone, last.confirmedAt > context.services.settings.switches.undoStart(at: context.now) else {
            return (user, .expired)
        }
        return (user, .undoable(last))
    }

    private func reply(_ done: AccountSwitch, _ context: RequestContext) throws -> EndpointReply {
        guard let epoch = done.accountEpoch, let total = done.filesTotal else {
            throw StoreError.corrupt(table: "account_switches", column: "account_epoch")
        }
        let isMoving = try context.store.withSession { try $0.movesContents(of: done.userID, since: done.id) }
        return .json(
            UndoAccountSwitchResponse(
                switchId: done.id, accountEpoch: epoch, numberAwaiting: total, movesContents: isMoving))
    }
}

extension UndoAccountSwitchRequest: ServedRequest {
    typealias Handler = UndoAccountSwitchEndpoint
}
