/// The server under test, as used by the phones of the page for people.
public struct AppServer: Sendable {
    /// A request of a phone.
    public struct Request: Sendable {
        /// Method, in capital letters.
        public let method: String
        /// Absolute URL, percent-encoded.
        public let url: String
        /// Headers, in order.
        public let headers: [(name: String, value: String)]
        /// Contents of a file, or empty.
        public let body: [UInt8]
        /// The longest accepted body of a reply, in bytes.
        public let replyLimit: Int
    }

    /// The server's reply, of any status.
    public struct Reply: Sendable {
        /// HTTP status.
        public let status: Int
        /// Headers as received.
        public let headers: [(name: String, value: String)]
        /// The complete body, of the announced length.
        public let body: [UInt8]

        /// A reply.
        public init(status: Int, headers: [(name: String, value: String)], body: [UInt8]) {
            self.status = status
            self.headers = headers
            self.body = body
        }

        /// The value of a header; the letter case of names does not matter.
        func header(_ name: String) -> String? {
            headers.first { $0.name.lowercased() == name.lowercased() }?.value
        }
    }

    /// The reason why there is no reply.
    public struct Unreachable: Error {
        /// The cause, for the developer who reads the page.
        public let reason: String

        /// A failure.
        public init(_ reason: String) { self.reason = reason }
    }

    /// Sends one request and waits for the reply. Many threads call it at once.
    public typealias Send = @Sendable (Request) throws(Unreachable) -> Reply

    /// The server's address without a trailing slash.
    let address: String
    let send: Send

    /// The server at `address`, such as `https://sync.example.com`.
    public init(address: String, send: @escaping Send) {
        self.address = address.hasSuffix("/") ? String(address.dropLast()) : address
        self.send = send
    }
}
