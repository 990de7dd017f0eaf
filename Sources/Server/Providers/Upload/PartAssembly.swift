/// Parts of equal size from which a provider assembles an object, for an upload whose bytes come in pieces of any size.
///
/// S3 requires a minimum size, and Cloudflare R2 requires that only the last part differ and that it be smaller
/// ("Multipart upload" in its documentation).
///
/// When an upload is interrupted within a part, the bytes of that part are stored in a separate object, the tail, and
/// become the beginning of the next part when the upload continues.
protocol PartAssembly {
    /// The size of every part except the last.
    var partBytes: Int { get }
    /// Sends the next part; a repetition has the same effect.
    mutating func add(_ bytes: [UInt8]) throws(CloudStorageError)
    /// Replaces the tail.
    func storeTail(_ bytes: [UInt8]) throws(CloudStorageError)
    /// The tail's first bytes; `nil` if there is no tail.
    func tail(bytes: Int) throws(CloudStorageError) -> [UInt8]?
    /// The state that another request needs to continue.
    func saved(tailBytes: Int) throws(CloudStorageError) -> String
}

extension PartAssembly {
    /// Sends everything except the last part.
    /// - Parameters:
    ///   - tailBytes: the recorded size of the tail.
    ///   - first: the content's first part, if it has already been handed out; not longer than ``partBytes``.
    /// - Returns: the last part, whose bytes have all arrived and been verified.
    mutating func send(
        _ content: any UploadContent, _ resumption: any UploadResumption, tailBytes: Int, _ first: UploadPart? = nil
    ) throws(CloudStorageError) -> [UInt8] {
        guard var bytes = try tail(bytes: tailBytes) else { throw Self.lost(resumption) }
        var first = first
        // False while a part is being sent and recorded, since nothing of the next one has arrived.
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
