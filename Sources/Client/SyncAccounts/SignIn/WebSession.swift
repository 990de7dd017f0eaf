#if canImport(AuthenticationServices) && !os(tvOS) && !os(watchOS)
    import AuthenticationServices
    import Foundation

    /// One page in the system's web session, which ends when the provider redirects to the app, or when the user or the
    /// task cancels it.
    @MainActor
    final class WebSession: NSObject, ASWebAuthenticationPresentationContextProviding {
        private let anchor: @MainActor @Sendable () -> ASPresentationAnchor
        private var session: ASWebAuthenticationSession?
        /// `nil` once the outcome is known: a cancelled session may still report one of its own.
        private var continuation: CheckedContinuation<URL, any Error>?

        init(anchor: @escaping @MainActor @Sendable () -> ASPresentationAnchor) { self.anchor = anchor }

        func run(_ page: URL, until redirect: URL, isEphemeral: Bool) async throws -> URL {
            try await withTaskCancellationHandler {
                try await withCheckedThrowingContinuation { continuation in
                    self.continuation = continuation
                    // `@Sendable`, since the system does not promise to call it on the main thread.
                    let session = ASWebAuthenticationSession(url: page, callback: Self.callback(redirect)) {
                        @Sendable url, error in
                        Task { @MainActor in
                            self.finish(Result { if let url { url } else { throw error ?? CancellationError() } })
                        }
                    }
                    session.presentationContextProvider = self
                    session.prefersEphemeralWebBrowserSession = isEphemeral
                    self.session = session
                    if !session.start() { finish(.failure(SignInError(.browserUnavailable, "not started"))) }
                }
            } onCancel: {
                Task { @MainActor in
                    self.session?.cancel()
                    self.finish(.failure(CancellationError()))
                }
            }
        }

        func presentationAnchor(for session: ASWebAuthenticationSession) -> ASPresentationAnchor { anchor() }

        private func finish(_ result: Result<URL, any Error>) {
            continuation?.resume(with: result)
            continuation = nil
            session = nil
        }

        /// An address with https requires that its host names the app (associated domains, `webcredentials`).
        private static func callback(_ redirect: URL) -> ASWebAuthenticationSession.Callback {
            guard redirect.scheme?.lowercased() == "https" else { return .customScheme(redirect.scheme ?? "") }
            return .https(host: redirect.host() ?? "", path: redirect.path())
        }
    }
#endif
