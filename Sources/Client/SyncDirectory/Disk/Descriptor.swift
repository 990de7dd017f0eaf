#if canImport(Darwin)
    internal import Darwin
#elseif canImport(Android)
    internal import Android
#elseif canImport(Musl)
    internal import Musl
#else
    internal import Glibc
#endif

/// A file descriptor, closed when the last reference is released.
final class Descriptor: Sendable {
    let number: Int32

    init(_ number: Int32) { self.number = number }

    deinit { _ = close(number) }
}

/// A name as a folder stores it.
struct StoredName {
    /// The name; nil if it is not UTF-8.
    let text: String?
    /// The name for display: bytes that are not UTF-8, and control characters, are written as `\\xe9`.
    let shown: String

    init(_ bytes: [UInt8]) {
        text = String(validating: bytes, as: UTF8.self)
        shown = Self.escaped(bytes)
    }

    @unsafe
    init(cString: UnsafePointer<UInt8>) {
        var bytes: [UInt8] = []
        while case let byte = unsafe cString[bytes.count], byte != 0 { bytes.append(byte) }
        self.init(bytes)
    }

    private static func escaped(_ bytes: [UInt8]) -> String {
        func hexadecimal(_ bytes: some Sequence<UInt8>) -> String {
            bytes.map { "\\x" + (($0 < 16 ? "0" : "") + String($0, radix: 16)) }.joined()
        }
        var (shown, parser, rest, position) = ("", Unicode.UTF8.ForwardParser(), bytes.makeIterator(), 0)
        while true {
            switch parser.parseScalar(from: &rest) {
            case .emptyInput: return shown
            case .error(let length):
                shown += hexadecimal(bytes[position..<position + length])
                position += length
            case .valid(let encoded):
                let scalar = Unicode.UTF8.decode(encoded)
                let isControl = scalar.value < 0x20 || (0x7F...0x9F).contains(scalar.value)
                shown += isControl ? hexadecimal(encoded) : String(scalar)
                position += encoded.count
            }
        }
    }
}

/// The calls of POSIX.1-2024 that work relative to an open folder, so that nobody can redirect them elsewhere.
@safe
enum FileCalls {
    /// open(2): opens a folder that a person names.
    static func openFolder(atPath path: String) throws(DiskError) -> Descriptor {
        let number = unsafe open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard number >= 0 else {
            var error = DiskError("open")
            error.path = path
            throw error
        }
        return Descriptor(number)
    }

    /// mkdir(2), unless the folder exists, and open(2).
    static func makeAndOpenFolder(atPath path: String) throws(DiskError) -> Descriptor {
        guard unsafe mkdir(path, 0o777) == 0 || errno == EEXIST else {
            var error = DiskError("mkdir")
            error.path = path
            throw error
        }
        return try openFolder(atPath: path)
    }

    /// openat(2): opens a folder without following a link.
    static func openFolder(_ name: String, in folder: Int32) throws(DiskError) -> Descriptor {
        let number = unsafe openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
        guard number >= 0 else { throw DiskError("openat") }
        return Descriptor(number)
    }

    /// openat(2): opens a file for reading, never a link; does not block on a pipe.
    static func openFile(_ name: String, in folder: Int32) throws(DiskError) -> Descriptor {
        let number = unsafe openat(folder, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK)
        guard number >= 0 else { throw DiskError("openat") }
        return Descriptor(number)
    }

    /// openat(2): creates a new file, accessible to its owner and as the umask allows.
    static func createFile(_ name: String, in folder: Int32) throws(DiskError) -> Descriptor {
        let number = unsafe openat(folder, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o666)
        guard number >= 0 else { throw DiskError("openat") }
        return Descriptor(number)
    }

