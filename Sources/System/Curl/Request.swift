/// An HTTP request with its time and size limits.
public struct Request: Sendable {
    /// The part sent after the headers.
    public enum Body: Sendable {
        /// Nothing. POST, PUT and PATCH send `Content-Length: 0`.
        case none
        /// These bytes, which are not copied. If empty, all methods except GET and HEAD send `Content-Length: 0`.
        case bytes(ArraySlice<UInt8>)
        /// Bytes that may not all be available when the transfer begins.
        case arriving(ArrivingBody)

        /// The bytes of an array.
        public static func bytes(_ bytes: [UInt8]) -> Body { .bytes(bytes[...]) }
    }

    /// Which addresses a connection may go to.
    public enum Reach: Sendable {
        /// Any address of the host's name.
        case anywhere
        /// Only addresses in ``PublicAddresses``: for host names from users, which could refer to this machine or a
        /// neighbour. Checks the address that libcurl is about to connect to, so that a later answer of the name's
        /// owner cannot change it.
        ///
        /// Give such requests a separate ``EasyHandle``: an open connection is not checked again.
        case publicAddresses
    }

    /// The protocol version to ask for.
    public enum HTTPVersion: Sendable {
        /// HTTP/1.1 with one connection per handle: faster for bulk data.
        case http11
        /// HTTP/2 if the server offers it in the TLS handshake; otherwise HTTP/1.1.
        case http2
        /// HTTP/2, or the request fails: if the server does not offer it in the TLS handshake, libcurl still sends
        /// the request over HTTP/1.1, but no part of the response is passed on.
        case http2Only
    }

    /// The method, such as `GET`: a token of RFC 9110, section 9.1.
    public var method: String
    /// The absolute URL, percent-encoded.
    public var url: String
    /// Header fields in order, in addition to `Host`, `Accept: */*` and `Content-Length`. No form content type and no
    /// `Expect` is added. `Content-Length` and `Transfer-Encoding` are rejected, because the body determines them.
    public var headers: [(name: String, value: String)]
    /// The part sent after the headers.
    public var body: Body
    /// The protocol version to ask for; HTTP/1.1 by default.
    public var httpVersion: HTTPVersion = .http11
    /// Maximum time for name lookup, TCP and TLS together; 10 s by default.
    public var connectTimeout: Duration = .seconds(10)
    /// Maximum total time, or nil if only the low-speed rule ends the transfer; 30 s by default. An arriving body has
    /// ``ArrivingBody/patience`` instead.
    public var totalTimeout: Duration? = .seconds(30)
    /// A transfer slower than this, on average over ``lowSpeedTime``, is aborted; 0 disables the rule. Includes the
    /// wait for the response, so ``lowSpeedTime`` must be longer than the server's processing time.
    public var lowSpeedLimitBytesPerSecond = 1
    /// How long a transfer may be too slow; 60 s by default. Whole seconds, rounded up.
    public var lowSpeedTime: Duration = .seconds(60)
    /// Largest response body that ``EasyHandle/perform(_:)`` collects, in bytes; 1 MiB by default.
    public var responseBodyLimit = 1_048_576
    /// libcurl's buffer for sending bodies above 64 KiB, in bytes, 16 KiB to 2 MiB (CURLOPT_UPLOAD_BUFFERSIZE(3)); 512
    /// KiB by default. Kept by the handle.
    public var uploadBufferBytes = 524_288
    /// Which addresses the connection may go to; any by default.
    public var reach: Reach = .anywhere
    /// Sends the request on a new, separate connection, which is closed afterwards.
    ///
    /// If the server closes a reused connection at that moment, libcurl itself sends the request again
    /// (`Curl_retry_request`); set this if that must not happen.
    public var usesFreshConnection = false

    /// Uses the proxy named by `https_proxy` or `http_proxy`, unless `no_proxy` excludes the host (curl(1),
    /// "Environment"). By default no proxy is used, regardless of the environment.
    public var usesEnvironmentProxy = false
    /// Accepts compressed responses and decompresses them; limits apply to the decompressed size. Off by default.
    public var acceptsCompression = false

    /// Creates a request with the default limits.
    public init(
        method: String = "GET", url: String, headers: [(name: String, value: String)] = [], body: Body = .none
    ) {
        self.method = method
        self.url = url
        self.headers = headers
        self.body = body
    }
}

extension Request {
    /// Rejects anything that would not arrive as one request with exactly these fields.
    /// - Throws: ``CurlError/invalidRequest(reason:)``.
    func validate() throws(CurlError) {
        guard Self.isToken(method) else { throw .invalidRequest(reason: "method is not a token") }
        guard url.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
            throw .invalidRequest(reason: "URL contains characters that need percent-encoding")
        }
        for (name, value) in headers {
            guard Self.isToken(name) else { throw .invalidRequest(reason: "header name is not a token") }
            // RFC 9110, section 5.5: no control characters except tab.
            guard value.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }) else {
                throw .invalidRequest(reason: "header value contains control characters")
            }
            let framing = ["content-length", "transfer-encoding"]
            guard !framing.contains(name.lowercased()) else { throw .invalidRequest(reason: "framing header") }
        }
    }

    /// Whether there is a body without bytes, in contrast to no body.
    var hasEmptyBody: Bool {
        if case .bytes(let bytes) = body { bytes.isEmpty && method != "GET" && method != "HEAD" } else { false }
    }

    /// Whether a header of that name is given.
    func hasHeader(_ name: String) -> Bool { headers.contains { $0.name.lowercased() == name.lowercased() } }

    /// `token` of RFC 9110, section 5.6.2.
    private static func isToken(_ text: String) -> Bool {
        !text.isEmpty
            && text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "a")...UInt8(ascii: "z"):
                    true
                default:
                    "!#$%&'*+-.^_`|~".utf8.contains(byte)
                }
            }
    }
}
