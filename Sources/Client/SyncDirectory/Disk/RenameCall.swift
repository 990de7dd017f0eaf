#if canImport(Darwin)
    internal import Darwin
#elseif canImport(Android)
    internal import Android
#elseif canImport(Musl)
    internal import Musl
#else
    internal import Glibc
#endif

/// Renames that are missing from POSIX: without replacing, and an atomic exchange of two files.
///
/// renameat2(2) of Linux, renameatx_np(2) of Darwin. Not every file system supports them.
@safe
enum RenameCall {
    enum Kind {
        case noReplace
        case exchange
    }

    enum Outcome {
        case done
        case failed(Int32)
        /// This system or this file system does not support the call.
        case unsupported
    }

    static func rename(_ old: FileCalls.Place, to new: FileCalls.Place, _ kind: Kind) -> Outcome {
        #if canImport(Darwin)
            let flags = kind == .noReplace ? UInt32(RENAME_EXCL) : UInt32(RENAME_SWAP)
            let result = unsafe renameatx_np(old.folder.number, old.name, new.folder.number, new.name, flags)
        #else
            guard let call = unsafe renameat2 else { return .unsupported }
            // RENAME_NOREPLACE and RENAME_EXCHANGE of linux/fs.h.
            let flags: CUnsignedInt = kind == .noReplace ? 1 : 2
            let result = unsafe call(old.folder.number, old.name, new.folder.number, new.name, flags)
        #endif
        if result == 0 { return .done }
        return [EINVAL, ENOSYS, ENOTSUP, EOPNOTSUPP].contains(errno) ? .unsupported : .failed(errno)
    }

    #if !canImport(Darwin)
        private typealias Call =
            @convention(c) (CInt, UnsafePointer<CChar>, CInt, UnsafePointer<CChar>, CUnsignedInt) -> CInt

        /// glibc 2.28 and later; its headers declare the function for GNU sources only, which Swift's module is not.
        private static let renameat2: Call? = unsafe dlsym(nil, "renameat2").map { address in
            unsafe unsafeBitCast(address, to: Call.self)
        }
    #endif
}
