public import SyncProtocol

/// Why a request has not led to a result.
///
/// New codes may be added: switch over ``code`` with a default, and go by ``isRetryable`` there. What is expected to happen
/// between devices, such as a master version that is no longer the group's, is a result and never an error.
public struct ServerConnectionError: Error, Sendable {
    /// What the app can do about it.
    public struct Code: RawRepresentable, Sendable, Hashable, CustomStringConvertible {
        /// The name of the code.
        public let rawValue: String

        /// Names a code.
        public init(rawValue: String) {
            self.rawValue = rawValue
        }

        /// The name of the code.
        public var description: String { rawValue }

        /// The task was cancelled; whether the server has carried the request out is unknown.
        public static let cancelled = Self(rawValue: "cancelled")
        /// There is no way to the server: wait for the network.
        public static let notConnected = Self(rawValue: "notConnected")
        /// The connection ended before the reply did; whether the server has carried the request out is unknown.
        public static let connectionLost = Self(rawValue: "connectionLost")
        /// The reply did not come in time; whether the server has carried the request out is unknown.
        public static let timedOut = Self(rawValue: "timedOut")
        /// The server did not prove who it is: nothing was sent.
        public static let untrustedServer = Self(rawValue: "untrustedServer")
        /// Nobody is signed in, or the server accepts no credentials of the person: ask them to sign in.
        public static let signInRequired = Self(rawValue: "signInRequired")
        /// New credentials are needed, and their provider cannot be reached now.
        public static let credentialsUnavailable = Self(rawValue: "credentialsUnavailable")
        /// The server is older than the app can do with, or not a SyncServer. All further requests fail like this until
        /// ``ServerConnection/checkServerVersion()`` succeeds.
        public static let serverVersionTooOld = Self(rawValue: "serverVersionTooOld")
        /// The server is closed for now (503); ``ServerConnectionError/maintenanceMessage`` may say why.
        public static let serverUnavailable = Self(rawValue: "serverUnavailable")
        /// The server is busy (408, 429): try again after ``ServerConnectionError/retryAfter``.
        public static let busy = Self(rawValue: "busy")
        /// The server, or a service behind it, failed (5xx).
        public static let serverFailed = Self(rawValue: "serverFailed")
        /// The server refuses what was asked (4xx); ``ServerConnectionError/serverCode`` says why.
        public static let refused = Self(rawValue: "refused")
        /// What was asked for is out of reach for good (410).
        public static let gone = Self(rawValue: "gone")
        /// The server is of an older generation, which cannot do this.
        public static let notSupported = Self(rawValue: "notSupported")
        /// The reply is not one of the protocol.
        public static let invalidReply = Self(rawValue: "invalidReply")
        /// The bytes that came are not those that the server announced.
        public static let contentMismatch = Self(rawValue: "contentMismatch")
        /// The file to be sent cannot be read.
        public static let fileUnreadable = Self(rawValue: "fileUnreadable")
        /// The received bytes cannot be stored: is the disk full?
        public static let fileUnwritable = Self(rawValue: "fileUnwritable")
        /// The request cannot be sent as it is.
        public static let invalidRequest = Self(rawValue: "invalidRequest")
    }

    /// What the app can do about it.
    public var code: Code
    /// Which endpoint was asked; nil if none was.
    public var endpoint: EndpointName?
    /// The reply's status; nil if there was no reply.
    public var status: Int?
    /// What the server says the matter is; nil if it does not.
    public var serverCode: ServerErrorCode?
    /// Under which the server logged the request: worth showing to those who run it.
    public var requestID: String?
    /// Whether the same request may succeed later, with nothing changed by anybody.
    public var isRetryable: Bool
    /// How long to wait at least before that, if the server says so.
    public var retryAfter: Duration?
    /// Why something is gone, with ``Code/gone``.
    public var goneReason: GoneReason?
    /// What the operator has to say, with ``Code/serverUnavailable``.
    public var maintenanceMessage: String?
    /// What is behind it, for a log of the developer's.
    public var underlyingError: (any Error)?
    /// The server's sentence, or ours, for a log of the developer's.
    public var detail: String?

    /// Puts an error together.
    public init(
        _ code: Code, endpoint: EndpointName? = nil, status: Int? = nil, serverCode: ServerErrorCode? = nil,
        requestID: String? = nil, isRetryable: Bool = false, retryAfter: Duration? = nil, goneReason: GoneReason? = nil,
        maintenanceMessage: String? = nil, underlyingError: (any Error)? = nil, detail: String? = nil
    ) {
        self.code = code
        self.endpoint = endpoint
        self.status = status
        self.serverCode = serverCode
        self.requestID = requestID
        self.isRetryable = isRetryable
        self.retryAfter = retryAfter
        self.goneReason = goneReason
        self.maintenanceMessage = maintenanceMessage
        self.underlyingError = underlyingError
        self.detail = detail
    }
}

extension ServerConnectionError: CustomStringConvertible, CustomDebugStringConvertible {
    /// Code, endpoint and what ties it to the server's log; safe to show and to log.
    public var description: String {
        var parts = [code.rawValue]
        if let endpoint { parts.append("in \(endpoint.rawValue)") }
        if let status { parts.append("status \(status)") }
        if let serverCode { parts.append(serverCode.rawValue) }
        if let requestID { parts.append("request \(requestID)") }
        return parts.joined(separator: ", ")
    }

    /// The same with what is behind it.
    public var debugDescription: String {
        var text = description
        if let detail { text += ": \(detail)" }
        if let underlyingError { text += " (\(String(reflecting: underlyingError)))" }
        return text
    }
}
