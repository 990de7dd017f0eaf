/// The response to a ``SandboxRequest``.
public struct SandboxResponse: Sendable {
    /// The content after the headers.
    public enum Body: Sendable {
        case bytes([UInt8])
        /// A part of a file: `count` bytes from `offset`.
        case file(path: String, offset: Int, count: Int)
        /// `count` bytes, which `read` returns piece by piece, followed by empty pieces; the bytes may end too early.
        case stream(read: @Sendable (_ upTo: Int) throws -> ArraySlice<UInt8>, count: Int)
        /// No bytes, although `Content-Length` announces this many: a response to HEAD.
        case announced(Int)
    }

    /// HTTP status.
    public var status: Int
    /// Headers without `Content-Length`, which is derived from the body.
    public var headers: [(name: String, value: String)]
    /// The body.
    public var body: Body
    /// The value that the body represents, with its members in order; `nil` if the body was not created from JSON.
    private(set) var bodyJSON: JSONValue?
    /// Send only this many bytes of the body, although `Content-Length` announces all, then close.
    public var truncateAfterBytes: Int?
    /// Send nothing and close the connection.
    public var isCut = false
    /// Flip a bit of the body's byte at this offset.
    public var corruptAtByte: Int?

    /// Creates a response with bytes.
    public init(_ status: Int, headers: [(name: String, value: String)] = [], body: [UInt8] = []) {
        self.status = status
        self.headers = headers
        self.body = .bytes(body)
    }

    /// Creates a response with indented JSON.
    public init(_ status: Int, json: JSONValue, headers: [(name: String, value: String)] = []) {
        let type = (name: "Content-Type", value: "application/json; charset=UTF-8")
        self.init(status, headers: [type] + headers, body: json.bytes(isPretty: true) + [0x0a])
        bodyJSON = json
    }

    /// Creates a response with a part of a file.
    public init(
        _ status: Int, headers: [(name: String, value: String)], file path: String, offset: Int, count: Int
    ) {
        self.status = status
        self.headers = headers
        body = .file(path: path, offset: offset, count: count)
    }

    /// Creates a response with a body from another server.
    init(
        _ status: Int, headers: [(name: String, value: String)],
        stream read: @escaping @Sendable (_ upTo: Int) throws -> ArraySlice<UInt8>, count: Int
    ) {
        self.status = status
        self.headers = headers
        body = .stream(read: read, count: count)
    }

    /// Creates a response to HEAD.
    init(_ status: Int, headers: [(name: String, value: String)], announcing count: Int) {
        self.status = status
        self.headers = headers
        body = .announced(count)
    }

    /// Closes the connection without a response.
    static var cut: SandboxResponse {
        var response = SandboxResponse(444)
        response.isCut = true
        return response
    }

    /// The number of bytes in the body, before any truncation.
    public var contentLength: Int {
        switch body {
        case .bytes(let bytes): bytes.count
        case .file(_, _, let count), .stream(_, let count), .announced(let count): count
        }
    }

    /// The value of a header, for tests and logs.
    public func header(_ name: String) -> String? {
        headers.first { $0.name.lowercased() == name.lowercased() }?.value
    }
}
