public import Foundation
import Logging
import Synchronization

/// Queues uploads for a store that another process has open, for example from a share extension.
///
/// Only one process at a time may use a store, and an extension does not live long enough to sync. Instead, it leaves
/// files with their attributes in the store's inbox, which needs no network and works alongside a running
/// ``SyncServer``. An entry is complete on disk when the call returns. The store's ``SyncServer`` queues the entries of
/// a group with the next sync of that group, and those of all groups when it is created and on
/// ``SyncServer/resumePendingUploads()``; each entry exactly once, oldest first.
///
/// An entry that cannot be queued remains, and ``SyncServer/errors`` reports the reason on each attempt: a group that
/// is unknown now may be known later. The app can inspect and remove such entries with ``entries()`` and
/// ``discard(_:)``.
public struct UploadInbox: Sendable {
    /// An upload that waits in the inbox.
    public struct Entry: Sendable, Identifiable {
        /// Identifies the entry; ids sort in the order of creation.
        public let id: String
        /// The attributes of the upload, as specified.
        public let attributes: SyncAttributes
        /// The contents.
        public let file: URL
    }

    private let folder: URL
    private let makeID: @Sendable () -> String

    /// The inbox of a store; nothing is created on disk before the first entry.
    /// - Parameter storeFolder: As in ``SyncServer/Configuration/storeFolder``; for extensions inside the app group's
    ///   container.
    public init(storeFolder: URL) {
        self.init(storeFolder: storeFolder) {
            // Milliseconds since 1970 in 16 digits, so that names sort by age.
            let digits = String(Int64(Date().timeIntervalSince1970 * 1_000))
            return String(repeating: "0", count: max(0, 16 - digits.count)) + digits + "-" + UUID().uuidString
        }
    }

    init(storeFolder: URL, makeID: @escaping @Sendable () -> String) {
        folder = storeFolder.appending(path: "inbox")
        self.makeID = makeID
    }

    /// Leaves a copy of a file to upload. Uses the same attributes as
    /// ``SyncServer/uploadCopy(localFile:withAttributes:)``.
    /// - Throws: `noMimeType`; `fileManagerError` if the file cannot be read, or the inbox cannot be written.
    public func uploadCopy(of file: URL, withAttributes attributes: SyncAttributes) throws(SyncError) {
        _ = try FileStamp(of: file)
        try add(attributes) { files throws(SyncError) in try files.copy(file) }
    }

    /// Leaves data to upload, like ``uploadCopy(of:withAttributes:)``.
    /// - Throws: `noMimeType`; `fileManagerError` if the inbox cannot be written.
    public func uploadData(_ data: Data, withAttributes attributes: SyncAttributes) throws(SyncError) {
        try add(attributes) { files throws(SyncError) in try files.write(data) }
    }

