import Foundation
import SyncDirectory

/// The output of `syncdir status`.
struct DirectoryStatus: Encodable {
    /// A change that the server does not have.
    struct Pending: Encodable {
        var path: String
        /// `contents`, `path` or `deletion`.
        var what: String
        /// Why the last attempt to send it failed.
        var problem: String?
        /// Whether it is sent only after a person takes action.
        var isBlocked: Bool
    }

    var directory: String
    var group: String
    /// The number of recorded files.
    var files: Int
    /// The changes to send: changes in the directory that are not recorded yet, recorded changes, and those queued in
    /// the library.
    var pending: [Pending]
    /// The number of pending changes that are sent only after a person takes action.
    var blocked: Int
    /// Why nothing can be sent at all; nil if there is no known obstacle.
    var obstacle: String?
    var conflicts: [DirectoryConflict]

    /// - Throws: ``Failure`` if the directory was never synchronized.
    init(_ path: String) throws {
        let state = URL(filePath: path, directoryHint: .isDirectory).appending(path: RelativePath.stateFolder)
        let file = state.appending(path: OpenDirectory.recordName)
        guard FileManager.default.fileExists(atPath: file.path) else {
            throw Failure(.failed, "the directory was never synchronized; use syncdir sync or syncdir watch")
        }
        let store = try RecordStore(path: file.path)
        let root = try DirectoryRoot(path: path)
        let record = try DirectoryRecord(store, ignoresCase: root.ignoresCase)
        directory = URL(filePath: path).standardizedFileURL.path
        group = try store.setting(OpenDirectory.groupSetting) ?? ""
        files = record.count
        obstacle = try record.obstacle
        pending = try Self.pending(root, record, obstacle)
        blocked = pending.count(where: \.isBlocked)
        conflicts = try record.conflicts()
    }

    private struct Found {
        var what: RecordedFile.Pending = []
        var problem: String?
        var isBlocked = false
    }

    private static func pending(
        _ root: DirectoryRoot, _ record: DirectoryRecord, _ obstacle: String?
    ) throws -> [Pending] {
        var found: [String: Found] = [:]
        for row in record.handedOver.values {
            found[record[row.fileUUID]?.path.text ?? row.path.text] = Found(
                what: row.what, problem: row.problem, isBlocked: row.isBlocked)
        }
        for file in record.files(where: { !$0.pending.isEmpty }) {
            found[file.path.text, default: Found()].what.formUnion(file.pending)
        }
        let keeper = DirectoryKeeper(
            root: root, record: record,
            options: DirectoryKeeper.Options(person: "", mimeType: { _ in preconditionFailure("nothing is noted") }))
        let changes = try keeper.unnotedChanges()
        var brake = DeletionBrake()
        let isHeld = brake.holds(changes.count { $0.what == .deletion }, of: record.presentCount, at: Date())
        for change in changes {
            found[change.path.text, default: Found()].what.formUnion(change.what)
            if change.what == .deletion, isHeld {
                found[change.path.text]?.problem = "held back, since many files are missing"
                found[change.path.text]?.isBlocked = true
            }
        }
        return found.sorted { $0.key < $1.key }.compactMap { path, entry in
            guard let relative = RelativePath(path) else { return nil }
            let change = DirectorySynchronizer.Change(path: relative, entry.what)
            return Pending(
                path: change.path, what: change.what, problem: entry.problem ?? obstacle,
                isBlocked: entry.isBlocked || obstacle != nil)
        }
    }

    /// For people.
    var text: String {
        var lines = ["\(directory): group \(group), \(files) files, \(pending.count) changes to send"]
        if blocked > 0 { lines[0] += ", \(blocked) of them blocked" }
        if let obstacle { lines.append("nothing is sent: \(obstacle)") }
        lines += pending.map { change in
            "  \(change.what)  \(Output.printable(change.path))"
                + (change.problem.flatMap { $0 == obstacle ? nil : " (\($0))" } ?? "")
        }
        if !conflicts.isEmpty { lines.append("conflicts:") }
        lines += conflicts.map { "  " + RoundReport.sentence($0) }
        return lines.joined(separator: "\n")
    }
}
