import SyncClient
import Synchronization
import TestSupport

/// The credentials of an account of the sandbox.
final class PersonCredentials: CredentialProvider {
    private struct State {
        var account: SandboxAccount
        var lostToken: String?
        var isSignedOut = false
        var refreshes = 0
    }

    private let state: Mutex<State>

    init(_ account: SandboxAccount) { state = Mutex(State(account: account)) }

    /// The number of refreshes.
    var refreshes: Int { state.withLock { $0.refreshes } }

    /// Invalidates the token; a refresh restores it.
    func forgetToken() { state.withLock { $0.lostToken = "expired" } }

    func signOut() { state.withLock { $0.isSignedOut = true } }

    /// Signs in with an account.
    func signIn(_ account: SandboxAccount) {
        state.withLock {
            $0.account = account
            $0.isSignedOut = false
        }
    }

    func credentials() async -> Credentials? {
        state.withLock { $0.isSignedOut ? nil : Self.made($0.account, $0.lostToken) }
    }

    func refresh(_ refused: Credentials) async throws -> Credentials {
        state.withLock {
            $0.refreshes += 1
            $0.lostToken = nil
            return Self.made($0.account, nil)
        }
    }

    private static func made(_ account: SandboxAccount, _ token: String?) -> Credentials {
        Credentials(
            accountType: AccountType(tokenType: account.header("X-token-type") ?? "") ?? .google,
            // Not always the access token: Microsoft users send their ID token here.
            accessToken: Secret(token ?? account.header("access_token") ?? account.accessToken),
            authorizationCode: account.header("SyncServer-authorization-code").map { Secret($0) },
            accountID: account.header("X-account-id"),
            microsoftAccessToken: account.header("X-microsoft-access-token").map { Secret($0) })
    }
}
