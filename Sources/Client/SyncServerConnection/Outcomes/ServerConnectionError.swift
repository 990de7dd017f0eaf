import Foundation
import HTTPTypes
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
    /// The type of the account to sign in with instead; only with ``ErrorCode/accountRetired``.
    public var activeAccountType: AccountType?
    /// The account switch that is in progress; only with ``ErrorCode/switchInProgress``.
    public var accountSwitchID: AccountSwitchID?
    /// The time until which this device can undo the switch that retired the account; only with
    /// ``ErrorCode/accountRetired``, and nil if it cannot.
    public var undoUntil: WireDate?
    /// The time from which the device's grant can begin a switch; only with ``ErrorCode/grantTooYoung``.
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

/// The `code` of an error reply (docs/protocol.md, section 4.2), which may be newer than this library.
///
/// Later releases add codes to ``ErrorCode``: switch over it with a default case.
public enum ServerErrorCode: Sendable, Hashable, CustomStringConvertible {
    /// A code of the protocol's table.
    case known(ErrorCode)
    /// A code that this release of the library does not know.
    case unknown(String)

    /// Creates a code from its name in a reply.
    public init(rawValue: String) {
        self = ErrorCode(rawValue: rawValue).map(Self.known) ?? .unknown(rawValue)
    }

    /// The name in a reply.
    public var rawValue: String {
        switch self {
        case .known(let code): code.rawValue
        case .unknown(let name): name
        }
    }

    /// The name in a reply.
    public var description: String { rawValue }
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

extension ServerConnectionError {
    /// The error for a request without a reply.
    init(_ failure: TransportFailure, endpoint: EndpointName) {
        let (code, isRetryable): (Code, Bool) =
            switch failure.kind {
            case .notConnected: (.notConnected, true)
            case .interrupted: (.connectionLost, true)
            case .timedOut: (.timedOut, true)
            case .cancelled: (.cancelled, true)
            case .untrusted: (.untrustedServer, false)
            case .fileUnreadable: (.fileUnreadable, false)
            case .fileUnwritable: (.fileUnwritable, false)
            case .malformed: (.invalidReply, true)
            }
        self.init(code, endpoint: endpoint, isRetryable: isRetryable, underlyingError: failure.underlying)
    }

    /// The error for a reply that is not a success.
    init(_ reply: HTTPReply, endpoint: EndpointName, now: Date) {
        let body = try? JSONDecoder().decode(ReceivedErrorBody.self, from: reply.body)
        let serverCode = reply.header(.errorCode) ?? body?.code
        let status = reply.response.status.code
        let code = Self.code(status, serverCode, endpoint)
        self.init(
            code, endpoint: endpoint, status: status, serverCode: serverCode.map(ServerErrorCode.init(rawValue:)),
            requestID: body?.requestId, isRetryable: body?.retryable ?? Self.isRetryable(status),
            retryAfter: reply.header(HTTPField.Name.retryAfter).flatMap { RetryAfter.duration($0, now: now) },
            goneReason: body?.goneReason, detail: body?.error ?? body?.detail)
        activeAccountType = reply.header(.activeAccountType).flatMap(AccountType.init(rawValue:))
        accountSwitchID = body?.switchId
        undoUntil = body?.undoUntil
        usableFrom = body?.usableFrom
        // The messages of other codes are for developers.
        let forPeople = [ErrorCode.maintenance, .restoring].map(\.rawValue)
        if code == .serverUnavailable, serverCode.map({ forPeople.contains($0) }) ?? true {
            maintenanceMessage = ServiceMessage(reply)?.text
        }
    }

    /// The error for a reply that an intermediary between client and server has generated: it reveals nothing about the
    /// user, the file or the group.
    init(foreign reply: HTTPReply, endpoint: EndpointName) {
        let status = reply.response.status.code
        // 413, 414, 431: the proxy's limits; a retry of the same request would have the same size.
        self.init(
            .invalidReply, endpoint: endpoint, status: status, isRetryable: ![413, 414, 431].contains(status),
            detail: "the reply is not from a SyncServer")
    }

    /// Classifies the statuses of docs/protocol.md, section 4.1.
    private static func code(_ status: Int, _ serverCode: String?, _ endpoint: EndpointName) -> Code {
        switch status {
        case 401: .signInRequired
        // An older server supports neither the path nor this error code.
        case 404, 405:
            endpoint.isExtension && (serverCode == nil || serverCode == ErrorCode.endpointUnknown.rawValue)
                ? .notSupported : .refused
        case 410: .gone
        case 408, 429: .busy
        case 503: .serverUnavailable
        case 400..<500: .refused
        case 500..<600: .serverFailed
        default: .invalidReply
        }
    }

