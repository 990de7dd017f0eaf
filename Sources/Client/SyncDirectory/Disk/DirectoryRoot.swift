internal import Foundation
internal import StorageHashes

#if canImport(Darwin)
    internal import Darwin
#elseif canImport(Android)
    internal import Android
#elseif canImport(Musl)
    internal import Musl
#else
    internal import Glibc
#endif

/// A directory that is synchronized with a sharing group, and the program's own folder in it.
///
/// All access proceeds from folder to folder below the open directory and follows no links: nothing outside the
/// directory is read or written, regardless of the paths that others choose and of concurrent changes to the folders.
package final class DirectoryRoot: Sendable {
    /// The absolute path of the directory.
    package let path: String
    /// The path of the program's own folder in it, ``RelativePath/stateFolder``.
    package let statePath: String
    let root: Descriptor
    private let state: Descriptor
    /// The folder for files that are about to be moved into the directory, and for the files that they replace.
    let incoming: Descriptor
    /// Whether the directory's file system is case-insensitive.
    package let ignoresCase: Bool

    /// The size of the chunks in which files are read, in bytes.
    private static let chunkBytes = 262_144

    /// Opens a directory, and creates the program's folder in it, accessible to its owner only.
    package init(path: String) throws(DiskError) {
        root = try FileCalls.openFolder(atPath: path)
        self.path = URL(filePath: path).standardizedFileURL.path(percentEncoded: false)
        statePath = self.path + (self.path.hasSuffix("/") ? "" : "/") + RelativePath.stateFolder
        try FileCalls.makeFolder(RelativePath.stateFolder, in: root.number, mode: 0o700)
        state = try FileCalls.openFolder(RelativePath.stateFolder, in: root.number)
        try FileCalls.makeFolder("incoming", in: state.number, mode: 0o700)
        incoming = try FileCalls.openFolder("incoming", in: state.number)
        // The folder's own name reveals it.
        ignoresCase = try FileCalls.item("INCOMING", in: state.number) == .folder
    }

    /// Whether the directory is still at its path: it may have been moved, or its file system unmounted.
    package var isInPlace: Bool {
        guard let again = try? DirectoryRoot.identity(of: path), let mine = try? DirectoryRoot.identity(root.number)
        else { return false }
        return again == mine
    }

    private struct Identity: Equatable {
        var device: UInt64
        var inode: UInt64
    }

    private static func identity(of path: String) throws(DiskError) -> Identity {
        var status = stat()
        guard unsafe lstat(path, &status) == 0 else { throw DiskError("lstat") }
        return Identity(device: UInt64(truncatingIfNeeded: status.st_dev), inode: UInt64(status.st_ino))
    }

    private static func identity(_ descriptor: Int32) throws(DiskError) -> Identity {
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0 else { throw DiskError("fstat") }
        return Identity(device: UInt64(truncatingIfNeeded: status.st_dev), inode: UInt64(status.st_ino))
    }

    /// The absolute path of a file, for callers that need one.
    package func absolutePath(_ path: RelativePath) -> String {
        self.path + (self.path.hasSuffix("/") ? "" : "/") + path.text
    }

    /// The open folder that contains a path, and the name in it.
    func place(_ path: RelativePath, makingFolders: Bool = false) throws(DiskError) -> FileCalls.Place {
        try FileCalls.place(path, below: root, makingFolders: makingFolders)
    }

    /// The item at a path; ``DirectoryItem/missing`` even if a parent of the path is not a folder.
    package func item(at path: RelativePath) throws(DiskError) -> DirectoryItem {
        do {
            let place = try place(path)
            return try FileCalls.item(place.name, in: place.folder.number)
        } catch {
            if error.isMissing { return .missing }
            throw DiskError(error.call, path, code: error.code)
        }
    }

    /// The result of reading a file's contents.
    package struct Reading: Sendable, Hashable {
        package var digest: ContentDigest
        package var signature: FileSignature
    }

    /// Reads a file to compute its digest.
    ///
    /// Nil if it is missing, is not a regular file, or changed during the reading: then its contents are undetermined.
    package func reading(of path: RelativePath) throws(DiskError) -> Reading? {
        do {
            let place = try place(path)
            return try reading(place)
        } catch {
            if error.isMissing { return nil }
            throw DiskError(error.call, path, code: error.code)
        }
    }

    func reading(_ place: FileCalls.Place) throws(DiskError) -> Reading? {
        let file = try FileCalls.openFile(place.name, in: place.folder.number)
        guard case .file(let before) = try FileCalls.item(file) else { return nil }
        var hash = FileDigest(.sha256)
        try FileCalls.forEachChunk(of: file) { (chunk: ArraySlice<UInt8>) throws(DiskError) in hash.update(chunk) }
        guard try FileCalls.item(file) == .file(before),
            try FileCalls.item(place.name, in: place.folder.number) == .file(before)
        else { return nil }
        return Reading(digest: ContentDigest(hash), signature: before)
    }

    /// The text of a small file; nil if it does not exist, or is too large.
    package func text(of path: RelativePath, maximumBytes: Int) -> String? {
        guard let place = try? place(path), let file = try? FileCalls.openFile(place.name, in: place.folder.number),
            case .file(let signature)? = try? FileCalls.item(file), signature.size <= maximumBytes
        else { return nil }
        var buffer = [UInt8](repeating: 0, count: maximumBytes)
        guard let count = try? FileCalls.read(file, into: &buffer) else { return nil }
        return String(decoding: buffer[..<count], as: UTF8.self)
    }

    /// The first bytes of a file at the time of a reading.
    struct Prefix: Hashable {
        var inode: UInt64
        /// In bytes.
        var size: Int64
        var digest: ContentDigest
    }

    /// Reads a file's contents at the beginning of the call, without bytes that others append meanwhile.
    ///
    /// Nil if it is missing, is not a regular file, or became shorter.
    func prefix(of path: RelativePath) throws(DiskError) -> Prefix? {
        try whole(path) { (file, signature) throws(DiskError) in
            guard let digest = try Self.digest(of: file, bytes: signature.size, also: nil) else { return nil }
            return Prefix(inode: signature.inode, size: signature.size, digest: digest.whole)
        }
    }

    /// Copies a file's contents at the beginning of the call into the program's folder, without bytes that others
    /// append meanwhile.
    ///
    /// Reads the bytes twice. If both readings are equal, the file had these contents between the readings. If the file
    /// still begins with an earlier prefix, programs only append to it.
    /// - Returns: The copy's digest, and the file's signature before it was read; nil, without a copy, if the file does
    ///   not begin with `earlier`, or was overwritten meanwhile.
    func copyPrefix(of path: RelativePath, as name: String, extending earlier: Prefix) throws(DiskError) -> Reading? {
        try whole(path) { (file, signature) throws(DiskError) in
            guard signature.inode == earlier.inode, signature.size >= earlier.size else { return nil }
            let copy = try FileCalls.createFile(name, in: incoming.number)
            guard let first = try Self.digest(of: file, bytes: signature.size, also: earlier.size, copyingTo: copy),
                first.prefix == earlier.digest,
                let again = try? FileCalls.openFile(try place(path).name, in: try place(path).folder.number),
                case .file(let now)? = try? FileCalls.item(again), now.inode == signature.inode,
                try Self.digest(of: again, bytes: signature.size, also: nil)?.whole == first.whole
            else {
                try FileCalls.removeFile(name, in: incoming.number)
                return nil
            }
            return Reading(digest: first.whole, signature: signature)
        }
    }

    /// A copy of a file that is kept open.
    struct OpenCopy: Sendable {
        let file: Descriptor
        var name: String
        var reading: Reading
    }

    /// Copies a file into the program's folder, and keeps it open; nil if it is missing or is not a regular file.
    func openCopy(of path: RelativePath, as name: String) throws(DiskError) -> OpenCopy? {
        try whole(path) { (file, signature) throws(DiskError) in
            let copy = try FileCalls.createFile(name, in: incoming.number)
            guard let digest = try Self.digest(of: file, bytes: signature.size, also: nil, copyingTo: copy) else {
                try FileCalls.removeFile(name, in: incoming.number)
                return nil
            }
            return OpenCopy(file: file, name: name, reading: Reading(digest: digest.whole, signature: signature))
        }
    }

    /// Whether a copy has the file's last contents before another file replaced it at its path; nil as long as the file
    /// is still there, unchanged.
    func isLast(_ copy: OpenCopy, of path: RelativePath) throws(DiskError) -> Bool? {
        let identity = copy.reading.signature.contentsIdentity
        guard case .file(let now) = try FileCalls.item(copy.file), now.contentsIdentity == identity else {
            return false
        }
        guard case .file(let there) = try item(at: path) else { return true }
        return there.inode == identity.inode ? nil : true
    }

    private func whole<Value>(
        _ path: RelativePath, _ body: (Descriptor, FileSignature) throws(DiskError) -> Value?
    ) throws(DiskError) -> Value? {
        do {
            let place = try place(path)
            let file = try FileCalls.openFile(place.name, in: place.folder.number)
            guard case .file(let signature) = try FileCalls.item(file) else { return nil }
            return try body(file, signature)
        } catch {
            if error.isMissing { return nil }
            throw DiskError(error.call, path, code: error.code)
        }
    }

    /// The digest of a file's first `bytes` bytes, and of the first `shorter` of them; nil if the file is shorter.
    private static func digest(
        of file: Descriptor, bytes: Int64, also shorter: Int64?, copyingTo copy: Descriptor? = nil
    ) throws(DiskError) -> (whole: ContentDigest, prefix: ContentDigest?)? {
        var (hash, prefix, rest) = (FileDigest(.sha256), nil as FileDigest?, bytes)
        var untilShorter = shorter ?? -1
        if untilShorter == 0 { prefix = hash }
        var buffer = [UInt8](repeating: 0, count: chunkBytes)
        while rest > 0 {
            let count = min(try FileCalls.read(file, into: &buffer), Int(min(rest, Int64(chunkBytes))))
            guard count > 0 else { return nil }
            let chunk = buffer[..<count]
            if (1...Int64(count)).contains(untilShorter) {
                var part = hash
                part.update(chunk.prefix(Int(untilShorter)))
                prefix = part
            }
            untilShorter -= Int64(count)
            hash.update(chunk)
            if let copy { try FileCalls.write(chunk, to: copy) }
            rest -= Int64(count)
        }
        return (ContentDigest(hash), prefix.map { ContentDigest($0) })
    }

    /// Copies a file's contents into the program's folder, durably, with the given modification time.
    /// - Parameter source: any file outside the directory.
    func stage(_ source: URL, as name: String, modified: Date?) throws(DiskError) -> ContentDigest {
        let path = source.path(percentEncoded: false)
        let number = unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard number >= 0 else {
            var error = DiskError("open")
            error.path = path
            throw error
        }
        let file = Descriptor(number)
        try FileCalls.removeFile(name, in: incoming.number)
        let copy = try FileCalls.createFile(name, in: incoming.number)
        var hash = FileDigest(.sha256)
        try FileCalls.forEachChunk(of: file) { (chunk: ArraySlice<UInt8>) throws(DiskError) in
            hash.update(chunk)
            try FileCalls.write(chunk, to: copy)
        }
        if let modified {
            FileCalls.setModified(Int64(modified.timeIntervalSince1970 * 1_000) * 1_000_000, of: copy)
        }
        try FileCalls.sync(copy)
        return ContentDigest(hash)
    }

    /// The absolute path of a name in the folder of incoming files.
    func absoluteIncomingPath(_ name: String) -> String { statePath + "/incoming/" + name }

    /// A name in the folder of incoming files.
    func incomingPlace(_ name: String) -> FileCalls.Place { FileCalls.Place(folder: incoming, name: name) }

    /// The names in the folder of incoming files.
    func incomingNames() throws(DiskError) -> [String] { try FileCalls.names(in: incoming).compactMap(\.text) }

    /// Moves a file within the directory to an unused name, and removes folders that become empty.
    package func move(_ old: RelativePath, to new: RelativePath) throws(DiskError) {
        do {
            try FileCalls.move(try place(old), to: try place(new, makingFolders: true))
        } catch {
            removeEmptyFolders(above: new)
            throw DiskError(error.call, new, code: error.code)
        }
        removeEmptyFolders(above: old)
    }

    /// Removes the empty folders above a path, innermost first.
    package func removeEmptyFolders(above path: RelativePath) {
        for folder in path.ancestors.reversed() {
            guard let place = try? place(folder), FileCalls.removeFolder(place.name, in: place.folder.number)
            else { return }
        }
    }

    /// Removes an empty folder, or a tree of empty folders, that has the name of a file.
    func removeEmptyFolders(at path: RelativePath) {
        guard let place = try? place(path), case .folder? = try? FileCalls.item(place.name, in: place.folder.number)
        else { return }
        Self.removeTreeOfFolders(place)
    }

    private static func removeTreeOfFolders(_ place: FileCalls.Place) {
        if FileCalls.removeFolder(place.name, in: place.folder.number) { return }
        guard let folder = try? FileCalls.openFolder(place.name, in: place.folder.number),
            let names = try? FileCalls.names(in: folder)
        else { return }
        for case let name? in names.map(\.text) { removeTreeOfFolders(FileCalls.Place(folder: folder, name: name)) }
        _ = FileCalls.removeFolder(place.name, in: place.folder.number)
    }

    /// Makes the names in the folder of a path durable (fsync(2)).
    func syncFolder(of path: RelativePath) throws(DiskError) {
        if let place = try? place(path) { try FileCalls.sync(place.folder) }
    }
}
