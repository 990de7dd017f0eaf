import HTTPTransport
import Logging
import Providers
import Store
import SyncProtocol
import UntrustedInput
import Vault

/// Activates the caller's account for the identity for which it was proposed.
///
/// One transaction; a repeated request finds the switch confirmed and gets the same reply. If the server is asked to
/// move the files' bytes, it first checks that it can still read them.
struct ConfirmAccountSwitchEndpoint: Endpoint {
    func respond(
        to request: ConfirmAccountSwitchRequest, from caller: SignedInPerson, in context: RequestContext
    ) throws -> EndpointReply {
        let (accountType, providerUserID) = (caller.presented.accountType, caller.profile.providerUserID)
        let move =
            request.moveContents
            ? try ContentMoveOffer(context: context).accept(request.switchId, from: caller) : nil
        let (confirmed, isMoving) = try context.store.transaction { session in
            let known = try session.accountSwitch(request.switchId, at: context.now)
            guard let known, known.leads(to: accountType, providerUserID) else { throw Refusal(.switchUnknown) }
            let confirmed = try session.confirmSwitch(
                request.switchId, expecting: request.expectedEpoch, moving: move, at: context.now)
            if known.state == .proposed {
                if let storage = accountType.cloudStorageType, context.services.settings.writesWarningFile {
                    try session.addWarningFile(
                        for: OwningUser(userID: confirmed.userID, storageType: storage), at: context.now)
                }
                try session.addPush(
                    SwitchNotice.confirmed(to: accountType), toDevicesOf: confirmed.userID, at: context.now)
            }
            return (confirmed, try session.movesContents(of: confirmed.userID, since: confirmed.id))
        }
        guard let epoch = confirmed.accountEpoch, let total = confirmed.filesTotal else {
            throw StoreError.corrupt(table: "account_switches", column: "account_epoch")
        }
        return .json(
            ConfirmAccountSwitchResponse(
                accountEpoch: epoch, numberAwaiting: total, movesContents: request.moveContents ? isMoving : nil))
    }
}

extension ConfirmAccountSwitchRequest: ServedRequest {
    typealias Handler = ConfirmAccountSwitchEndpoint
}

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
    /// - Throws: ``ErrorCode/oldAccountProofRequired``, ``ErrorCode/malformedHeader``;
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

/// Credentials of the account to be left, sent by a person who still has them: the members of a JSON object with the
/// same meaning as the headers of a sign-in with that account.
private struct ProofHeader: Decodable {
    var accessToken: String
    var accountID: String?
    var microsoftAccessToken: String?
    var accountDetails: String?
    var authorizationCode: String?
    var redirectURI: String?
    var codeVerifier: String?
}

/// Proof that the person who begins or confirms a switch can still use the account to be left.
enum OldAccountProof {
    private static let malformed = Refusal(
        .malformedHeader, "SyncServer-Old-Account-Proof must be a JSON object of strings, including accessToken")

    /// Checks the proof in the request; if there is none, checks whether one is required.
    /// - Parameter isRequired: whether a proof is always required; otherwise the configuration decides.
    /// - Parameter purpose: the purpose of a code in the proof, see ``CredentialExchange/provedCredentials(for:)``;
    ///   `nil` if the token suffices, and a code is ignored.
    /// - Returns: whether the proof is stronger than an access token, which every request contains: an authorization
    ///   code exchanged for this purpose, or a password or key.
    /// - Throws: ``ErrorCode/oldAccountProofRequired``, even if the proof belongs to another account;
    ///   ``ErrorCode/malformedHeader``; ``AccountError`` if the provider could not be asked, or rejects
    ///   the code.
    @discardableResult
    static func check(
        of user: UserRecord, isRequired: Bool = false, on device: DeviceUUID, for purpose: String?,
        in context: RequestContext
    ) throws -> Bool {
        guard let text = context.head.header(.oldAccountProof) else {
            if isRequired || context.services.settings.requiresOldAccountProof {
                throw Refusal(.oldAccountProofRequired)
            }
            return false
        }
        guard let header = try? UntrustedJSON.decode(ProofHeader.self, from: Array(text.utf8)) else {
            throw Self.malformed
        }
        guard let account = context.services.storage.account(user.accountType) else {
            throw Refusal(.oldAccountProofRequired)
        }
        let presented = PresentedCredentials(
            accountType: user.accountType, accessToken: header.accessToken,
            authorizationCode: header.authorizationCode, redirectURI: header.redirectURI,
            codeVerifier: header.codeVerifier.flatMap { CodeVerifier($0) }, accountID: header.accountID,
            microsoftAccessToken: header.microsoftAccessToken, accountDetails: header.accountDetails)
        guard header.codeVerifier == nil || presented.codeVerifier != nil,
            presented.redirectURI.map({ context.isAllowedRedirect($0) }) ?? true
        else { throw Self.malformed }
        do {
            let profile = try context.verify(presented, by: account)
            guard profile.providerUserID == user.providerUserID, profile.identityToken?.isExpired != true else {
                throw Refusal(.oldAccountProofRequired)
            }
            guard let purpose else { return false }
            let person = SignedInPerson(
                presented: presented, account: account, profile: profile, device: device, isFresh: true)
            return try CredentialExchange(person, context).provedCredentials(for: purpose) != nil
        } catch AccountError.rejected {
            throw Refusal(.oldAccountProofRequired)
        }
    }
}
