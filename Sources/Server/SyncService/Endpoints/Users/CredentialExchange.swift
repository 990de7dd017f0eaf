import HTTPTransport
import Logging
import OpenSSLCrypto
import Providers
import Store
import SyncProtocol
import Vault

/// Converts what a phone presents into credentials that the server may store.
///
/// A code works once, but requests may arrive twice, even at the same moment: one of them reserves the exchange by a
/// committed row under the hash of the code, and stores the sealed result there at once; the others wait for it. All of
/// this happens outside the endpoint's transaction.
struct CredentialExchange {
    private static let pollInterval: Duration = .milliseconds(50)
    /// Longer than a request to the provider may take, ``RequestContext/signInTime``.
    private static let leaseSeconds = 45

    let person: SignedInPerson
    let context: RequestContext

    init(_ person: SignedInPerson, _ context: RequestContext) {
        self.person = person
        self.context = context
    }

    var presented: PresentedCredentials { person.presented }
    var account: any AccountProvider { person.account }

    /// Credentials for a user who has none stored.
    /// - Parameter earlier: what the account had granted before its user was removed, if that is still valid.
    /// - Throws: ``AccountError``, ``StoreError``.
    func firstCredentials(keeping earlier: StoredCredentials?) throws -> StoredCredentials {
        let fromToken = account.credentials(from: presented)
        if let earlier { return fromToken.updated(with: try update(of: earlier) ?? earlier) }
        if let code = presented.code, let exchanged = try resultOnce(of: code) {
            return fromToken.updated(with: exchanged)
        }
        guard let exchanged = try exchangeToken() else { return fromToken }
        return fromToken.updated(with: exchanged)
    }

    private func exchangeToken() throws -> StoredCredentials? {
        guard account.exchangesTokens else { return nil }
        try context.store.transaction { try context.use(.codeExchangesPerHour, of: person, in: &$0) }
        var credentials = try account.exchange(presented, of: person.profile, through: context.accountClient)
        credentials?.codeHash = Self.hash(presented.accessToken).hexLowercase
        return credentials
    }

    /// The credentials to store for a user who has no valid ones.
    ///
    /// - Parameter isReplacement: whether a record is stored that cannot be opened. In that case the presented code may
    ///   be the very one that its tokens came from, so a code that no longer works is no reason to reject the user.
    func replacement(isReplacement: Bool) throws -> StoredCredentials {
        do {
            return try firstCredentials(keeping: nil)
        } catch AccountError.codeRejected where isReplacement {
            context.logger.warning("Authorization code refused; what was stored cannot be opened")
            var credentials = account.credentials(from: presented)
            // Apps send a code repeatedly: this one must not be tried again.
            credentials.codeHash = presented.code.map { Self.hash($0).hexLowercase }
            return credentials
        }
    }

    /// The credentials to store for a user who has `stored`; `nil` if nothing is new.
    ///
    /// A code that no longer works matters only for a user without a stored refresh token.
    func update(of stored: StoredCredentials) throws -> StoredCredentials? {
        var updated = stored
        let isCodeKnown = presented.code.map { stored.knows(codeHash: Self.hash($0).hexLowercase) } ?? false
        if let code = presented.code, !isCodeKnown {
            do {
                if let exchanged = try resultOnce(of: code) {
                    updated = stored.updated(with: exchanged)
                }
            } catch AccountError.codeRejected where stored.hasOfflineAccess {
                context.logger.warning("Authorization code refused; what is stored is kept")
            }
        } else if !isCodeKnown, let exchanged = try exchangeToken(unlessFor: stored) {
            updated = stored.updated(with: exchanged)
        } else {
            let fromToken = account.credentials(from: presented)
            if !stored.outlasts(fromToken) { updated = stored.updated(with: fromToken) }
        }
        return updated == stored ? nil : updated
    }

    /// Exchanges the token itself, if this kind of account does that and `stored` did not come from it.
    private func exchangeToken(unlessFor stored: StoredCredentials) throws -> StoredCredentials? {
        guard !stored.knows(codeHash: Self.hash(presented.accessToken).hexLowercase) else { return nil }
        do {
            return try exchangeToken()
        } catch let error as AccountError
            where (error == .rejected || error == .scopeMissing) && stored.refreshToken != nil
        {
            context.logger.warning("Token exchange refused; the stored refresh token is kept")
            return nil
        }
    }

