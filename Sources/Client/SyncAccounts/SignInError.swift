/// Why a sign-in, a refresh or the storage of credentials failed.
///
/// Safe to log: no token, code or address of a person is in it.
public struct SignInError: Error, Sendable, Hashable {
    /// What the caller can do about it. More may be added; treat an unknown one like ``failed``.
    public struct Code: RawRepresentable, Sendable, Hashable {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The person said no, at the provider. Nothing to do until they try again.
        public static let denied = Code(rawValue: "denied")
        /// Nobody came back from the browser in time.
        public static let timedOut = Code(rawValue: "timed_out")
        /// The task was cancelled.
        public static let cancelled = Code(rawValue: "cancelled")
        /// No port for the redirect is free.
        public static let portUnavailable = Code(rawValue: "port_unavailable")
        /// The browser could not be opened.
        public static let browserUnavailable = Code(rawValue: "browser_unavailable")
        /// The provider cannot be asked now; the same may work later.
        public static let providerUnavailable = Code(rawValue: "provider_unavailable")
        /// Only the person can help, by signing in anew.
        public static let signInRequired = Code(rawValue: "sign_in_required")
        /// The provider refuses the program itself: client id, secret, scopes or redirect URI are wrong.
        public static let misconfigured = Code(rawValue: "misconfigured")
        /// The stored credentials cannot be read or written.
        public static let storageFailed = Code(rawValue: "storage_failed")
        /// The file with the credentials is open to other users of the computer, or not the caller's own.
        public static let storageInsecure = Code(rawValue: "storage_insecure")
        /// Anything else.
        public static let failed = Code(rawValue: "failed")
    }

    public let code: Code
    /// For a log: the provider's own word, a system call, a status.
    public let detail: String

    public init(_ code: Code, _ detail: String = "") {
        self.code = code
        self.detail = detail
    }
}

extension SignInError: CustomStringConvertible {
    public var description: String { detail.isEmpty ? code.rawValue : "\(code.rawValue): \(detail)" }
}
