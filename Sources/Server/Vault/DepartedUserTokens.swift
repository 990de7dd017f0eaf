import HTTPTransport
import Providers
import Store
import SyncProtocol

/// The access token of a removed user, for as long as it takes to clear their storage.
///
/// Only the jobs role uses it, so nobody else renews it; if two workers renew it at once, the later result is kept.
final class DepartedUserTokens: AccessTokens {
    private let user: UserRecord
    private var credentials: StoredCredentials
    private let vault: CredentialVault
    private let account: any AccountProvider
    private let transport: Transport
    private let backoff: Backoff

    /// - Parameter credentials: the tokens from the user's row.
    init(
        user: UserRecord, credentials: StoredCredentials, vault: CredentialVault, account: any AccountProvider,
        transport: Transport, backoff: Backoff
    ) {
        self.user = user
        self.credentials = credentials
        self.vault = vault
        self.account = account
        self.transport = transport
        self.backoff = backoff
    }

    var accountKey: Int64 { user.userID.rawValue }
    var location: String? { credentials.location }

    func current() throws(CloudStorageError) -> String {
        guard let token = credentials.usableToken else { throw .authorizationRevoked }
        return token
    }

    func renewed(insteadOf rejected: String, by deadline: Deadline) throws(CloudStorageError) -> String {
        if let token = credentials.accessToken, token != rejected { return token }
        do {
            let client = AccountClient(transport: transport, deadline: deadline, backoff: backoff)
            credentials = credentials.updated(with: try account.refresh(credentials, through: client))
        } catch {
            throw CloudStorageError(ofRenewal: error)
        }
        do {
            // A provider may accept the old refresh token only once.
            try vault.replace(credentials, ofDeparted: user.userID)
        } catch {
            throw .localFailure(error)
        }
        return try current()
    }
}
