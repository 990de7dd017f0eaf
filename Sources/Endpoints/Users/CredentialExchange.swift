import Accounts
import HTTPTransport
import Logging
import OpenSSLCrypto
import Store
import SyncProtocol
import UserStorage

/// Turns what a phone presents into credentials that the server may keep.
///
/// A code works once, but requests arrive twice: the result of an exchange is kept at once, sealed, under the hash of
/// the code, and whoever brings the same code finds it there. All of this happens outside the endpoint's transaction.
struct CredentialExchange {
    private static let pollInterval: Duration = .milliseconds(250)
    private static let pollLimit: Duration = .seconds(5)

    let context: RequestContext
    let presented: PresentedCredentials
    let account: any AccountProvider

    init(_ context: RequestContext) throws {
        guard let presented = context.presented,
            let account = context.services.storage.account(presented.accountType)
        else { throw EndpointError.signInTypeNotAllowed }
        self.context = context
        self.presented = presented
        self.account = account
    }

    /// Credentials for a new user.
    /// - Throws: ``AccountError``, ``StoreError``.
    func credentialsOfNewUser() throws -> StoredCredentials {
        let fromToken = account.credentials(from: presented)
        if let code = presented.authorizationCode, let exchanged = try exchange(code, isNeeded: true) {
            return fromToken.updated(with: exchanged)
        }
        guard let exchanged = try exchangeToken() else { return fromToken }
        return fromToken.updated(with: exchanged)
    }

    private func exchangeToken() throws -> StoredCredentials? {
        try account.exchange(presented, of: context.profile, through: context.accountClient)
    }

    /// What to store for a user who has `stored`; `nil` if nothing is new.
    ///
    /// A code that no longer works matters only to someone for whom no refresh token is stored.
    func update(of stored: StoredCredentials) throws -> StoredCredentials? {
        var updated = stored
        if let code = presented.authorizationCode, Self.hash(code).hexLowercase != stored.codeHash {
            do {
                if let exchanged = try exchange(code, isNeeded: stored.refreshToken == nil) {
                    updated = stored.updated(with: exchanged)
                }
            } catch AccountError.codeRejected where stored.refreshToken != nil {
                context.logger.warning("Authorization code refused; the stored refresh token is kept")
            }
        } else if let exchanged = try exchangeToken(unlessFor: stored) {
            updated = stored.updated(with: exchanged)
        } else if stored.refreshToken == nil {
            updated = stored.updated(with: account.credentials(from: presented))
        }
        return updated == stored ? nil : updated
    }

    /// Exchanges the token itself, if that is what this kind of account does and `stored` did not come from it.
    private func exchangeToken(unlessFor stored: StoredCredentials) throws -> StoredCredentials? {
        guard Self.hash(presented.accessToken).hexLowercase != stored.codeHash else { return nil }
        do {
            return try exchangeToken()
        } catch let error as AccountError
            where (error == .rejected || error == .scopeMissing) && stored.refreshToken != nil
        {
            context.logger.warning("Token exchange refused; the stored refresh token is kept")
            return nil
        }
    }

    /// Makes sure that the presented code is one that we have exchanged for the caller's account, or exchanges it.
    /// - Throws: ``AccountError/rejected`` if it is not; ``StoreError``.
    func requireExchangedCode() throws {
        guard let code = presented.authorizationCode else { throw AccountError.rejected }
        let hash = Self.hash(code)
        if try rememberedResult(hash) != nil { return }
        let user = try context.store.withSession { session in
            try session.user(presented.accountType, context.profile.providerUserID, device: nil)?.user.userID
        }
        if let user, let sealed = try context.store.withSession({ try $0.credentials(of: user) }) {
            let stored = try context.services.storage.sealer.open(sealed.record, from: .user(user))
            if stored.codeHash == hash.hexLowercase { return }
        }
        do {
            guard try exchange(code, isNeeded: true) != nil else { throw AccountError.rejected }
        } catch AccountError.codeRejected {
            throw AccountError.rejected
        }
    }

    /// - Parameter isNeeded: whether a refused code is worth waiting for a twin of this request to store its result.
    private func exchange(_ code: String, isNeeded: Bool) throws -> StoredCredentials? {
        let hash = Self.hash(code)
        if let known = try rememberedResult(hash) { return known }
        do {
            guard
                let credentials = try account.exchange(
                    code: code, of: context.profile, through: context.accountClient)
            else { return nil }
            let record = try context.services.storage.sealer.seal(
                credentials, for: .code(Self.key(hash, context.profile)))
            try context.store.transaction { session in
                try session.rememberExchangedCode(
                    Self.key(hash, context.profile), credentials: record, at: context.now)
            }
            return credentials
        } catch AccountError.codeRejected where isNeeded {
            // Perhaps the same request is being handled elsewhere and has not stored its result yet.
            let limit = context.deadline.orAfter(Self.pollLimit)
            repeat {
                if let known = try rememberedResult(hash) { return known }
            } while context.services.storage.backoff.pause(Self.pollInterval, deadline: limit)
            throw AccountError.codeRejected
        }
    }

    private func rememberedResult(_ hash: [UInt8]) throws -> StoredCredentials? {
        let key = Self.key(hash, context.profile)
        guard let record = try context.store.withSession({ try $0.exchangedCode(key) }) else { return nil }
        return try context.services.storage.sealer.open(record, from: .code(key))
    }

    private static func hash(_ code: String) -> [UInt8] {
        IncrementalDigest.digest(of: Array(code.utf8), .sha256)
    }

    /// Under which a result is kept: bound to the account, so that nobody profits from another person's code.
    private static func key(_ hash: [UInt8], _ profile: SignInProfile) -> [UInt8] {
        IncrementalDigest.digest(of: hash + Array(profile.providerUserID.utf8), .sha256)
    }
}
