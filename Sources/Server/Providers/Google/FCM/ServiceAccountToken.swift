internal import FoundationEssentials
internal import HTTPTransport
internal import JSONWebTokens
internal import Synchronization
import UntrustedInput

/// The access token of a service account, fetched when needed and used until shortly before it expires.
///
/// https://developers.google.com/identity/protocols/oauth2/service-account#httprest (RFC 7523, section 2.1)
final class ServiceAccountToken: Sendable {
    private static let url = "https://oauth2.googleapis.com/token"
    private static let scope = "https://www.googleapis.com/auth/firebase.messaging"
    /// How long before its expiry a token is no longer used, in seconds.
    private static let marginSeconds: Int64 = 120

    private struct Fetched {
        var text: String
        var expiresAt: Int64
    }

    private let account: ServiceAccount
    private let now: @Sendable () -> Int64
    private let fetched = Mutex<Fetched?>(nil)

    init(of account: ServiceAccount, now: @escaping @Sendable () -> Int64) {
        self.account = account
        self.now = now
    }

    /// The current token. Two threads may fetch one at the same time; both tokens are valid.
    func current(through client: PushClient) throws(PushError) -> String {
        let time = now()
        if let known = fetched.withLock({ $0 }), known.expiresAt - Self.marginSeconds > time { return known.text }
        let new = try fetch(at: time, through: client)
        fetched.withLock { $0 = new }
        return new.text
    }

    /// Replaces a rejected token.
    func replacement(for refused: String, through client: PushClient) throws(PushError) -> String {
        fetched.withLock { if $0?.text == refused { $0 = nil } }
        return try current(through: client)
    }

    private struct Claims: Encodable {
        let iss: String
        let scope: String
        let aud: String
        let iat: Int64
        let exp: Int64
    }

    private struct Body: Decodable {
        var accessToken: String?
        var expiresIn: Int64?
        var error: String?

        enum CodingKeys: String, CodingKey {
            case accessToken = "access_token"
            case expiresIn = "expires_in"
            case error
        }
    }

    private func fetch(at time: Int64, through client: PushClient) throws(PushError) -> Fetched {
        let issuedAt = time - JSONWebToken.clockAllowanceSeconds
        let claims = Claims(
            iss: account.email, scope: Self.scope, aud: Self.url, iat: issuedAt, exp: issuedAt + 3_600)
        let assertion: String
        do { assertion = try JSONWebToken.signed(claims, keyID: account.keyID, with: account.key) } catch {
            throw .misconfigured(detail: "the service account's key cannot sign")
        }
        let reply = try client.send(
            .form(
                .google, .token, Self.url,
                [
                    (name: "grant_type", value: "urn:ietf:params:oauth:grant-type:jwt-bearer"),
                    (name: "assertion", value: assertion),
                ]))
        let body = try? UntrustedJSON.decode(Body.self, from: reply.body)
        switch reply.status {
        case 200:
            guard let text = body?.accessToken, !text.isEmpty else {
                throw .unavailable(detail: "no access token in the reply")
            }
            return Fetched(text: text, expiresAt: time + (body?.expiresIn ?? 3_600))
        case 429: throw .rateLimited(retryAfter: reply.head.retryAfter)
        case 500...: throw .unavailable(detail: "status \(reply.status) for an access token")
        default: throw .misconfigured(detail: "service account rejected: \(PushError.word(body?.error))")
        }
    }
}
