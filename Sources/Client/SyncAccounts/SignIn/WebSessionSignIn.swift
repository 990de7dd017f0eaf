public import Foundation
import SyncProtocol

#if canImport(AuthenticationServices) && !os(tvOS) && !os(watchOS)
    public import AuthenticationServices
#endif

/// Signs a user in with pages that the system shows in front of the app, without giving the app access to them (RFC
/// 8252, appendix B.1): on Apple's platforms with `ASWebAuthenticationSession`, on Android with a custom tab.
///
/// Shows the provider's page for the program's code, then the one for the server's code, which the provider usually
/// answers after one tap, and exchanges the program's code. Each page has its own state and PKCE verifier.
public struct WebSessionSignIn: Sendable {
    /// Shows `page` until the provider redirects to `redirect`, and returns that address with its query.
    ///
    /// If the user closes the page, it throws `ASWebAuthenticationSessionError.canceledLogin`, `CancellationError` or
    /// ``SignInError/Code/cancelled``; any other error means that the page could not be shown. SwiftUI's
    /// `WebAuthenticationSession.authenticate(using:callback:additionalHeaderFields:)` has this form.
    public typealias Session = @Sendable (_ page: URL, _ redirect: URL) async throws -> URL

    private let scheme: AccountScheme
    private let transport: ProviderTransport
    private let now: @Sendable () -> Date
    private let session: Session

    /// - Parameter scheme: one with redirects to the app, such as
    ///   ``AccountScheme/googleApp(clientID:serverClientID:serverRedirect:)``.
    public init(
        _ scheme: AccountScheme, transport: ProviderTransport = .system(),
        now: @escaping @Sendable () -> Date = { Date() }, session: @escaping Session
    ) {
        self.scheme = scheme
        self.transport = transport
        self.now = now
        self.session = session
    }

    /// Signs in, and returns the user's credentials with a code for the server.
    /// - Throws: ``SignInError``: denied, cancelled, or the provider's error.
    public func signIn() async throws(SignInError) -> AccountCredentials {
        // Both are prepared first: a wrong setting must not surface after the first page.
        let program = try AuthorizationAttempt(scheme.program, of: scheme)
        let server: AuthorizationAttempt? =
            if let client = scheme.server { try AuthorizationAttempt(client, of: scheme) } else { nil }
        let code = try await code(of: program)
        var grant: AccountCredentials.ServerGrant?
        if let server { grant = server.grant(try await self.code(of: server)) }
        return try await TokenClient(scheme: scheme, transport: transport, now: now).credentials(
            code, of: program, grant: grant)
    }

    private func code(of attempt: AuthorizationAttempt) async throws(SignInError) -> String {
        guard let redirect = URL(string: attempt.redirectURI) else { throw SignInError(.misconfigured, "redirect") }
        let callback: URL
        do { callback = try await session(attempt.url, redirect) } catch { throw SignInError(ofSession: error) }
        // Another app, or a page, may have sent this address: only the state shows that it answers our request.
        guard let answer = attempt.answer(in: callback) else { throw SignInError(.failed, "not the expected answer") }
        return try answer.code()
    }
}

extension SignInError {
    fileprivate init(ofSession error: any Error) {
        if let error = error as? SignInError {
            self = error
            return
        }
        var isCancelled = error is CancellationError || Task.isCancelled
        #if canImport(AuthenticationServices) && !os(tvOS) && !os(watchOS)
            if let error = error as? ASWebAuthenticationSessionError { isCancelled = error.code == .canceledLogin }
        #endif
        self.init(isCancelled ? .cancelled : .browserUnavailable)
    }
}

#if canImport(AuthenticationServices) && !os(tvOS) && !os(watchOS)
    extension WebSessionSignIn {
        /// Signs in with the system's web session.
        /// - Parameters:
        ///   - isEphemeral: whether the pages share no cookies with the browser, nor with each other: the user then
        ///     enters their password on both, and can use an account other than the browser's.
        ///   - anchor: the window in front of which the pages appear, called for each of them.
        public init(
            _ scheme: AccountScheme, transport: ProviderTransport = .system(), isEphemeral: Bool = false,
            anchor: @escaping @MainActor @Sendable () -> ASPresentationAnchor
        ) {
            self.init(scheme, transport: transport) { page, redirect in
                try await WebSession(anchor: anchor).run(page, until: redirect, isEphemeral: isEphemeral)
            }
        }
    }
#endif
