import Providers
import Store
import SyncProtocol

/// The body of an UploadFile request as the content of an upload to a cloud.
///
/// Parts from a fast phone stream to the provider as they arrive. That occupies a connection to the provider as long as
/// the phone sends, so parts from a slow phone are small, and are collected first. The bytes are hashed as they arrive;
/// the last ones are passed on only after the body has ended at that point and its checksum matches the announced one.
///
/// In an upload over several requests, the body is one piece; its hashes continue those of the previous piece.
final class PhoneUpload: UploadContent {
    private static let chunkBytes = 16 * 1024

    let lengthBytes: Int64
    /// The range of the body in the contents.
    private let piece: Range<Int64>
    /// Records the progress of an upload that may continue in another request.
    private let recorder: UploadRecorder?
    private let body: RequestBody
    private let expected: CheckSum
    private let budget: PartBudget
    private let keepAlive: () throws -> Void
    private let beforeEnd: () throws -> Void
    private var arriving: ArrivingHashes
    /// The same at the beginning of the part that was handed out last.
    private var arrivingBefore: ArrivingHashes
    /// Whether the arrived bytes are known to be wrong.
    private var isWrong = false
    /// The part that was handed out last.
    private var window: PartWindow?
    private var pace: PartPace
    private let now: () -> ContinuousClock.Instant
    /// The number of bytes taken from the budget for that part.
    private var reservedBytes = 0
    /// The number of these bytes that remain reserved for every part.
    private var keptBytes = 0
    /// The number of bytes in memory reported to the budget's observer.
    private var observedBytes = 0
    /// The hashes of the whole content; known once all of it has arrived.
    private(set) var hashes: ContentHashes?

    /// - Parameters:
    ///   - lengthBytes: the value of `Content-Length`.
    ///   - expected: the checksum that the phone announced, in canonical letter case.
    ///   - identity: what else the bytes must match; a recorder has its own.
    ///   - keepAlive: called after every 16 KiB; an error that it throws ends the upload.
    ///   - beforeEnd: called when everything has arrived and is verified, before the last bytes, which create the
    ///     object, are passed on; an error that it throws ends the upload.
    ///   - recorder: for an upload over several requests.
    ///   - now: the clock; tests pass one that they control.
    init(
        _ body: RequestBody, lengthBytes: Int64, expected: CheckSum, knownBy identity: ContentIdentity? = nil,
        storageType: CloudStorageType, budget: PartBudget, recorder: UploadRecorder? = nil,
        keepAlive: @escaping () throws -> Void, beforeEnd: @escaping () throws -> Void = {},
        now: @escaping () -> ContinuousClock.Instant = { .now }
    ) {
        self.body = body
        self.lengthBytes = lengthBytes
        self.expected = expected
        self.budget = budget
        self.keepAlive = keepAlive
        self.beforeEnd = beforeEnd
        self.now = now
        pace = PartPace(now: now)
        self.recorder = recorder
        arriving = recorder?.arriving ?? ArrivingHashes(for: storageType, provenBy: identity)
        arrivingBefore = arriving
        piece = arriving.lengthBytes..<(recorder?.pieceEnd ?? lengthBytes)
    }

    /// The number of bytes that have arrived, in this request and earlier ones.
    private var arrivedBytes: Int64 { arriving.lengthBytes }

    deinit {
        budget.putBack(reservedBytes)
        budget.observer(-observedBytes)
        if isKnownUniquelyReferenced(&window), let window { budget.keep(window.takeBuffer()) }
    }

    /// The hash that the provider must report: for Google and Dropbox the announced checksum.
    var providerHash: String { hashes?.providerHash ?? expected.rawValue }

    var resumption: (any UploadResumption)? { recorder == nil ? nil : self }

    func reserveMemory(partBytes: Int) -> Bool {
        let missing = partBytes - PartBudget.smallestPartBytes - keptBytes
        guard missing > 0 else { return true }
        if recorder != nil {
            budget.takeRegardless(missing)
        } else {
            guard budget.take(exactly: missing) else { return false }
        }
        keptBytes += missing
        reservedBytes += missing
        return true
    }

    func nextPart(granularity: Int, atMost limit: Int) throws -> UploadPart {
        try handOut(atMost: limit) { probed in
            let remaining = min(try remaining(after: probed, granularity: granularity), limit)
            let room = reserve(min(pace.partBytes, remaining))
            let size = room == remaining ? remaining : min(remaining, max(room / granularity, 1) * granularity)
            let excess = size - PartBudget.smallestPartBytes - reservedBytes
            if excess > 0 {
                budget.takeRegardless(excess)
                reservedBytes += excess
            }
            return size
        }
    }

