/// An HTTP request, and how long and how much its sender is ready to wait and to take.
public struct Request: Sendable {
    /// What is sent after the headers.
    public enum Body: Sendable {
        /// Nothing. POST, PUT and PATCH say `Content-Length: 0`.
        case none
        /// These bytes, which are not copied.
        case bytes(ArraySlice<UInt8>)

        /// The bytes of an array.
        public static func bytes(_ bytes: [UInt8]) -> Body { .bytes(bytes[...]) }
    }

    /// The protocol version to ask for.
    public enum HTTPVersion: Sendable {
        /// HTTP/1.1 with a connection per handle: the faster one for bulk data.
        case http11
        /// HTTP/2 if the server offers it in the TLS handshake, else HTTP/1.1.
        case http2
        /// HTTP/2, or the request fails: a server that does not offer it in the TLS handshake is sent the request all the
        /// same, over HTTP/1.1, but nothing of its answer is passed on.
        case http2Only
    }

    /// The method, such as `GET`: a token of RFC 9110, section 9.1.
    public var method: String
    /// The absolute URL, percent-encoded.
    public var url: String
    /// Header fields in order, in addition to `Host`, `Accept: */*` and `Content-Length`. No form content type and no
    /// `Expect` is added. `Content-Length` and `Transfer-Encoding` are refused, since the body decides them.
    public var headers: [(name: String, value: String)]
    /// What is sent after the headers.
    public var body: Body
    /// The protocol version to ask for; HTTP/1.1 unless told otherwise.
    public var httpVersion: HTTPVersion = .http11
    /// Longest time for name look-up, TCP and TLS together; 10 s unless told otherwise.
    public var connectTimeout: Duration = .seconds(10)
    /// Longest time for everything, or nil if only the low-speed rule ends the transfer; 30 s unless told otherwise.
    public var totalTimeout: Duration? = .seconds(30)
    /// A transfer slower than this, on average over ``lowSpeedTime``, is given up; 0 turns the rule off. Includes the
    /// wait for the response, so ``lowSpeedTime`` must be longer than the server may think.
    public var lowSpeedLimitBytesPerSecond = 1
    /// For how long a transfer may be too slow; 60 s unless told otherwise. Whole seconds, rounded up.
    public var lowSpeedTime: Duration = .seconds(60)
    /// Largest response body that ``EasyHandle/perform(_:)`` collects, in bytes; 1 MiB unless told otherwise.
    public var responseBodyLimit = 1_048_576
    /// libcurl's buffer for sending bodies above 64 KiB, in bytes, 16 KiB to 2 MiB (CURLOPT_UPLOAD_BUFFERSIZE(3));
    /// 512 KiB unless told otherwise. Kept by the handle.
    public var uploadBufferBytes = 524_288
    /// Sent on a connection of its own that is made now and closed afterwards.
    ///
    /// On a connection that the server closed at that very moment libcurl sends a request a second time by itself (its
    /// `Curl_retry_request`); set this where that must not happen.
    public var usesFreshConnection = false

    /// Makes a request with the default limits.
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
    /// Refuses what would not arrive as one request with exactly these fields.
    /// - Throws: ``CurlError/invalidRequest(reason:)``.
    func validate() throws(CurlError) {
        guard Self.isToken(method) else { throw .invalidRequest(reason: "method is no token") }
        guard url.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
            throw .invalidRequest(reason: "URL holds characters that need percent-encoding")
        }
        for (name, value) in headers {
            guard Self.isToken(name) else { throw .invalidRequest(reason: "header name is no token") }
            // RFC 9110, section 5.5: no control characters but the tab.
            guard value.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }) else {
                throw .invalidRequest(reason: "header value holds control characters")
            }
            let framing = ["content-length", "transfer-encoding"]
            guard !framing.contains(name.lowercased()) else { throw .invalidRequest(reason: "framing header") }
        }
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