    /// For servers that do not report it: client errors are not retryable.
    private static func isRetryable(_ status: Int) -> Bool {
        switch status {
        case 408, 429: true
        case 400..<500: false
        case 507: false
        default: true
        }
    }
}

extension EndpointName {
    /// Whether the endpoint is missing from servers of older generations.
    var isExtension: Bool {
        switch self {
        case .discardUploads, .getSharingInvitations, .revokeSharingInvitation, .getSharingGroupMembers,
            .updateSharingGroupMember, .removeSharingGroupMember, .revokeDeviceGrants,
            .beginAccountSwitch, .confirmAccountSwitch, .getAccountSwitchStatus, .reuploadFile, .finishAccountSwitch,
            .cancelAccountSwitch, .undoAccountSwitch, .createUpload, .uploadOptions, .getUploadOffset, .appendToUpload,
            .abandonUpload, .uploadSmallFiles:
            true
        default: false
        }
    }
}

extension HTTPReply {
    /// The message of a reply with the status 200.
    /// - Throws: ``ServerConnectionError/Code/invalidReply``.
    func message<Message: ResponseMessage>(
        of endpoint: EndpointName, as type: Message.Type = Message.self
    ) throws(ServerConnectionError) -> Message {
        let json: Data
        switch endpoint.route.responseKind {
        case .json: json = body
        case .header, .data: json = Data((header(.messageParams) ?? "").utf8)
        }
        do {
            return try JSONDecoder().decode(Message.self, from: json)
        } catch {
            throw ServerConnectionError(
                .invalidReply, endpoint: endpoint, status: response.status.code, isRetryable: true,
                underlyingError: error)
        }
    }

    /// Whether a reply counts as the server's, and not as that of a proxy or a network's sign-in page.
    ///
    /// Servers send their version with every reply. SyncServerII omits it from a 401, which has no body. The library
    /// accepts from any sender that the service is closed, busy or broken.
    /// - Parameter extensions: The known extensions of the server.
    func isFromServer(of extensions: ServerExtensions) -> Bool {
        guard header(.serverVersion) == nil, header(.errorCode) == nil else { return true }
        switch response.status.code {
        case 401: return extensions != .present && body.isEmpty && response.headerFields[.wwwAuthenticate] == nil
        case 408, 429, 500...: return true
        default: return false
        }
    }
}

/// A reply's message to people while the service is closed: one line of text, from any sender. The server sends JSON,
/// an operator's own page or a proxy sends HTML, a `FailoverMessage` is plain text.
struct ServiceMessage {
    /// Maximum length of a message, in characters.
    private static let maximumCharacters = 1_000
    /// Larger bodies are not messages.
    private static let maximumBytes = 64 << 10

    /// Not empty; without markup, line breaks and control characters.
    let text: String

    /// Nil if the reply contains no message.
    init?(_ reply: HTTPReply) {
        guard reply.body.count <= Self.maximumBytes, let body = String(data: reply.body, encoding: .utf8) else {
            return nil
        }
        let type = reply.header(HTTPField.Name.contentType)?.lowercased() ?? ""
        let trimmed = body.trimmingCharacters(in: .whitespacesAndNewlines)
        let message: String
        if type.contains("json") || trimmed.hasPrefix("{") {
            guard let member = Self.member(of: reply.body) else { return nil }
            message = member
        } else if type.contains("html") || trimmed.hasPrefix("<") {
            message = Self.withoutMarkup(trimmed)
        } else {
            message = trimmed
        }
        let line = message.unicodeScalars
            .split { CharacterSet.whitespacesAndNewlines.contains($0) || CharacterSet.controlCharacters.contains($0) }
            .map { String(String.UnicodeScalarView($0)) }.joined(separator: " ")
        guard !line.isEmpty else { return nil }
        text = String(line.prefix(Self.maximumCharacters))
    }

    private struct OtherBody: Decodable {
        var message: String?
    }

    /// The message in JSON: the server's, that of problem details (RFC 9457) or of other formats, or a single string.
    private static func member(of json: Data) -> String? {
        let decoder = JSONDecoder()
        if let text = try? decoder.decode(String.self, from: json) { return text }
        let body = try? decoder.decode(ReceivedErrorBody.self, from: json)
        let others = try? decoder.decode(OtherBody.self, from: json)
        return body?.error ?? body?.detail ?? others?.message ?? body?.title
    }

    /// The displayed text of a page.
    private static func withoutMarkup(_ page: String) -> String {
        // Inline elements leave no space behind; others do.
        let patterns = [
            (#"(?is)<!--.*?-->|<(head|script|style)\b.*?</\1\s*>"#, " "),
            (#"(?i)</?(a|abbr|b|code|em|i|small|span|strong|u)(\s[^>]*)?>"#, ""), (#"<[^>]*>"#, " "),
        ]
        var text = page
        for (pattern, replacement) in patterns {
            text = text.replacingOccurrences(of: pattern, with: replacement, options: .regularExpression)
        }
        // Escaped characters and spaces. Ampersands come last, since they begin the other entities.
        for (entity, character) in [
            ("&nbsp;", " "), ("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'"), ("&apos;", "'"),
            ("&amp;", "&"),
        ] { text = text.replacingOccurrences(of: entity, with: character) }
        return text
    }
}
