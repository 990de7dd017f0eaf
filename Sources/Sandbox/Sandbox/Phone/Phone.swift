import FoundationEssentials

/// A device of the web page, and its memory. It asks the server for its groups and files, as an app would.
///
/// Lost when the sandbox ends; the person then has a new device.
struct Phone: Sendable {
    /// The server's identifier of the device.
    let device: String
    /// The outcome of the latest action; `nil` before the first.
    var outcome: Outcome?
    /// The requests of the latest action, with their replies.
    var calls: [PhoneCall] = []
    /// The most recently downloaded file.
    var download: Download?

    /// A phone at the start of an action: a new device unless one is given.
    init(device: String = UUID().uuidString) { self.device = device }

    /// The outcome of an action, in a sentence.
    struct Outcome: Sendable {
        let sentence: String
        let isSuccess: Bool
    }

    /// A downloaded file, in memory: at most ``PhoneSession/longestFile`` bytes.
    struct Download: Sendable {
        let file: String
        let mimeType: String
        let bytes: [UInt8]
    }
}

/// A phone's request and the reply, as shown on the page.
struct PhoneCall: Sendable {
    let method: String
    /// Path and query.
    let target: String
    let headers: [(name: String, value: String)]
    /// The number of body bytes sent.
    let sentBytes: Int
    let outcome: Result<AppServer.Reply, AppServer.Unreachable>

    /// The JSON of the reply; it is in a header if the body is a file.
    var json: JSONValue? {
        guard case .success(let reply) = outcome else { return nil }
        let bytes = reply.header("syncserver-message-params").map { Array($0.utf8) } ?? reply.body
        return try? JSONValue(parsing: bytes)
    }

    /// The HTTP status; `nil` if there was no reply.
    var status: Int? { (try? outcome.get())?.status }
}

/// The server under test, as used by the phones of the web page.
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
