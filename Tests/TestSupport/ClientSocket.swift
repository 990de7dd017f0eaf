import Glibc

/// A blocking TCP connection to a server on this machine, with a limit on how long each call may wait.
///
/// The only file of the test support that touches C pointers. Closed when the value goes out of scope.
@safe
public struct ClientSocket: ~Copyable {
    private let descriptor: Int32

    /// Connects to an IPv4 address.
    ///
    /// - Parameters:
    ///   - host: a dotted address, or `localhost`.
    ///   - timeout: longest wait of each later send or receive.
    public init(host: String, port: UInt16, timeout: Duration) throws(SocketError) {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw SocketError(step: "socket") }
        if let error = Self.connect(descriptor, host, port, timeout) {
            close(descriptor)
            throw error
        }
        self.descriptor = descriptor
    }

    deinit { close(descriptor) }

    /// Sends all of `bytes`; a peer that is gone is an error, never a signal.
    public func send(_ bytes: some Collection<UInt8>) throws(SocketError) {
        let bytes = ContiguousArray(bytes)
        var sent = 0
        while sent < bytes.count {
            let count = unsafe bytes.withUnsafeBytes { buffer in
                unsafe Glibc.send(
                    descriptor, buffer.baseAddress.unsafelyUnwrapped + sent, buffer.count - sent,
                    Int32(MSG_NOSIGNAL))
            }
            if count < 0 && errno == EINTR { continue }
            guard count > 0 else { throw SocketError(step: "send") }
            sent += count
        }
    }

    /// Receives what is there, at most `limit` bytes; empty at the end of the stream.
    public func receive(upTo limit: Int = 65_536) throws(SocketError) -> [UInt8] {
        while true {
            var count = 0
            let bytes = unsafe [UInt8](unsafeUninitializedCapacity: limit) { buffer, initialized in
                unsafe count = recv(descriptor, buffer.baseAddress, limit, 0)
                initialized = max(0, count)
            }
            if count < 0 && errno == EINTR { continue }
            guard count >= 0 else { throw SocketError(step: "receive") }
            return bytes
        }
    }

    /// Whether ``receive(upTo:)`` would return at once, after waiting for at most `limit`.
    public func isReadable(within limit: Duration) -> Bool {
        var state = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        let milliseconds = limit.components.seconds * 1_000 + limit.components.attoseconds / 1_000_000_000_000_000
        return unsafe poll(&state, 1, Int32(clamping: milliseconds)) > 0
    }

    /// Says that nothing more will be sent, and still reads.
    public func finishSending() { shutdown(descriptor, Int32(SHUT_WR)) }

    /// Closes at once with a reset, as a phone does that loses its network stack.
    public consuming func reset() {
        var option = linger(l_onoff: 1, l_linger: 0)
        unsafe setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
    }

    private static func connect(
        _ descriptor: Int32, _ host: String, _ port: UInt16, _ timeout: Duration
    ) -> SocketError? {
        var limit = timeval(tv_sec: Int(timeout.components.seconds), tv_usec: 0)
        let size = socklen_t(MemoryLayout<timeval>.size)
        unsafe setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, size)
        unsafe setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &limit, size)

        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        let text = host == "localhost" ? "127.0.0.1" : host
        guard unsafe inet_pton(AF_INET, text, &address.sin_addr) == 1 else { return SocketError(step: "address") }
        let result = unsafe withUnsafePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                unsafe Glibc.connect(descriptor, pointer, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        return result == 0 ? nil : SocketError(step: "connect")
    }
}

/// A socket call that failed, with the call's name and the system's error number.
public struct SocketError: Error, CustomStringConvertible {
    /// The call that failed.
    public let step: String
    /// errno(3) at that moment; `EAGAIN` after a time limit.
    public let code: Int32

    init(step: String) {
        self.step = step
        self.code = errno
    }

    /// True if the wait was longer than the connection's limit.
    public var isTimeout: Bool { code == EAGAIN }

    /// The call and the number, for a test's report.
    public var description: String { "\(step) failed with errno \(code)" }
}
