internal import FastCGI
internal import Posix
internal import Sandbox
internal import SyncProtocol

/// One worker's request slot: turns FastCGI into ``SandboxRequest``, and ``SandboxResponse`` into FastCGI.
final class Exchange {
    /// Chunk size for sending a file.
    private static let pieceBytes = 262_144
    private var slot: RequestSlot
    private let server: SandboxServer

    /// Creates a slot on that socket.
    init(socket: ListeningSocket, server: SandboxServer) throws(FastCGIError) {
        slot = try RequestSlot(on: socket)
        self.server = server
    }

    /// Waits for a request; false if interrupted by a signal.
    func accept() -> Bool { slot.accept(wakingSignal: Signals.waking) == .request }

    /// Answers the request.
    func serve() {
        let response = server.respond(to: request())
        do {
            try send(response)
            slot.finish()
        } catch {
            // Only the end of the reply is missing, which nginx detects.
        }
        // nginx keeps connections alive (see nginx/sandbox.conf for the reason), so the end of a reply does not close
        // this one.
        slot.abandon()
    }

    private func request() -> SandboxRequest {
        var headers: [(name: String, value: String)] = []
        for (name, value) in slot.parameters {
            if name.hasPrefix("HTTP_") {
                headers.append((String(name.dropFirst(5).map { $0 == "_" ? "-" : $0 }), value))
            } else if name == "CONTENT_TYPE" {
                headers.append(("content-type", value))
            }
        }
        let body = RequestBody(
            declaredLength: slot.parameter("CONTENT_LENGTH").flatMap { StrictDecimal.parse($0.utf8) }
        ) {
            [unowned self] buffer throws(RequestBodyError) in
            let range = buffer.indices
            var span = buffer.mutableSpan
            do { return try slot.read(into: &span, range) } catch { throw .cut }
        }
        // nginx may need a moment to notice.
        body.isClientGone = { [unowned self] in slot.isClosedByPeer(within: .seconds(2)) }
        return SandboxRequest(
            method: slot.parameter("REQUEST_METHOD") ?? "GET", host: slot.parameter("HTTP_HOST") ?? "",
            target: slot.parameter("REQUEST_URI") ?? "/", headers: headers, peer: slot.parameter("REMOTE_ADDR") ?? "",
            isSecure: slot.parameter("HTTPS") == "on", body: body)
    }

    private func send(_ response: SandboxResponse) throws {
        // Without a phrase nginx ends the status line after the code, which FoundationNetworking of Swift 6.3 cannot
        // parse: it requires the space, as RFC 9112, section 4, does.
        var head = "Status: \(response.status) \(HTTPStatus.phrase(response.status))\r\n"
        if response.isCut {
            // nginx closes the connection without an answer; see nginx/sandbox.conf.
            try slot.write(Array((head + "\r\n").utf8))
            return
        }
        for (name, value) in response.headers { head += "\(name): \(value)\r\n" }
        if response.status != 204, response.status != 304 { head += "Content-Length: \(response.contentLength)\r\n" }
        if isSentWhole(response) { head += "X-Accel-Buffering: yes\r\n" }
        try slot.write(Array((head + "\r\n").utf8))
        let count = min(response.contentLength, response.truncateAfterBytes ?? Int.max)
        switch response.body {
        case .bytes(var bytes):
            Self.corrupt(&bytes, at: response.corruptAtByte, offset: 0)
            try slot.write(Array(bytes.prefix(count)))
        case .file(let path, let offset, _):
            try sendFile(path, from: offset, count: count, corruptAt: response.corruptAtByte)
        case .stream(let read, _):
            try sendStream(read, count: count, corruptAt: response.corruptAtByte)
        case .announced: return
        }
        if count < response.contentLength {
            // The rest of the announced body is never sent; without the flush, what was written would be lost as well.
            try slot.flush()
            throw FastCGIError.aborted
        }
    }

    /// Whether nginx buffers the whole reply before passing it on.
    /// For a truncated reply: unbuffered, nginx 1.22 mistakes the end of the connection for the end of the body, and
    /// lets an HTTP/1.1 client wait for the rest; buffered (and with fastcgi_keep_conn), it detects the truncation and
    /// closes the connection. For a short reply: unbuffered, nginx ends each reply with an empty HTTP/2 DATA frame,
    /// which Apple does not send and which makes aioapns 4.0 drop its connection.
    private func isSentWhole(_ response: SandboxResponse) -> Bool {
        if case .bytes = response.body { true } else { response.truncateAfterBytes != nil }
    }

    private func sendFile(_ path: String, from start: Int, count: Int, corruptAt: Int?) throws {
        let file = try RegularFile(path, for: .reading)
        var piece = [UInt8](repeating: 0, count: min(Self.pieceBytes, max(1, count)))
        var sent = 0
        while sent < count {
            var span = piece.mutableSpan
            let read = min(try file.read(into: &span, at: start + sent), count - sent)
            guard read > 0 else { throw FastCGIError.aborted }
            Self.corrupt(&piece, at: corruptAt, offset: sent)
            try slot.write(piece.span.extracting(..<read))
            sent += read
        }
    }

    private func sendStream(_ read: (Int) throws -> ArraySlice<UInt8>, count: Int, corruptAt: Int?) throws {
        var sent = 0
        while sent < count {
            var piece = Array(try read(min(Self.pieceBytes, count - sent)))
            guard !piece.isEmpty else {
                try slot.flush()
                throw FastCGIError.aborted
            }
            Self.corrupt(&piece, at: corruptAt, offset: sent)
            try slot.write(piece)
            sent += piece.count
        }
    }

    private static func corrupt(_ bytes: inout [UInt8], at position: Int?, offset: Int) {
        guard let position, bytes.indices.contains(position - offset) else { return }
        bytes[position - offset] ^= 1
    }
}
