internal import OpenSSLCrypto
internal import Posix

/// Writes the bytes of one request into a file, starting at an offset, and computes their content hash at the same
/// time.
struct DropboxContentWriter: ~Copyable {
    /// The number of bytes written and hashed.
    private(set) var count = 0
    private let file: RegularFile
    private let start: Int
    private var hash = DropboxContentHash()

    init(path: String, from offset: Int) throws(StorageError) {
        file = try StorageError.translating { () throws(PosixError) in try RegularFile(path, for: .writing) }
        start = offset
    }

    /// Appends bytes.
    mutating func append(_ bytes: ArraySlice<UInt8>) throws(StorageError) {
        do { try file.write(bytes.span, at: start + count) } catch { throw StorageError(description: "\(error)") }
        hash.update(bytes)
        count += bytes.count
    }

    /// Finishes, and returns the content hash in lower-case hexadecimal.
    mutating func finish() -> String {
        var ended = DropboxContentHash()
        swap(&ended, &hash)
        return ended.finish().hexLowercase
    }
}