    func rest() throws -> UploadPart {
        guard piece == 0..<lengthBytes else { throw Refusal(.uploadNotResumable) }
        return try handOut(isSliding: true) { probed in probed + Int(lengthBytes - arrivedBytes) }
    }

    /// The number of bytes of the piece that can be handed out; the client resends an incomplete last part with the
    /// next piece.
    /// - Throws: ``PieceEnded``.
    private func remaining(after probed: Int, granularity: Int) throws -> Int {
        let remaining = probed + Int(piece.upperBound - arrivedBytes)
        guard piece.upperBound < lengthBytes else { return remaining }
        let whole = remaining - remaining % granularity
        guard whole > 0 else { throw PieceEnded(keepsMultiplesOf: granularity) }
        return whole
    }

    // MARK: Parts

    /// - Parameter size: receives the number of bytes that have arrived, and determines the size of the part, at most
    ///   `limit`.
    private func handOut(
        atMost limit: Int = .max, isSliding: Bool = false, size: (Int) throws -> Int
    ) throws -> UploadPart {
        let offset = arrivedBytes
        arrivingBefore = arriving
        var buffer = window?.takeBuffer() ?? budget.takeBuffer()
        window = nil
        observe(0)
        pace.ended()
        var probed = 0
        if offset == piece.lowerBound {
            probed = Int(min(piece.upperBound - offset, Int64(min(PartPace.probeBytes, limit))))
            buffer = try probe(consume buffer, probed)
            pace.probed(probed)
        }
        let window = PartWindow(
            count: try size(probed), buffer: consume buffer, arrivedBytes: probed, isSliding: isSliding
        ) { [unowned self] buffer, range in try receive(&buffer, range) }
        self.window = window
        if !pace.isFast && !isSliding { try window.arrive() }
        pace.handedOut(window.count)
        return UploadPart(window, offset: offset, isLast: offset + Int64(window.count) == lengthBytes)
    }

    /// Receives the first bytes of the body. Meanwhile they count as a part, so that the bytes that have arrived can be
    /// kept if the body breaks off.
    private func probe(_ buffer: consuming [UInt8], _ count: Int) throws -> [UInt8] {
        guard count > 0 else {
            // Empty contents are verified as well.
            try receive(&buffer, 0..<0)
            return buffer
        }
        let probe = PartWindow(count: count, buffer: buffer, arrivedBytes: 0) { [unowned self] buffer, range in
            try receive(&buffer, range)
        }
        window = probe
        try probe.arrive()
        window = nil
        return probe.takeBuffer()
    }

    /// Reserves memory for a part of up to `bytes`.
    /// - Returns: the maximum size of the part.
    private func reserve(_ bytes: Int) -> Int {
        budget.putBack(reservedBytes - keptBytes)
        reservedBytes = keptBytes + budget.take(upTo: bytes - PartBudget.smallestPartBytes - keptBytes)
        return min(bytes, PartBudget.smallestPartBytes + reservedBytes)
    }

    private func observe(_ bytes: Int) {
        budget.observer(bytes - observedBytes)
        observedBytes = bytes
    }

    // MARK: Arrival

    /// Fills a range of the buffer with the next bytes of the body, and verifies the contents if they are the last
    /// ones.
    private func receive(_ buffer: inout [UInt8], _ range: Range<Int>) throws {
        for start in stride(from: range.lowerBound, to: range.upperBound, by: Self.chunkBytes) {
            let chunk = start..<min(start + Self.chunkBytes, range.upperBound)
            let began = now()
            // Fewer bytes than requested arrive only if the body ends.
            guard try body.read(into: &buffer, chunk) == chunk.count else { throw Refusal(.bodyLengthMismatch) }
            pace.received(in: began.duration(to: now()))
            arriving.update(buffer.span.extracting(chunk))
            observe(chunk.upperBound)
            try keepAlive()
        }
        if arrivedBytes == lengthBytes { try verifyEnd() }
    }

    /// Checks that the body ends here and matches the announced checksum.
    private func verifyEnd() throws {
        var surplus: [UInt8] = [0]
        guard try body.read(into: &surplus) == 0 else { throw Refusal(.bodyLengthMismatch) }
        do {
            hashes = try arriving.finish(expecting: expected)
        } catch {
            isWrong = true
            throw error
        }
        try beforeEnd()
    }
}

