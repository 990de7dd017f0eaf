import Providers
import SyncProtocol

/// The body of an UploadFile request as the content of an upload to a cloud.
///
/// Hashes the bytes as they pass, and hands out the last part only when all of them have arrived and the checksum is the
/// announced one. Parts start small and double while the phone is fast and the process has memory to spare.
final class PhoneUpload: UploadContent {
    /// A part that filled faster than this is followed by a larger one.
    private static let fastFill: Duration = .seconds(1)
    private static let chunkBytes = 16 * 1024
    /// From this size on the next part is read while the present one is being sent: only fast phones get there.
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
    /// How many bytes have come into parts; belongs to whoever reads.
    private var arrivedBytes = 0
    /// How many of them were let go; belongs to whoever asks for parts.
    private var letGoBytes = 0
    /// Where the part ends that was handed out last.
    private var handedOutBytes = 0
    /// The hashes of the whole content; known once the last part was handed out.
    private(set) var hashes: ContentHashes?

    /// - Parameters:
    ///   - length: what `Content-Length` announced.
    ///   - expected: the checksum that the phone announced, in canonical letter case.
    ///   - background: runs the reading ahead; `nil` reads each part only when it is asked for.
    ///   - keepAlive: called after every 16 KiB;
    ///     what it throws ends the upload.
    ///   - beforeLastPart: called when everything has arrived and is right, before the part is handed out that
    ///     makes the object exist.
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

    /// What the provider must report: of Google and Dropbox the announced checksum, which by then has turned out right.
    var providerHash: String { hashes?.providerHash ?? expected.rawValue }

    func nextPart(granularity: Int) throws -> UploadPart {
        // Providers let go of a part before they ask for the next one.
        letGo(upTo: handedOutBytes)
        let part: UploadPart
        if let ahead = try endReadAhead() { part = ahead } else { part = try readPart(granularity) }
        handedOutBytes += part.bytes.count
        // Asked now and not when the part was read: the part before it may have taken its time.
        if part.isLast { try beforeLastPart() } else { beginReadAhead(granularity) }
        return part
    }

    /// Waits until nothing is being read any more; call before the phone is answered or its body read by others.
    func stopReading() {
        _ = try? endReadAhead()
    }

    private func letGo(upTo end: Int) {
        budget.observer(letGoBytes - end)
        letGoBytes = end
    }

    // MARK: Reading ahead

    /// Begins to read the next part if that is worth a thread and the memory for a second part is there.
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
        // Memory is touched only as bytes arrive, so that a slow phone costs little.
        buffer.removeAll(keepingCapacity: true)
        buffer.reserveCapacity(count)
        while buffer.count < count {
            let size = min(Self.chunkBytes, count - buffer.count)
            if chunk.count != size { chunk = [UInt8](repeating: 0, count: size) }
            // Less than asked for arrives only if the body ends.
            guard try body.read(into: &chunk) == size else { throw EndpointError.bodyLengthMismatch }
            buffer.append(contentsOf: chunk)
            arrivedBytes += size
            budget.observer(size)
            hasher?.update(chunk)
            try keepAlive()
        }
    }

    /// Makes sure that the body ends here and that it is what the phone announced.
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
