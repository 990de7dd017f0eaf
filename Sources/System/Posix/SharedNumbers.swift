internal import CPosix
internal import Glibc

/// Numbers in a shared file that this process writes and others read concurrently, lock-free (mmap(2)).
///
/// The file stays locked (flock(2)) until this process exits for any reason: this shows others whether it is alive.
@safe
public final class SharedNumbers: @unchecked Sendable {
    // `@unchecked Sendable`: the address never changes, the memory lives as long as this object, and every access to it
    // is one atomic operation.

    /// The number of values.
    public let count: Int
    private let descriptor: CInt
    private let numbers: UnsafeMutablePointer<UInt64>

    /// Creates a file of `count` zeros (1 or more), readable by the group, and locks it.
    /// - Throws: ``PosixError``; `EEXIST` if the file exists.
    public init(making path: String, count: Int) throws(PosixError) {
        let descriptor = unsafe open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o640)
        guard descriptor >= 0 else { throw PosixError(call: "open", code: errno) }
        do throws(PosixError) {
            guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else { throw PosixError(call: "flock", code: errno) }
            // Reserves the space: otherwise a write to a mapped page without space on a full file system would raise
            // SIGBUS.
            let code = posix_fallocate(descriptor, 0, off_t(count * 8))
            guard code == 0 else { throw PosixError(call: "posix_fallocate", code: code) }
            unsafe numbers = try Self.map(descriptor, count, PROT_READ | PROT_WRITE)
        } catch {
            unsafe unlink(path)
            close(descriptor)
            throw error
        }
        self.descriptor = descriptor
        self.count = count
    }

    /// Opens another process's file, to read it.
    /// - Throws: ``PosixError``; `ENOENT` if it does not exist, `EINVAL` if it is empty.
    public init(reading path: String) throws(PosixError) {
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw PosixError(call: "open", code: errno) }
        do throws(PosixError) {
            var status = stat()
            guard unsafe fstat(descriptor, &status) == 0 else { throw PosixError(call: "fstat", code: errno) }
            count = Int(status.st_size) / 8
            guard count > 0 else { throw PosixError(call: "mmap", code: EINVAL) }
            unsafe numbers = try Self.map(descriptor, count, PROT_READ)
        } catch {
            close(descriptor)
            throw error
        }
        self.descriptor = descriptor
    }

    deinit {
        unsafe munmap(numbers, count * 8)
        close(descriptor)
    }

    private static func map(
        _ descriptor: CInt, _ count: Int, _ protection: CInt
    ) throws(PosixError) -> UnsafeMutablePointer<UInt64> {
        let address = unsafe mmap(nil, count * 8, protection, MAP_SHARED, descriptor, 0)
        guard let address = unsafe address, unsafe address != MAP_FAILED else {
            throw PosixError(call: "mmap", code: errno)
        }
        return unsafe address.bindMemory(to: UInt64.self, capacity: count)
    }

    /// Whether the process that created the file is alive; only useful on an object opened for reading.
    public var isMakerAlive: Bool {
        guard flock(descriptor, LOCK_SH | LOCK_NB) == 0 else { return true }
        flock(descriptor, LOCK_UN)
        return false
    }

    /// Adds to a number; it wraps around. Only on an object that created its file.
    public func add(_ value: UInt64, at index: Int) {
        precondition(index >= 0 && index < count, "index out of range")
        unsafe posix_atomic_add(numbers + index, value)
    }

    /// Sets a number. Only on an object that created its file.
    public func set(_ value: UInt64, at index: Int) {
        precondition(index >= 0 && index < count, "index out of range")
        unsafe posix_atomic_store(numbers + index, value)
    }

    /// The current value of a number.
    public func value(at index: Int) -> UInt64 {
        precondition(index >= 0 && index < count, "index out of range")
        return unsafe posix_atomic_load(numbers + index)
    }
}
