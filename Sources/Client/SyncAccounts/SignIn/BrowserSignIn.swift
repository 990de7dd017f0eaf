public import Foundation
import StorageHashes
import SyncProtocol
import Synchronization

/// Signs a user in with the browser on their machine (RFC 8252).
///
/// Opens the provider's page, waits on loopback for the browser's redirect with the program's code, redirects the
/// browser to get the server's code, and exchanges the program's code. Each attempt has its own state, PKCE verifier
/// and, unless the provider requires otherwise, port.
public struct BrowserSignIn: Sendable {
    private let scheme: AccountScheme
    private let transport: ProviderTransport
    private let appName: String
    private let timeout: Duration
    private let now: @Sendable () -> Date
    private let openBrowser: @Sendable (URL) async throws -> Void

    /// - Parameters:
    ///   - appName: shown on the final page.
    ///   - timeout: the user's time limit for both pages together.
    ///   - openBrowser: opens a URL in the system's browser, not in a view of the program's own (RFC 8252, section
    ///     8.12); an error that it throws ends the sign-in.
    public init(
        _ scheme: AccountScheme, transport: ProviderTransport = .system(), appName: String,
        timeout: Duration = .seconds(300), now: @escaping @Sendable () -> Date = { Date() },
        openBrowser: @escaping @Sendable (URL) async throws -> Void
    ) {
        self.scheme = scheme
        self.transport = transport
        self.appName = appName
        self.timeout = timeout
        self.now = now
        self.openBrowser = openBrowser
    }

    /// Signs in, and returns the user's credentials with a code for the server.
    /// - Throws: ``SignInError``: denied, timed out, cancelled, or the provider's error.
    public func signIn() async throws(SignInError) -> AccountCredentials {
        let listener = try LoopbackListener(host: scheme.program.redirect.host, ports: scheme.ports)
        let attempts = try Attempts(scheme, port: listener.port, appName: appName)
        try await withBrowser(at: attempts.program.url) { () async throws(SignInError) in
            try await listener.serve(for: timeout) { attempts.respond(to: $0) }
        }
        let outcome = try attempts.outcome()
        let client = TokenClient(scheme: scheme, transport: transport, now: now)
        let tokens = try await client.exchange(outcome.programCode, of: attempts.program)
        var credentials = client.credentials(tokens, of: try await client.person(of: tokens))
        if let server = attempts.server, let code = outcome.serverCode {
            credentials.serverGrant = AccountCredentials.ServerGrant(
                code: code, redirectURI: server.redirectURI.rawValue, codeVerifier: server.proof.verifier.rawValue)
        }
        return credentials
    }

    /// Runs `body` while the browser is being opened, and ends it if that fails.
    private func withBrowser(
        at url: URL, _ body: @escaping @Sendable () async throws(SignInError) -> Void
    ) async throws(SignInError) {
        let openBrowser = openBrowser
        do {
            try await withThrowingTaskGroup(of: Bool.self) { group in
                group.addTask {
                    try await body()
                    return true
                }
                group.addTask {
                    do { try await openBrowser(url) } catch {
                        throw SignInError(Task.isCancelled ? .cancelled : .browserUnavailable)
                    }
                    return false
                }
                // The opener may return immediately, or together with the user's answer; only the answer counts.
                while try await group.next() == false {}
                group.cancelAll()
            }
        } catch let error as SignInError { throw error } catch { throw SignInError(.failed) }
    }
}

/// The authorization requests of one sign-in and the answers received so far.
private final class Attempts: Sendable {
    private struct Answers {
        var program: AuthorizationAttempt.Answer?
        var server: AuthorizationAttempt.Answer?
    }

    let program: AuthorizationAttempt
    let server: AuthorizationAttempt?
    private let appName: String
    private let answers = Mutex(Answers())

    init(_ scheme: AccountScheme, port: UInt16, appName: String) throws(SignInError) {
        program = try AuthorizationAttempt(scheme.program, of: scheme, port: port)
        if let client = scheme.server {
            guard client.redirect.host == scheme.program.redirect.host,
                client.redirect.path != scheme.program.redirect.path
            else { throw SignInError(.misconfigured, "both codes have the same redirect path") }
            server = try AuthorizationAttempt(client, of: scheme, port: port)
        } else {
            server = nil
        }
        self.appName = appName
    }

