import Foundation
import SyncClient
import SyncDirectory

/// A directory that only this process synchronizes, as long as it is open.
struct OpenDirectory {
    let root: DirectoryRoot
    let server: SyncServer
    let synchronizer: DirectorySynchronizer

    /// Opens a directory; `group` is required the first time.
    /// - Throws: ``Failure``; `SyncError` with `storeInUse` if another process has it.
    init(
        _ session: Session, path: String, group: String?, maximumTransfers: Int, allowsDeletions: Bool = false
    ) async throws {
        root = try DirectoryRoot(path: path)
        let state = URL(filePath: root.statePath, directoryHint: .isDirectory)
        // First, since the store locks out other processes.
        let server = try session.server(
            storeFolder: state.appending(path: "store"), maximumTransfers: maximumTransfers)
        do {
            let store = try RecordStore(path: state.appending(path: Self.recordName).path)
            let uuid = try await Self.group(group, store, server)
            let root = root
            let keeper = DirectoryKeeper(
                root: root, record: try DirectoryRecord(store, ignoresCase: root.ignoresCase),
                options: DirectoryKeeper.Options(
                    person: session.account.person, allowsDeletions: allowsDeletions,
                    mimeType: FileKinds(session.configuration).kind))
            synchronizer = DirectorySynchronizer(keeper, group: uuid)
            self.server = server
            server.delegate = synchronizer
            try await synchronizer.begin(with: server)
        } catch {
            await server.close()
            throw error
        }
    }

    /// The record's file in the program's folder.
    static let recordName = "record.sqlite"
    /// The record's key for the group.
    static let groupSetting = "group"

    private static func group(
        _ text: String?, _ store: RecordStore, _ server: SyncServer
    ) async throws -> SharingGroupUUID {
        if let known = try store.setting(groupSetting), let uuid = SharingGroupUUID(known) {
            guard let text, text.lowercased() != known.lowercased() else { return uuid }
            let named = server.sharingGroups.first { $0.sharingGroupUUID == uuid }?.sharingGroupName
            guard text == named else {
                throw Failure(.failed, "the directory belongs to group \(known); its group cannot be changed")
            }
            return uuid
        }
        guard let text else { throw Failure(.failed, "the directory has no group yet; specify one with --group") }
        try await server.synced()
        let uuid = try Session.group(text, of: server.sharingGroups).sharingGroupUUID
        try store.set(groupSetting, to: uuid.rawValue)
        return uuid
    }

    /// Releases the directory.
    func close() async { await server.close() }
}

/// The MIME types of files, by the extensions of their names.
///
/// Servers accept text/plain, image/jpeg and application/x-url unless configured otherwise, so any other file is sent
/// as text; its bytes are unchanged.
struct FileKinds: Sendable {
    private let table: [String: String]

    init(_ configuration: Configuration) {
        table = ["jpg": "image/jpeg", "jpeg": "image/jpeg"].merging(configuration.mimeTypes ?? [:]) { $1 }
    }

    @Sendable
    func kind(_ path: RelativePath) -> MIMEType {
        let name = path.name
        let suffix = name.lastIndex(of: ".").map { name[name.index(after: $0)...].lowercased() } ?? ""
        guard let type = MIMEType(table[suffix] ?? "text/plain") ?? MIMEType("text/plain") else {
            preconditionFailure("text/plain is a type")
        }
        return type
    }
}
