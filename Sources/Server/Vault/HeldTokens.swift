public import HTTPTransport
public import Providers
import Store
import SyncProtocol

/// The access token of an account that is not a user's current one: that of a removed user whose storage is being
/// cleared, one to which a user is about to switch, or one that a user has left and that is still read.
///
/// For use by one thread. If two instances renew the same stored tokens at once, the stored ones decide, as in
/// ``UserTokens``.
public final class HeldTokens: AccessTokens {
    public let accountKey: Int64
    /// The tokens after the latest renewal.
    public private(set) var credentials: StoredCredentials
    private let account: any AccountProvider
    private let transport: Transport
    private let backoff: Backoff
    private let keep: Keeping

    /// Stores renewed tokens (the first parameter) in place of the ones from which they were renewed (the second),
    /// since a provider may accept an old refresh token only once. Returns the tokens that are valid from then on.
    typealias Keeping = (StoredCredentials, StoredCredentials) throws -> StoredCredentials

    init(
        _ credentials: StoredCredentials, accountKey: Int64, account: any AccountProvider, transport: Transport,
        backoff: Backoff, keep: @escaping Keeping = { fresh, old in old.updated(with: fresh) }
    ) {
        self.credentials = credentials
        self.accountKey = accountKey
        self.account = account
        self.transport = transport
        self.backoff = backoff
        self.keep = keep
    }

    public var location: String? { credentials.location }

    public func current() throws(CloudStorageError) -> String {
        try account.usableToken(of: credentials)
    }

    public func renewed(insteadOf rejected: String, by deadline: Deadline) throws(CloudStorageError) -> String {
        if let token = credentials.accessToken, token != rejected { return token }
        let fresh: StoredCredentials
        do {
            let client = AccountClient(transport: transport, deadline: deadline, backoff: backoff)
            fresh = try account.refresh(credentials, through: client)
        } catch {
            throw CloudStorageError(ofRenewal: error)
        }
        do { credentials = try keep(fresh, credentials) } catch { throw .localFailure(error) }
        return try current()
    }
}