/// Another request will send more bytes of the contents.
struct PieceEnded: Error {
    /// The provider keeps multiples of this number of bytes.
    var keepsMultiplesOf: Int
}

extension PhoneUpload: UploadResumption {
    var session: String? { recorder?.session }

    var position: Int64 { arrivedBytes }

    var isPositionCertain: Bool { recorder?.progress.isCertain ?? true }

    func skip(to position: Int64) throws {
        var buffer = [UInt8](repeating: 0, count: Self.chunkBytes)
        while arrivedBytes < position {
            guard arrivedBytes < piece.upperBound else {
                try recorder?.record(session, arriving, isCertain: false)
                throw PieceEnded(keepsMultiplesOf: 1)
            }
            let count = min(Int64(Self.chunkBytes), min(position, piece.upperBound) - arrivedBytes)
            try receive(&buffer, 0..<Int(count))
        }
    }

    func record(session: String) throws {
        try recorder?.record(session, arriving)
    }

    func arrived(granularity: Int) -> UploadPart? {
        guard !isWrong else { return nil }
        // The client must resend the bytes that are not handed out here.
        arriving = arrivingBefore
        guard let window else { return nil }
        let offset = arrivingBefore.lengthBytes
        // Never the last byte, which creates the object.
        let most = min(window.arrivedBytes, Int(lengthBytes - 1 - offset))
        let count = most - most % granularity
        guard count > 0 else { return nil }
        let bytes = window.arrived(count)
        arriving.update(bytes.span)
        return UploadPart(bytes: bytes, offset: offset, isLast: false)
    }

    func startOver() {
        recorder?.startOver()
    }
}

/// Measures how fast a phone's bytes arrive and how much time the cloud adds; determines the size of the parts.
struct PartPace {
    /// The number of bytes read before deciding whether the phone is fast.
    static let probeBytes = 128 * 1024
    /// A phone is fast if it sends at least this much, about 1 Mbit/s.
    private static let fastBytesPerSecond = 128.0 * 1024
    /// The first part of a fast phone.
    private static let firstPartBytes = 4 << 20
    private static let largestPartBytes = 8 << 20
    /// The cloud's time for a part should not exceed one twentieth of the part's arrival time.
    private static let arrivalsPerDelay = 20.0

    private(set) var isFast = false
    /// The size that the next part should have.
    private(set) var partBytes = PartBudget.smallestPartBytes

    private let now: () -> ContinuousClock.Instant
    private var sizeBytes = 0
    private var handedOut: ContinuousClock.Instant?
    private var receivingTime: Duration = .zero
    private var receivingTimeBefore: Duration = .zero

    /// - Parameter now: the clock; tests pass one that they control.
    init(now: @escaping () -> ContinuousClock.Instant) { self.now = now }

    /// Bytes have arrived after a wait.
    mutating func received(in time: Duration) { receivingTime += time }

    /// The first bytes have arrived.
    mutating func probed(_ bytes: Int) {
        isFast = Self.rate(bytes, receivingTime) >= Self.fastBytesPerSecond
        partBytes = isFast ? Self.firstPartBytes : PartBudget.smallestPartBytes
    }

    /// A part has been handed over for sending.
    mutating func handedOut(_ bytes: Int) {
        sizeBytes = bytes
        handedOut = now()
        receivingTimeBefore = receivingTime
    }

    /// The part that was handed over had arrived completely and is now in the cloud.
    mutating func ended() {
        guard let handedOut else { return }
        let delay = handedOut.duration(to: now()) - (receivingTime - receivingTimeBefore)
        let rate = Self.rate(sizeBytes, receivingTime)
        isFast = rate >= Self.fastBytesPerSecond
        let size = max(rate, 1) * (delay / .seconds(1)) * Self.arrivalsPerDelay
        partBytes =
            isFast
            ? Int(min(max(size, Double(PartBudget.smallestPartBytes)), Double(Self.largestPartBytes)))
            : PartBudget.smallestPartBytes
        receivingTime = .zero
        self.handedOut = nil
    }

    /// Bytes per second.
    private static func rate(_ bytes: Int, _ time: Duration) -> Double {
        Double(bytes) / max(time / .seconds(1), 0.000_001)
    }
}
