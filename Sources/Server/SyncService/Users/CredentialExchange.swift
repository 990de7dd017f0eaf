import HTTPTransport
import Logging
import OpenSSLCrypto
import Providers
import Store
import SyncProtocol
import Vault

/// Converts what a phone presents into credentials that the server may store.
///
/// A code works once, but requests may arrive twice, even at the same moment: one of them reserves the exchange with a
/// committed row under the hash of the code, and stores the sealed result there at once; the others wait for it. All of
/// this happens outside the endpoint's transaction.
struct CredentialExchange {
    private static let pollInterval: Duration = .milliseconds(50)
    /// Longer than the limit for a request to the provider, ``RequestContext/signInTime``.
    private static let leaseSeconds = 45

    let person: SignedInPerson
    let context: RequestContext

    init(_ person: SignedInPerson, _ context: RequestContext) {
        self.person = person
        self.context = context
    }

    var presented: PresentedCredentials { person.presented }
    var account: any AccountProvider { person.account }

    /// The presented credentials as stored; they have signed the person in.
    private var fromToken: StoredCredentials {
        let credentials = account.credentials(from: presented)
        let claim = (account as? any PasswordAccounts)?.claim(of: presented)
        return claim.map { credentials.proven(by: $0.digest) } ?? credentials
    }

