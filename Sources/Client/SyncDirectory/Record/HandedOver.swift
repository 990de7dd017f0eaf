package import SyncProtocol

/// A change that the library has durably accepted and that the server does not have yet.
///
/// The record keeps it so that what waits can be told without the library's own store, which another process may have
/// open, and so that a change is reported as sent when it was sent, also by a later process.
package struct HandedOver: Sendable, Hashable {
    package let fileUUID: FileUUID
    /// The path that it had when it was handed over.
    package var path: RelativePath
    package var what: RecordedFile.Pending
    /// The size of the contents in bytes; 0 without contents.
    package var bytes: Int64 = 0
    /// Why it could not be sent the last time, for people; nil if nothing is known against it.
    package var problem: String?
    /// Whether it is not sent unless a person does something.
    package var isBlocked: Bool

    package init(
        fileUUID: FileUUID, path: RelativePath, what: RecordedFile.Pending, bytes: Int64 = 0, problem: String? = nil,
        isBlocked: Bool = false
    ) {
        self.fileUUID = fileUUID
        self.path = path
        self.what = what
        self.bytes = bytes
        self.problem = problem
        self.isBlocked = isBlocked
    }
}

extension DirectoryKeeper {
    /// Notes a change that the library has accepted, together with what it already has of the same file.
    func handOver(_ file: RecordedFile, _ what: RecordedFile.Pending, bytes: Int64 = 0) throws(RecordError) {
        var row = HandedOver(fileUUID: file.fileUUID, path: file.path, what: what, bytes: bytes)
        if let before = record.handedOver[file.fileUUID], what != .deletion {
            row.what.formUnion(before.what)
            row.bytes = what.contains(.contents) ? bytes : before.bytes
        }
        try record.save(row)
    }

    /// Notes what the library has sent.
    /// - Parameter waiting: the files for which the library still has changes.
    /// - Returns: The changes that it had and has no more, so that they are on the server.
    package func settleHandedOver(waiting: Set<FileUUID>) throws(RecordError) -> [HandedOver] {
        let sent = record.handedOver.values.filter { !waiting.contains($0.fileUUID) }
            .sorted { $0.path.text < $1.path.text }
        for row in sent { try record.removeHandedOver(row.fileUUID) }
        return sent
    }

    /// Notes that the library has dropped changes of a file, which therefore are never sent.
    package func dropHandedOver(
        _ uuid: FileUUID, _ what: RecordedFile.Pending = [.contents, .path, .deletion]
    ) throws(RecordError) {
        guard var row = record.handedOver[uuid] else { return }
        row.what.subtract(what)
        if row.what.isEmpty { try record.removeHandedOver(uuid) } else { try record.save(row) }
    }

    /// Notes a change that the library has queued by itself, such as that of a file which a restored server has lost.
    package func noteQueued(_ uuid: FileUUID, _ what: RecordedFile.Pending) throws(RecordError) {
        guard record.handedOver[uuid] == nil, let file = record[uuid] else { return }
        try handOver(file, what, bytes: what.contains(.contents) ? file.signature?.size ?? 0 : 0)
    }

    /// Notes why a change could not be sent, for ``HandedOver/problem``; nil if nothing is known against it.
    package func note(problem: String?, isBlocked: Bool = false, of uuid: FileUUID) throws(RecordError) {
        guard var row = record.handedOver[uuid], row.problem != problem || row.isBlocked != isBlocked else { return }
        (row.problem, row.isBlocked) = (problem, isBlocked)
        try record.save(row)
    }
}
