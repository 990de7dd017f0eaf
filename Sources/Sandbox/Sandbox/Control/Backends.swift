import Posix

/// A real server on this machine behind a host of the sandbox, so that the sandbox's faults and log apply to its
/// clients.
struct Backend: Sendable, Equatable {
    /// The suffix of hosts that may have a backend.
    static let hostSuffix = ".sandbox.test"

    /// The host name for clients, in lower case.
    let host: String
    /// The server's port on 127.0.0.1, for plain http.
    let port: UInt16

    /// `{"host": "s3.sandbox.test", "address": "http://127.0.0.1:9000"}`.
    init(json: JSONValue) throws(ControlError) {
        guard let host = json["host"]?.string?.lowercased(), host.hasSuffix(Self.hostSuffix),
            host.utf8.count > Self.hostSuffix.utf8.count
        else { throw .badRequest("host must end in \(Self.hostSuffix)") }
        let prefix = "http://127.0.0.1:"
        guard let address = json["address"]?.string, address.hasPrefix(prefix),
            let port = UInt16(address.dropFirst(prefix.count)), port > 0
        else { throw .badRequest("address must be \(prefix)PORT") }
        self.host = host
        self.port = port
    }

    var json: JSONValue { ["host": .string(host), "address": .string("http://127.0.0.1:\(port)")] }
}

/// `/sandbox/backends`: the real servers behind hosts of the sandbox.
struct BackendControl {
    let server: SandboxServer

    /// `POST` adds or replaces a backend, `GET` lists them.
    func respond(to request: SandboxRequest) throws -> SandboxResponse {
        switch request.method {
        case "POST":
            let backend = try Backend(json: try ControlInterface.json(request))
            server.withState { $0.backends[backend.host] = backend }
            return SandboxResponse(201, json: backend.json)
        case "GET":
            let backends = server.withState { $0.backends.values.sorted { $0.host < $1.host } }
            return SandboxResponse(200, json: .array(backends.map(\.json)))
        default: throw ControlError.methodNotAllowed
        }
    }
}

/// Forwards one request to a backend and returns its response, both piece by piece and byte for byte.
///
/// Target, `Host` and all headers are left as the client sent them, since its signature covers them. The version is
/// HTTP/1.0, so that the server does not expect to be asked before the body, and the end of the connection ends a
/// response without a length. The server should not send a chunked response either; if it does (Ceph 16.2), the chunks
/// are joined.
struct BackendExchange {
    private static let timeout: Duration = .seconds(60)
    private static let longestHead = 256 * 1024
    private static let pieceBytes = 262_144
    /// The longest response without a `Content-Length`; longer ones are truncated, which clients notice.
    private static let longestUnannounced = 16 << 20
    /// Headers that concern only the connection to nginx or the sandbox.
    private static let ownHeaders: Set = [
        "connection", "keep-alive", "transfer-encoding", "te", "upgrade", "content-length", "expect",
        "x-sandbox-protocol",
    ]

    let backend: Backend

    func respond(to request: SandboxRequest) throws(RequestBodyError) -> SandboxResponse {
        do {
            let connection = try LoopbackConnection(port: backend.port, timeout: Self.timeout)
            try connection.send(head(of: request)[...])
            try sendBody(of: request, to: connection)
            return try response(from: AnswerReader { try connection.receive(into: &$0) }, to: request)
        } catch let error as RequestBodyError {
            // The connection is closed with its request unfinished, so the backend also sees the interruption.
            throw error
        } catch {
            return SandboxResponse(502, json: ["error": .string("the backend of \(backend.host) failed: \(error)")])
        }
    }

    private func head(of request: SandboxRequest) -> [UInt8] {
        let target = request.path + (request.queryText.isEmpty ? "" : "?" + request.queryText)
        var text = "\(request.method) \(target) HTTP/1.0\r\n"
        for (name, value) in request.allHeaders where !Self.ownHeaders.contains(name) {
            text += "\(name): \(value)\r\n"
        }
        if let length = request.body.declaredLength, length > 0 || ["PUT", "POST"].contains(request.method) {
            text += "content-length: \(length)\r\n"
        }
        return Array((text + "connection: close\r\n\r\n").utf8)
    }

    private func sendBody(of request: SandboxRequest, to connection: LoopbackConnection) throws {
        guard var rest = request.body.declaredLength else { return }
        var buffer = [UInt8](repeating: 0, count: min(Self.pieceBytes, max(1, rest)))
        while rest > 0 {
            if buffer.count > rest { buffer.removeLast(buffer.count - rest) }
            var filled = 0
            do {
                try request.body.fill(&buffer, filled: &filled)
            } catch {
                // The backend receives everything that arrived before the interruption.
                try? connection.send(buffer[..<filled])
                throw error
            }
            guard filled > 0 else { throw RequestBodyError.cut }
            rest -= filled
            do {
                try connection.send(buffer[..<filled])
            } catch {
                // A server may respond and close the connection before it has read a body that it does not need.
                return
            }
        }
    }

