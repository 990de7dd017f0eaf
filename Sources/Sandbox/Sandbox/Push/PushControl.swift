import FoundationEssentials
import OpenSSLCrypto
import Posix

/// The control interface's routes about push: delivered notifications, and the state of tokens.
struct PushControl {
    let server: SandboxServer

    /// `/sandbox/pushes` and `/sandbox/push-tokens`.
    func respond(to request: SandboxRequest) throws -> SandboxResponse {
        switch (request.method, request.segments.last) {
        case ("GET", "pushes"):
            let token = request.query["token"]
            let pushes = server.withState { $0.pushes }.filter { token == nil || $0.token == token }
            return try SandboxResponse(200, entries: pushes)
        case ("DELETE", "pushes"):
            server.withState { $0.pushes = [] }
            return SandboxResponse(204)
        case ("POST", "push-tokens"): return try script(try ControlInterface.json(request))
        default: throw ControlError.methodNotAllowed
        }
    }

    private func script(_ json: JSONValue) throws(ControlError) -> SandboxResponse {
        guard let token = json["token"]?.string, !token.isEmpty else {
            throw .badRequest("token must be a device token")
        }
        let word = json["outcome"]?.string ?? PushTokenScript.Outcome.delivered.rawValue
        guard let outcome = PushTokenScript.Outcome(rawValue: word) else {
            let words = PushTokenScript.Outcome.allCases.map(\.rawValue).joined(separator: ", ")
            throw .badRequest("outcome must be one of \(words)")
        }
        let environment = json["environment"]?.string
        guard [nil, "production", "sandbox"].contains(environment) else {
            throw .badRequest("environment must be production or sandbox")
        }
        let since = json["sinceSecondsAgo"]?.double ?? 0
        let script = PushTokenScript(
            outcome: outcome, environment: environment, topic: json["topic"]?.string,
            since: server.now.addingTimeInterval(-since))
        server.withState { $0.pushTokens[token] = script }
        return SandboxResponse(201, json: ["token": .string(token), "outcome": .string(word)])
    }
}

/// A notification accepted by an emulated push service, as it would appear on a device.
struct DeliveredPush: Encodable, Sendable {
    /// The maximum number of notifications kept, the newest ones.
    static let capacity = 5_000

    let time: Date
    /// `apns` or `fcm`.
    let service: String
    /// `production` or `sandbox`; APNs only.
    let environment: String?
    let token: String
    let text: String
    /// The sender's identifier: a second notification with the same one replaces the first on the screen.
    let id: String
}

/// How the push services respond to a token from now on, set by a test.
struct PushTokenScript: Sendable, Equatable {
    enum Outcome: String, Sendable, CaseIterable {
        /// The token works.
        case delivered
        /// The app was removed from the device.
        case unregistered
        /// The service has never seen the token.
        case bad
        /// Too many notifications for this device.
        case rateLimited
    }

    var outcome = Outcome.delivered
    /// The only APNs environment that knows the token; `nil` for both.
    var environment: String?
    /// The app at Apple to which the token belongs; `nil` for the main one.
    var topic: String?
    /// When the device was unregistered; only used with `unregistered`.
    var since: Date
}

/// The app maker's push keys; the emulated services know their public halves.
///
/// The sandbox's operator puts the private keys into its directory: `apns-key.pem` (P-256) and `fcm-key.pem` (RSA).
/// They are read again for each check, which is cheap enough here.
struct PushKeys {
    let directory: StateDirectory

    /// The key for Apple's provider tokens, or `nil`.
    var apns: PublicKey? { key("apns-key.pem") }
    /// The key of the service account, or `nil`.
    var fcm: PublicKey? { key("fcm-key.pem") }

    private func key(_ name: String) -> PublicKey? {
        guard let text = try? TextFile.read(directory.path + "/" + name) else { return nil }
        return try? PrivateKey(pem: String(decoding: text, as: UTF8.self)).publicKey
    }
}

/// A signed token (RFC 7515), parsed and with a verified signature.
struct CheckedToken {
    let header: JSONValue
    let claims: JSONValue

    /// `nil` if the text is not a token of `algorithm` signed by `key`.
    /// - Parameter isAnySignatureGood: skips the signature check; a deliberate defect.
    init?(_ text: String, algorithm: String, key: PublicKey?, isAnySignatureGood: Bool) {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, let key, let header = Self.json(parts[0]), let claims = Self.json(parts[1]),
            header["alg"]?.string == algorithm, let signature = [UInt8](base64URL: parts[2]),
            isAnySignatureGood || key.verifies(signature, over: Array("\(parts[0]).\(parts[1])".utf8))
        else { return nil }
        self.header = header
        self.claims = claims
    }

    private static func json(_ part: Substring) -> JSONValue? {
        [UInt8](base64URL: part).flatMap { try? JSONValue(parsing: $0) }
    }
}
