package import Foundation
package import SyncEngine
import Synchronization

#if canImport(Darwin)
    import Darwin
#elseif canImport(Android)
    import Android
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// Resolves locations, and manages the files that the library owns.
package struct LibraryFiles: Sendable {
    private let folder: URL
    private let bases: [LocalFileLocation.Base: URL]
    private let makeName: @Sendable () -> String

    /// - Parameter folder: The folder of the files that the library owns.
    package init(
        folder: URL, bases: [LocalFileLocation.Base: URL], makeName: @escaping @Sendable () -> String
    ) {
        self.folder = folder
        self.bases = bases
        self.makeName = makeName
    }

    /// The URL of a location; nil if the device has no such base.
    package func url(of location: LocalFileLocation) -> URL? {
        switch location.base {
        case .absolute: URL(filePath: location.path)
        case .library: folder.appending(path: location.path)
        default: (bases[location.base] ?? Self.systemFolder(location.base))?.appending(path: location.path)
        }
    }

    /// The location of a file: relative to a known base where possible, so that the file is found again after the app's
    /// container has moved.
    package func location(of url: URL) -> LocalFileLocation {
        let path = url.absoluteURL.standardizedFileURL.path
        let known: [LocalFileLocation.Base] = [.documents, .applicationSupport]
        for base in bases.keys.sorted(by: { $0.rawValue < $1.rawValue }) + known {
            guard let root = (bases[base] ?? Self.systemFolder(base))?.standardizedFileURL.path else { continue }
            let prefix = root.hasSuffix("/") ? root : root + "/"
            if path.hasPrefix(prefix) {
                return LocalFileLocation(base: base, path: String(path.dropFirst(prefix.count)))
            }
        }
        return LocalFileLocation(base: .absolute, path: path)
    }

    private static func systemFolder(_ base: LocalFileLocation.Base) -> URL? {
        switch base {
        case .documents: return FileManager.default.urls(for: .documentDirectory, in: .userDomainMask).first
        case .applicationSupport:
            return FileManager.default.urls(for: .applicationSupportDirectory, in: .userDomainMask).first
        case .mainBundle: return Bundle.main.resourceURL
        default:
            #if canImport(Darwin)
                let prefix = LocalFileLocation.Base.appGroup("").rawValue
                guard base.rawValue.hasPrefix(prefix) else { return nil }
                return FileManager.default.containerURL(
                    forSecurityApplicationGroupIdentifier: String(base.rawValue.dropFirst(prefix.count)))
            #else
                return nil
            #endif
        }
    }

    // MARK: The library's own files

    /// Creates the folder.
    func prepare() throws(SyncError) {
        do {
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        } catch { throw SyncError(.fileManagerError) }
    }

    /// A location for a file that does not exist yet.
    package func makeLocation() -> LocalFileLocation {
        LocalFileLocation(base: .library, path: makeName())
    }

    /// Copies a file into the folder. The copy is complete and on disk before it becomes visible under its name.
    func copy(_ source: URL) throws(SyncError) -> LocalFileLocation {
        try adopt { try FileManager.default.copyItem(at: source, to: $0) }
    }

    /// Writes bytes to a file in the folder.
    func write(_ data: Data) throws(SyncError) -> LocalFileLocation {
        try adopt { try data.write(to: $0) }
    }

    /// Moves a file into the folder.
    func move(_ source: URL) throws(SyncError) -> LocalFileLocation {
        try adopt { try FileManager.default.moveItem(at: source, to: $0) }
    }

    /// Creates a hard link in this folder to a file in another folder, or copies the file if the file system does not
    /// support hard links.
    func link(_ source: URL, to location: LocalFileLocation) throws(SyncError) {
        let target = folder.appending(path: location.path)
        do {
            try? FileManager.default.removeItem(at: target)
            do { try FileManager.default.linkItem(at: source, to: target) } catch {
                try FileManager.default.copyItem(at: source, to: target)
                try Self.synchronize(target)
            }
            try Self.synchronize(folder)
        } catch {
            try? FileManager.default.removeItem(at: target)
            throw SyncError(.fileManagerError)
        }
    }

    private func adopt(_ make: (URL) throws -> Void) throws(SyncError) -> LocalFileLocation {
        let location = makeLocation()
        let temporary = folder.appending(path: location.path + ".partial")
        do {
            try make(temporary)
            try Self.synchronize(temporary)
            try FileManager.default.moveItem(at: temporary, to: folder.appending(path: location.path))
            try Self.synchronize(folder)
        } catch {
            try? FileManager.default.removeItem(at: temporary)
            throw SyncError(.fileManagerError)
        }
        return location
    }

    private static func synchronize(_ url: URL) throws {
        let handle = try FileHandle(forReadingFrom: url)
        defer { try? handle.close() }
        try handle.synchronize()
    }

    /// Whether two files have the same bytes; false if one of them cannot be read.
    static func haveEqualContents(_ first: URL, _ second: URL) -> Bool {
        guard let stamp = try? FileStamp(of: first), stamp.size == (try? FileStamp(of: second))?.size else {
            return false
        }
        return FileManager.default.contentsEqual(atPath: first.path, andPath: second.path)
    }

    /// Removes a file if it exists: the app may have moved it away.
    func remove(_ location: LocalFileLocation) {
        guard let url = url(of: location) else { return }
        try? FileManager.default.removeItem(at: url)
    }

    /// Removes all files in the folder except those that a row references.
    func sweep(keeping owned: [LocalFileLocation]) {
        let kept = Set(owned.filter { $0.base == .library }.map(\.path))
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
        for name in names where !kept.contains(name) {
            try? FileManager.default.removeItem(at: folder.appending(path: name))
        }
    }

    /// The sizes in bytes of delivered contents.
    func sizes(of operations: [DownloadOperation]) -> [FileUUID: Int64] {
        var sizes: [FileUUID: Int64] = [:]
        for operation in operations {
            guard case .file(let location, _) = operation.kind, let url = url(of: location) else { continue }
            sizes[operation.attributes.fileUUID] = (try? FileStamp(of: url))?.size
        }
        return sizes
    }

    func exists(_ location: LocalFileLocation) -> Bool {
        url(of: location).map { FileManager.default.fileExists(atPath: $0.path) } ?? false
    }
}

