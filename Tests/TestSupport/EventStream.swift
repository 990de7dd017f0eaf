import Foundation

/// A stream of signals about changes, read as a browser does (HTML Living Standard, "Server-sent events").
public final class EventStream {
    /// One event.
    public struct Event: Sendable, Equatable {
        /// Its type.
        public var name = "message"
        /// The stream's last id at the time of the event; empty if there was none.
        public var id = ""
        /// Its lines of data.
        public var data = ""

        /// The data as JSON.
        public var json: JSONValue? {
            HTTPReply(status: 200, headers: [], body: Array(data.utf8), isComplete: true).json
        }
    }

    /// The reply's status.
    public let status: Int
    /// The reply's headers, in lower case.
    public let headers: [String: String]
    /// The last id that was received.
    public private(set) var lastEventID = ""
    /// How many comments, such as heartbeats, were received.
    public private(set) var comments = 0

    private let socket: ClientSocket
    private var buffer: [UInt8] = []
    private var hasEnded = false

    /// Sends a request, and reads the head of the reply.
    /// - Parameter timeout: the maximum wait for the head.
    public init(_ call: HTTPCall, to address: HTTPAddress, timeout: Duration = .seconds(60)) throws {
        let connection = try ClientSocket(host: address.host, port: address.port, timeout: timeout)
        try connection.send(Array(call.head(for: address).utf8) + (call.body ?? []))
        var head: [UInt8] = []
        while head.suffix(4) != [13, 10, 13, 10][...] {
            let byte = try connection.receive(upTo: 1)
            guard !byte.isEmpty else { throw HTTPConversationError.closedWithoutReply }
            head += byte
        }
        let lines = String(decoding: head, as: UTF8.self).split(separator: "\r\n")
        status = Int(lines[0].split(separator: " ")[1]) ?? 0
        headers = Dictionary(
            lines.dropFirst().compactMap { line in
                let parts = line.split(separator: ":", maxSplits: 1)
                guard parts.count == 2 else { return nil }
                return (parts[0].lowercased(), parts[1].trimmingCharacters(in: .whitespaces))
            }, uniquingKeysWith: { first, _ in first })
        socket = connection
    }

    /// The next event; `nil` if the stream ends, or if none arrives within `limit`: ``isOpen`` tells which.
    public func next(within limit: Duration = .seconds(30)) throws -> Event? {
        var event = Event()
        var lines: [String] = []
        let deadline = ContinuousClock.now + limit
        while let line = try line(until: deadline) {
            if line.isEmpty {
                if lines.isEmpty { continue }
                event.id = lastEventID
                event.data = lines.joined(separator: "\n")
                return event
            }
            let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            let value = parts.count == 2 ? parts[1].drop { $0 == " " } : ""
            switch parts[0] {
            case "": comments += 1
            case "event": event.name = String(value)
            case "id": lastEventID = String(value)
            case "data": lines.append(String(value))
            default: break
            }
        }
        return nil
    }

    /// Whether the server has not ended the stream.
    public var isOpen: Bool { !hasEnded }

    private func line(until deadline: ContinuousClock.Instant) throws -> String? {
        while true {
            if let end = buffer.firstIndex(of: 10) {
                let line = String(decoding: buffer[..<end], as: UTF8.self)
                buffer.removeSubrange(...end)
                return line.hasSuffix("\r") ? String(line.dropLast()) : line
            }
            let remaining = deadline - .now
            guard !hasEnded, remaining > .zero, socket.isReadable(within: remaining) else { return nil }
            let bytes = try socket.receive()
            hasEnded = bytes.isEmpty
            buffer += bytes
        }
    }
}

extension EventStream {
    /// Whether an event reports this version of a group, or a newer one, before the stream ends.
    public func changed(_ group: String, to version: Int64, within limit: Duration = .seconds(30)) throws -> Bool {
        while let event = try next(within: limit) {
            if event.name == "change", event.json?.sharingGroupUUID?.text == group,
                let reported = event.json?.masterVersion?.integer, reported >= version
            {
                return true
            }
        }
        return false
    }
}

extension TestUser {
    /// The request for signals about changes, as a stream.
    /// - Parameter known: the id of the last event that this person's device has received.
    public func changesCall(after known: String? = nil, isStream: Bool = true) -> HTTPCall {
        var headers = headers
        if isStream { headers.append(("Accept", "text/event-stream")) }
        if let known { headers.append(("Last-Event-ID", known)) }
        return HTTPCall("GET", "/Changes", headers: headers)
    }

    /// Opens a stream of signals, which may end at once.
    public func changes(after known: String? = nil) throws -> EventStream {
        try EventStream(changesCall(after: known), to: server.address)
    }

    /// Opens a stream of signals with the current state, so that it stays open.
    public func listening() throws -> EventStream {
        let known = try changes()
        while try known.next() != nil {}
        return try changes(after: known.lastEventID)
    }
}
