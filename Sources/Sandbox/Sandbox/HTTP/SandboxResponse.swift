/// The answer to a ``SandboxRequest``.
public struct SandboxResponse: Sendable {
    /// What follows the headers.
    public enum Body: Sendable {
        case bytes([UInt8])
        /// A part of a file: `count` bytes from `offset`.
        case file(path: String, offset: Int, count: Int)
        /// `count` bytes that `read` returns piece by piece, none at the end, which may come too early.
        case stream(read: @Sendable (_ upTo: Int) throws -> ArraySlice<UInt8>, count: Int)
        /// Nothing, although a `Content-Length` announces so many bytes: an answer to HEAD.
        case announced(Int)
    }

    /// HTTP status.
    public var status: Int
    /// Headers without `Content-Length`, which follows from the body.
    public var headers: [(name: String, value: String)]
    /// The body.
    public var body: Body
    /// The value that the body was written from, with its members in order; `nil` if it was not made of JSON.
    private(set) var bodyJSON: JSONValue?
    /// Send only this many bytes of the body, although `Content-Length` announces all, then close.
    public var truncateAfterBytes: Int?
    /// Send nothing and close the connection.
    public var isCut = false
    /// Flip a bit of the body's byte at this offset.
    public var corruptAtByte: Int?

    /// A response of bytes.
    public init(_ status: Int, headers: [(name: String, value: String)] = [], body: [UInt8] = []) {
        self.status = status
        self.headers = headers
        self.body = .bytes(body)
    }

    /// A response of JSON text, indented.
    public init(_ status: Int, json: JSONValue, headers: [(name: String, value: String)] = []) {
        let type = (name: "Content-Type", value: "application/json; charset=UTF-8")
        self.init(status, headers: [type] + headers, body: json.bytes(isPretty: true) + [0x0a])
        bodyJSON = json
    }

    /// A part of a file.
    public init(
        _ status: Int, headers: [(name: String, value: String)], file path: String, offset: Int, count: Int
    ) {
        self.status = status
        self.headers = headers
        body = .file(path: path, offset: offset, count: count)
    }

    /// A body that another server sends.
    init(
        _ status: Int, headers: [(name: String, value: String)],
        stream read: @escaping @Sendable (_ upTo: Int) throws -> ArraySlice<UInt8>, count: Int
    ) {
        self.status = status
        self.headers = headers
        body = .stream(read: read, count: count)
    }

    /// An answer to HEAD.
    init(_ status: Int, headers: [(name: String, value: String)], announcing count: Int) {
        self.status = status
        self.headers = headers
        body = .announced(count)
    }

    /// Closes the connection instead of answering.
    static var cut: SandboxResponse {
        var response = SandboxResponse(444)
        response.isCut = true
        return response
    }

    /// Bytes of the body, before any truncation.
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