/// Size and modification time of a file, which show whether it has changed.
struct FileStamp: Equatable {
    /// In bytes.
    let size: Int64
    /// Modification time, in seconds since 1970.
    let modified: Double

    /// - Throws: `fileManagerError` if the file does not exist or cannot be read.
    init(of file: URL) throws(SyncError) {
        guard FileManager.default.isReadableFile(atPath: file.path),
            let attributes = try? FileManager.default.attributesOfItem(atPath: file.path),
            attributes[.type] as? FileAttributeType == .typeRegular,
            let size = attributes[.size] as? NSNumber, let modified = attributes[.modificationDate] as? Date
        else { throw SyncError(.fileManagerError) }
        self.size = size.int64Value
        self.modified = modified.timeIntervalSince1970
    }
}

/// Restricts a store to one instance in one process, until it is released or the process ends: flock(2).
final class StoreLock: Sendable {
    private let file: URL
    private let descriptor = Mutex<Int32?>(nil)

    /// Acquires the lock.
    /// - Throws: What ``acquire()`` throws.
    init(_ file: URL) throws(SyncError) {
        self.file = file
        try acquire()
    }

    /// Acquires the lock again, after a release.
    /// - Throws: `storeInUse` if another process or instance holds it; `storeError`.
    func acquire() throws(SyncError) {
        let number = unsafe open(file.path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard number >= 0 else { throw SyncError(.storeError) }
        guard flock(number, LOCK_EX | LOCK_NB) == 0 else {
            let isTaken = errno == EWOULDBLOCK
            close(number)
            throw SyncError(isTaken ? .storeInUse : .storeError)
        }
        descriptor.withLock { $0 = number }
    }

    deinit { release() }

    /// Releases the store.
    func release() {
        descriptor.withLock { number in
            if let number { close(number) }
            number = nil
        }
    }
}
