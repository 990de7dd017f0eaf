internal import Glibc

/// Facts about the host and its environment; for diagnostics.
public enum HostFacts {
    /// The host's name (gethostname(2)); empty if it has none.
    public static var name: String {
        // HOST_NAME_MAX and the final zero.
        var name = [CChar](repeating: 0, count: 65)
        guard unsafe gethostname(&name, name.count - 1) == 0 else { return "" }
        return String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// The number of this process on this host (getpid(2)).
    public static var processID: Int32 { getpid() }

    /// A file system, with its limits.
    public struct FileSystem: Sendable, Equatable {
        /// The device number, the same for all paths in it.
        public var device: UInt64
        /// In bytes; free for users other than root.
        public var freeBytes: Int64
        public var totalBytes: Int64
        /// Files (inodes) that can still be created, and the total; both 0 if the file system has no such limit.
        public var freeFiles: Int64
        public var totalFiles: Int64
        /// Whether it is kept in memory (tmpfs, ramfs).
        public var isInMemory = false
        /// Whether it is read-only.
        public var isReadOnly = false
        /// Where it is mounted; `nil` if that is unknown.
        public var mountPoint: String?

        public init(device: UInt64, freeBytes: Int64, totalBytes: Int64, freeFiles: Int64, totalFiles: Int64) {
            self.device = device
            self.freeBytes = freeBytes
            self.totalBytes = totalBytes
            self.freeFiles = freeFiles
            self.totalFiles = totalFiles
        }
    }

    /// The file system that holds `path` (statvfs(3), stat(2), proc(5) on `mountinfo`).
    /// - Throws: ``PosixError``.
    public static func fileSystem(at path: String) throws(PosixError) -> FileSystem {
        var space = statvfs()
        guard unsafe statvfs(path, &space) == 0 else { throw PosixError(call: "statvfs", code: errno) }
        var status = stat()
        guard unsafe stat(path, &status) == 0 else { throw PosixError(call: "stat", code: errno) }
        let unit = Int64(space.f_frsize)
        var system = FileSystem(
            device: UInt64(status.st_dev), freeBytes: Int64(space.f_bavail) * unit,
            totalBytes: Int64(space.f_blocks) * unit, freeFiles: Int64(space.f_favail),
            totalFiles: Int64(space.f_files))
        // ST_RDONLY of statvfs(3).
        system.isReadOnly = space.f_flag & 1 != 0
        if let mount = mount(of: path, onDevice: system.device) {
            (system.mountPoint, system.isInMemory) = (mount.point, ["tmpfs", "ramfs"].contains(mount.type))
        }
        return system
    }

    /// The mount point of the file system of `path`, and its type: the deepest mount on this device above the path.
    private static func mount(of path: String, onDevice device: UInt64) -> (point: String, type: String)? {
        guard let table = try? TextFile.read("/proc/self/mountinfo") else { return nil }
        // The lower and higher bits of both numbers (makedev(3)).
        let major = (device >> 8) & 0xFFF | (device >> 32) & 0xFFFF_F000
        let minor = device & 0xFF | (device >> 12) & 0xFFFF_FF00
        var found: (point: String, type: String)?
        for line in String(decoding: table, as: UTF8.self).split(separator: "\n") {
            let words = line.split(separator: " ").map(String.init)
            guard words.count > 4, words[2] == "\(major):\(minor)", let dash = words.lastIndex(of: "-"),
                dash + 1 < words.count
            else { continue }
            let point = words[4]
            let isAbove = point == "/" || path == point || path.hasPrefix(point + "/")
            if isAbove, point.utf8.count >= found?.point.utf8.count ?? 0 { found = (point, words[dash + 1]) }
            // A link may lead there.
            if found == nil { found = (point, words[dash + 1]) }
        }
        return found
    }

    /// Makes name lookups give up after a few seconds, in this process and in programs that it starts, unless the
    /// environment sets their timeout (resolv.conf(5), `RES_OPTIONS`). Call before the first thread starts.
    public static func limitLookups() { unsafe setenv("RES_OPTIONS", "timeout:2 attempts:2", 0) }

    /// The addresses that the system resolves a name to (getaddrinfo(3)); empty if none.
    public static func addresses(of name: String) -> [String] {
        var hints = unsafe addrinfo()
        unsafe hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var list: UnsafeMutablePointer<addrinfo>?
        guard unsafe getaddrinfo(name, nil, &hints, &list) == 0 else { return [] }
        defer { unsafe freeaddrinfo(list) }
        var found: [String] = []
        var next = unsafe list
        while let entry = unsafe next {
            if let address = unsafe text(of: entry.pointee.ai_addr, entry.pointee.ai_addrlen) { found.append(address) }
            unsafe next = unsafe entry.pointee.ai_next
        }
        return found
    }

    /// The addresses of this host's interfaces (getifaddrs(3)).
    public static func ownAddresses() -> [String] {
        var list: UnsafeMutablePointer<ifaddrs>?
        guard unsafe getifaddrs(&list) == 0 else { return [] }
        defer { unsafe freeifaddrs(list) }
        var found: [String] = []
        var next = unsafe list
        while let entry = unsafe next {
            if let address = unsafe entry.pointee.ifa_addr {
                let family = Int32(unsafe address.pointee.sa_family)
                let length = family == AF_INET ? MemoryLayout<sockaddr_in>.size : MemoryLayout<sockaddr_in6>.size
                if family == AF_INET || family == AF_INET6, let text = unsafe text(of: address, socklen_t(length)) {
                    found.append(text)
                }
            }
            unsafe next = unsafe entry.pointee.ifa_next
        }
        return found
    }

    private static func text(of address: UnsafeMutablePointer<sockaddr>?, _ length: socklen_t) -> String? {
        guard let address = unsafe address else { return nil }
        var host = [CChar](repeating: 0, count: 256)
        guard unsafe getnameinfo(address, length, &host, socklen_t(host.count), nil, 0, NI_NUMERICHOST) == 0 else {
            return nil
        }
        return String(decoding: host.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
