internal import FoundationEssentials
internal import OpenSSLCrypto
internal import Posix
internal import StorageHashes
import Synchronization

/// Received bytes that are not a file's content yet.
struct UploadedContent: Sendable {
    /// Their current location.
    let path: String
    let size: Int
    /// The checksum that the provider reports.
    let checksum: String
    /// In lower-case hexadecimal; `nil` if it is computed on request.
    var sha256: String?
    /// The media type that accompanied the bytes.
    var contentType: String?
}

/// The checksum of contents that a provider reports.
enum ContentChecksum: Sendable {
    /// Drive and Nextcloud; in lower-case hexadecimal.
    case md5
    /// Dropbox's content hash in lower-case hexadecimal.
    case dropbox
    /// OneDrive; in base64.
    case quickXor

    fileprivate var empty: any ContentHash {
        switch self {
        case .md5: StorableDigest(.md5)
        case .dropbox: DropboxContentHash()
        case .quickXor: QuickXorHash()
        }
    }
}

private protocol ContentHash: Sendable {
    mutating func update(_ bytes: Span<UInt8>)
    /// The checksum of the bytes so far, as the provider writes it.
    var text: String { get }
}

extension StorableDigest: ContentHash {
    fileprivate var text: String { finish().hexLowercase }
}

extension DropboxContentHash: ContentHash {
    fileprivate var text: String { finish().hexLowercase }
}

extension QuickXorHash: ContentHash {
    fileprivate var text: String { Data(digest()).base64EncodedString() }
}

/// Writes a file's bytes as they arrive and computes their checksum and, on request, SHA-256 at the same time, in
/// constant memory. Holds no file open, so that unfinished uploads cost nothing.
struct ContentWriter: Sendable {
    /// Chunk size for reading, hashing and writing; the number of bytes stored when a connection is lost is a multiple
    /// of it, as with Google.
    static let pieceBytes = 262_144

    /// The number of bytes written and hashed.
    private(set) var count = 0
    private let path: String
    private let start: Int
    private var hash: any ContentHash
    private var sha256: StorableDigest?

    /// Writes to the file at `path` from `start` on; the checksums are those of the new bytes only.
    init(
        path: String, _ checksum: ContentChecksum, from start: Int = 0, withSHA256: Bool = false
    ) throws(StorageError) {
        self.path = path
        self.start = start
        hash = checksum.empty
        sha256 = withSHA256 ? StorableDigest(.sha256) : nil
        // Even a file without bytes exists.
        _ = try Self.open(path)
    }

    private static func open(_ path: String) throws(StorageError) -> RegularFile {
        try StorageError.translating { () throws(PosixError) in try RegularFile(path, for: .writing) }
    }

    /// Continues the file at `path` after its first `count` bytes, which are read again for the checksums. Drops what
    /// follows them.
    static func resuming(
        path: String, _ checksum: ContentChecksum, at count: Int, withSHA256: Bool = false
    ) throws(StorageError) -> ContentWriter {
        var writer = try ContentWriter(path: path, checksum, withSHA256: withSHA256)
        let file = try open(path)
        var piece = [UInt8](repeating: 0, count: count == 0 ? 0 : pieceBytes)
        while writer.count < count {
            let read = try read(file, &piece, at: writer.count)
            guard read > 0 else { throw StorageError(description: "an unfinished upload lost bytes: \(path)") }
            writer.add(piece[..<min(read, count - writer.count)])
        }
        do { try file.resize(to: count) } catch { throw StorageError(description: "\(error)") }
        return writer
    }

    private static func read(
        _ file: borrowing RegularFile, _ piece: inout [UInt8], at offset: Int
    ) throws(StorageError) -> Int {
        var span = piece.mutableSpan
        do { return try file.read(into: &span, at: offset) } catch { throw StorageError(description: "\(error)") }
    }

    /// Appends bytes.
    mutating func append(_ bytes: ArraySlice<UInt8>) throws(StorageError) {
        guard count == 0 || RegularFile.exists(path) else {
            throw StorageError(description: "the upload was cancelled: \(path)")
        }
        let file = try Self.open(path)
        do { try file.write(bytes.span, at: start + count) } catch { throw StorageError(description: "\(error)") }
        add(bytes)
    }

    /// Appends the content of `chunk`.
    mutating func append(_ chunk: UploadedContent) throws(StorageError) {
        let source = try StorageError.translating { () throws(PosixError) in
            try RegularFile(chunk.path, for: .reading)
        }
        var piece = [UInt8](repeating: 0, count: min(Self.pieceBytes, max(1, chunk.size)))
        var position = 0
        while position < chunk.size {
            let read = try Self.read(source, &piece, at: position)
            guard read > 0 else { throw StorageError(description: "a chunk lost bytes: \(chunk.path)") }
            try append(piece[..<min(read, chunk.size - position)])
            position += read
        }
    }

    private mutating func add(_ bytes: ArraySlice<UInt8>) {
        hash.update(bytes.span)
        sha256?.update(bytes.span)
        count += bytes.count
    }

    /// The bytes written so far, with their checksums.
    func content(type: String? = nil) -> UploadedContent {
        UploadedContent(
            path: path, size: count, checksum: hash.text, sha256: sha256?.finish().hexLowercase, contentType: type)
    }
}

extension StateDirectory {
    /// Stores what `write` writes; keeps nothing if it fails.
    func store(
        _ checksum: ContentChecksum, withSHA256: Bool = false, type: String? = nil,
        _ write: (inout ContentWriter) throws -> Void
    ) throws -> UploadedContent {
        let path = uploadPath("single-" + RandomText.token(24))
        do {
            var writer = try ContentWriter(path: path, checksum, withSHA256: withSHA256)
            try write(&writer)
            return writer.content(type: type)
        } catch {
            remove(path)
            throw error
        }
    }

    /// Stores a request's whole body; keeps nothing if the connection is lost.
    /// - Throws: ``RequestBodyError/cut``.
    func receive(
        _ request: SandboxRequest, _ checksum: ContentChecksum, withSHA256: Bool = false
    ) throws -> UploadedContent {
        try store(checksum, withSHA256: withSHA256, type: request.header("content-type")) { writer in
            let ending = try BodyPump.run(request.body) { piece throws(StorageError) in try writer.append(piece) }
            if ending == .cut { throw RequestBodyError.cut }
        }
    }
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
