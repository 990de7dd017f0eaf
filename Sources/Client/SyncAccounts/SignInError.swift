/// Why a sign-in, a refresh or the storage of credentials failed.
///
/// Safe to log: it contains no token, code or personal address.
public struct SignInError: Error, Sendable, Hashable {
    /// The kind of failure, which determines the remedy. More may be added; treat an unknown code like ``failed``.
    public struct Code: RawRepresentable, Sendable, Hashable {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The user denied access at the provider. Nothing can be done until they try again.
        public static let denied = Code(rawValue: "denied")
        /// The browser did not deliver an answer in time.
        public static let timedOut = Code(rawValue: "timed_out")
        /// The task was cancelled, or the user closed the sign-in page.
        public static let cancelled = Code(rawValue: "cancelled")
        /// No port for the redirect is free.
        public static let portUnavailable = Code(rawValue: "port_unavailable")
        /// The browser, or the system's web session, could not be opened.
        public static let browserUnavailable = Code(rawValue: "browser_unavailable")
        /// The provider is unavailable; a later retry may succeed.
        public static let providerUnavailable = Code(rawValue: "provider_unavailable")
        /// The user must sign in again.
        public static let signInRequired = Code(rawValue: "sign_in_required")
        /// The provider refuses the program itself: its client id, secret, scopes or redirect URI are wrong.
        public static let misconfigured = Code(rawValue: "misconfigured")
        /// Stored credentials cannot be read or written.
        public static let storageFailed = Code(rawValue: "storage_failed")
        /// The keychain cannot be read before the device is unlocked for the first time after its start; a later retry
        /// may succeed.
        public static let storageLocked = Code(rawValue: "storage_locked")
        /// The credentials file is accessible to other users of the computer, or not owned by the caller.
        public static let storageInsecure = Code(rawValue: "storage_insecure")
        /// Any other failure.
        public static let failed = Code(rawValue: "failed")
    }

    public let code: Code
    /// For a log: the provider's error code, a system call, a status.
    public let detail: String

    public init(_ code: Code, _ detail: String = "") {
        self.code = code
        self.detail = detail
    }
}

extension SignInError: CustomStringConvertible {
    public var description: String { detail.isEmpty ? code.rawValue : "\(code.rawValue): \(detail)" }
}
