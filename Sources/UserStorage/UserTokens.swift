import Accounts
import CloudStorage
import HTTPTransport
import Logging
import Store
import SyncProtocol

/// One user's access token, read from the store when it is needed and renewed there when it is refused.
///
/// Any number of processes may renew at once: the stored version decides which result is kept, and the others use it.
final class UserTokens: AccessTokens {
    private let user: UserRecord
    private let store: Store
    private let sealer: CredentialSealer
    private let account: any AccountProvider
    private let transport: Transport
    private let backoff: Backoff
    private let logger: Logger

    init(
        user: UserRecord, store: Store, sealer: CredentialSealer, account: any AccountProvider, transport: Transport,
        backoff: Backoff, logger: Logger
    ) {
        self.user = user
        self.store = store
        self.sealer = sealer
        self.account = account
        self.transport = transport
        self.backoff = backoff
        self.logger = logger
    }

    var accountKey: Int64 { user.userID.rawValue }

    func current() throws(CloudStorageError) -> String {
        guard let token = try load()?.credentials.accessToken else { throw .authorizationRevoked }
        return token
    }

    func renewed(insteadOf rejected: String, by deadline: Deadline) throws(CloudStorageError) -> String {
        guard let stored = try load() else { throw .authorizationRevoked }
        if let token = stored.credentials.accessToken, token != rejected { return token }
        let fresh: StoredCredentials
        do {
            let client = AccountClient(transport: transport, deadline: deadline, backoff: backoff)
            fresh = try account.refresh(stored.credentials, through: client)
        } catch {
            throw CloudStorageError(ofRenewal: error)
        }
        logger.info("Access token renewed", metadata: .keyed([.owningUserID: "\(user.userID)"]))
        do {
            let record = try sealer.seal(fresh, for: .user(user.userID))
            let isKept = try store.transaction { session in
                try session.storeCredentials(record, of: user.userID, ifVersion: stored.version)
            }
            if !isKept, let newer = try load()?.credentials.accessToken, newer != rejected { return newer }
        } catch let error as CloudStorageError {
            throw error
        } catch {
            // The new token works all the same; the next request renews it again.
            logger.warning("Renewed token could not be stored", metadata: .keyed([.reason: "\(error)"]))
        }
        guard let token = fresh.accessToken else { throw .authorizationRevoked }
        return token
    }

    private func load() throws(CloudStorageError) -> (credentials: StoredCredentials, version: Int64)? {
        do {
            guard let sealed = try store.withSession({ try $0.credentials(of: user.userID) }) else { return nil }
            return (try sealer.open(sealed.record, from: .user(user.userID)), sealed.version)
        } catch {
            throw .localFailure(error)
        }
    }
}
