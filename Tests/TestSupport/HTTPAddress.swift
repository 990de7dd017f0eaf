import Foundation

/// The address of a server of the stack for plain HTTP.
public struct HTTPAddress: Sendable {
    /// A dotted address or `localhost`.
    public let host: String
    /// The port.
    public let port: UInt16
    /// A prefix of every path, without a trailing slash; usually empty.
    public let prefix: String

    /// Parses `http://HOST:PORT[/PREFIX]`.
    public init(_ url: String) throws {
        guard let parts = URLComponents(string: url), parts.scheme == "http", let host = parts.host else {
            throw StackError.malformedSetting(url)
        }
        self.host = host
        self.port = UInt16(clamping: parts.port ?? 80)
        self.prefix = parts.path.hasSuffix("/") ? String(parts.path.dropLast()) : parts.path
    }

    /// Makes one request on a new connection.
    ///
    /// If the server replies early and stops reading, that is not an error: its reply is returned.
    public func perform(_ call: HTTPCall, timeout: Duration = .seconds(90)) throws -> HTTPReply {
        var conversation = try HTTPConversation(to: self, timeout: timeout)
        do {
            try conversation.send(call.head(for: self))
            if let body = call.body { try conversation.send(body) }
        } catch let error as SocketError where !error.isTimeout {
            // Continue to the reply that explains the failure.
        }
        return try conversation.reply(toHead: call.method == "HEAD")
    }
}

/// One HTTP request.
public struct HTTPCall: Sendable {
    /// The method.
    public var method: String
    /// Path and query, already encoded.
    public var target: String
    /// Headers other than `Host`, `Connection` and `Content-Length`.
    public var headers: [(name: String, value: String)]
    /// The body; nil for a request without one.
    public var body: [UInt8]?

    /// Creates a request from its parts.
    public init(
        _ method: String, _ target: String, headers: [(name: String, value: String)] = [], body: [UInt8]? = nil
    ) {
        self.method = method
        self.target = target
        self.headers = headers
        self.body = body
    }

    /// The request line and headers, with a blank line at the end.
    ///
    /// - Parameter contentLength: the length to announce instead of the body's length.
    public func head(for address: HTTPAddress, contentLength: Int? = nil) -> String {
        var text = "\(method) \(address.prefix)\(target) HTTP/1.1\r\nHost: \(address.host):\(address.port)\r\n"
        text += "Connection: close\r\n"
        for header in headers { text += "\(header.name): \(header.value)\r\n" }
        if let length = contentLength ?? body?.count {
            text += "Content-Length: \(length)\r\n"
        } else if method != "GET" {
            text += "Content-Length: 0\r\n"
        }
        return text + "\r\n"
    }
}
