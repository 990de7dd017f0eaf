internal import Glibc

/// A TCP connection to a port of this machine, closed when the value is destroyed.
public final class LoopbackConnection {
    private let descriptor: CInt

    /// Connects to 127.0.0.1; reads and writes time out after `timeout`.
    /// - Throws: ``PosixError``: `ECONNREFUSED` if nothing is listening.
    public init(port: UInt16, timeout: Duration) throws(PosixError) {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw PosixError(call: "socket", code: errno) }
        var limit = timeval(tv_sec: Int(timeout.components.seconds), tv_usec: 0)
        for option in [SO_RCVTIMEO, SO_SNDTIMEO] {
            unsafe setsockopt(descriptor, SOL_SOCKET, option, &limit, socklen_t(MemoryLayout<timeval>.size))
        }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let code = unsafe withUnsafePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        // All properties are set, so `deinit` closes the descriptor.
        guard code == 0 else { throw PosixError(call: "connect", code: errno) }
    }

    deinit { if descriptor >= 0 { close(descriptor) } }

    /// Sends all of `bytes` (send(2)).
    /// - Throws: ``PosixError``; `EAGAIN` after the timeout.
    public func send(_ bytes: ArraySlice<UInt8>) throws(PosixError) {
        var rest = bytes
        while !rest.isEmpty {
            let sent = unsafe rest.withUnsafeBytes {
                unsafe Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            guard sent > 0 else { throw PosixError(call: "send", code: errno) }
            rest = rest.dropFirst(sent)
        }
    }

    /// Reads the arrived bytes into `buffer` (recv(2)); waits for the first byte.
    /// - Returns: how many bytes; 0 once the peer has closed the connection.
    /// - Throws: ``PosixError``; `EAGAIN` after the timeout.
    public func receive(into buffer: inout [UInt8]) throws(PosixError) -> Int {
        let received = unsafe recv(descriptor, &buffer, buffer.count, 0)
        guard received >= 0 else { throw PosixError(call: "recv", code: errno) }
        return received
    }
}