    /// fstatat(2), without following links.
    static func item(_ name: String, in folder: Int32) throws(DiskError) -> DirectoryItem {
        var status = stat()
        guard unsafe fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) == 0 else {
            if errno == ENOENT { return .missing }
            throw DiskError("fstatat")
        }
        return item(status)
    }

    /// fstat(2).
    static func item(_ descriptor: Descriptor) throws(DiskError) -> DirectoryItem {
        var status = stat()
        guard unsafe fstat(descriptor.number, &status) == 0 else { throw DiskError("fstat") }
        return item(status)
    }

    private static func item(_ status: stat) -> DirectoryItem {
        switch status.st_mode & S_IFMT {
        case S_IFREG: .file(FileSignature(status))
        case S_IFDIR: .folder
        default: .other
        }
    }

    /// The names in a folder as they are stored, without `.` and `..`; readdir(3).
    static func names(in folder: Descriptor) throws(DiskError) -> [StoredName] {
        // Uses a separate descriptor, since closedir(3) closes it, and duplicates share its position.
        let copy = try openFolder(".", in: folder.number)
        let number = dup(copy.number)
        guard number >= 0 else { throw DiskError("dup") }
        guard let stream = unsafe fdopendir(number) else {
            let error = DiskError("fdopendir")
            close(number)
            throw error
        }
        defer { unsafe closedir(stream) }
        var names: [StoredName] = []
        while true {
            errno = 0
            guard let entry = unsafe readdir(stream) else {
                guard errno == 0 else { throw DiskError("readdir") }
                return names
            }
            let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) { pointer in
                unsafe pointer.withMemoryRebound(to: UInt8.self, capacity: MemoryLayout.size(ofValue: pointer.pointee))
                {
                    unsafe StoredName(cString: $0)
                }
            }
            if name.text != ".", name.text != ".." { names.append(name) }
        }
    }

    /// fsync(2).
    static func sync(_ descriptor: Descriptor) throws(DiskError) {
        while fsync(descriptor.number) != 0 { if errno != EINTR { throw DiskError("fsync") } }
    }

    /// futimens(2): the time of modification, in nanoseconds since 1970; the access time does not change.
    static func setModified(_ nanoseconds: Int64, of descriptor: Descriptor) {
        var times = [timespec(), timespec()]
        // UTIME_OMIT of sys/stat.h, a macro that Swift does not see everywhere.
        #if canImport(Darwin)
            times[0].tv_nsec = -2
        #else
            times[0].tv_nsec = (1 << 30) - 2
        #endif
        times[1].tv_sec = time_t(nanoseconds / 1_000_000_000)
        times[1].tv_nsec = Int(nanoseconds % 1_000_000_000)
        // If the file system cannot store the time, the file is still valid.
        _ = unsafe futimens(descriptor.number, times)
    }

    /// mkdirat(2); does nothing if the name exists.
    static func makeFolder(_ name: String, in folder: Int32, mode: mode_t = 0o777) throws(DiskError) {
        guard unsafe mkdirat(folder, name, mode) == 0 || errno == EEXIST else { throw DiskError("mkdirat") }
    }

    /// unlinkat(2); does nothing if the name does not exist.
    static func removeFile(_ name: String, in folder: Int32) throws(DiskError) {
        guard unsafe unlinkat(folder, name, 0) == 0 || errno == ENOENT else { throw DiskError("unlinkat") }
    }

    /// unlinkat(2) for an empty folder; false if it is not empty, or cannot be removed.
    static func removeFolder(_ name: String, in folder: Int32) -> Bool {
        unsafe unlinkat(folder, name, AT_REMOVEDIR) == 0
    }

    /// The name of a file, and the open folder that contains it.
    struct Place {
        var folder: Descriptor
        var name: String
    }

    /// The open folder that contains a path below `root`, and the name in it.
    static func place(
        _ path: RelativePath, below root: Descriptor, makingFolders: Bool = false
    ) throws(DiskError) -> Place {
        let names = path.names
        var folder = root
        do {
            for name in names.dropLast() {
                if makingFolders { try makeFolder(name, in: folder.number) }
                folder = try openFolder(name, in: folder.number)
            }
        } catch {
            throw DiskError(error.call, path, code: error.code)
        }
        return Place(folder: folder, name: names.last ?? path.text)
    }

    /// Moves a file to an unused name.
    /// - Parameter inOneStep: whether to try the system's atomic call, which not every file system supports.
    /// - Throws: ``DiskError``, with ``DiskError/isOccupied`` if the name is in use.
    static func move(_ old: Place, to new: Place, inOneStep: Bool = true) throws(DiskError) {
        switch inOneStep ? RenameCall.rename(old, to: new, .noReplace) : .unsupported {
        case .done: return
        case .failed(let code): throw DiskError("renameat2", code: code)
        case .unsupported: break
        }
        // A link never replaces anything, and for a moment the file has two names.
        if unsafe linkat(old.folder.number, old.name, new.folder.number, new.name, 0) == 0 {
            return try removeFile(old.name, in: old.folder.number)
        }
        guard [EPERM, EOPNOTSUPP, ENOSYS].contains(errno) else { throw DiskError("linkat") }
        // On a file system without links, the name could be taken between the check and the move.
        guard try item(new.name, in: new.folder.number) == .missing else { throw DiskError("renameat", code: EEXIST) }
        guard unsafe renameat(old.folder.number, old.name, new.folder.number, new.name) == 0 else {
            throw DiskError("renameat")
        }
    }

    /// Exchanges the files at `new` and `old`.
    /// - Parameter inOneStep: whether to try the system's atomic call, which not every file system supports.
    static func exchange(_ new: Place, with old: Place, inOneStep: Bool = true) throws(DiskError) {
        switch inOneStep ? RenameCall.rename(new, to: old, .exchange) : .unsupported {
        case .done: return
        case .failed(let code): throw DiskError("renameat2", code: code)
        case .unsupported: break
        }
        // The replaced file is renamed first, so that it is never lost.
        let kept = new.name + ".old"
        try removeFile(kept, in: new.folder.number)
        let isLinked = unsafe linkat(old.folder.number, old.name, new.folder.number, kept, 0) == 0
        if !isLinked {
            guard [EPERM, EOPNOTSUPP, ENOSYS].contains(errno) else { throw DiskError("linkat") }
            guard unsafe renameat(old.folder.number, old.name, new.folder.number, kept) == 0 else {
                throw DiskError("renameat")
            }
        }
        guard unsafe renameat(new.folder.number, new.name, old.folder.number, old.name) == 0,
            unsafe renameat(new.folder.number, kept, new.folder.number, new.name) == 0
        else { throw DiskError("renameat") }
    }
}

