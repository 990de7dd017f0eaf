import Glibc

/// A request body that libcurl reads piece by piece, while its bytes arrive from elsewhere.
public struct ArrivingBody: Sendable {
    /// Copies bytes from a position in the body into the beginning of the buffer, and waits if none have arrived.
    ///
    /// The position goes back only if libcurl sends the request again because a reused connection was dead.
    /// - Returns: the number of bytes copied, at least 1; `nil` ends the transfer with ``CurlError/cancelled``.
    public typealias Reader = @Sendable (_ position: Int, _ buffer: inout MutableSpan<UInt8>) -> Int?

    /// The exact length, sent as `Content-Length`.
    public let lengthBytes: Int
    /// How long the server may take for anything, counted from the moment when it last received bytes: the wait for the
    /// bytes themselves does not count.
    public let patience: Duration
    let read: Reader

    public init(lengthBytes: Int, patience: Duration, read: @escaping Reader) {
        self.lengthBytes = lengthBytes
        self.patience = patience
        self.read = read
    }
}

extension ArrivingBody {
    /// Reads bytes of a file, a range or all, while they are sent. If the file has become shorter by then, the transfer
    /// ends.
    ///
    /// Nil if the file cannot be read, or is shorter.
    public init?(file path: String, _ range: Range<Int>? = nil, patience: Duration) {
        guard let file = OpenFile(path) else { return nil }
        let range = range ?? 0..<file.lengthBytes
        guard range.lowerBound >= 0, range.upperBound <= file.lengthBytes else { return nil }
        self.init(lengthBytes: range.count, patience: patience) { position, buffer in
            file.read(at: range.lowerBound + position, upTo: range.count - position, into: &buffer)
        }
    }
}

/// An open regular file, closed with its last reference.
private final class OpenFile: Sendable {
    private let descriptor: CInt
    let lengthBytes: Int

    init?(_ path: String) {
        descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
        var status = stat()
        guard descriptor >= 0 else { return nil }
        guard unsafe fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            close(descriptor)
            return nil
        }
        lengthBytes = status.st_size
    }

    deinit { close(descriptor) }

    /// Fills the beginning of the buffer; nil if there is nothing to read.
    func read(at position: Int, upTo count: Int, into buffer: inout MutableSpan<UInt8>) -> Int? {
        let read = unsafe buffer.withUnsafeMutableBufferPointer {
            unsafe pread(descriptor, $0.baseAddress, min(count, $0.count), position)
        }
        return read > 0 ? read : nil
    }
}

/// Supplies libcurl's callbacks with an arriving body, for the duration of one transfer.
///
/// Lives on the stack of `perform`, like ``ResponseReceiver``.
struct BodySender {
    private let body: ArrivingBody
    private var position = 0
    private var lastSupply = ContinuousClock.now

    /// Set once the body could not be read further.
    private(set) var hasFailed = false
    /// Set once the server exceeded the body's patience.
    private(set) var isOverdue = false

    init(_ body: ArrivingBody) { self.body = body }

    /// Supplies the next bytes; nil ends the transfer.
    mutating func supply(_ buffer: inout MutableSpan<UInt8>) -> Int? {
        guard position < body.lengthBytes else { return 0 }
        defer { lastSupply = .now }
        guard let count = body.read(position, &buffer), (1...buffer.count).contains(count) else {
            hasFailed = true
            return nil
        }
        position += count
        return count
    }

    /// Seeks back because libcurl sends the body again.
    mutating func seek(to newPosition: Int) -> Bool {
        guard (0...body.lengthBytes).contains(newPosition) else { return false }
        position = newPosition
        return true
    }

    /// Whether the server may take even longer; libcurl asks about once a second (CURLOPT_XFERINFOFUNCTION(3)).
    mutating func checkPatience() -> Bool {
        isOverdue = lastSupply.duration(to: .now) > body.patience
        return !isOverdue
    }
}
