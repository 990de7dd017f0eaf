import Accounts
import SyncProtocol
import Synchronization

/// A sign-in service that knows whoever presents `good NAME`, and exchanges any code once.
struct FakeAccount: AccountProvider {
    var accountType: AccountType
    var exchanges = Exchanges()

    /// The codes that were exchanged, and what happens while that is being done.
    final class Exchanges: Sendable {
        private let used = Mutex<Set<String>>([])
        private let meanwhile = Mutex<(@Sendable () -> Void)?>(nil)

        /// Has `body` run during the next exchange.
        func during(_ body: @escaping @Sendable () -> Void) { meanwhile.withLock { $0 = body } }

        /// Whether the code is used for the first time.
        func use(_ code: String) -> Bool {
            meanwhile.withLock { $0.take() }?()
            return used.withLock { $0.insert(code).inserted }
        }
    }

    func exchange(
        code: String, of profile: SignInProfile, through client: AccountClient
    ) throws(AccountError) -> StoredCredentials? {
        guard exchanges.use(code) else { throw .codeRejected }
        return StoredCredentials(accessToken: "server's", refreshToken: "from \(code)", codeHash: "hash of \(code)")
    }

    func verify(
        _ presented: PresentedCredentials, through client: AccountClient
    ) throws(AccountError) -> SignInProfile {
        switch presented.accessToken {
        case "down": throw .unavailable(detail: "s3cret")
        case "slow": throw .timedOut
        case "misconfigured": throw .misconfigured(detail: "s3cret")
        default:
            guard presented.accessToken.hasPrefix("good ") else { throw .rejected }
            let name = String(presented.accessToken.dropFirst(5))
            return SignInProfile(providerUserID: name, displayName: name)
        }
    }

    func credentials(from presented: PresentedCredentials) -> StoredCredentials {
        StoredCredentials(accessToken: presented.accessToken)
    }
}
