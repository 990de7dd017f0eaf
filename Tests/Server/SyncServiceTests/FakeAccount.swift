import Dispatch
import Providers
import SyncProtocol
import Synchronization

/// A sign-in service that accepts every token `good NAME`, and exchanges any code once. A code that begins with `no
/// refresh` yields no refresh token, like Google's from the second consent on.
struct FakeAccount: AccountProvider {
    var accountType: AccountType
    let acceptsPasswords = false
    var exchanges = Exchanges()

    /// The exchanged codes and the revoked grants, and actions during these calls.
    final class Exchanges: Sendable {
        private let used = Mutex<Set<String>>([])
        private let asked = Mutex<[String]>([])
        private let named = Mutex<[[String?]]>([])
        private let given = Mutex<[StoredCredentials]>([])
        private let meanwhile = Mutex<(@Sendable () -> Void)?>(nil)
        private let meanwhileOfToken = Mutex<(@Sendable () -> Void)?>(nil)
        private let presented = Mutex<[String]>([])
        private let barrier = Mutex<DispatchSemaphore?>(nil)
        private let ended = Mutex<Set<String>>([])
        private let obstacle = Mutex<AccountError?>(nil)

        /// The tokens that the service was asked to verify, in order.
        var tokens: [String] { presented.withLock { $0 } }
        /// The codes that the service was asked to exchange, in order.
        var codes: [String] { asked.withLock { $0 } }
        /// Redirect URI and verifier sent with each code.
        var details: [[String?]] { named.withLock { $0 } }
        /// The revoked grants.
        var revoked: [StoredCredentials] { given.withLock { $0 } }

        /// Makes every call fail from now on; `nil` ends that.
        func fail(_ error: AccountError?) { obstacle.withLock { $0 = error } }

        func revoke(_ credentials: StoredCredentials) throws(AccountError) {
            meanwhile.withLock { $0.take() }?()
            if let error = obstacle.withLock({ $0 }) { throw error }
            given.withLock { $0.append(credentials) }
        }

        /// Runs `body` during the next exchange.
        func during(_ body: @escaping @Sendable () -> Void) { meanwhile.withLock { $0 = body } }

        /// Runs `body` when the next token is verified, which this service does not exchange.
        func duringToken(_ body: @escaping @Sendable () -> Void) { meanwhileOfToken.withLock { $0 = body } }

        /// Rejects a token from now on.
        func end(_ token: String) { ended.withLock { _ = $0.insert(token) } }

        /// Blocks all token verifications until ``release()``.
        func hold() { barrier.withLock { $0 = DispatchSemaphore(value: 0) } }

        /// Ends ``hold()`` for the blocked caller.
        func release() { barrier.withLock { $0.take() }?.signal() }

        /// Whether a token has not been ended.
        func accepts(_ token: String) -> Bool {
            presented.withLock { $0.append(token) }
            barrier.withLock { $0 }?.wait()
            return ended.withLock { !$0.contains(token) }
        }

        func lookAtToken() { meanwhileOfToken.withLock { $0.take() }?() }

        /// Whether the code is used for the first time.
        func use(_ presented: PresentedCode) throws(AccountError) -> Bool {
            let code = presented.value
            named.withLock { $0.append([presented.redirectURI, presented.verifier?.rawValue]) }
            asked.withLock { $0.append(code) }
            meanwhile.withLock { $0.take() }?()
            if let error = obstacle.withLock({ $0 }) { throw error }
            return used.withLock { $0.insert(code).inserted }
        }
    }

    func exchange(
        code presented: PresentedCode, of profile: SignInProfile, through client: AccountClient
    ) throws(AccountError) -> StoredCredentials? {
        let code = presented.value
        guard try exchanges.use(presented) else { throw .codeRejected }
        return StoredCredentials(
            accessToken: "server's", refreshToken: code.hasPrefix("no refresh") ? nil : "from \(code)")
    }

    func exchange(
        _ presented: PresentedCredentials, of profile: SignInProfile, through client: AccountClient
    ) throws(AccountError) -> StoredCredentials? {
        nil
    }

    func revoke(_ stored: StoredCredentials, through client: AccountClient) throws(AccountError) {
        try exchanges.revoke(stored)
    }

    func verify(
        _ presented: PresentedCredentials, through client: AccountClient
    ) throws(AccountError) -> SignInProfile {
        switch presented.accessToken {
        case "down": throw .unavailable(detail: "s3cret")
        case "slow": throw .timedOut
        case "misconfigured": throw .misconfigured(detail: "s3cret")
        default:
            guard exchanges.accepts(presented.accessToken), presented.accessToken.hasPrefix("good ") else {
                throw .rejected
            }
            let name = String(presented.accessToken.dropFirst(5))
            return SignInProfile(providerUserID: name, displayName: name)
        }
    }

    func checkRegistration(through client: AccountClient) throws(AccountError) {}

    func credentials(from presented: PresentedCredentials) -> StoredCredentials {
        exchanges.lookAtToken()
        return StoredCredentials(accessToken: presented.accessToken)
    }
}