    /// Checks that the presented code is one that we have exchanged for the caller's account, or exchanges it.
    /// - Throws: ``AccountError/rejected`` if it is not; ``StoreError``.
    func requireExchangedCode() throws {
        guard let code = presented.code else { throw AccountError.rejected }
        let hash = Self.hash(code)
        if try rememberedResult(hash) != nil { return }
        let user = try context.store.withSession { session in
            try session.user(presented.accountType, person.profile.providerUserID, device: nil)?.user
        }
        if let user, let kept = try context.services.storage.vault.load(user, context.logger),
            kept.credentials?.knows(codeHash: hash.hexLowercase) == true
        {
            return
        }
        do {
            guard try resultOnce(of: code) != nil else { throw AccountError.rejected }
        } catch AccountError.codeRejected {
            throw AccountError.rejected
        }
    }

    /// The credentials that a code yields, whichever request exchanges it; `nil` if this kind of account has no codes.
    ///
    /// - Throws: ``AccountError/codeRejected`` if the provider rejects the code, or was asked before and its result is
    ///   no longer stored: a code is never sent twice, unless the provider has certainly not seen it.
    private func resultOnce(of code: PresentedCode) throws -> StoredCredentials? {
        let key = Self.key(Self.hash(code), person.profile)
        let owner = try context.services.makeUUID()
        // A request that waits for another request's exchange also occupies a thread.
        let deadline = context.deadline.orAfter(RequestContext.signInTime)
        repeat {
            let reservation = try context.store.transaction { session in
                let reservation = try session.reserveCode(
                    key, of: presented.accountType, person.profile.providerUserID, for: owner,
                    seconds: Self.leaseSeconds, at: context.now)
                if reservation == .reserved { try context.use(.codeExchangesPerHour, of: person, in: &session) }
                return reservation
            }
            switch reservation {
            case .reserved: return try askProvider(about: code, under: key, as: owner)
            case .exchanged(let record):
                guard let result = try open(record, key) else { throw AccountError.codeRejected }
                return result
            case .spent: throw AccountError.codeRejected
            case .underWay: break
            }
        } while context.services.storage.backoff.pause(Self.pollInterval, deadline: deadline)
        throw AccountError.timedOut
    }

    private func askProvider(
        about code: PresentedCode, under key: [UInt8], as owner: String
    ) throws -> StoredCredentials? {
        var credentials: StoredCredentials
        do {
            guard
                let exchanged = try account.exchange(code: code, of: person.profile, through: context.accountClient)
            else {
                try release(key, owner)
                return nil
            }
            credentials = exchanged
        } catch {
            switch error {
            case AccountError.notAsked, AccountError.withheld, AccountError.misconfigured: try release(key, owner)
            default: _ = try context.store.transaction { try $0.endCodeExchange(key, by: owner, credentials: nil) }
            }
            throw error
        }
        credentials.codeHash = Self.hash(code).hexLowercase
        let record = try context.services.storage.vault.sealed(credentials, ofCode: key)
        let isKept = try context.store.transaction { session in
            try session.endCodeExchange(key, by: owner, credentials: record)
        }
        guard isKept else { throw AccountError.codeRejected }
        return credentials
    }

    private func release(_ key: [UInt8], _ owner: String) throws {
        try context.store.transaction { try $0.releaseCode(key, by: owner) }
    }

    private func rememberedResult(_ hash: [UInt8]) throws -> StoredCredentials? {
        let key = Self.key(hash, person.profile)
        guard let record = try context.store.withSession({ try $0.exchangedCode(key) }) else { return nil }
        return try open(record, key)
    }

    private func open(_ record: [UInt8], _ key: [UInt8]) throws -> StoredCredentials? {
        try context.services.storage.vault.open(record, from: .code(key), context.logger)
    }

    /// The hash of the code alone: the parameters it was requested with do not make it a different code.
    private static func hash(_ code: PresentedCode) -> [UInt8] { hash(code.value) }

    private static func hash(_ text: String) -> [UInt8] {
        IncrementalDigest.digest(of: Array(text.utf8), .sha256)
    }

    /// The key under which a result is stored: bound to the account, so that nobody can use another person's code.
    private static func key(_ hash: [UInt8], _ profile: SignInProfile) -> [UInt8] {
        IncrementalDigest.digest(of: hash + Array(profile.providerUserID.utf8), .sha256)
    }
}