    /// Credentials for a user without stored ones.
    /// - Parameter earlier: the account's grant from before its user was removed, if still valid.
    /// - Throws: ``AccountError``, ``StoreError``.
    func firstCredentials(keeping earlier: StoredCredentials?) throws -> StoredCredentials {
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

    /// The credentials to store for a user without valid ones.
    ///
    /// - Parameter isReplacement: whether there is a stored record that cannot be opened, or was lost with the database.
    ///   Its tokens may have come from the presented code, so a code that no longer works is no reason to reject the user.
    func replacement(isReplacement: Bool) throws -> StoredCredentials {
        do {
            return try firstCredentials(keeping: nil)
        } catch AccountError.codeRejected where isReplacement {
            context.logger.warning("Authorization code rejected; the credentials that it gave are lost")
            var credentials = fromToken
            // Apps send a code repeatedly: this one must not be tried again.
            credentials.codeHash = presented.code.map { Self.hash($0).hexLowercase }
            return credentials
        }
    }

    /// The presented credentials to store for a user whose loaded credentials are `kept`; `nil` if nothing is new.
    func newCredentials(besides kept: CredentialVault.Kept) throws -> StoredCredentials? {
        guard let stored = kept.credentials else { return try replacement(isReplacement: kept.isUnreadable) }
        // A record that can be opened again because its key is back replaces the record that cannot be opened.
        return try update(of: stored) ?? (kept.isUnreadable ? stored : nil)
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
                context.logger.warning("Authorization code rejected; the stored credentials are kept")
            }
        } else if !isCodeKnown, let exchanged = try exchangeToken(unlessFor: stored) {
            updated = stored.updated(with: exchanged)
        } else {
            if !stored.outlasts(fromToken) { updated = stored.updated(with: fromToken) }
        }
        return updated == stored ? nil : updated
    }

    /// Exchanges the token itself, if this kind of account supports that and `stored` did not come from this token.
    private func exchangeToken(unlessFor stored: StoredCredentials) throws -> StoredCredentials? {
        guard !stored.knows(codeHash: Self.hash(presented.accessToken).hexLowercase) else { return nil }
        do {
            return try exchangeToken()
        } catch let error as AccountError
            where (error == .rejected || error == .scopeMissing) && stored.refreshToken != nil
        {
            context.logger.warning("Token exchange rejected; the stored refresh token is kept")
            return nil
        }
    }

    /// Whether this request proves, by more than an access token, that the caller has the account: by a code that it
    /// has exchanged, or by a password or key.
    ///
    /// Every request contains a token, and earlier requests contained codes that have been exchanged, so possessing
    /// them proves little.
    var isProved: Bool {
        if presentsSecret { return true }
        return presented.code.map { context.exchangedCodes[Self.hash($0)] != nil } ?? false
    }

    /// Whether the access token is the secret itself, which opens the account until the person changes it.
    private var presentsSecret: Bool { account.credentials(from: presented).isLasting == true }

    /// The credentials with which this request proves that the caller has the account; `nil` if it presents neither a
    /// code nor a secret.
    /// - Parameter purpose: what the credentials must prove. A code exchanged for the same purpose, by a request whose
    ///   reply was lost, still serves that purpose; a code exchanged for another purpose is spent.
    /// - Throws: ``AccountError/codeRejected`` if the code is spent, or not the caller's.
    func provedCredentials(for purpose: String) throws -> StoredCredentials? {
        let fromToken = account.credentials(from: presented)
        if presentsSecret { return fromToken }
        guard let code = presented.code else { return nil }
        let hash = Self.hash(code)
        // An older code, whose result is no longer stored.
        if context.exchangedCodes[hash] == nil, try isStored(hash) { throw AccountError.codeRejected }
        return try resultOnce(of: code, for: purpose).map { fromToken.updated(with: $0) }
    }

    /// Whether the stored tokens of the caller's account came from that code.
    private func isStored(_ hash: [UInt8]) throws -> Bool {
        let user = try context.store.withSession { session in
            try session.user(presented.accountType, person.profile.providerUserID, device: nil)?.user
        }
        guard let user, let kept = try context.services.storage.vault.load(user, context.logger) else { return false }
        return kept.credentials?.knows(codeHash: hash.hexLowercase) == true
    }

    /// Checks that the server has exchanged the presented code for the caller's account, or exchanges it.
    /// - Throws: ``AccountError/rejected`` if it is not; ``StoreError``.
    func requireExchangedCode() throws {
        guard let code = presented.code else { throw AccountError.rejected }
        let hash = Self.hash(code)
        if try rememberedResult(hash) != nil { return }
        if try isStored(hash) { return }
        do {
            guard try resultOnce(of: code) != nil else { throw AccountError.rejected }
        } catch AccountError.codeRejected {
            throw AccountError.rejected
        }
    }

    /// The credentials obtained for a code, whichever request exchanges it; `nil` if this kind of account has no codes.
    ///
    /// - Throws: ``AccountError/codeRejected`` if the provider rejects the code, or if the code was sent before and its
    ///   result is no longer stored: a code is never sent twice, unless the provider has certainly not seen it.
    ///
    /// - Parameter purpose: not `nil` if only an exchange by this request counts, or by an earlier one for the same
    ///   purpose; see ``provedCredentials(for:)``.
    private func resultOnce(of code: PresentedCode, for purpose: String? = nil) throws -> StoredCredentials? {
        let mark = purpose.map { Self.key(Self.hash(code), person.profile, purpose: $0) }
        if let known = context.exchangedCodes[Self.hash(code)] {
            if let mark { try remember(known, under: mark) }
            return known
        }
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
            case .reserved: return try askProvider(about: code, under: key, as: owner, mark)
            case .exchanged where mark != nil, .spent where mark != nil:
                guard let mark, let record = try context.store.withSession({ try $0.exchangedCode(mark) }),
                    let result = try open(record, mark)
                else { throw AccountError.codeRejected }
                return result
            case .exchanged(let record):
                guard let result = try open(record, key) else { throw AccountError.codeRejected }
                return result
            case .spent: throw AccountError.codeRejected
            case .underWay: break
            }
        } while context.services.storage.backoff.pause(
            Self.pollInterval, deadline: deadline, for: presented.accountType.rawValue)
        throw deadline.remaining > Self.pollInterval ? AccountError.withheld(.busy) : .timedOut
    }

    private func askProvider(
        about code: PresentedCode, under key: [UInt8], as owner: String, _ mark: [UInt8]?
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
        context.exchangedCodes[Self.hash(code)] = credentials
        // Stored first, since requests that wait for the exchange look for it afterwards.
        if let mark { try remember(credentials, under: mark) }
        let record = try context.services.storage.vault.sealed(credentials, ofCode: key)
        let isKept = try context.store.transaction { session in
            try session.endCodeExchange(key, by: owner, credentials: record)
        }
        guard isKept else { throw AccountError.codeRejected }
        return credentials
    }

    /// Stores the result of a code for a purpose.
    private func remember(_ credentials: StoredCredentials, under mark: [UInt8]) throws {
        let record = try context.services.storage.vault.sealed(credentials, ofCode: mark)
        let owner = try context.services.makeUUID()
        try context.store.transaction { session in
            let reservation = try session.reserveCode(
                mark, of: presented.accountType, person.profile.providerUserID, for: owner, seconds: Self.leaseSeconds,
                at: context.now)
            guard reservation == .reserved else { return }
            try session.endCodeExchange(mark, by: owner, credentials: record)
        }
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

    /// The hash of the code alone: the parameters of its request do not make it a different code.
    private static func hash(_ code: PresentedCode) -> [UInt8] { hash(code.value) }

    private static func hash(_ text: String) -> [UInt8] {
        IncrementalDigest.digest(of: Array(text.utf8), .sha256)
    }

    /// The key under which a result is stored: bound to the account, so that nobody can use another person's code.
    private static func key(_ hash: [UInt8], _ profile: SignInProfile, purpose: String? = nil) -> [UInt8] {
        let mark: [UInt8] = purpose.map { [0] + Array($0.utf8) } ?? []
        return IncrementalDigest.digest(of: hash + Array(profile.providerUserID.utf8) + mark, .sha256)
    }
}

/// Reports that the server can use a person's storage only until their access token expires.
///
/// Google issues a refresh token only with the first consent, and Dropbox only for codes requested with
/// `token_access_type=offline`. Without one, others cannot access the person's files while the person is away.
enum OfflineAccess {
    /// Reports it if `credentials`, of an account with storage, will expire: in a header of every reply, and in the log
    /// and the statistics for each new sign-in.
    static func note(
        _ credentials: StoredCredentials?, of accountType: AccountType, isNew: Bool, _ context: RequestContext
    ) {
        guard accountType.cloudStorageType != nil, credentials?.hasOfflineAccess != true else { return }
        context.replyHeaders.append((name: ResponseHeader.offlineAccess.rawValue, value: "none"))
        guard isNew else { return }
        context.hasSignedInWithoutOfflineAccess = true
        context.logger.warning(
            "Signed in without a refresh token: the storage is inaccessible once the access token expires")
    }
}
