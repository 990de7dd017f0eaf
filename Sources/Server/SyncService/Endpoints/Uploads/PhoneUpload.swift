import Providers
import SyncProtocol

/// The body of an UploadFile request as the content of an upload to a cloud.
///
/// Hashes the bytes as they pass, and returns the last part only when all bytes have arrived and the checksum matches
/// the announced one. Parts start small and double while the phone is fast and the process has spare memory.
final class PhoneUpload: UploadContent {
    /// A part that filled faster than this is followed by a larger part.
    private static let fastFill: Duration = .seconds(1)
    private static let chunkBytes = 16 * 1024
    /// From this part size on, the next part is read while the present one is being sent: only fast phones reach it.
    private static let readAheadBytes = 1 << 20

    let lengthBytes: Int64
    private let body: RequestBody
    private let expected: CheckSum
    private let budget: PartBudget
    private let keepAlive: () throws -> Void
    private let beforeLastPart: () throws -> Void
    private let background: Services.Background?
    private var readAhead: ReadAhead?
    private var readAheadBudget = 0
    private var hasher: ContentHasher?
    private var buffer: [UInt8] = []
    private var chunk: [UInt8] = []
    private var partBytes = PartBudget.smallestPartBytes
    private var position: Int64 = 0
    /// How many bytes have been read into parts; used only by the reading thread.
    private var arrivedBytes = 0
    /// How many of them have been released; used only by the thread that requests parts.
    private var letGoBytes = 0
    /// End of the part that was returned last.
    private var handedOutBytes = 0
    /// The hashes of the whole content; known once the last part has been returned.
    private(set) var hashes: ContentHashes?

    /// - Parameters:
    ///   - lengthBytes: the value of `Content-Length`.
    ///   - expected: the checksum that the phone announced, in canonical letter case.
    ///   - background: runs the read-ahead; `nil` reads each part only when it is requested.
    ///   - keepAlive: called after every 16 KiB; an error that it throws ends the upload.
    ///   - beforeLastPart: called when everything has arrived and is verified, before the part that creates the object
    ///     is returned.
    init(
        _ body: RequestBody, lengthBytes: Int64, expected: CheckSum, storageType: CloudStorageType, budget: PartBudget,
        background: Services.Background? = nil, keepAlive: @escaping () throws -> Void,
        beforeLastPart: @escaping () throws -> Void = {}
    ) {
        self.body = body
        self.lengthBytes = lengthBytes
        self.expected = expected
        self.budget = budget
        self.background = background
        self.keepAlive = keepAlive
        self.beforeLastPart = beforeLastPart
        hasher = ContentHasher(for: storageType)
    }

    deinit {
        budget.putBack(partBytes - PartBudget.smallestPartBytes)
        letGo(upTo: arrivedBytes)
    }

    /// The hash that the provider must report: for Google and Dropbox the announced checksum, which has been verified
    /// by then.
    var providerHash: String { hashes?.providerHash ?? expected.rawValue }

    func nextPart(granularity: Int) throws -> UploadPart {
        // Providers release a part before they request the next one.
        letGo(upTo: handedOutBytes)
        let part: UploadPart
        if let ahead = try endReadAhead() { part = ahead } else { part = try readPart(granularity) }
        handedOutBytes += part.bytes.count
        // Called now and not when the part was read: sending the previous part may have taken long.
        if part.isLast { try beforeLastPart() } else { beginReadAhead(granularity) }
        return part
    }

    /// Waits until no read is in progress; call before replying to the phone or letting others read its body.
    func stopReading() {
        _ = try? endReadAhead()
    }

    private func letGo(upTo end: Int) {
        budget.observer(letGoBytes - end)
        letGoBytes = end
    }

    // MARK: Reading ahead

    /// Begins to read the next part if that is worth a thread and there is memory for a second part.
    private func beginReadAhead(_ granularity: Int) {
        guard let background, partBytes >= Self.readAheadBytes, budget.take(partBytes) else { return }
        readAheadBudget = partBytes
        readAhead = try? ReadAhead(on: background) { try self.readPart(granularity) }
        if readAhead == nil { returnReadAheadBudget() }
    }

    private func endReadAhead() throws -> UploadPart? {
        guard let readAhead = readAhead.take() else { return nil }
        defer { returnReadAheadBudget() }
        return try readAhead.result().get()
    }

    private func returnReadAheadBudget() {
        budget.putBack(readAheadBudget)
        readAheadBudget = 0
    }

    // MARK: Reading

    private func readPart(_ granularity: Int) throws -> UploadPart {
        let size = max(partBytes / granularity, 1) * granularity
        let wanted = Int(min(Int64(size), lengthBytes - position))
        let started = ContinuousClock.now
        try fill(wanted)
        let isLast = position + Int64(wanted) == lengthBytes
        if isLast { try verifyEnd() }
        let part = UploadPart(bytes: buffer[...], offset: position, isLast: isLast)
        position += Int64(wanted)
        if started.duration(to: .now) < Self.fastFill { grow() }
        return part
    }

    /// Fills the buffer with exactly `count` bytes and hashes them.
    private func fill(_ count: Int) throws {
        // Memory is touched only as bytes arrive, so that a slow phone uses little.
        buffer.removeAll(keepingCapacity: true)
        buffer.reserveCapacity(count)
        while buffer.count < count {
            let size = min(Self.chunkBytes, count - buffer.count)
            if chunk.count != size { chunk = [UInt8](repeating: 0, count: size) }
            // Fewer bytes than requested arrive only if the body ends.
            guard try body.read(into: &chunk) == size else { throw EndpointError.bodyLengthMismatch }
            buffer.append(contentsOf: chunk)
            arrivedBytes += size
            budget.observer(size)
            hasher?.update(chunk)
            try keepAlive()
        }
    }

    /// Checks that the body ends here and matches what the phone announced.
    private func verifyEnd() throws {
        var surplus: [UInt8] = [0]
        guard try body.read(into: &surplus) == 0 else { throw EndpointError.bodyLengthMismatch }
        guard let hashes = hasher.take()?.finish() else { preconditionFailure("the last part is handed out once") }
        guard hashes.checkSum == expected else { throw EndpointError.checkSumMismatch }
        self.hashes = hashes
    }

    private func grow() {
        guard partBytes < PartBudget.largestPartBytes, position < lengthBytes, budget.take(partBytes) else { return }
        partBytes *= 2
    }
}
