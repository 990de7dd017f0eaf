/// Why a request got no complete response, classified by what the caller can do about it.
///
/// `code` is the `CURLcode` (libcurl-errors(3)), `message` libcurl's text. The text may name hosts and addresses; it
/// appears in `debugDescription`, for logs that only operators read, never in `description`.
public enum CurlError: Error, Equatable, Sendable {
    /// No connection was established, or it broke before any byte of the request was sent: nothing has happened, and
    /// any request may be retried.
    case notSent(code: UInt32, message: String)
    /// The request may not connect to any of the host's addresses (``Request/Reach``): nothing was sent.
    case forbiddenAddress
    /// Certificate verification or TLS negotiation failed; nothing of the request was sent. Do not retry: the operator
    /// must investigate.
    case tls(code: UInt32, message: String)
    /// The connection broke after the request was sent, wholly or in part: it may have taken effect, or not.
    case interrupted(code: UInt32, message: String)
    /// The total timeout expired after the request was sent, wholly or in part: it may have taken effect, or not.
    case timedOut(message: String)
    /// The transfer stayed below the low-speed limit for the low-speed time, after the request was sent, wholly or in
    /// part: it may have taken effect, or not.
    case tooSlow(message: String)
    /// The response ended before all announced bytes had arrived.
    case partial(message: String)
    /// The response body is larger than the request's limit, or its headers exceed 256 KiB; the rest was not read.
    case responseTooLarge(limitBytes: Int)
    /// The server does not support the HTTP version that the request requires. The request was sent nevertheless.
    case otherHTTPVersion
    /// The caller's own closure stopped the transfer.
    case cancelled
    /// The request cannot be sent (URL, method or a header is malformed): a bug in our code. `reason` quotes nothing.
    case invalidRequest(reason: String)
    /// libcurl could not allocate memory.
    case outOfMemory
}

extension CurlError: CustomStringConvertible, CustomDebugStringConvertible {
    /// One sentence without host names or addresses, safe to show.
    public var description: String {
        switch self {
        case .notSent: "The server could not be reached."
        case .forbiddenAddress: "The host has no public address."
        case .tls: "A secure connection could not be established."
        case .interrupted: "The connection broke; the outcome is unknown."
        case .timedOut: "The request took too long; the outcome is unknown."
        case .tooSlow: "The transfer was too slow; the outcome is unknown."
        case .partial: "The response is incomplete."
        case .responseTooLarge(let limit): "The response is larger than \(limit) bytes."
        case .otherHTTPVersion: "The server does not support HTTP/2."
        case .cancelled: "The transfer was stopped."
        case .invalidRequest: "The request is malformed."
        case .outOfMemory: "Out of memory."
        }
    }

    /// Case, code and libcurl's own text: for operators' logs only.
    public var debugDescription: String {
        switch self {
        case .notSent(let code, let message): "not sent: \(code) \(message)"
        case .forbiddenAddress: "forbidden address"
        case .tls(let code, let message): "TLS: \(code) \(message)"
        case .interrupted(let code, let message): "interrupted: \(code) \(message)"
        case .timedOut(let message): "timed out: \(message)"
        case .tooSlow(let message): "too slow: \(message)"
        case .partial(let message): "partial: \(message)"
        case .responseTooLarge(let limit): "response larger than \(limit) bytes"
        case .otherHTTPVersion: "other HTTP version"
        case .cancelled: "cancelled"
        case .invalidRequest(let reason): "invalid request: \(reason)"
        case .outOfMemory: "out of memory"
        }
    }

    /// Whether the server may have acted on the request.
    public var mayHaveBeenSent: Bool {
        switch self {
        case .notSent, .forbiddenAddress, .tls, .invalidRequest, .outOfMemory: false
        case .interrupted, .timedOut, .tooSlow, .partial, .responseTooLarge, .otherHTTPVersion, .cancelled: true
        }
    }
}
