import Foundation
import SyncDirectory

/// The output of `syncdir status`.
struct DirectoryStatus: Encodable {
    var directory: String
    var group: String
    /// Files that are recorded.
    var files: Int
    /// The changes to be sent.
    var pending: [DirectorySynchronizer.Change]
    var conflicts: [DirectoryConflict]

    /// - Throws: ``Failure`` if the directory was never synchronized.
    init(_ path: String) throws {
        let state = URL(filePath: path, directoryHint: .isDirectory).appending(path: RelativePath.stateFolder)
        let file = state.appending(path: OpenDirectory.recordName)
        guard FileManager.default.fileExists(atPath: file.path) else {
            throw Failure(.failed, "the directory was never synchronized; use syncdir sync or syncdir watch")
        }
        let store = try RecordStore(path: file.path)
        let record = try DirectoryRecord(store, ignoresCase: false)
        directory = URL(filePath: path).standardizedFileURL.path
        group = try store.setting(OpenDirectory.groupSetting) ?? ""
        files = record.count
        pending = record.files { !$0.pending.isEmpty }.map { file in
            let what =
                if file.pending.contains(.deletion) { "deletion" } else if file.pending.contains(.contents) {
                    "contents"
                } else { "path" }
            return DirectorySynchronizer.Change(path: file.path.text, what: what)
        }
        conflicts = try record.conflicts()
    }

    /// For people.
    var text: String {
        var lines = ["\(directory): group \(group), \(files) files, \(pending.count) changes to send"]
        lines += pending.map { "  \($0.what)  \(Output.printable($0.path))" }
        if !conflicts.isEmpty { lines.append("conflicts:") }
        lines += conflicts.map { "  " + RoundReport.sentence($0) }
        return lines.joined(separator: "\n")
    }
}