    /// Only the first answer to each request counts; the server's code is not requested before the program's has
    /// arrived.
    func respond(to target: RequestTarget) -> LoopbackReply {
        let foreign = LoopbackReply(status: 400, text: "This is not the answer that \(appName) is waiting for.")
        if program.isAddressed(by: target) {
            guard let answer = program.answer(in: target) else { return foreign }
            let isFirst = answers.withLock { answers in
                guard answers.program == nil else { return false }
                answers.program = answer
                return true
            }
            guard isFirst else { return foreign }
            guard case .code = answer else { return ending(answer) }
            guard let server else { return ending(answer) }
            return LoopbackReply(status: 302, location: server.url.absoluteString, text: "One more question follows.")
        }
        if let server, server.isAddressed(by: target) {
            guard let answer = server.answer(in: target) else { return foreign }
            let isFirst = answers.withLock { answers in
                guard answers.program != nil, answers.server == nil else { return false }
                answers.server = answer
                return true
            }
            return isFirst ? ending(answer) : foreign
        }
        return .notFound
    }

    private func ending(_ answer: AuthorizationAttempt.Answer) -> LoopbackReply {
        let text =
            switch answer {
            case .code: "You are signed in to \(appName). You may close this window."
            case .refusal: "You are not signed in to \(appName). You may close this window."
            }
        return LoopbackReply(status: 200, text: text, isLast: true)
    }

    func outcome() throws(SignInError) -> (programCode: String, serverCode: String?) {
        let answers = answers.withLock { $0 }
        guard case .code(let programCode)? = answers.program else { throw Self.error(answers.program) }
        guard server != nil else { return (programCode, nil) }
        guard case .code(let serverCode)? = answers.server else { throw Self.error(answers.server) }
        return (programCode, serverCode)
    }

    /// RFC 6749, section 4.1.2.1.
    private static func error(_ answer: AuthorizationAttempt.Answer?) -> SignInError {
        guard case .refusal(let word)? = answer else { return SignInError(.failed, "no answer") }
        let plain = String(word.filter { $0.isASCII && ($0.isLetter || $0 == "_") }.prefix(64))
        return switch plain {
        case "access_denied": SignInError(.denied)
        case "temporarily_unavailable", "server_error": SignInError(.providerUnavailable, plain)
        default: SignInError(.misconfigured, plain)
        }
    }
}

/// One authorization request to the user in the browser, which recognises its answer (RFC 6749, section 4.1.1; RFC
/// 7636).
struct AuthorizationAttempt: Sendable {
    /// The answer that the browser returned.
    enum Answer: Sendable, Equatable {
        case code(String)
        /// The provider's error code (RFC 6749, section 4.1.2.1).
        case refusal(String)
    }

    let redirectURI: LoopbackRedirectURI
    let proof: ProofKey
    private let state: String
    /// The page to open in the browser.
    let url: URL

    init(
        _ client: OAuthClient, of scheme: AccountScheme, port: UInt16, proof: ProofKey = ProofKey(),
        state: String = RandomText.make(octets: 24)
    ) throws(SignInError) {
        guard
            let redirectURI = LoopbackRedirectURI(host: client.redirect.host, port: port, path: client.redirect.path)
        else { throw SignInError(.misconfigured, "redirect path \(client.redirect.path)") }
        var items = [
            ("client_id", client.clientID), ("redirect_uri", redirectURI.rawValue), ("response_type", "code"),
            ("state", state), ("code_challenge", proof.challenge), ("code_challenge_method", "S256"),
        ]
        if !client.scopes.isEmpty { items.append(("scope", client.scopes.joined(separator: " "))) }
        items += client.parameters.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
        guard let url = URL(string: scheme.authorizationEndpoint + "?" + FormText.encode(items)) else {
            throw SignInError(.misconfigured, "authorization endpoint")
        }
        (self.redirectURI, self.proof, self.state, self.url) = (redirectURI, proof, state, url)
    }

    /// Whether a request's path belongs to this attempt.
    func isAddressed(by target: RequestTarget) -> Bool { target.path == redirectURI.path }

    /// The answer in a request to the redirect URI; `nil` if it answers another request, or is not an answer.
    ///
    /// A request with a duplicate parameter is not an answer (RFC 6749, section 3.1).
    func answer(in target: RequestTarget) -> Answer? {
        guard isAddressed(by: target), let given = target.single("state"), isEqual(given, state) else { return nil }
        switch (target.single("code"), target.single("error")) {
        case (let code?, nil) where !code.isEmpty: return .code(code)
        case (nil, let error?): return .refusal(error)
        default: return nil
        }
    }

    /// Compares in constant time, so that timing does not reveal where two texts differ.
    private func isEqual(_ one: String, _ other: String) -> Bool {
        let (one, other) = (Array(one.utf8), Array(other.utf8))
        guard one.count == other.count else { return false }
        return zip(one, other).reduce(UInt8(0)) { $0 | ($1.0 ^ $1.1) } == 0
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
