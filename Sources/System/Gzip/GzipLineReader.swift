internal import CZlib
internal import Glibc

/// Reads a file that is compressed with gzip line by line; lines end with a line feed.
///
/// Not `Sendable`: one thread at a time.
@safe
public struct GzipLineReader: ~Copyable {
    /// The longest line read, in bytes.
    public static let lineLimitBytes = 64 << 20

    private let file: gzFile
    private var buffer = [UInt8](repeating: 0, count: 256 * 1024)
    private var position = 0
    private var end = 0

    /// - Throws: ``GzipError/system(call:errno:)``.
    public init(reading path: String) throws(GzipError) {
        guard let file = unsafe gzopen(path, "rbe") else { throw .system(call: "open \(path)", errno: errno) }
        unsafe self.file = unsafe file
    }

    deinit { _ = unsafe gzclose(file) }

    /// The next line without its line feed; `nil` at the end of the file.
    /// - Throws: ``GzipError/damaged``, for example if the last line has no line feed;
    ///   ``GzipError/lineTooLong(limitBytes:)``.
    public mutating func next() throws(GzipError) -> [UInt8]? {
        var line: [UInt8] = []
        while true {
            if position == end {
                guard try fill() else {
                    guard line.isEmpty else { throw .damaged }
                    return nil
                }
            }
            if let feed = buffer[position..<end].firstIndex(of: UInt8(ascii: "\n")) {
                line += buffer[position..<feed]
                position = feed + 1
                return line
            }
            line += buffer[position..<end]
            position = end
            guard line.count <= Self.lineLimitBytes else { throw .lineTooLong(limitBytes: Self.lineLimitBytes) }
        }
    }

    private mutating func fill() throws(GzipError) -> Bool {
        let count = unsafe gzread(file, &buffer, UInt32(buffer.count))
        // zlib would pass a file without a gzip header through unchanged.
        guard count >= 0, unsafe gzdirect(file) == 0 else { throw .damaged }
        if count == 0 {
            var code: Int32 = 0
            _ = unsafe gzerror(file, &code)
            guard code == Z_OK || code == Z_STREAM_END else { throw .damaged }
        }
        position = 0
        end = Int(count)
        return count > 0
    }
}
