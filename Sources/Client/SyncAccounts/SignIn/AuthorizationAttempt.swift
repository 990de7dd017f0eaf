import Foundation
import StorageHashes
import SyncProtocol

/// One authorization request to the user in the browser, which recognises its answer (RFC 6749, section 4.1.1; RFC
/// 7636).
struct AuthorizationAttempt: Sendable {
    /// The answer that the browser returned.
    enum Answer: Sendable, Equatable {
        case code(String)
        /// The provider's error code (RFC 6749, section 4.1.2.1).
        case refusal(String)

        func code() throws(SignInError) -> String {
            switch self {
            case .code(let code): return code
            case .refusal(let word):
                let plain = String(word.filter { $0.isASCII && ($0.isLetter || $0 == "_") }.prefix(64))
                switch plain {
                case "access_denied": throw SignInError(.denied)
                case "temporarily_unavailable", "server_error": throw SignInError(.providerUnavailable, plain)
                default: throw SignInError(.misconfigured, plain)
                }
            }
        }
    }

    /// As providers compare it, character by character.
    let redirectURI: String
    let proof: ProofKey
    private let state: String
    /// The page to open in the browser.
    let url: URL

    /// - Parameter port: the listener's port; nil for a redirect to the app.
    init(
        _ client: OAuthClient, of scheme: AccountScheme, port: UInt16? = nil, proof: ProofKey = ProofKey(),
        state: String = RandomText.make(octets: 24)
    ) throws(SignInError) {
        guard let redirectURI = client.redirect.uri(port: port) else {
            throw SignInError(.misconfigured, "redirect \(client.redirect)")
        }
        var items = [
            ("client_id", client.clientID), ("redirect_uri", redirectURI), ("response_type", "code"),
            ("state", state), ("code_challenge", proof.challenge), ("code_challenge_method", "S256"),
        ]
        if !client.scopes.isEmpty { items.append(("scope", client.scopes.joined(separator: " "))) }
        items += client.parameters.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
        guard let url = URL(string: scheme.authorizationEndpoint + "?" + FormText.encode(items)) else {
            throw SignInError(.misconfigured, "authorization endpoint")
        }
        (self.redirectURI, self.proof, self.state, self.url) = (redirectURI, proof, state, url)
    }

    /// Whether a request to the listener belongs to this attempt.
    func isAddressed(by target: RequestTarget) -> Bool { target.path == LoopbackRedirectURI(redirectURI)?.path }

    /// The answer in a request to the listener; `nil` if it answers another request, or is not an answer.
    func answer(in target: RequestTarget) -> Answer? {
        isAddressed(by: target) ? answer(inQueryOf: target) : nil
    }

    /// The answer in an address that the system passed to the app; `nil` if it answers another request, or is not an
    /// answer.
    ///
    /// The scheme is compared case-insensitively (RFC 3986, section 3.1), the rest exactly. A fragment is ignored, as it
    /// never contains a code.
    func answer(in callback: URL) -> Answer? {
        let halves = callback.absoluteString.prefix { $0 != "#" }.split(separator: "?", maxSplits: 1)
        guard halves.count == 2, let address = halves.first, Self.canonical(address) == Self.canonical(redirectURI[...])
        else { return nil }
        return RequestTarget("/?" + halves[1]).flatMap(answer(inQueryOf:))
    }

    /// A request with a duplicate parameter is not an answer (RFC 6749, section 3.1).
    private func answer(inQueryOf target: RequestTarget) -> Answer? {
        guard let given = target.single("state"), isEqual(given, state) else { return nil }
        switch (target.single("code"), target.single("error")) {
        case (let code?, nil) where !code.isEmpty: return .code(code)
        case (nil, let error?): return .refusal(error)
        default: return nil
        }
    }

    /// What the server needs to exchange the code of this attempt.
    func grant(_ code: String) -> AccountCredentials.ServerGrant {
        AccountCredentials.ServerGrant(
            code: code, redirectURI: redirectURI, codeVerifier: proof.verifier.rawValue)
    }

    private static func canonical(_ uri: Substring) -> String {
        let scheme = uri.prefix { $0 != ":" }
        return scheme.lowercased() + uri.dropFirst(scheme.count)
    }

    /// Compares in constant time, so that timing does not reveal where two texts differ.
    private func isEqual(_ one: String, _ other: String) -> Bool {
        let (one, other) = (Array(one.utf8), Array(other.utf8))
        guard one.count == other.count else { return false }
        return zip(one, other).reduce(UInt8(0)) { $0 | ($1.0 ^ $1.1) } == 0
    }
}

extension OAuthClient.Redirect {
    /// The complete URI; nil if it cannot be one, or if `port` does not fit its kind.
    fileprivate func uri(port: UInt16?) -> String? {
        switch (self, port) {
        case (.loopback(let host, let path), let port?):
            return LoopbackRedirectURI(host: host, port: port, path: path)?.rawValue
        case (.app(let uri), nil):
            // Plain http would show the code to the network.
            guard let url = URL(string: uri), let scheme = url.scheme?.lowercased(), scheme != "http",
                url.query() == nil, url.fragment() == nil,
                scheme != "https" || url.host()?.isEmpty == false && url.port == nil
            else { return nil }
            return uri
        case (.loopback, nil), (.app, .some): return nil
        }
    }
}

/// A verifier and its challenge (RFC 7636), new for each code that is requested.
struct ProofKey: Sendable {
    let verifier: CodeVerifier

    /// 32 random octets yield a verifier of 43 characters (RFC 7636, section 4.1).
    init() {
        guard let verifier = CodeVerifier(RandomText.make(octets: 32)) else {
            preconditionFailure("43 characters of base64url are a verifier")
        }
        self.verifier = verifier
    }

    init(verifier: CodeVerifier) { self.verifier = verifier }

    /// The challenge of the method S256 (RFC 7636, section 4.2).
    var challenge: String {
        RandomText.base64URL(FileDigest.digest(of: Array(verifier.rawValue.utf8), .sha256))
    }
}

/// Unguessable texts.
enum RandomText {
    /// `count` octets from the system's random number generator, as base64url.
    static func make(octets count: Int) -> String {
        var generator = SystemRandomNumberGenerator()
        return base64URL((0..<count).map { _ in UInt8.random(in: .min ... .max, using: &generator) })
    }

    /// RFC 4648, section 5, without padding.
    static func base64URL(_ bytes: [UInt8]) -> String {
        Data(bytes).base64EncodedString()
            .replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    }
}
