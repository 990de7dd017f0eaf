@testable import SyncAccounts

#if canImport(Darwin)
    import Darwin
#elseif canImport(Android)
    import Android
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

extension Sockets {
    /// A connection to ::1.
    static func connectionOverIPv6(port: UInt16) throws(Failure) -> Descriptor {
        #if canImport(Glibc) || canImport(Musl)
            let number = socket(AF_INET6, Int32(SOCK_STREAM.rawValue), 0)
        #else
            let number = socket(AF_INET6, Int32(SOCK_STREAM), 0)
        #endif
        let descriptor = Descriptor(number)
        var address = sockaddr_in6()
        address.sin6_family = sa_family_t(AF_INET6)
        address.sin6_port = port.bigEndian
        address.sin6_addr = in6addr_loopback
        let status = unsafe withUnsafePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic in
                unsafe connect(number, generic, socklen_t(MemoryLayout<sockaddr_in6>.size))
            }
        }
        guard status == 0 else { throw Failure(call: "connect", number: errno) }
        return descriptor
    }

    /// A connection to 127.0.0.1.
    static func connectionForTests(port: UInt16) throws(Failure) -> Descriptor {
        #if canImport(Glibc) || canImport(Musl)
            let number = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        #else
            let number = socket(AF_INET, Int32(SOCK_STREAM), 0)
        #endif
        let descriptor = Descriptor(number)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let status = unsafe withUnsafePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic in
                unsafe connect(number, generic, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard status == 0 else { throw Failure(call: "connect", number: errno) }
        return descriptor
    }
}
