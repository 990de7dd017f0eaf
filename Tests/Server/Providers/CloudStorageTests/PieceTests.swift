import HTTPTransport
import Providers
import SyncProtocol
import TestSupport
import Testing

extension CloudProviderTests {
    @Suite("CloudProviderContract: uploads in pieces")
    struct PieceTests {
        private static let kinds = ProviderUnderTest.all.filter(\.hasParts)
        /// The largest granularity of all providers.
        private static let largestGranule: Int64 = 327_680

        @Test(
            "An interrupted upload continues in another process, even if the last record was lost",
            arguments: kinds, [true, false])
        func interruptions(kind: ProviderUnderTest, losesRecords: Bool) throws {
            let account = try ContractAccount(kind)
            let storage = try account.open()
            let bytes = RandomData.bytes((11 << 20) + 12_345)
            let reservation = try storage.provider.reserve(name: "photo.jpg", in: storage.access())
            var known = PieceContent.Record()
            var before = known

            for cut in [100_000, 1_500_000, 6_300_000, 6_300_001, 9_000_000] {
                let content = PieceContent(bytes, for: kind, from: known, cut: cut)
                let fresh = try account.open()
                #expect(throws: CloudStorageError.contentFailed(PieceContent.Broken())) {
                    try fresh.provider.upload(content, as: reservation, mimeType: "image/jpeg", to: fresh.access())
                }
                #expect(content.record.position > Int64(cut) - Self.largestGranule, "cut at \(cut)")
                (before, known) = (known, content.record)
                if losesRecords {
                    known = before
                    known.isCertain = false
                }
            }
            #expect(try storage.contents().isEmpty, "nothing is visible before the end")

            let last = PieceContent(bytes, for: kind, from: known, cut: nil)
            let fresh = try account.open()
            let stored = try fresh.provider.upload(last, as: reservation, mimeType: "image/jpeg", to: fresh.access())
            #expect(try storage.read(stored.objectID) == bytes)
            #expect(try storage.contents().map(\.name) == ["photo.jpg"])
        }

        @Test(
            "An abandoned upload in pieces can be ended with its record alone, and leaves nothing",
            arguments: ProviderUnderTest.all.filter { $0.account.accountType == .s3 }, [600_000, 6_300_000])
        func ended(kind: ProviderUnderTest, cut: Int) throws {
            let account = try ContractAccount(kind)
            let storage = try account.open()
            let before = try (kind.real as? S3Servers)?.unfinishedUploads()
            let reservation = try storage.provider.reserve(name: "photo.jpg", in: storage.access())
            let content = PieceContent(
                RandomData.bytes(11 << 20), for: kind, from: PieceContent.Record(), cut: cut)
            _ = try? storage.provider.upload(content, as: reservation, mimeType: "image/jpeg", to: storage.access())
            let session = try #require(content.record.session)

            // Twice, because all outbox work may be repeated.
            for _ in 0..<2 { try storage.provider.endUpload(session, in: storage.access()) }

            #expect(try account.files().isEmpty)
            #expect(try (kind.real as? S3Servers)?.unfinishedUploads() == before)
        }

        @Test("An upload whose session the provider has lost starts over", arguments: kinds)
        func lostSession(kind: ProviderUnderTest) throws {
            let account = try ContractAccount(kind)
            let storage = try account.open()
            let bytes = RandomData.bytes((11 << 20) + 1)
            let reservation = try storage.provider.reserve(name: "photo.jpg", in: storage.access())
            let first = PieceContent(bytes, for: kind, from: PieceContent.Record(), cut: 6_000_000)
            _ = try? storage.provider.upload(first, as: reservation, mimeType: "image/jpeg", to: storage.access())
            let record = first.record
            try #require(record.session != nil)
            // A client that continues the upload on another account of the same kind has never had such a session.
            let other = try ContractAccount(kind).open()
            let place = try other.provider.reserve(name: "photo.jpg", in: other.access())

            let second = PieceContent(bytes, for: kind, from: record, cut: nil)
            do {
                let stored = try other.provider.upload(second, as: place, mimeType: "image/jpeg", to: other.access())
                // The session's address alone is the authorization, so the session is also valid here.
                #expect(stored.sizeBytes == Int64(bytes.count))
            } catch {
                // moto knows the session nevertheless, and creates the object where the session began.
                #expect(second.hasStartedOver || error == .contentMismatch, "\(error)")
            }
        }
    }
}

