import CCurl

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
    /// Certificate verification or TLS negotiation failed; no part of the request was sent. Do not retry: the operator
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
    /// The server does not support the HTTP version that the request requires. The request was still sent.
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

extension CurlError {
    /// Maps a `CURLcode` to an error (libcurl-errors(3)).
    ///
    /// - Parameter sentBytes: bytes of the request that libcurl passed to the connection.
    init(_ code: CURLcode, message: String, sentBytes: Int) {
        switch code {
        // libcurl uses these two for replies as well: a header of more than 100 KB, and bytes that are not HTTP. The
        // server may have carried out the request then.
        case CURLE_OUT_OF_MEMORY where sentBytes > 0, CURLE_UNSUPPORTED_PROTOCOL where sentBytes > 0:
            self = .interrupted(code: code.rawValue, message: message)

        case CURLE_OUT_OF_MEMORY, CURLE_FAILED_INIT:
            self = .outOfMemory

        case CURLE_URL_MALFORMAT, CURLE_UNSUPPORTED_PROTOCOL, CURLE_BAD_FUNCTION_ARGUMENT, CURLE_UNKNOWN_OPTION,
            CURLE_NOT_BUILT_IN:
            self = .invalidRequest(reason: "libcurl code \(code.rawValue)")

        // OpenSSL found no fault: the connection broke during the handshake, as when a load balancer restarts.
        case CURLE_SSL_CONNECT_ERROR where !message.contains("error:") || message.contains("unexpected eof"):
            self = .notSent(code: code.rawValue, message: message)

        case CURLE_SSL_CONNECT_ERROR, CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CACERT_BADFILE,
            CURLE_SSL_CERTPROBLEM, CURLE_SSL_CIPHER, CURLE_SSL_ISSUER_ERROR, CURLE_SSL_INVALIDCERTSTATUS,
            CURLE_SSL_ENGINE_INITFAILED, CURLE_USE_SSL_FAILED, CURLE_SSL_PINNEDPUBKEYNOTMATCH:
            self = .tls(code: code.rawValue, message: message)

        case _ where sentBytes == 0:
            self = .notSent(code: code.rawValue, message: message)

        case CURLE_OPERATION_TIMEDOUT:
            // Both share one code; only the text from libcurl's lib/speedcheck.c distinguishes them.
            self = message.hasPrefix("Operation too slow") ? .tooSlow(message: message) : .timedOut(message: message)

        case CURLE_PARTIAL_FILE:
            self = .partial(message: message)

        default:
            self = .interrupted(code: code.rawValue, message: message)
        }
    }

    /// The error of a transfer that has ended with `code`.
    ///
    /// - Parameters:
    ///   - errorText: the text in CURLOPT_ERRORBUFFER(3).
    ///   - mayHaveBeenSent: whether the server may have seen the request although libcurl counted none of its bytes.
    init(
        _ code: CURLcode, of handle: UnsafeMutableRawPointer, _ errorText: UnsafeMutableBufferPointer<CChar>,
        mayHaveBeenSent: Bool = false
    ) {
        let written = unsafe errorText.baseAddress.map { unsafe String(cString: $0) } ?? ""
        let message = written.isEmpty ? unsafe String(cString: curl_easy_strerror(code)) : written
        // Bytes of head and body that libcurl passed to the connection (CURLINFO_REQUEST_SIZE(3)).
        var headBytes = 0
        var bodyBytes: curl_off_t = 0
        _ = unsafe shim_curl_getinfo_long(handle, CURLINFO_REQUEST_SIZE, &headBytes)
        _ = unsafe shim_curl_getinfo_offset(handle, CURLINFO_SIZE_UPLOAD_T, &bodyBytes)
        self.init(code, message: message, sentBytes: max(headBytes + Int(bodyBytes), mayHaveBeenSent ? 1 : 0))
    }
}