    /// The waiting entries, oldest first.
    public func entries() -> [Entry] {
        let names = Set((try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? [])
        return names.sorted().compactMap { name in
            guard name.hasSuffix(Self.manifestSuffix) else { return nil }
            let id = String(name.dropLast(Self.manifestSuffix.count))
            guard names.contains(id), let attributes = Manifest.read(folder.appending(path: name)) else { return nil }
            return Entry(id: id, attributes: attributes, file: folder.appending(path: id))
        }
    }

    /// Removes an entry without uploading it.
    /// - Throws: `fileManagerError`.
    public func discard(_ entry: Entry) throws(SyncError) {
        let manifest = folder.appending(path: entry.id + Self.manifestSuffix)
        do {
            // Without its manifest it is no longer an entry.
            try FileManager.default.removeItem(at: manifest)
            try FileManager.default.removeItem(at: entry.file)
        } catch CocoaError.fileNoSuchFile {
            return
        } catch { throw SyncError(.fileManagerError, fileUUID: entry.attributes.fileUUID) }
    }

    // MARK: The folder

    // An entry is two files: the contents, and then a manifest with the attributes, whose creation makes the entry
    // exist.
    private static let manifestSuffix = ".json"
    /// Contents of this age without a manifest are left over from a process that ended between writing the two.
    private static let leftoverAge: TimeInterval = 86_400

    private func add(
        _ attributes: SyncAttributes, _ makeContents: (LibraryFiles) throws(SyncError) -> LocalFileLocation
    ) throws(SyncError) {
        let manifest = try Manifest(attributes).encoded()
        let id = makeID()
        let contents = LibraryFiles(folder: folder, bases: [:], makeName: { id })
        try contents.prepare()
        let location = try makeContents(contents)
        do throws(SyncError) {
            let manifests = LibraryFiles(folder: folder, bases: [:], makeName: { id + Self.manifestSuffix })
            _ = try manifests.write(manifest)
        } catch {
            contents.remove(location)
            throw error
        }
    }

    /// Removes files of processes that ended while they were creating an entry.
    func sweep(now: Date) {
        let names = Set((try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? [])
        let oldest = Int64((now.timeIntervalSince1970 - Self.leftoverAge) * 1_000)
        for name in names where !name.hasSuffix(Self.manifestSuffix) && !names.contains(name + Self.manifestSuffix) {
            guard let made = name.split(separator: "-").first.flatMap({ Int64($0) }), made < oldest else { continue }
            try? FileManager.default.removeItem(at: folder.appending(path: name))
        }
    }

    /// The attributes that an upload uses, as a file.
    private struct Manifest: Codable {
        var fileUUID: String
        var sharingGroupUUID: String
        var mimeType: String
        var fileGroupUUID: String?
        var appMetaData: String?

        init(_ attributes: SyncAttributes) throws(SyncError) {
            guard let mimeType = attributes.mimeType else {
                throw SyncError(.noMimeType, fileUUID: attributes.fileUUID)
            }
            fileUUID = attributes.fileUUID.rawValue
            sharingGroupUUID = attributes.sharingGroupUUID.rawValue
            self.mimeType = mimeType.rawValue
            fileGroupUUID = attributes.fileGroupUUID?.rawValue
            appMetaData = attributes.appMetaData
        }

        func encoded() throws(SyncError) -> Data {
            do { return try JSONEncoder().encode(self) } catch { throw SyncError(.fileManagerError) }
        }

        /// Nil if the file is not, or is no longer, a manifest of the library.
        static func read(_ file: URL) -> SyncAttributes? {
            guard let data = try? Data(contentsOf: file),
                let manifest = try? JSONDecoder().decode(Manifest.self, from: data),
                let fileUUID = FileUUID(manifest.fileUUID), let group = SharingGroupUUID(manifest.sharingGroupUUID),
                let mimeType = MIMEType(manifest.mimeType)
            else { return nil }
            var attributes = SyncAttributes(
                fileUUID: fileUUID, sharingGroupUUID: group, mimeType: mimeType,
                fileGroupUUID: manifest.fileGroupUUID.flatMap(FileGroupUUID.init))
            attributes.appMetaData = manifest.appMetaData
            return attributes
        }
    }
}

// Uploads that other processes left in the store's inbox. One call at a time takes them. File operations run without
// the state lock, so that readers of the state do not wait for the disk.
extension SyncDriver {
    /// Queues the entries of a group, after the app's own changes.
    func takeInbox(of group: SharingGroupUUID) {
        inboxTurn.withLock { _ in
            let entries = inbox.entries().filter { $0.attributes.sharingGroupUUID == group }
            take(entries)
        }
    }

    /// Queues and closes the entries of all groups, unless the app has an open queue for their group: then they wait
    /// for its sync.
    func takeInbox() {
        inboxTurn.withLock { _ in
            inbox.sweep(now: environment.now())
            let entries = Dictionary(grouping: inbox.entries(), by: \.attributes.sharingGroupUUID)
            for (group, entries) in entries.sorted(by: { $0.value[0].id < $1.value[0].id }) {
                take(entries) { state in
                    state.machine.state.openQueue(of: group) == nil
                } _: { state in
                    try? change(&state) { machine throws(SyncError) in
                        try machine.closeQueue(of: group, at: now)
                        return ((), [])
                    }
                }
            }
        }
    }

    /// Queues entries of one group, then removes them from the inbox. The queued file has the entry's name, which
    /// identifies an entry that a process queued and then ended before removing it.
    /// - Parameters:
    ///   - mayQueue: called with the state locked; if false, the entries remain.
    ///   - finish: a continuation within the same transaction.
    private func take(
        _ entries: [UploadInbox.Entry], if mayQueue: (borrowing State) -> Bool = { _ in true },
        _ finish: (inout State) -> Void = { _ in }
    ) {
        guard !entries.isEmpty else { return }
        let owned = state.withLock { Set($0.machine.state.ownedFiles) }
        var taken = Set(entries.map(\.id).filter { owned.contains(Self.location($0)) })
        let waiting = entries.filter { !taken.contains($0.id) }
        let sources = waiting.map { entry in Result { () throws(SyncError) in try link(entry) } }
        state.withLock { state in
            guard state.suspension == nil, mayQueue(state) else { return }
            for (entry, source) in zip(waiting, sources) {
                do throws(SyncError) {
                    let source = try source.get()
                    try change(&state) { machine throws(SyncError) in
                        ((), try machine.upload(source, entry.attributes, at: now))
                    }
                    taken.insert(entry.id)
                } catch {
                    var error = error
                    error.fileUUID = entry.attributes.fileUUID
                    report(error, &state)
                }
            }
            finish(&state)
        }
        for entry in entries {
            guard taken.contains(entry.id) else {
                files.remove(Self.location(entry.id))
                continue
            }
            // If that fails, the next process detects that the entry was queued.
            try? inbox.discard(entry)
        }
    }

    private func link(_ entry: UploadInbox.Entry) throws(SyncError) -> UploadSource {
        let location = Self.location(entry.id)
        try files.link(entry.file, to: location)
        return try source(location, isOwned: true)
    }

    private static func location(_ entryID: UploadInbox.Entry.ID) -> LocalFileLocation {
        LocalFileLocation(base: .library, path: entryID)
    }
}
