public import SyncProtocol

/// Why a request produced no result.
///
/// New codes may be added: switch over ``code`` with a default case, and use ``isRetryable`` there. Expected
/// concurrency between devices, such as a stale master version, is an outcome and never an error.
public struct ServerConnectionError: Error, Sendable {
    /// The kind of error, which determines the remedy.
    public struct Code: RawRepresentable, Sendable, Hashable, CustomStringConvertible {
        /// The name of the code.
        public let rawValue: String

        /// Creates a code from its name.
        public init(rawValue: String) {
            self.rawValue = rawValue
        }

        /// The name of the code.
        public var description: String { rawValue }

        /// The task was cancelled; whether the server has processed the request is unknown.
        public static let cancelled = Self(rawValue: "cancelled")
        /// No connection to the server: wait for the network.
        public static let notConnected = Self(rawValue: "notConnected")
        /// The connection was lost before the reply was complete; whether the server has processed the request is
        /// unknown.
        public static let connectionLost = Self(rawValue: "connectionLost")
        /// The reply did not arrive in time; whether the server has processed the request is unknown.
        public static let timedOut = Self(rawValue: "timedOut")
        /// The server's identity could not be verified: nothing was sent.
        public static let untrustedServer = Self(rawValue: "untrustedServer")
        /// Nobody is signed in, or the server accepts none of the user's credentials: ask the user to sign in.
        public static let signInRequired = Self(rawValue: "signInRequired")
        /// New credentials are needed, and their provider cannot be reached now.
        public static let credentialsUnavailable = Self(rawValue: "credentialsUnavailable")
        /// The server is older than the app requires. All further requests fail with this error
        /// until ``ServerConnection/checkServerVersion()`` succeeds.
        public static let serverVersionTooOld = Self(rawValue: "serverVersionTooOld")
        /// The server is temporarily closed (503); ``ServerConnectionError/maintenanceMessage`` may contain the reason.
        public static let serverUnavailable = Self(rawValue: "serverUnavailable")
        /// The server is busy (408, 429): retry after ``ServerConnectionError/retryAfter``.
        public static let busy = Self(rawValue: "busy")
        /// The server, or a service behind it, failed (5xx).
        public static let serverFailed = Self(rawValue: "serverFailed")
        /// The server refuses the request (4xx); ``ServerConnectionError/serverCode`` identifies the reason.
        public static let refused = Self(rawValue: "refused")
        /// The requested object is permanently out of reach (410).
        public static let gone = Self(rawValue: "gone")
        /// The server is of an older generation, which does not support this.
        public static let notSupported = Self(rawValue: "notSupported")
        /// The reply does not conform to the protocol, or comes from an intermediary between client and server.
        public static let invalidReply = Self(rawValue: "invalidReply")
        /// The received bytes differ from the server's announcement.
        public static let contentMismatch = Self(rawValue: "contentMismatch")
        /// The file to be sent cannot be read.
        public static let fileUnreadable = Self(rawValue: "fileUnreadable")
        /// The received bytes cannot be stored: is the disk full?
        public static let fileUnwritable = Self(rawValue: "fileUnwritable")
        /// The request cannot be sent in this form.
        public static let invalidRequest = Self(rawValue: "invalidRequest")
    }

    /// The kind of error, which determines the remedy.
    public var code: Code
    /// The requested endpoint; nil if none.
    public var endpoint: EndpointName?
    /// The reply's status; nil if there was no reply.
    public var status: Int?
    /// The server's error code; nil if it sent none.
    public var serverCode: ServerErrorCode?
    /// The id under which the server logged the request: useful to the server's operators.
    public var requestID: String?
    /// The type of the account to sign in with instead; only with ``ServerErrorCode/accountRetired``.
    public var activeAccountType: AccountType?
    /// The account switch that is in progress; only with ``ServerErrorCode/switchInProgress``.
    public var accountSwitchID: AccountSwitchID?
    /// The time until which this device can undo the switch that retired the account; only with
    /// ``ServerErrorCode/accountRetired``, and nil if it cannot.
    public var undoUntil: WireDate?
    /// The time from which the device's grant can begin a switch; only with ``ServerErrorCode/grantTooYoung``.
    public var usableFrom: WireDate?
    /// Whether the same request may succeed later without any other change.
    public var isRetryable: Bool
    /// The minimum time to wait before a retry, if the server or its stand-in specifies one; mostly with ``Code/busy``
    /// and ``Code/serverUnavailable``.
    public var retryAfter: Duration?
    /// The reason for ``Code/gone``.
    public var goneReason: GoneReason?
    /// With ``Code/serverUnavailable``: the operator's message, or the reply's message to people; nil without either.
    /// One line of at most 1,000 characters, without markup.
    public var maintenanceMessage: String?
    /// The underlying error, for the developer's log.
    public var underlyingError: (any Error)?
    /// A description by the server or the library, for the developer's log.
    public var detail: String?

    /// Creates an error.
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
    /// Code, endpoint and the reference to the server's log; safe to show and to log.
    public var description: String {
        var parts = [code.rawValue]
        if let endpoint { parts.append("in \(endpoint.rawValue)") }
        if let status { parts.append("status \(status)") }
        if let serverCode { parts.append(serverCode.rawValue) }
        if let requestID { parts.append("request \(requestID)") }
        return parts.joined(separator: ", ")
    }

    /// ``description`` with the underlying error.
    public var debugDescription: String {
        var text = description
        if let detail { text += ": \(detail)" }
        if let underlyingError { text += " (\(String(reflecting: underlyingError)))" }
        return text
    }
}