    private func response(from reader: AnswerReader, to request: SandboxRequest) throws -> SandboxResponse {
        var head = try AnswerHead(try reader.head(limit: Self.longestHead))
        // Skips interim responses, which the server should not send to HTTP/1.0.
        while head.status < 200 { head = try AnswerHead(try reader.head(limit: Self.longestHead)) }
        let headers = head.headers.filter { !Self.ownHeaders.contains($0.name.lowercased()) }
        let length = head.value(of: "content-length").flatMap { Int($0) }
        if request.method == "HEAD" || head.status == 204 || head.status == 304 {
            return SandboxResponse(head.status, headers: headers, announcing: length ?? 0)
        }
        if head.value(of: "transfer-encoding")?.lowercased().contains("chunked") == true {
            return SandboxResponse(
                head.status, headers: headers, body: try reader.chunks(limit: Self.longestUnannounced))
        }
        if let length {
            return SandboxResponse(head.status, headers: headers, stream: { try reader.read($0) }, count: length)
        }
        return SandboxResponse(
            head.status, headers: headers, body: try reader.rest(limit: Self.longestUnannounced))
    }
}

/// Reads a backend's response.
///
/// `@unchecked Sendable`: one thread both creates and sends the response that contains it.
final class AnswerReader: @unchecked Sendable {
    private static let longestChunkHead = 1_024

    private let receive: (inout [UInt8]) throws -> Int
    private var buffer = [UInt8](repeating: 0, count: 65_536)
    private var available: ArraySlice<UInt8> = []

    /// - Parameter receive: fills a buffer from its beginning; returns the number of bytes, 0 at the end.
    init(receive: @escaping (inout [UInt8]) throws -> Int) { self.receive = receive }

    /// The bytes up to and including the next blank line.
    func head(limit: Int) throws -> [UInt8] {
        var head: [UInt8] = []
        while true {
            let piece = try read(1)
            guard !piece.isEmpty else { throw BackendFailure.noAnswer }
            head += piece
            if head.suffix(4).elementsEqual([0x0D, 0x0A, 0x0D, 0x0A]) { return head }
            guard head.count < limit else { throw BackendFailure.unreadable }
        }
    }

    /// At most `count` of the next bytes; empty at the end.
    func read(_ count: Int) throws -> ArraySlice<UInt8> {
        if available.isEmpty { available = buffer[..<(try receive(&buffer))] }
        let piece = available.prefix(count)
        available = available.dropFirst(count)
        return piece
    }

    /// The content of a chunked body (RFC 9112, section 7.1); bytes after the last chunk remain unread.
    func chunks(limit: Int) throws -> [UInt8] {
        var bytes: [UInt8] = []
        while true {
            let head = String(decoding: try line(), as: UTF8.self)
            let digits = head.prefix { $0.isHexDigit }
            guard let size = Int(digits, radix: 16), size <= limit - bytes.count else {
                throw BackendFailure.unreadable
            }
            if size == 0 { return bytes }
            let end = bytes.count + size
            while bytes.count < end {
                let piece = try read(end - bytes.count)
                guard !piece.isEmpty else { throw BackendFailure.noAnswer }
                bytes += piece
            }
            guard try line().isEmpty else { throw BackendFailure.unreadable }
        }
    }

    /// The bytes up to the next line break, without it.
    private func line() throws -> [UInt8] {
        var line: [UInt8] = []
        while true {
            let byte = try read(1)
            guard let byte = byte.first else { throw BackendFailure.noAnswer }
            if byte == 0x0A { return line.last == 0x0D ? line.dropLast() : line }
            line.append(byte)
            guard line.count < Self.longestChunkHead else { throw BackendFailure.unreadable }
        }
    }

    func rest(limit: Int) throws -> [UInt8] {
        var bytes: [UInt8] = []
        while bytes.count < limit {
            let piece = try read(limit - bytes.count)
            if piece.isEmpty { break }
            bytes += piece
        }
        return bytes
    }
}

private enum BackendFailure: Error {
    case noAnswer
    case unreadable
}

/// Status line and headers of a response.
private struct AnswerHead {
    let status: Int
    let headers: [(name: String, value: String)]

    init(_ bytes: [UInt8]) throws {
        let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\r\n")
        let words = lines.first?.split(separator: " ") ?? []
        guard words.count >= 2, words[0].hasPrefix("HTTP/"), let status = Int(words[1]) else {
            throw BackendFailure.unreadable
        }
        self.status = status
        headers = lines.dropFirst().compactMap { line in
            guard let colon = line.firstIndex(of: ":") else { return nil }
            return (
                String(line[..<colon]),
                String(line[line.index(after: colon)...].drop { $0 == " " || $0 == "\t" })
            )
        }
    }

    func value(of name: String) -> String? { headers.first { $0.name.lowercased() == name }?.value }
}
