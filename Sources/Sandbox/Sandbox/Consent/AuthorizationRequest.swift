import FoundationEssentials
import OpenSSLCrypto

/// An app's request to a person in the browser (RFC 6749, section 4.1.1), after the provider has validated it.
struct AuthorizationRequest: Sendable {
    let clientID: String
    /// The app's name, as shown on the page.
    let appName: String
    /// The browser's destination after the decision; `nil` to show the code for the person to copy.
    let redirectURI: String?
    let state: String?
    /// The requested scopes, by the provider's names.
    let scopes: [String]
    let challenge: CodeChallenge?
    /// Whether a refresh token is requested.
    let isOffline: Bool
    /// Whether consent is requested even if it was given before.
    let promptsConsent: Bool
    /// The user who is already signed in, by email address.
    let loginHint: String?

    /// The browser's destination with `items`; the state is last, if present.
    func redirect(_ items: [(name: String, value: String)]) -> String? {
        redirectURI.map { Self.address($0, items, state: state) }
    }

    static func address(_ uri: String, _ items: [(name: String, value: String)], state: String?) -> String {
        let all = items + (state.map { [(name: "state", value: $0)] } ?? [])
        return uri + (uri.contains("?") ? "&" : "?")
            + all.map { $0.name + "=" + PercentEncoding.encode($0.value) }.joined(separator: "&")
    }
}

/// The reason why a provider rejects an authorization request without asking the person.
enum AuthorizationRefusal: Error, Equatable {
    /// An error page for the person at the browser, because no trustworthy redirect URI of the app is known.
    case page(status: Int, code: String, text: String)
    /// The browser informs the app (RFC 6749, section 4.1.2.1).
    case redirect(to: String)
}

/// One provider's page on which people authorize apps.
protocol AuthorizationEndpoint {
    var server: SandboxServer { get }
    var provider: Provider { get }

    /// The validated request, if the provider would show it to a person.
    func request(in query: QueryItems) throws(AuthorizationRefusal) -> AuthorizationRequest

    /// The code for an account whose owner has consented.
    func code(for request: AuthorizationRequest, account: Account) -> AuthorizationCode

    /// Additional parameters that the app receives with the code.
    func extras(for request: AuthorizationRequest, granted: [String]) -> [(name: String, value: String)]

    /// The parameters that the app receives if the person denies access.
    var denial: [(name: String, value: String)] { get }
}

extension AuthorizationEndpoint {
    func extras(for request: AuthorizationRequest, granted: [String]) -> [(name: String, value: String)] { [] }

    /// Shows the page, or processes its form.
    func respond(to request: SandboxRequest) throws -> SandboxResponse {
        do throws(AuthorizationRefusal) {
            let asked = try self.request(in: request.query)
            guard request.method == "POST" else { return ConsentPage(self, asked).response(at: request) }
            return try decide(asked, request)
        } catch {
            switch error {
            case .redirect(let address): return .redirect(address)
            case .page(let status, let code, let text):
                server.note(request, "authorization-request", "\(code): \(text)")
                return ConsentPage.failure(status, code, text, provider: provider)
            }
        }
    }

    private func decide(
        _ asked: AuthorizationRequest, _ request: SandboxRequest
    ) throws(AuthorizationRefusal) -> SandboxResponse {
        let form = (try? request.readForm()) ?? QueryItems("")
        guard form["decision"] == "allow" else {
            guard let address = asked.redirect(denial) else {
                return ConsentPage.message("Nothing was granted.", provider: provider)
            }
            return .redirect(address)
        }
        let account = form["account"].flatMap { id in server.withState { $0.accounts[id] } }
        guard let account, account.provider == provider else {
            throw .page(status: 400, code: "invalid_request", text: "there is no such account")
        }
        let code = code(for: asked, account: account)
        do {
            try server.changeAccount(account.id) { $0.add(code) }
        } catch { throw .page(status: 500, code: "server_error", text: "\(error)") }
        let items = [(name: "code", value: code.value)] + extras(for: asked, granted: code.scopes ?? [])
        guard let address = asked.redirect(items) else {
            return ConsentPage.message("Enter this code in the app: \(code.value)", provider: provider)
        }
        return .redirect(address)
    }

