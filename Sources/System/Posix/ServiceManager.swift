internal import Glibc

/// The connection to systemd (sd_notify(3), sd_watchdog_enabled(3)); does nothing without systemd.
public struct ServiceManager: Sendable {
    private let path: String?
    /// How often to send a watchdog notification; `nil` if the watchdog is disabled. Half of `WATCHDOG_USEC`.
    public let watchdogInterval: Duration?

    public init() {
        path = unsafe getenv("NOTIFY_SOCKET").map { unsafe String(cString: $0) }
        let microseconds = unsafe getenv("WATCHDOG_USEC").flatMap { unsafe Int64(String(cString: $0)) }
        watchdogInterval = microseconds.map { .microseconds($0 / 2) }
    }

    /// Reports that the process is ready for requests.
    public func ready(_ status: String) { send("READY=1\nSTATUS=\(status)") }
    /// Reports what the process is doing.
    public func report(_ status: String) { send("STATUS=\(status)") }
    /// Reports that the process is finishing its last requests.
    public func stopping() { send("STOPPING=1\nSTATUS=Finishing requests") }
    /// Sends a watchdog keep-alive.
    public func aliveNow() { send("WATCHDOG=1") }

    private func send(_ message: String) {
        guard let path else { return }
        let descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return }
        defer { close(descriptor) }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        var name = Array(path.utf8)
        guard name.count < 107 else { return }
        // A leading @ denotes the abstract namespace (unix(7)).
        if name.first == UInt8(ascii: "@") { name[0] = 0 }
        unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: name) }
        let length = socklen_t(MemoryLayout<sa_family_t>.size + name.count)
        _ = unsafe withUnsafePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                let bytes = Array(message.utf8)
                return unsafe sendto(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL), pointer, length)
            }
        }
    }
}
