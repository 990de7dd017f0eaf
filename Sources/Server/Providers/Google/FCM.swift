import FoundationEssentials
import HTTPTransport
import HTTPTypes
import JSONWebTokens
import SyncProtocol
import Synchronization
import UntrustedInput

/// Firebase Cloud Messaging, version 1 of its HTTP interface.
///
/// https://firebase.google.com/docs/reference/fcm/rest/v1/projects.messages
public struct FCM: PushService {
    /// The largest message, in bytes. Google does not document exactly what is counted, so the limit applies to the
    /// whole body.
    static let maximumBodyBytes = 4_096
    /// How long to wait after "quota exceeded" if the reply specifies no time:
    /// https://firebase.google.com/docs/cloud-messaging/scale-fcm
    private static let quotaPause: Duration = .seconds(60)

    private let url: String
    private let token: ServiceAccountToken
    private let now: @Sendable () -> Int64
    private let accepted = AcceptedMessages()

    /// - Parameter now: seconds since 1970.
    public init(account: ServiceAccount, now: @escaping @Sendable () -> Int64) {
        url = "https://fcm.googleapis.com/v1/projects/\(PercentEncoding.encode(account.projectID))/messages:send"
        token = ServiceAccountToken(of: account, now: now)
        self.now = now
    }

    public func deliver(
        _ notification: PushNotification, to address: PushAddress, through client: PushClient
    ) throws(PushError) -> PushAddress {
        let body = body(notification, to: address.token)
        let accessToken = try token.current(through: client)
        var reply = try client.send(request(body, accessToken))
        if reply.status == 401, Self.errorCode(in: reply) != "THIRD_PARTY_AUTH_ERROR" {
            reply = try client.send(request(body, try token.replacement(for: accessToken, through: client)))
        }
        switch Self.error(in: reply) {
        case nil: accepted.note(notification.event)
        case .doubtful(let detail): throw accepted.judge([notification.event], rejectedWith: detail)
        case .some(let error): throw error
        }
        return address
    }

    private func request(_ body: [UInt8], _ accessToken: String) -> OutgoingRequest {
        OutgoingRequest(
            .fcm, .push, .post, url,
            headers: [.authorization: "Bearer " + accessToken, .contentType: "application/json"],
            body: .bytes(body[...]), replyLimitBytes: 64 * 1024)
    }

    private func body(_ notification: PushNotification, to deviceToken: String) -> [UInt8] {
        let lifetime = min(max(0, notification.expiresAt - now()), 2_419_200)
        let message: (String) -> [UInt8] = { text in
            Self.message(text, id: notification.id, lifetimeSeconds: lifetime, to: deviceToken)
        }
        return message(PushText.shortened(notification.text) { message($0).count <= Self.maximumBodyBytes })
    }

    /// The body of a request. The tag makes a repeated notification replace the first one on the screen. A collapse key
    /// would not suffice, since FCM keeps notifications with only four different keys for a device that is off.
    private static func message(
        _ text: String, id: String, lifetimeSeconds: Int64, to deviceToken: String
    ) -> [UInt8] {
        var writer = JSONWriter(reservingBytes: 512)
        writer.object { writer in
            writer.key("message")
            writer.object { writer in
                writer.field("token", text: deviceToken)
                writer.key("notification")
                writer.object { $0.field("body", text: text) }
                writer.key("android")
                writer.object { writer in
                    writer.field("priority", text: "HIGH")
                    writer.field("ttl", text: "\(lifetimeSeconds)s")
                    writer.key("notification")
                    writer.object { $0.field("tag", text: id) }
                }
                writer.key("apns")
                writer.object { writer in
                    writer.key("headers")
                    writer.object { $0.field("apns-collapse-id", text: id) }
                    writer.key("payload")
                    writer.object { writer in
                        writer.key("aps")
                        writer.object { $0.field("sound", text: "default") }
                    }
                }
            }
        }
        return writer.bytes
    }

    // MARK: Replies

    private struct Body: Decodable {
        struct Failure: Decodable {
            var status: String?
            var details: [Detail]?
        }
        struct Detail: Decodable {
            var errorCode: String?
        }
        var error: Failure?
    }

    private static func body(of reply: Reply) -> Body? { try? UntrustedJSON.decode(Body.self, from: reply.body) }

    /// FCM's own error code, if the reply has one.
    private static func errorCode(in reply: Reply) -> String? {
        body(of: reply)?.error?.details?.lazy.compactMap(\.errorCode).first
    }

    /// The error; `nil` if the reply is a success. https://firebase.google.com/docs/reference/fcm/rest/v1/ErrorCode
    static func error(in reply: Reply) -> PushError? {
        if reply.status == 200 { return nil }
        let code = errorCode(in: reply)
        let word = PushError.word(code ?? body(of: reply)?.error?.status)
        switch (reply.status, code) {
        case (404, "UNREGISTERED"): return .gone(since: nil)
        // FCM rejects the token or a part of the message.
        case (400, "INVALID_ARGUMENT"): return .doubtful(detail: "status 400 \(word)")
        case (401, _), (403, _), (404, _): return .misconfigured(detail: "status \(reply.status) \(word)")
        case (429, _): return .rateLimited(retryAfter: reply.head.retryAfter ?? quotaPause)
        case (503, _) where reply.head.retryAfter != nil: return .rateLimited(retryAfter: reply.head.retryAfter)
        case (500..., _): return .unavailable(detail: "status \(reply.status) \(word)")
        default: return .rejected(detail: "status \(reply.status) \(word)")
        }
    }
}

/// The account with which this server uses Firebase, as issued by Google in a JSON file.
public struct ServiceAccount: Sendable {
    /// The Firebase project.
    public let projectID: String
    let email: String
    let keyID: String?
    let key: SigningKey

    private struct Members: Decodable {
        var projectID: String
        var clientEmail: String
        var privateKeyID: String?
        var privateKey: String

        enum CodingKeys: String, CodingKey {
            case projectID = "project_id"
            case clientEmail = "client_email"
            case privateKeyID = "private_key_id"
            case privateKey = "private_key"
        }
    }

    /// Why a file is unusable.
    public enum Unusable: Error, CustomStringConvertible {
        case notAServiceAccount
        case badKey

        public var description: String {
            switch self {
            case .notAServiceAccount: "it must be JSON with project_id, client_email and private_key"
            case .badKey: "its private_key must be an RSA key in PEM"
            }
        }
    }

    /// Parses the text of such a file.
    public init(json: String) throws(Unusable) {
        guard let members = try? JSONDecoder().decode(Members.self, from: Data(json.utf8)),
            !members.projectID.isEmpty, !members.clientEmail.isEmpty
        else { throw .notAServiceAccount }
        projectID = members.projectID
        email = members.clientEmail
        keyID = members.privateKeyID
        do { key = try SigningKey(rs256PEM: members.privateKey) } catch { throw .badKey }
    }
}

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
