/// A session of numbered parts from which the provider assembles an object.
///
/// S3 requires a minimum size, and Cloudflare R2 requires that only the last part differ and that it be smaller
/// ("Multipart upload" in its documentation). If the content comes in pieces of any size, the bytes of a part are
/// therefore collected before it is sent. When such an upload is interrupted within a part, the bytes of that part are
/// stored in a separate object, the tail, and become the beginning of the next part when the upload continues.
protocol PartAssembly: UploadSession {
    /// The size of every part except the last.
    var partBytes: Int { get }
    var isInPieces: Bool { get }
    /// Whether parts can be sent.
    var hasBegun: Bool { get }
    /// The bytes of the next part.
    var collected: CollectedPart { get set }
    /// Sends the next part; a repetition has the same effect.
    /// - Throws: ``CloudStorageError/notFound`` if the provider no longer has the upload, which is in pieces.
    mutating func add(_ part: UploadPart) throws(CloudStorageError)
    /// Sends the last part, and has the object assembled.
    mutating func finish(_ last: UploadPart) throws(CloudStorageError) -> Object
    /// Replaces the tail.
    func storeTail(_ bytes: [UInt8]) throws(CloudStorageError)
    /// The tail's first bytes; `nil` if there is no tail.
    func tail(bytes: Int) throws(CloudStorageError) -> [UInt8]?
}

struct CollectedPart {
    var bytes: [UInt8] = []
    /// `false` while the part is being sent and recorded, since no byte of the next one has arrived.
    fileprivate var mayBecomeTail = true
}

extension PartAssembly {
    /// Begins with the tail of an earlier request.
    /// - Parameter tailBytes: its recorded size: a request that did not end properly may have stored more than it could
    ///   record.
    mutating func takeTail(_ tailBytes: Int) throws(CloudStorageError) {
        guard let bytes = try tail(bytes: tailBytes) else { throw lost() }
        collected.bytes = bytes
        try sendCollected()
    }

    /// The recorded parts and the tail are all that counts.
    func progress(after recorded: Int64) -> SessionProgress<Object> { .at(recorded) }

    mutating func send(_ part: UploadPart) throws(CloudStorageError) -> SessionOutcome<Object> {
        guard isInPieces else {
            if part.isLast { return .finished(try finish(part)) }
            try add(part)
            return .taken
        }
        collected.bytes += try part.whole()
        if part.isLast { return .finished(try finish(collectedPart)) }
        try sendCollected()
        return .collected
    }

    /// Sends and records what was collected, if it is a whole part.
    private mutating func sendCollected() throws(CloudStorageError) {
        guard collected.bytes.count >= partBytes else { return }
        collected.mayBecomeTail = false
        do throws(CloudStorageError) {
            try add(collectedPart)
        } catch {
            if case .notFound = error { throw lost() }
            throw error
        }
        collected.bytes = []
        try content.resumption?.keep(record)
        collected.mayBecomeTail = true
    }

    private var collectedPart: UploadPart { UploadPart(bytes: collected.bytes[...], offset: 0, isLast: false) }

    mutating func keep(_ rest: UploadPart?) throws(CloudStorageError) -> Bool {
        guard hasBegun, collected.mayBecomeTail else { return false }
        if let rest { collected.bytes += try rest.whole() }
        guard !collected.bytes.isEmpty else { return false }
        try storeTail(collected.bytes)
        return true
    }

    /// ``finish(_:)`` looks for the object itself.
    func created() -> Object? { nil }

    func lost() -> CloudStorageError { content.lost("the provider lost the parts of an upload") }
}
