import Synchronization

/// The bytes of an upload session so far: stored in order, without gaps, in one file.
///
/// ``begin()`` and ``end()`` ensure that only one request at a time sends bytes; the numbers may be read at any time.
final class PartialUpload: Sendable {
    let path: String
    private let checksum: ContentChecksum
    private let known: Mutex<Known>
    private let slot = Mutex<ContentWriter?>(nil)

    private struct Known {
        var stored: Int
        var total: Int?
        var isBusy = false
        var isFinished = false
    }

    /// - Parameter stored: the number of bytes that an earlier sandbox has stored.
    init(path: String, _ checksum: ContentChecksum, stored: Int = 0, total: Int?) {
        self.path = path
        self.checksum = checksum
        known = Mutex(Known(stored: stored, total: total))
    }

    /// The number of bytes stored so far, from the start of the file.
    var stored: Int { known.withLock { $0.stored } }
    /// The total size, once a request has stated it.
    var total: Int? { known.withLock { $0.total } }
    /// Whether the file has been created.
    var isFinished: Bool { known.withLock { $0.isFinished } }

    /// Records the total size.
    /// - Returns: `false` if a different size was stated before.
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

    /// Records that no more bytes are accepted.
    func finish() { known.withLock { $0.isFinished = true } }

    /// Appends bytes.
    func append(_ bytes: ArraySlice<UInt8>) throws(StorageError) {
        let count = try withWriter { writer throws(StorageError) in
            try writer.append(bytes)
            return writer.count
        }
        known.withLock { $0.stored = count }
    }

    /// Drops the bytes after the first `count`.
    func cut(to count: Int) {
        guard known.withLock({ $0.stored != count }) else { return }
        known.withLock { $0.stored = count }
        slot.withLock { $0 = nil }
    }

    /// The bytes so far.
    func content(type: String? = nil) throws(StorageError) -> UploadedContent {
        try withWriter { writer throws(StorageError) in writer.content(type: type) }
    }

    /// Google computes all checksums of the received bytes, whether or not they are requested.
    private func withWriter<Result: Sendable>(
        _ body: (inout ContentWriter) throws(StorageError) -> Result
    ) throws(StorageError) -> Result {
        let (start, total) = known.withLock { ($0.stored, $0.total) }
        let isSmall = total.map { $0 <= StoredContent.largestWithAllChecksums } ?? false
        return try slot.withLock { slot throws(StorageError) in
            var writer: ContentWriter
            if let known = slot {
                writer = known
            } else {
                writer = try ContentWriter.resuming(
                    path: path, checksum, at: start, withSHA256: isSmall && checksum == .md5)
            }
            let result = try body(&writer)
            slot = writer
            return result
        }
    }
}
