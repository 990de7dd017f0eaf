package import Foundation
package import SyncEngine
import SyncServerConnection
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
                try FileCalls.synchronize(target.path)
            }
            try FileCalls.synchronize(folder.path)
        } catch {
            try? FileManager.default.removeItem(at: target)
            throw SyncError(.fileManagerError)
        }
    }

    private func adopt(_ make: (URL) throws -> Void) throws(SyncError) -> LocalFileLocation {
        let location = try adoptUnlisted(make)
        do throws(POSIXError) { try FileCalls.synchronize(folder.path) } catch {
            remove(location)
            throw SyncError(.fileManagerError)
        }
        return location
    }

    /// Adopts a file; its name is on disk only after the next synchronization of the folder.
    private func adoptUnlisted(_ make: (URL) throws -> Void) throws(SyncError) -> LocalFileLocation {
        let location = makeLocation()
        let temporary = folder.appending(path: location.path + ".partial")
        do {
            try make(temporary)
            try FileCalls.synchronize(temporary.path)
            try FileCalls.move(temporary.path, to: folder.appending(path: location.path).path)
        } catch {
            try? FileManager.default.removeItem(at: temporary)
            throw SyncError(.fileManagerError)
        }
        return location
    }

    /// The locations of contents that were prepared for upload.
    struct Prepared {
        var locations: [LocalFileLocation] = []
        /// The new files, with the places that they were taken from.
        var made: [(location: LocalFileLocation, origin: URL?)] = []
    }

    /// Copies or moves contents into the folder, as far as necessary: all of them, or none. They are on disk when the
    /// call returns.
    func prepare(_ files: [(contents: UploadContents, attributes: SyncAttributes)]) throws(SyncError) -> Prepared {
        var prepared = Prepared()
        do throws(SyncError) {
            for (contents, attributes) in files {
                try SyncError.naming(attributes.fileUUID) { () throws(SyncError) in try prepare(contents, &prepared) }
            }
            guard !prepared.made.isEmpty else { return prepared }
            do throws(POSIXError) { try FileCalls.synchronize(folder.path) } catch {
                throw SyncError(.fileManagerError)
            }
            return prepared
        } catch {
            undo(prepared)
            throw error
        }
    }

    private func prepare(_ contents: UploadContents, _ prepared: inout Prepared) throws(SyncError) {
        let location: LocalFileLocation
        var origin: URL?
        switch contents {
        case .immutable(let file):
            prepared.locations.append(file)
            return
        case .data(let data): location = try adoptUnlisted { try data.write(to: $0) }
        case .copy(let file):
            guard let source = url(of: file) else { throw SyncError(.fileManagerError) }
            location = try adoptUnlisted { try FileManager.default.copyItem(at: source, to: $0) }
        case .temporary(let file):
            guard let source = url(of: file) else { throw SyncError(.fileManagerError) }
            _ = try FileStamp(of: source)
            location = try adoptUnlisted { try FileManager.default.moveItem(at: source, to: $0) }
            origin = source
        }
        prepared.locations.append(location)
        prepared.made.append((location, origin))
    }

    /// Removes the files that ``prepare(_:)`` has created, and moves the others back to their original locations.
    func undo(_ prepared: Prepared) {
        for (location, origin) in prepared.made.reversed() {
            guard let origin, let moved = url(of: location) else {
                remove(location)
                continue
            }
            try? FileManager.default.moveItem(at: moved, to: origin)
        }
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
        try? FileCalls.remove(url.path)
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
package struct FileStamp: Equatable {
    /// In bytes.
    package let size: Int64
    /// Modification time, in seconds since 1970.
    package let modified: Double

    /// - Throws: `fileManagerError` if the file does not exist or cannot be read.
    package init(of file: URL) throws(SyncError) {
        guard let status = FileCalls.status(of: file.path) else { throw SyncError(.fileManagerError) }
        (size, modified) = status
    }

    /// Whether a file is as it was recorded; an attribute that was not recorded may have any value. Times are equal
    /// within the precision of `Date`.
    package func matches(size: Int64?, modified: Double?) -> Bool {
        (size ?? self.size) == self.size && abs((modified ?? self.modified) - self.modified) < 1e-6
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
            guard let open = number else { return }
            // A child process that has not called exec yet has a copy of the descriptor, which would keep the lock.
            flock(open, LOCK_UN)
            close(open)
            number = nil
        }
    }
}
