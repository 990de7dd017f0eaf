internal import Glibc

/// A connection to a unix socket, closed when the value is destroyed.
public struct UnixConnection: ~Copyable {
    private let descriptor: CInt

    /// Connects to the socket at `path`; reads and writes time out after `timeout`.
    /// - Throws: ``PosixError``: `ENOENT` if there is no socket, `ECONNREFUSED` if nothing is listening, `EACCES`.
    public init(path: String, timeout: Duration) throws(PosixError) {
        let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw PosixError(call: "socket", code: errno) }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let name = Array(path.utf8)
        guard name.count < 107 else {
            close(descriptor)
            throw PosixError(call: "connect", code: ENAMETOOLONG)
        }
        unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: name) }
        var limit = timeval(tv_sec: Int(timeout.components.seconds), tv_usec: 0)
        for option in [SO_RCVTIMEO, SO_SNDTIMEO] {
            unsafe setsockopt(descriptor, SOL_SOCKET, option, &limit, socklen_t(MemoryLayout<timeval>.size))
        }
        let code = unsafe withUnsafePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard code == 0 else {
            let error = errno
            close(descriptor)
            throw PosixError(call: "connect", code: error)
        }
        self.descriptor = descriptor
    }

    deinit { close(descriptor) }

    /// Sends all of `bytes` (send(2)).
    /// - Throws: ``PosixError``; `EAGAIN` after the timeout.
    public borrowing func send(_ bytes: [UInt8]) throws(PosixError) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let sent = unsafe rest.withUnsafeBytes {
                unsafe Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            if sent < 0, errno == EINTR { continue }
            guard sent > 0 else { throw PosixError(call: "send", code: errno) }
            rest = rest.dropFirst(sent)
        }
    }

    /// Exactly `count` bytes (recv(2)); `nil` if the peer closes the connection before that.
    /// - Throws: ``PosixError``; `EAGAIN` after the timeout.
    public borrowing func receive(_ count: Int) throws(PosixError) -> [UInt8]? {
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 16_384)
        while bytes.count < count {
            let received = unsafe recv(descriptor, &buffer, min(buffer.count, count - bytes.count), 0)
            if received < 0, errno == EINTR { continue }
            guard received >= 0 else { throw PosixError(call: "recv", code: errno) }
            if received == 0 { return nil }
            bytes += buffer[..<received]
        }
        return bytes
    }

    /// All bytes until the peer closes the connection, or more than `limit` have arrived (recv(2)).
    /// - Throws: ``PosixError``; `EAGAIN` after the timeout.
    public borrowing func receiveAll(limit: Int) throws(PosixError) -> [UInt8] {
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4_096)
        while bytes.count <= limit {
            let received = unsafe recv(descriptor, &buffer, buffer.count, 0)
            if received < 0, errno == EINTR { continue }
            guard received >= 0 else { throw PosixError(call: "recv", code: errno) }
            if received == 0 { break }
            bytes += buffer[..<received]
        }
        return bytes
    }
}
