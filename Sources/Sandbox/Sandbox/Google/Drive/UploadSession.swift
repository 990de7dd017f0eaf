internal import FoundationEssentials
internal import Synchronization

/// A resumable upload: the state between its first request and its last byte.
///
/// Only one request at a time sends bytes, which ``begin()`` and ``end()`` ensure; status queries may come at any time.
/// A session survives a restart of the sandbox.
final class UploadSession: Sendable {
    /// Lifetime of a session, in seconds: about a week.
    static let lifeSeconds = 604_800.0

    /// The file that the upload will create or change.
    struct Plan: Sendable {
        let account: String
        let project: String
        /// The ID of the file to create or change.
        let fileID: String
        let isUpdate: Bool
        let metadata: DriveMetadata
        let contentType: String?
        /// The `fields` of the first request, for the response to the last.
        let fields: String?
        let createdAt: Date
    }

    let id: String
    let plan: Plan
    private let known: Mutex<Known>
    private let slot: Mutex<Slot>

    private struct Known {
        var stored: Int
        var total: Int?
        var isBusy = false
        var isFinished = false
    }

    private struct Slot: ~Copyable {
        var writer: ContentWriter?
    }

    /// A new session.
    init(id: String, plan: Plan, total: Int?) {
        self.id = id
        self.plan = plan
        known = Mutex(Known(stored: 0, total: total))
        slot = Mutex(Slot(writer: nil))
    }

    /// The number of bytes stored so far, from the start of the file.
    var stored: Int { known.withLock { $0.stored } }
    /// The total size, once a request has stated it.
    var total: Int? { known.withLock { $0.total } }
    /// Whether the file has been created.
    var isFinished: Bool { known.withLock { $0.isFinished } }

    /// Records the total size.
    /// - Returns: false if a different size was stated before.
    func settle(total: Int) -> Bool {
        known.withLock { known in
            if let before = known.total { return before == total }
            known.total = total
            return true
        }
    }

    /// Claims the session for a request that sends bytes; `false` if another request is still in progress.
    func begin() -> Bool {
        known.withLock { known in
            guard !known.isBusy, !known.isFinished else { return false }
            known.isBusy = true
            return true
        }
    }

    /// Releases the session.
    func end() { known.withLock { $0.isBusy = false } }

    /// Opens the part file at `path`. Like Google, computes all checksums of the received bytes, whether or not they
    /// are requested.
    private func writer(path: String, at start: Int) throws(StorageError) -> ContentWriter {
        try ContentWriter(
            path: path, resumingAt: start,
            withSHA256: total.map { $0 <= StoredContent.largestWithAllChecksums } ?? false)
    }

    /// Appends bytes to the part file at `path`.
    func append(_ bytes: ArraySlice<UInt8>, path: String) throws(StorageError) {
        let start = stored
        let count = try slot.withLock { slot throws(StorageError) in
            if slot.writer == nil { slot.writer = try writer(path: path, at: start) }
            try slot.writer?.append(bytes)
            return slot.writer?.count ?? 0
        }
        known.withLock { $0.stored = count }
    }

    /// Drops an incomplete tail, so that the stored size is again a multiple of 256 KiB.
    func roundDown() {
        let isRagged = known.withLock { known in
            let rest = known.stored % ContentWriter.pieceBytes
            known.stored -= rest
            return rest != 0
        }
        if isRagged { slot.withLock { $0.writer = nil } }
    }

    /// Closes the part file at `path`.
    /// - Returns: the checksums of its bytes; `nil` for a checksum that was not computed.
    func finish(path: String) throws(StorageError) -> (md5: String, sha256: String?) {
        let start = stored
        let sums = try slot.withLock { slot throws(StorageError) -> (md5: String, sha256: String?) in
            if slot.writer == nil { slot.writer = try writer(path: path, at: start) }
            defer { slot.writer = nil }
            return (slot.writer?.finish() ?? "", slot.writer?.finishSHA256())
        }
        known.withLock { $0.isFinished = true }
        return sums
    }

    /// The session in its stored form.
    var json: JSONValue {
        var json: JSONObject = [
            "account": .string(plan.account), "project": .string(plan.project), "fileID": .string(plan.fileID),
            "isUpdate": .bool(plan.isUpdate), "metadata": plan.metadata.json, "createdAt": plan.createdAt.json,
        ]
        json["contentType"] = .string(plan.contentType)
        json["fields"] = .string(plan.fields)
        json["total"] = .int(total)
        return .object(json)
    }

    /// A session from its stored form, with `partBytes` in its part file.
    convenience init?(id: String, json: JSONValue, partBytes: Int) {
        guard let account = json["account"]?.string, let project = json["project"]?.string,
            let fileID = json["fileID"]?.string, let createdAt = Date(json: json["createdAt"]),
            let metadata = try? DriveMetadata((json["metadata"] ?? [:]).bytes())
        else { return nil }
        self.init(
            id: id,
            plan: Plan(
                account: account, project: project, fileID: fileID, isUpdate: json["isUpdate"]?.bool ?? false,
                metadata: metadata, contentType: json["contentType"]?.string, fields: json["fields"]?.string,
                createdAt: createdAt),
            total: json["total"]?.int)
        known.withLock { $0.stored = partBytes - partBytes % ContentWriter.pieceBytes }
    }
}
