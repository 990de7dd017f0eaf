import HTTPTransport
import Logging
import Providers
import Store
import SyncProtocol
import Vault

/// Whether the server can move the bytes of a switch itself.
struct ContentMoveOffer {
    let context: RequestContext

    /// The move that a person has requested, if the server can perform it.
    ///
    /// The person must prove that they can still use the former account: a device's grant suffices to leave it, but a
    /// stolen grant must not give access to what is stored there. One call to the former provider checks that the
    /// server can read; if the call fails for any reason, the server moves nothing out of that account, and phones
    /// upload the files.
    /// - Returns: `nil` if this server moves nothing, or the switch is not a proposal for the caller's account.
    /// - Throws: ``EndpointError/oldAccountProofRequired``, ``EndpointError/malformedOldAccountProof``;
    ///   ``AccountError`` if the provider could not check the proof; ``StoreError``, `CryptoError.unavailable`.
    func accept(_ id: AccountSwitchID, from caller: SignedInPerson) throws -> RequestedMove? {
        guard context.services.settings.movesContents else { return nil }
        let found = try context.store.withSession { session -> (user: UserRecord, objectID: String?)? in
            guard let known = try session.accountSwitch(id, at: context.now), known.state == .proposed,
                known.leads(to: caller.presented.accountType, caller.profile.providerUserID),
                let user = try session.user(known.userID)
            else { return nil }
            return (user, try session.anyObject(of: user.userID))
        }
        guard let found else { return nil }
        // The switch was begun with an established grant, or with a code that has been used since.
        try OldAccountProof.check(of: found.user, isRequired: true, on: caller.device, for: nil, in: context)
        guard let objectID = found.objectID, isReadable(objectID, of: found.user) else {
            return RequestedMove(former: nil)
        }
        return try offer(outOfAccountOf: found.user)
    }

    /// A move out of a user's current account.
    /// - Returns: `nil` if this server moves nothing, or the user has just switched.
    func offer(outOfAccountOf user: UserRecord) throws -> RequestedMove? {
        guard context.services.settings.movesContents else { return nil }
        do {
            return RequestedMove(
                former: try context.services.storage.vault.sealedForMove(outOfAccountOf: user, context.logger))
        } catch is AccountSwitched {
            return nil
        }
    }

    private func isReadable(_ objectID: String, of user: UserRecord) -> Bool {
        do {
            let storage = try context.services.storage.storage(
                of: user, transport: context.transport, deadline: context.deadline.orAfter(RequestContext.signInTime),
                logger: context.logger)
            _ = try storage.provider.describe(objectID: objectID, in: storage.access)
            return true
        } catch CloudStorageError.notFound {
            // This concerns one object only: its owner may have deleted it.
            return true
        } catch {
            context.logger.info(
                "Contents not moved: the former account cannot be read",
                metadata: .keyed([.reason: "\(error)"]))
            return false
        }
    }
}