extension FileCalls {
    /// read(2), until `buffer` is full or the file ends; returns the number of bytes.
    static func read(_ descriptor: Descriptor, into buffer: inout [UInt8]) throws(DiskError) -> Int {
        var filled = 0
        while filled < buffer.count {
            let count = unsafe buffer.withUnsafeMutableBytes { bytes in
                #if canImport(Darwin)
                    unsafe Darwin.read(descriptor.number, bytes.baseAddress! + filled, bytes.count - filled)
                #elseif canImport(Android)
                    unsafe Android.read(descriptor.number, bytes.baseAddress! + filled, bytes.count - filled)
                #elseif canImport(Musl)
                    unsafe Musl.read(descriptor.number, bytes.baseAddress! + filled, bytes.count - filled)
                #else
                    unsafe Glibc.read(descriptor.number, bytes.baseAddress! + filled, bytes.count - filled)
                #endif
            }
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw DiskError("read") }
            if count == 0 { break }
            filled += count
        }
        return filled
    }

    /// Reads a file to its end, in chunks of 256 KiB.
    static func forEachChunk(
        of file: Descriptor, _ body: (ArraySlice<UInt8>) throws(DiskError) -> Void
    ) throws(DiskError) {
        var buffer = [UInt8](repeating: 0, count: 262_144)
        while true {
            let count = try read(file, into: &buffer)
            if count == 0 { return }
            try body(buffer[..<count])
        }
    }

    /// write(2), all of it.
    static func write(_ bytes: ArraySlice<UInt8>, to descriptor: Descriptor) throws(DiskError) {
        var rest = bytes
        while !rest.isEmpty {
            let count = unsafe rest.withUnsafeBytes { bytes in
                #if canImport(Darwin)
                    unsafe Darwin.write(descriptor.number, bytes.baseAddress!, bytes.count)
                #elseif canImport(Android)
                    unsafe Android.write(descriptor.number, bytes.baseAddress!, bytes.count)
                #elseif canImport(Musl)
                    unsafe Musl.write(descriptor.number, bytes.baseAddress!, bytes.count)
                #else
                    unsafe Glibc.write(descriptor.number, bytes.baseAddress!, bytes.count)
                #endif
            }
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw DiskError("write") }
            rest = rest.dropFirst(count)
        }
    }
}

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

/// A failed system call on the directory's files.
package struct DiskError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The call, such as `openat`.
    package let call: String
    /// The system's error number; see errno(3).
    package let code: Int32
    /// The path, if the error concerns one file.
    package var path: String?

    init(_ call: String, _ path: RelativePath? = nil, code: Int32 = errno) {
        self.call = call
        self.code = code
        self.path = path?.text
    }

    /// Whether the file does not exist, including because a parent folder is missing or is not a folder.
    var isMissing: Bool { code == ENOENT || code == ENOTDIR || code == ELOOP }

    /// Whether the name is already in use.
    var isOccupied: Bool { code == EEXIST || code == ENOTEMPTY }

    /// Whether another place in the directory may work: a link or a file exists instead of a needed folder, the name is
    /// invalid on this file system, access to the folder is denied, or the folder is on another file system.
    var concernsThePlace: Bool {
        [ENOTDIR, ELOOP, EISDIR, ENAMETOOLONG, EINVAL, EILSEQ, EACCES, EPERM, EXDEV, EEXIST, ENOTEMPTY].contains(code)
    }

    /// A description for people.
    package var description: String {
        let reason = unsafe String(cString: strerror(code))
        return path.map { "\($0): \(reason) (\(call))" } ?? "\(reason) (\(call))"
    }
}