    /// The challenge of a request; without a method, it is plain (RFC 7636, section 4.3).
    func challenge(in query: QueryItems) throws(AuthorizationRefusal) -> CodeChallenge? {
        guard let value = query["code_challenge"] else {
            guard query["code_challenge_method"] == nil else {
                throw .page(status: 400, code: "invalid_request", text: "code_challenge is missing")
            }
            return nil
        }
        guard let method = CodeChallenge.Method(rawValue: query["code_challenge_method"] ?? "plain") else {
            throw .page(status: 400, code: "invalid_request", text: "code_challenge_method is not S256 or plain")
        }
        let challenge = CodeChallenge(value, method: method)
        guard challenge.isWellFormed else {
            throw .page(status: 400, code: "invalid_request", text: "code_challenge has not 43 to 128 characters")
        }
        return challenge
    }
}

extension SandboxResponse {
    /// Redirects a browser.
    static func redirect(_ address: String) -> SandboxResponse {
        SandboxResponse(302, headers: [("Location", address), ("Cache-Control", "no-store")])
    }
}

/// A parsed redirect URI on the machine where the browser runs (RFC 8252, section 7.3).
struct LoopbackAddress: Equatable {
    /// The URI without its port, which providers ignore when they compare.
    let withoutPort: String
    /// Whether the host is a name, as Microsoft requires.
    let isNamed: Bool
    /// Empty, or begins with a slash.
    let path: String

    /// `nil` for a different kind of URI.
    init?(_ uri: String) {
        guard uri.hasPrefix("http://"), !uri.contains("#"), !uri.contains("@") else { return nil }
        let authority = uri.dropFirst(7).prefix { $0 != "/" && $0 != "?" }
        path = String(uri.dropFirst(7 + authority.count))
        guard let host = ["127.0.0.1", "[::1]", "localhost"].first(where: authority.hasPrefix) else { return nil }
        let port = authority.dropFirst(host.count)
        guard port.isEmpty || port.first == ":" && UInt16(port.dropFirst()).map({ $0 > 0 }) == true else { return nil }
        isNamed = host == "localhost"
        withoutPort = "http://" + host + path
    }
}

/// The challenge with which a code was requested; the client that redeems the code must answer it (RFC 7636, section
/// 4.2).
struct CodeChallenge: Codable, Sendable, Equatable {
    /// How the challenge is derived from the verifier.
    enum Method: String, Sendable {
        case plain
        case s256 = "S256"
    }

    let value: String
    let method: Method

    init(_ value: String, method: Method) {
        self.value = value
        self.method = method
    }

    /// The S256 challenge of a verifier.
    init(of verifier: String) {
        let digest = IncrementalDigest.digest(of: Array(verifier.utf8), .sha256)
        self.init(digest.base64URL, method: .s256)
    }

    /// The stored form of a plain challenge begins with this; a challenge itself contains no colon.
    private static let plainMark = "plain:"

    init(from decoder: any Decoder) throws {
        let text = try String(from: decoder)
        let isPlain = text.hasPrefix(Self.plainMark)
        self.init(isPlain ? String(text.dropFirst(Self.plainMark.count)) : text, method: isPlain ? .plain : .s256)
    }

    func encode(to encoder: any Encoder) throws {
        try ((method == .plain ? Self.plainMark : "") + value).encode(to: encoder)
    }

    /// Whether `verifier` is the secret for the challenge.
    func isAnswered(by verifier: String) -> Bool {
        switch method {
        case .plain: value == verifier
        case .s256: self == CodeChallenge(of: verifier)
        }
    }

    /// Whether the text is a well-formed challenge or verifier: 43 to 128 unreserved characters.
    var isWellFormed: Bool {
        (43...128).contains(value.utf8.count) && value.utf8.allSatisfy(PercentEncoding.isUnreserved)
    }
}
