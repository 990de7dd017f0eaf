internal import JSONWebTokens
internal import Synchronization

/// Authenticates the sender to APNs with a signed token, which is reused while it is valid.
///
/// Apple accepts a new token at most every 20 minutes and rejects tokens older than an hour:
/// https://developer.apple.com/documentation/usernotifications/establishing-a-token-based-connection-to-apns
final class ProviderToken: Sendable {
    /// How long a token is used, in seconds.
    static let lifetimeSeconds: Int64 = 45 * 60
    /// The minimum age of a token, in seconds, before it may be replaced; a more frequent change makes Apple reply with
    /// 429 (TooManyProviderTokenUpdates).
    static let minimumAgeSeconds: Int64 = 20 * 60

    private struct Issued {
        var text: String
        var issuedAt: Int64
    }

    private let teamID: String
    private let keyID: String
    private let key: SigningKey
    private let now: @Sendable () -> Int64
    private let issued = Mutex<Issued?>(nil)

    init(teamID: String, keyID: String, key: SigningKey, now: @escaping @Sendable () -> Int64) {
        self.teamID = teamID
        self.keyID = keyID
        self.key = key
        self.now = now
    }

    /// The current token.
    func current() throws(PushError) -> String {
        let time = now()
        return try issued.withLock { issued throws(PushError) in
            if let issued, (0..<Self.lifetimeSeconds).contains(time - issued.issuedAt) { return issued.text }
            let new = try sign(at: time)
            issued = new
            return new.text
        }
    }

    /// Replaces a token that APNs reports as expired; another thread may have done so already.
    /// - Throws: ``PushError/misconfigured(detail:)`` if the token is so recent that the clocks must differ; a new
    ///   token would not help.
    func replacement(for expired: String) throws(PushError) -> String {
        let time = now()
        let isTooYoung = issued.withLock { issued in
            guard let known = issued, known.text == expired else { return false }
            guard time - known.issuedAt >= Self.minimumAgeSeconds else { return true }
            issued = nil
            return false
        }
        guard !isTooYoung else { throw .misconfigured(detail: "ExpiredProviderToken; is the clock right?") }
        return try current()
    }

    private func sign(at time: Int64) throws(PushError) -> Issued {
        let claims = Claims(iss: teamID, iat: time - JSONWebToken.clockAllowanceSeconds)
        do {
            return Issued(text: try JSONWebToken.signed(claims, keyID: keyID, with: key), issuedAt: time)
        } catch {
            throw .misconfigured(detail: "the key cannot sign")
        }
    }

    private struct Claims: Encodable {
        let iss: String
        let iat: Int64
    }
}
