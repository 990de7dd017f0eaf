internal import OpenSSLCrypto
internal import Posix
import Synchronization

/// Writes a file's bytes as they arrive and computes their MD5 and, on request, SHA-256 at the same time, in constant
/// memory.
struct ContentWriter: ~Copyable {
    /// Chunk size for reading, hashing and writing; the number of bytes stored when a connection is lost is a multiple
    /// of it, as with Google.
    static let pieceBytes = 262_144

    /// The number of bytes written and hashed.
    private(set) var count: Int
    private let file: RegularFile
    private var digest: IncrementalDigest
    private var sha256: IncrementalDigest?

    /// Continues the file at `path` after its first `count` bytes, which are read again for the checksums.
    init(path: String, resumingAt count: Int = 0, withSHA256: Bool = false) throws(StorageError) {
        let file = try StorageError.translating { () throws(PosixError) in try RegularFile(path, for: .writing) }
        var digest = IncrementalDigest(.md5)
        var sha256 = withSHA256 ? IncrementalDigest(.sha256) : nil
        var piece = [UInt8](repeating: 0, count: count == 0 ? 0 : Self.pieceBytes)
        var position = 0
        while position < count {
            let read = try Self.read(file, &piece, at: position)
            guard read > 0 else { throw StorageError(description: "an unfinished upload lost bytes: \(path)") }
            let used = min(read, count - position)
            digest.update(piece[..<used])
            sha256?.update(piece[..<used])
            position += used
        }
        do { try file.resize(to: count) } catch { throw StorageError(description: "\(error)") }
        self.file = file
        self.digest = digest
        self.sha256 = sha256
        self.count = count
    }

    static func read(
        _ file: borrowing RegularFile, _ piece: inout [UInt8], at offset: Int
    ) throws(StorageError) -> Int {
        var span = piece.mutableSpan
        do { return try file.read(into: &span, at: offset) } catch { throw StorageError(description: "\(error)") }
    }

    /// Appends bytes.
    mutating func append(_ bytes: ArraySlice<UInt8>) throws(StorageError) {
        do { try file.write(bytes.span, at: count) } catch { throw StorageError(description: "\(error)") }
        digest.update(bytes)
        sha256?.update(bytes)
        count += bytes.count
    }

    /// Finishes the file and returns its MD5 in lower-case hexadecimal.
    mutating func finish() -> String { digest.finishAndRestart().hexLowercase }

    /// The SHA-256 of a finished file, in lower-case hexadecimal; `nil` if it was not requested.
    mutating func finishSHA256() -> String? { sha256.take()?.finish().hexLowercase }
}

/// Copies a request's body to its storage, piece by piece.
enum BodyPump {
    /// The outcome.
    enum Ending: Equatable {
        /// The whole body was received; the number of its bytes.
        case complete(received: Int)
        /// The connection was lost; whole pieces before that are stored.
        case cut
    }

    /// Reads the body to its end.
    /// - Parameters:
    ///   - skip: the number of bytes at the beginning that are already stored.
    ///   - keep: the maximum number of bytes to store after `skip`; the rest is discarded.
    ///   - store: stores each piece.
    static func run(
        _ body: RequestBody, skip: Int = 0, keep: Int? = nil, store: (ArraySlice<UInt8>) throws(StorageError) -> Void
    ) throws(StorageError) -> Ending {
        let pieceBytes = min(ContentWriter.pieceBytes, max(1, body.declaredLength ?? ContentWriter.pieceBytes))
        var piece = [UInt8](repeating: 0, count: pieceBytes)
        var received = 0
        var allowed = keep ?? Int.max
        while true {
            var filled = 0
            var isCut = false
            do { try body.fill(&piece, filled: &filled) } catch { isCut = true }
            if isCut, filled < pieceBytes { return .cut }
            let start = min(filled, max(0, skip - received))
            let end = start + min(filled - start, allowed)
            if start < end {
                try store(piece[start..<end])
                allowed -= allowed == Int.max ? 0 : end - start
            }
            received += filled
            if isCut { return .cut }
            if filled < pieceBytes || received == body.declaredLength { return .complete(received: received) }
        }
    }
}

/// Checksums of stored files.
enum StoredContent {
    /// The size up to which lists and replies to uploads contain SHA-1 and SHA-256; Drive also lacks them for some
    /// files.
    static let largestWithAllChecksums = 8 << 20

    private static let largestMemory = 4_096
    /// Computed checksums, by revision and algorithm; providers also compute theirs only once.
    private static let known = Mutex<[String: String]>([:])

    /// A checksum of the file at `path`, in lower-case hexadecimal.
    /// - Parameter revision: identifies the content while it is unchanged.
    static func checksum(
        _ algorithm: DigestAlgorithm, of path: String, revision: String? = nil
    ) throws(StorageError) -> String {
        let key = revision.map { "\($0) \(algorithm)" }
        if let key, let checksum = known.withLock({ $0[key] }) { return checksum }
        let file = try StorageError.translating { () throws(PosixError) in try RegularFile(path, for: .reading) }
        var digest = IncrementalDigest(algorithm)
        var piece = [UInt8](repeating: 0, count: ContentWriter.pieceBytes)
        var position = 0
        while true {
            var count = 0
            do {
                var span = piece.mutableSpan
                count = try file.read(into: &span, at: position)
            } catch { throw StorageError(description: "\(error)") }
            if count == 0 { break }
            digest.update(piece[..<count])
            position += count
        }
        let checksum = digest.finish().hexLowercase
        if let revision { remember(checksum, algorithm, ofRevision: revision) }
        return checksum
    }

    /// Stores a checksum that is already known.
    static func remember(_ checksum: String, _ algorithm: DigestAlgorithm, ofRevision revision: String) {
        known.withLock { known in
            if known.count >= largestMemory { known = [:] }
            known["\(revision) \(algorithm)"] = checksum
        }
    }
}
