public import Foundation
import SyncProtocol
import Synchronization

/// Signs a user in with the browser of their computer (RFC 8252). On a phone, and in apps from Apple's App Store, use
/// ``WebSessionSignIn``.
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
        guard case .loopback(let host, _) = scheme.program.redirect else {
            throw SignInError(.misconfigured, "not a loopback redirect")
        }
        let listener = try LoopbackListener(host: host, ports: scheme.ports)
        let attempts = try Attempts(scheme, port: listener.port, appName: appName)
        try await withBrowser(at: attempts.program.url) { () async throws(SignInError) in
            try await listener.serve(for: timeout) { attempts.respond(to: $0) }
        }
        let outcome = try attempts.outcome()
        return try await TokenClient(scheme: scheme, transport: transport, now: now).credentials(
            outcome.code, of: attempts.program, grant: outcome.grant)
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
            guard case .loopback(let host, let path) = scheme.program.redirect,
                case .loopback(host, let other) = client.redirect, path != other
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

    func outcome() throws(SignInError) -> (code: String, grant: AccountCredentials.ServerGrant?) {
        let answers = answers.withLock { $0 }
        guard let program = answers.program else { throw SignInError(.failed, "no answer") }
        let code = try program.code()
        guard let server else { return (code, nil) }
        guard let answer = answers.server else { throw SignInError(.failed, "no answer") }
        return (code, server.grant(try answer.code()))
    }
}
