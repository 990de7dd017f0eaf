#if canImport(Darwin)
    import Darwin
#elseif canImport(Android)
    import Android
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// A file descriptor, closed when the last reference is released.
final class Descriptor: Sendable {
    let number: Int32
    init(_ number: Int32) { self.number = number }
    deinit { _ = close(number) }
}

/// The few calls of the socket interface (POSIX.1-2024, XSH 2.10) that a listener on loopback needs.
///
/// Only ``wait(_:milliseconds:)`` blocks.
@safe
enum Sockets {
    /// The error of a failed call.
    struct Failure: Error, Equatable {
        let call: String
        let number: Int32
    }

    /// A socket that listens on 127.0.0.1 or, if `isIPv6`, on ::1 alone.
    /// - Parameter port: 0 for any free port.
    static func listener(port: UInt16, isIPv6: Bool) throws(Failure) -> Descriptor {
        let family = isIPv6 ? AF_INET6 : AF_INET
        #if canImport(Glibc) || canImport(Musl)
            let number = socket(family, Int32(SOCK_STREAM.rawValue), 0)
        #else
            let number = socket(family, Int32(SOCK_STREAM), 0)
        #endif
        guard number >= 0 else { throw Failure(call: "socket", number: errno) }
        let descriptor = Descriptor(number)
        try prepare(descriptor)
        // A recently used port may be reused, but not one with an active listener.
        if port != 0 { try set(descriptor, SOL_SOCKET, SO_REUSEADDR) }
        if isIPv6 { try set(descriptor, Int32(IPPROTO_IPV6), IPV6_V6ONLY) }
        try attach(descriptor, port: port, isIPv6: isIPv6)
        let status = listen(number, 16)
        guard status == 0 else { throw Failure(call: "listen", number: errno) }
        return descriptor
    }

    private static func attach(_ descriptor: Descriptor, port: UInt16, isIPv6: Bool) throws(Failure) {
        let status: Int32
        if isIPv6 {
            var address = sockaddr_in6()
            address.sin6_family = sa_family_t(AF_INET6)
            address.sin6_port = port.bigEndian
            address.sin6_addr = in6addr_loopback
            status = unsafe withBytes(of: &address) { unsafe bind(descriptor.number, $0, $1) }
        } else {
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_port = port.bigEndian
            address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
            status = unsafe withBytes(of: &address) { unsafe bind(descriptor.number, $0, $1) }
        }
        guard status == 0 else { throw Failure(call: "bind", number: errno) }
    }

    private static func withBytes<Address>(
        of address: inout Address, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32
    ) -> Int32 {
        unsafe withUnsafePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic in
                unsafe body(generic, socklen_t(MemoryLayout<Address>.size))
            }
        }
    }

    /// The port that a socket listens on.
    static func port(of descriptor: Descriptor) throws(Failure) -> UInt16 {
        var address = sockaddr_in6()
        var length = socklen_t(MemoryLayout<sockaddr_in6>.size)
        let status = unsafe withUnsafeMutablePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic in
                unsafe getsockname(descriptor.number, generic, &length)
            }
        }
        guard status == 0 else { throw Failure(call: "getsockname", number: errno) }
        // The port has the same position in both kinds of addresses (RFC 3493, section 3.3).
        return UInt16(bigEndian: address.sin6_port)
    }

    /// Accepts a waiting connection, or `nil`.
    static func nextConnection(_ listener: Descriptor) -> Descriptor? {
        let number = accept(listener.number, nil, nil)
        guard number >= 0 else { return nil }
        let descriptor = Descriptor(number)
        return (try? prepare(descriptor)) == nil ? nil : descriptor
    }

    /// Bytes that have arrived: empty at the end of the connection, `nil` if there are none yet.
    static func receive(_ connection: Descriptor, atMost count: Int) -> [UInt8]? {
        var buffer = [UInt8](repeating: 0, count: count)
        let received = unsafe buffer.withUnsafeMutableBytes { bytes in
            unsafe recv(connection.number, bytes.baseAddress, bytes.count, 0)
        }
        if received < 0 { return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR ? nil : [] }
        return Array(buffer[..<received])
    }

    /// Sends bytes; returns the number accepted, or `nil` if the connection is closed.
    static func transmit(_ connection: Descriptor, _ bytes: ArraySlice<UInt8>) -> Int? {
        #if canImport(Darwin)
            let flags: Int32 = 0
        #else
            let flags = Int32(MSG_NOSIGNAL)
        #endif
        let sent = unsafe bytes.withUnsafeBytes { bytes in
            unsafe send(connection.number, bytes.baseAddress, bytes.count, flags)
        }
        if sent < 0 { return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR ? 0 : nil }
        return sent
    }

    /// Signals that nothing more will be sent.
    static func finish(_ connection: Descriptor) { _ = shutdown(connection.number, Int32(SHUT_WR)) }

    /// A descriptor to wait on and one that ends the wait: a byte written to the second can be read from the first.
    static func wakePair() throws(Failure) -> (reading: Descriptor, writing: Descriptor) {
        var numbers: [Int32] = [-1, -1]
        guard unsafe pipe(&numbers) == 0 else { throw Failure(call: "pipe", number: errno) }
        let pair = (reading: Descriptor(numbers[0]), writing: Descriptor(numbers[1]))
        try prepare(pair.reading)
        try prepare(pair.writing)
        return pair
    }

    static func wake(_ writing: Descriptor) {
        let byte: [UInt8] = [1]
        _ = unsafe write(writing.number, byte, 1)
    }

    /// Waits until one of the descriptors is ready for reading or writing.
    /// - Returns: which of them are ready; none on timeout.
    static func wait(_ wanted: [(descriptor: Descriptor, forWriting: Bool)], milliseconds: Int32) -> [Bool] {
        var entries = wanted.map { want in
            pollfd(
                fd: want.descriptor.number, events: Int16(want.forWriting ? POLLOUT : POLLIN), revents: 0)
        }
        let count = unsafe poll(&entries, nfds_t(entries.count), milliseconds)
        guard count > 0 else { return wanted.map { _ in false } }
        return entries.map { $0.revents != 0 }
    }

    /// Not inherited by child processes, such as the browser; non-blocking; no signal when the peer disconnects.
    private static func prepare(_ descriptor: Descriptor) throws(Failure) {
        guard fcntl(descriptor.number, F_SETFD, FD_CLOEXEC) == 0,
            fcntl(descriptor.number, F_SETFL, O_NONBLOCK) == 0
        else { throw Failure(call: "fcntl", number: errno) }
        #if canImport(Darwin)
            _ = try? set(descriptor, SOL_SOCKET, SO_NOSIGPIPE)
        #endif
    }

    private static func set(_ descriptor: Descriptor, _ level: Int32, _ option: Int32) throws(Failure) {
        var on: Int32 = 1
        guard unsafe setsockopt(descriptor.number, level, option, &on, socklen_t(MemoryLayout<Int32>.size)) == 0 else {
            throw Failure(call: "setsockopt", number: errno)
        }
    }
}

extension Sockets.Failure {
    /// Whether the address is already in use.
    var isAddressInUse: Bool { number == EADDRINUSE }
}
