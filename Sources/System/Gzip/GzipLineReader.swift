internal import CZlib
internal import Glibc

/// Reads a file, or bytes in memory, compressed with gzip line by line; lines end with a line feed.
///
/// Not `Sendable`: one thread at a time.
@safe
public struct GzipLineReader: ~Copyable {
    /// The longest line read, in bytes.
    public static let lineLimitBytes = 64 << 20

    private let file: gzFile?
    /// Compressed bytes in memory; zlib has already read some of them.
    private var compressed: ArraySlice<UInt8> = []
    private let stream: UnsafeMutablePointer<z_stream>?
    private var hasEnded = false
    private var buffer = [UInt8](repeating: 0, count: 256 * 1024)
    private var position = 0
    private var end = 0

    /// - Throws: ``GzipError/system(call:errno:)``.
    public init(reading path: String) throws(GzipError) {
        guard let file = unsafe gzopen(path, "rbe") else { throw .system(call: "open \(path)", errno: errno) }
        unsafe self.file = unsafe file
        unsafe stream = nil
    }

    /// Reads compressed bytes in memory (zlib.h, inflateInit2).
    /// - Throws: ``GzipError/system(call:errno:)``.
    public init(reading bytes: [UInt8]) throws(GzipError) {
        let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
        unsafe stream.initialize(to: z_stream())
        // The largest window, and gzip's header and trailer only.
        guard unsafe inflateInit2_(stream, 15 + 16, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size)) == Z_OK else {
            unsafe stream.deallocate()
            throw .system(call: "inflateInit2", errno: 0)
        }
        unsafe self.stream = unsafe stream
        unsafe file = nil
        compressed = bytes[...]
    }

    deinit {
        if let file = unsafe file { _ = unsafe gzclose(file) }
        if let stream = unsafe stream {
            unsafe inflateEnd(stream)
            unsafe stream.deallocate()
        }
    }

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
        guard let file = unsafe file else { return try inflateMore() }
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

    private mutating func inflateMore() throws(GzipError) -> Bool {
        guard let stream = unsafe stream, !hasEnded else { return false }
        position = 0
        end = 0
        while end == 0, !hasEnded {
            let (result, taken) = unsafe compressed.withUnsafeBufferPointer { input in
                unsafe buffer.withUnsafeMutableBufferPointer { output in
                    unsafe stream.pointee.next_in = UnsafeMutablePointer(mutating: input.baseAddress)
                    unsafe stream.pointee.avail_in = UInt32(clamping: input.count)
                    unsafe stream.pointee.next_out = output.baseAddress
                    unsafe stream.pointee.avail_out = UInt32(output.count)
                    let offered = unsafe Int(stream.pointee.avail_in)
                    let result = unsafe inflate(stream, Z_NO_FLUSH)
                    return unsafe (result, offered - Int(stream.pointee.avail_in))
                }
            }
            compressed = compressed.dropFirst(taken)
            end = unsafe buffer.count - Int(stream.pointee.avail_out)
            hasEnded = result == Z_STREAM_END
            // If zlib makes no progress, the data are truncated.
            guard hasEnded || (result == Z_OK && (taken > 0 || end > 0)) else { throw .damaged }
        }
        return end > 0
    }
}
