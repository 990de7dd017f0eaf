import Glibc

/// A blocking TCP connection to a server on this machine, with a time limit for each call.
///
/// This is the only file of the test support that uses C pointers. The socket is closed when the value is destroyed.
@safe
public struct ClientSocket: ~Copyable {
    private let descriptor: Int32

    /// Connects to an IPv4 address.
    ///
    /// - Parameters:
    ///   - host: a dotted address, or `localhost`.
    ///   - timeout: the maximum wait of each later send or receive.
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

    /// Sends all of `bytes`; a disconnected peer is an error, never a signal.
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

    /// Receives available bytes, at most `limit`; empty at the end of the stream.
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

    /// Waits for at most `limit`, and returns whether ``receive(upTo:)`` would then return immediately.
    public func isReadable(within limit: Duration) -> Bool {
        var state = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        let milliseconds = limit.components.seconds * 1_000 + limit.components.attoseconds / 1_000_000_000_000_000
        return unsafe poll(&state, 1, Int32(clamping: milliseconds)) > 0
    }

    /// Closes the sending direction; the connection can still receive.
    public func finishSending() { shutdown(descriptor, Int32(SHUT_WR)) }

    /// Closes the connection immediately with a reset, like a phone that loses its network stack.
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
    /// The value of errno(3) after the call; `EAGAIN` after a timeout.
    public let code: Int32

    init(step: String) {
        self.step = step
        self.code = errno
    }

    /// Whether the call exceeded the connection's time limit.
    public var isTimeout: Bool { code == EAGAIN }

    /// The call and the error number, for a test's report.
    public var description: String { "\(step) failed with errno \(code)" }
}
