import Foundation
import Glibc
import Synchronization

/// A small HTTP server on a loopback port whose every byte the test controls: correct, slow, cut off or reset.
///
/// Each connection runs the test's closure on a new thread; when the closure returns, the connection is closed. The
/// server stops when its last reference is released.
public final class LocalHTTPServer: Sendable {
    /// A request as it arrived.
    public struct Request: Sendable {
        /// Request line and header lines, without the blank line.
        public let head: String
        /// The body, with the length of `Content-Length`.
        public let body: [UInt8]

        /// The request line's first word.
        public var method: String { String(head.prefix { $0 != " " }) }

        /// The value of the header `name`, regardless of its letter case.
        public func header(_ name: String) -> String? {
            for line in head.components(separatedBy: "\r\n").dropFirst() {
                let parts = line.split(separator: ":", maxSplits: 1)
                if parts.count == 2, parts[0].lowercased() == name.lowercased() {
                    return parts[1].trimmingCharacters(in: .whitespaces)
                }
            }
            return nil
        }
    }

    /// The port on 127.0.0.1.
    public let port: UInt16

    private let listener: Int32
    private let record = Record()

    /// Listens on a free port and runs `serve` for each connection.
    public init(_ serve: @escaping @Sendable (Peer) -> Void) throws {
        listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let port: UInt16? = unsafe withUnsafeMutablePointer(to: &address) { [listener] address in
            unsafe address.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic in
                guard unsafe bind(listener, generic, length) == 0, listen(listener, 64) == 0,
                    unsafe getsockname(listener, generic, &length) == 0
                else { return nil }
                return unsafe UInt16(bigEndian: address.pointee.sin_port)
            }
        }
        guard let port else { throw CocoaError(.featureUnsupported) }
        self.port = port
        Thread.detachNewThread { [listener, record] in
            while true {
                let descriptor = accept(listener, nil, nil)
                guard descriptor >= 0 else { break }
                record.addConnection()
                Thread.detachNewThread {
                    let peer = Peer(descriptor, record)
                    serve(peer)
                    peer.close()
                }
            }
            Glibc.close(listener)
        }
    }

    /// Wakes the accepting thread, which closes the socket.
    deinit { shutdown(listener, Int32(SHUT_RDWR)) }

    /// `http://127.0.0.1:PORT` plus `path`.
    public func url(_ path: String = "/") -> String { "http://127.0.0.1:\(port)\(path)" }

    /// Connections accepted so far.
    public var connectionCount: Int { record.connections }

    /// Requests read completely so far, on all connections.
    public var requests: [Request] { record.requests }

    /// One accepted connection, as the test's closure sees it.
    public final class Peer: Sendable {
        private let descriptor: Int32
        private let record: Record

        fileprivate init(_ descriptor: Int32, _ record: Record) {
            self.descriptor = descriptor
            self.record = record
        }

        /// Reads the next request; nil if the client disconnected before its end.
        public func readRequest() -> Request? {
            guard let text = readHead() else { return nil }
            var request = Request(head: text, body: [])
            var body: [UInt8] = []
            let length = request.header("Content-Length").flatMap { Int($0) } ?? 0
            while body.count < length {
                guard let bytes = read(upTo: min(65_536, length - body.count)) else { return nil }
                body += bytes
            }
            request = Request(head: text, body: body)
            record.add(request)
            return request
        }

        /// Reads request line and headers of the next request, and neither reads nor records the rest; nil if the
        /// client disconnected before their end.
        public func readHead() -> String? {
            var head: [UInt8] = []
            while !head.suffix(4).elementsEqual("\r\n\r\n".utf8) {
                guard let byte = read(upTo: 1)?.first else { return nil }
                head.append(byte)
            }
            return String(decoding: head.dropLast(4), as: UTF8.self)
        }

        /// Reads at most `count` bytes; nil at the end.
        public func read(upTo count: Int) -> [UInt8]? {
            var buffer = [UInt8](repeating: 0, count: count)
            let received = unsafe recv(descriptor, &buffer, count, 0)
            return received > 0 ? Array(buffer.prefix(received)) : nil
        }

        /// Sends `text`, with `\n` as the line end of headers written out as `\r\n` by the caller.
        public func send(_ text: String) { send(Array(text.utf8)) }

        /// Sends all of `bytes`; false if the client has disconnected.
        @discardableResult
        public func send(_ bytes: [UInt8]) -> Bool {
            var offset = 0
            while offset < bytes.count {
                let sent = unsafe bytes[offset...].withUnsafeBytes {
                    unsafe Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
                }
                guard sent > 0 else { return false }
                offset += sent
            }
            return true
        }

        /// Sends a complete response with a `Content-Length`.
        public func respond(_ status: String = "200 OK", headers: [String] = [], body: String = "") {
            let lines = ["HTTP/1.1 \(status)"] + headers + ["Content-Length: \(body.utf8.count)", "", body]
            send(lines.joined(separator: "\r\n"))
        }

        /// Waits until the client disconnects.
        public func waitForHangUp() { while read(upTo: 4096) != nil {} }

        /// Waits for at most `limit` until the client disconnects, without reading what it sends.
        public func waitUntilGone(within limit: Duration = .seconds(600)) {
            // POLLRDHUP of poll(2), which is missing from Swift's Glibc module.
            var state = pollfd(fd: descriptor, events: 0x2000, revents: 0)
            _ = unsafe poll(&state, 1, Int32(limit / .milliseconds(1)))
        }

        /// Closes the connection with a TCP reset instead of a clean end.
        public func reset() {
            var hard = linger(l_onoff: 1, l_linger: 0)
            _ = unsafe setsockopt(
                descriptor, SOL_SOCKET, SO_LINGER, &hard, socklen_t(MemoryLayout<linger>.size))
        }

        func close() { Glibc.close(descriptor) }
    }
}

/// The connections and requests of a server so far.
private final class Record: Sendable {
    private let state = Mutex((connections: 0, requests: [LocalHTTPServer.Request]()))

    var connections: Int { state.withLock { $0.connections } }
    var requests: [LocalHTTPServer.Request] { state.withLock { $0.requests } }

    func addConnection() { state.withLock { $0.connections += 1 } }
    func add(_ request: LocalHTTPServer.Request) { state.withLock { $0.requests.append(request) } }
}
