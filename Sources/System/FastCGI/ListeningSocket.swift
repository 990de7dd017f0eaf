internal import Glibc

/// A socket on which this process accepts FastCGI connections.
///
/// It is usually shared with sibling processes and with systemd, so it is never shut down or closed here: `shutdown(2)`
/// would shut it down for all of them.
public struct ListeningSocket: Sendable {
    let descriptor: CInt

    /// The socket passed by the service manager, if any.
    ///
    /// Passed either by the protocol of sd_listen_fds(3) (`LISTEN_PID`, `LISTEN_FDS`, first descriptor 3), or as
    /// standard input, as FastCGI process managers do (FastCGI specification, section 2.2).
    public static func inherited() -> ListeningSocket? {
        if environment("LISTEN_PID").flatMap({ Int32($0) }) == getpid(),
            let count = environment("LISTEN_FDS").flatMap({ Int($0) }), count >= 1
        {
            return ListeningSocket(descriptor: 3)
        }
        return isListening(0) ? ListeningSocket(descriptor: 0) : nil
    }

    /// Creates a Unix-domain socket at `path`, replacing an existing socket file.
    ///
    /// - Parameter backlog: connections the kernel queues while all threads are busy.
    /// - Throws: ``FastCGIError/socket(errno:)``.
    public static func bind(path: String, backlog: Int32 = 1024) throws(FastCGIError) -> ListeningSocket {
        // FCGX_OpenSocket would exit the process on failure.
        let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw .socket(errno: errno) }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let name = Array(path.utf8)
        let isBound = unsafe withUnsafeMutableBytes(of: &address.sun_path) { room in
            guard name.count < room.count else { return false }
            unsafe room.copyBytes(from: name)
            return true
        }
        unsafe unlink(path)
        let result = unsafe withUnsafePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                unsafe Glibc.bind(descriptor, pointer, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard isBound, result == 0, listen(descriptor, backlog) == 0 else {
            let code = isBound ? errno : ENAMETOOLONG
            close(descriptor)
            throw .socket(errno: code)
        }
        return ListeningSocket(descriptor: descriptor)
    }

    private static func environment(_ name: String) -> String? {
        guard let value = unsafe getenv(name) else { return nil }
        return unsafe String(cString: value)
    }

    /// Whether `descriptor` is a socket in the listening state (socket(7), `SO_ACCEPTCONN`).
    private static func isListening(_ descriptor: CInt) -> Bool {
        var value: CInt = 0
        var length = socklen_t(MemoryLayout<CInt>.size)
        return unsafe getsockopt(descriptor, SOL_SOCKET, SO_ACCEPTCONN, &value, &length) == 0 && value != 0
    }
}
