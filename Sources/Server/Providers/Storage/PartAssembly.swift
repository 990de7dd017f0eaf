/// Parts of equal size from which a provider assembles an object, of an upload whose bytes come in pieces of any size.
///
/// S3 demands a least size, and Cloudflare R2 that only the last part differs, and is smaller ("Multipart upload" in its
/// documentation).
///
/// What an interruption leaves of a part is kept in an object of its own, the tail, and becomes the beginning of the next part
/// when the upload goes on.
protocol PartAssembly {
    /// The size of every part that is not the last.
    var partBytes: Int { get }
    /// Sends the next part; the same part again has the same effect.
    mutating func add(_ bytes: [UInt8]) throws(CloudStorageError)
    /// Replaces the tail.
    func storeTail(_ bytes: [UInt8]) throws(CloudStorageError)
    /// The tail's first bytes; `nil` if it is not there.
    func tail(bytes: Int) throws(CloudStorageError) -> [UInt8]?
    /// What another request needs to go on.
    func saved(tailBytes: Int) throws(CloudStorageError) -> String
}

extension PartAssembly {
    /// Sends everything but the last part.
    /// - Parameters:
    ///   - tailBytes: the size of the tail that was recorded.
    ///   - first: the content's first part, if it was handed out already; not longer than ``partBytes``.
    /// - Returns: the last part, all of which has arrived and is right.
    mutating func send(
        _ content: any UploadContent, _ resumption: any UploadResumption, tailBytes: Int, _ first: UploadPart? = nil
    ) throws(CloudStorageError) -> [UInt8] {
        guard var bytes = try tail(bytes: tailBytes) else { throw Self.lost(resumption) }
        var first = first
        // Not while a part is sent and recorded: then nothing of the next one has arrived.
        var mayHaveTail = true
        do throws(CloudStorageError) {
            while true {
                if bytes.count >= partBytes {
                    mayHaveTail = false
                    try add(bytes)
                    bytes = []
                    try resumption.keep(saved(tailBytes: 0))
                    mayHaveTail = true
                }
                let part: UploadPart
                if let given = first.take() {
                    part = given
                } else {
                    part = try content.part(granularity: 1, atMost: partBytes - bytes.count)
                }
                bytes += try part.whole()
                if part.isLast { return bytes }
            }
        } catch {
            if case .notFound = error { throw Self.lost(resumption) }
            guard case .contentFailed = error, mayHaveTail else { throw error }
            if let rest = resumption.arrived(granularity: 1) { bytes += try rest.whole() }
            if !bytes.isEmpty {
                try storeTail(bytes)
                try resumption.keep(saved(tailBytes: bytes.count))
            }
            throw error
        }
    }

    static func lost(_ resumption: any UploadResumption) -> CloudStorageError {
        resumption.startOver()
        return .unavailable(detail: "the provider lost the parts of an upload")
    }
}
