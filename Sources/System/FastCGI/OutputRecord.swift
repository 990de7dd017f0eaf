internal import CFastCGI
internal import Glibc

/// Records of the stream that carries a reply (FastCGI specification 1.0, sections 3.3 and 5.3), sent without libfcgi.
///
/// libfcgi's own records of the same stream may come before and after them, but not in between.
enum OutputRecord {
    /// `FCGI_VERSION_1`.
    private static let version: UInt8 = 1
    /// `FCGI_STDOUT`.
    private static let type: UInt8 = 6
    private static let headerBytes = 8
    /// A length has 16 bits. This is the largest one that needs no padding.
    private static let largestBytes = 65_528

    /// Sends all bytes.
    /// - Throws: ``FastCGIError/aborted`` or ``FastCGIError/timedOut``; part of a record may have been sent, so nothing
    ///   can follow.
    static func send(_ bytes: Span<UInt8>, of request: Int32, to connection: Int32) throws(FastCGIError) {
        var sent = 0
        while sent < bytes.count {
            let content = bytes.extracting(sent..<min(bytes.count, sent + largestBytes))
            let header: [UInt8] = [
                version, type, UInt8(truncatingIfNeeded: request >> 8), UInt8(truncatingIfNeeded: request),
                UInt8(content.count >> 8), UInt8(content.count & 0xff), 0, 0,
            ]
            try send(header, content, to: connection)
            sent += content.count
        }
    }

    /// Sends a header and its content, in one system call unless the socket's buffer is full.
    private static func send(
        _ header: [UInt8], _ content: Span<UInt8>, to connection: Int32
    ) throws(FastCGIError) {
        var sent = 0
        while sent < headerBytes + content.count {
            let count = unsafe header.withUnsafeBytes { header in
                unsafe content.withUnsafeBytes { content in
                    unsafe fastcgi_send(connection, header.baseAddress, content.baseAddress, content.count, sent)
                }
            }
            guard count > 0 else {
                switch errno {
                case EINTR: continue
                case EAGAIN: throw .timedOut
                default: throw .aborted
                }
            }
            sent += count
        }
    }
}