extension ContractStorage {
    /// The contents of the folder, except the temporary files of uploads in progress.
    fileprivate func contents() throws -> [StoredObject] {
        var found: [StoredObject] = []
        try provider.list(in: access()) { found += $0 }
        return found.filter { !$0.name.hasSuffix(".part") && !$0.name.contains(".uploading") }
    }
}

/// Content whose bytes arrive in pieces until the connection breaks.
final class PieceContent: UploadContent, UploadResumption {
    struct Broken: Error {}

    struct Record {
        var session: String?
        var position: Int64 = 0
        var isCertain = true
    }

    private(set) var record: Record
    private(set) var hasStartedOver = false
    private let bytes: [UInt8]
    private let cut: Int
    private let hash: String
    private(set) var position: Int64
    private var part: (offset: Int, count: Int)?

    /// - Parameter cut: the offset at which the connection breaks; `nil`: never.
    init(_ bytes: [UInt8], for kind: ProviderUnderTest, from record: Record, cut: Int?) {
        self.bytes = bytes
        self.record = record
        self.cut = cut ?? bytes.count
        position = record.position
        var hasher = ContentHasher(for: kind.makeProvider().storageType)
        hasher.update(bytes)
        hash = hasher.finish().providerHash
    }

    var lengthBytes: Int64 { Int64(bytes.count) }
    var providerHash: String { hash }
    var resumption: (any UploadResumption)? { self }
    var session: String? { record.session }
    var isPositionCertain: Bool { record.isCertain }

    func reserveMemory(partBytes: Int) -> Bool { true }

    func rest() throws -> UploadPart { throw Broken() }

    func nextPart(granularity: Int, atMost limit: Int) throws -> UploadPart {
        let offset = Int(position)
        let count = min(bytes.count - offset, max(1_000_000 / granularity, 1) * granularity, limit)
        part = (offset, count)
        position += Int64(count)
        let arrived = max(0, min(count, cut - offset))
        return UploadPart(
            BreakingBytes(bytes[offset..<(offset + count)], arrived: arrived), offset: Int64(offset),
            isLast: offset + count == bytes.count)
    }

    func skip(to position: Int64) throws { self.position = position }

    func record(session: String) throws { record = Record(session: session, position: position) }

    func arrived(granularity: Int) -> UploadPart? {
        guard let part else { return nil }
        let most = min(part.count, cut - part.offset, bytes.count - 1 - part.offset)
        let count = most - most % granularity
        guard count > 0 else { return nil }
        position = Int64(part.offset + count)
        return UploadPart(
            bytes: bytes[part.offset..<(part.offset + count)], offset: Int64(part.offset), isLast: false)
    }

    func startOver() {
        record = Record()
        hasStartedOver = true
    }
}

/// Bytes whose last part does not arrive.
private final class BreakingBytes: PartBytes, @unchecked Sendable {
    private let bytes: ArraySlice<UInt8>
    private let arrived: Int
    private(set) var failure: (any Error)?

    init(_ bytes: ArraySlice<UInt8>, arrived: Int) {
        self.bytes = bytes
        self.arrived = arrived
    }

    var count: Int { bytes.count }
    var arrival: ContinuousClock.Instant? { arrived == count ? .now : nil }

    func read(from position: Int, into buffer: inout MutableSpan<UInt8>) throws -> Int {
        guard position < arrived else { throw broken() }
        return buffer.copyPrefix(of: bytes.prefix(arrived).dropFirst(position))
    }

    func arrive() throws { if arrived < count { throw broken() } }

    func whole() throws -> ArraySlice<UInt8> {
        try arrive()
        return bytes
    }

    private func broken() -> PieceContent.Broken {
        failure = PieceContent.Broken()
        return PieceContent.Broken()
    }
}
