/// One HTTP/1.1 connection under the test's direct control, so that it may break any rule.
public struct HTTPConversation: ~Copyable {
    private let socket: ClientSocket
    private var buffer: ArraySlice<UInt8> = []

    /// Connects; every send or receive waits at most `timeout`.
    public init(to address: HTTPAddress, timeout: Duration = .seconds(90)) throws {
        socket = try ClientSocket(host: address.host, port: address.port, timeout: timeout)
    }

    /// Sends bytes unchanged.
    public func send(_ bytes: some Collection<UInt8>) throws { try socket.send(bytes) }

    /// Sends text unchanged.
    public func send(_ text: String) throws { try socket.send(text.utf8) }

    /// Waits for at most `limit`, and returns whether a part of a reply or the end of the connection has arrived.
    public func hasReply(within limit: Duration) -> Bool { !buffer.isEmpty || socket.isReadable(within: limit) }

    /// Closes the sending direction only.
    public func finishSending() { socket.finishSending() }

    /// Drops the connection with a reset.
    public consuming func hangUp() { socket.reset() }

    /// Reads a complete reply; passes its body to `onBody` piece by piece if given, otherwise collects it.
    public mutating func reply(
        toHead: Bool = false, onBody: (([UInt8]) throws -> Void)? = nil
    ) throws -> HTTPReply {
        var reply = HTTPReply(status: 0, headers: [], body: [], isComplete: true)
        repeat { reply = try head() } while (100..<200).contains(reply.status)
        func deliver(_ bytes: ArraySlice<UInt8>) throws {
            if let onBody { try onBody(Array(bytes)) } else { reply.body += bytes }
        }
        if toHead || reply.status == 204 || reply.status == 304 { return reply }
        if reply.values(of: "transfer-encoding").contains(where: { $0.lowercased() == "chunked" }) {
            reply.isComplete = try chunks(deliver)
        } else if let length = reply.values(of: "content-length").first.flatMap(Int.init) {
            reply.isComplete = try bytes(length, deliver)
        } else {
            repeat {
                try deliver(buffer)
                buffer = []
            } while try refill()
        }
        return reply
    }

    private mutating func head() throws -> HTTPReply {
        guard let statusLine = try line() else { throw HTTPConversationError.closedWithoutReply }
        let parts = statusLine.split(separator: " ", maxSplits: 2)
        guard parts.count >= 2, parts[0].hasPrefix("HTTP/1."), let status = Int(parts[1]) else {
            throw HTTPConversationError.malformed(statusLine)
        }
        var headers: [(name: String, value: String)] = []
        while true {
            guard let field = try line() else { throw HTTPConversationError.closedWithoutReply }
            if field.isEmpty { break }
            let parts = field.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2 else { throw HTTPConversationError.malformed(field) }
            let value = parts[1].drop { $0 == " " }
            headers.append((String(parts[0]), String(value)))
        }
        return HTTPReply(status: status, headers: headers, body: [], isComplete: true)
    }

    /// Reads more bytes; returns false at the end of the stream or after a reset.
    private mutating func refill() throws -> Bool {
        do {
            let more = try socket.receive(upTo: 262_144)
            buffer += more
            return !more.isEmpty
        } catch let error where !error.isTimeout {
            return false
        }
    }

    private mutating func line() throws -> String? {
        while true {
            if let end = buffer.firstIndex(of: UInt8(ascii: "\n")) {
                let bytes = buffer[buffer.startIndex..<end]
                buffer = buffer[(end + 1)...]
                return String(decoding: bytes.last == UInt8(ascii: "\r") ? bytes.dropLast() : bytes, as: UTF8.self)
            }
            guard try refill() else { return nil }
        }
    }

    private mutating func bytes(_ length: Int, _ deliver: (ArraySlice<UInt8>) throws -> Void) throws -> Bool {
        var missing = length
        while missing > 0 {
            if buffer.isEmpty {
                buffer = []
                guard try refill() else { return false }
            }
            let piece = buffer.prefix(missing)
            try deliver(piece)
            missing -= piece.count
            buffer = buffer[piece.endIndex...]
        }
        return true
    }

    private mutating func chunks(_ deliver: (ArraySlice<UInt8>) throws -> Void) throws -> Bool {
        while true {
            guard let sizeLine = try line() else { return false }
            guard let size = Int(sizeLine.prefix { $0 != ";" }, radix: 16) else {
                throw HTTPConversationError.malformed(sizeLine)
            }
            guard try bytes(size, deliver) else { return false }
            guard try line() != nil else { return false }
            if size == 0 { return true }
        }
    }
}

/// An error while reading a reply.
public enum HTTPConversationError: Error {
    /// The server closed the connection before a complete head.
    case closedWithoutReply
    /// The server sent invalid HTTP/1.1.
    case malformed(String)
}
