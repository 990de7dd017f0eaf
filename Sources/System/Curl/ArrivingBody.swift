/// A request body that is handed to libcurl piece by piece, while its bytes arrive from elsewhere.
public struct ArrivingBody: Sendable {
    /// Copies bytes into the beginning of the buffer, from a position in the body on, and waits if none is there yet.
    ///
    /// The position goes back only if libcurl sends the request again because a reused connection was dead.
    /// - Returns: the number of bytes copied, at least 1; `nil` ends the transfer with ``CurlError/cancelled``.
    public typealias Reader = @Sendable (_ position: Int, _ buffer: inout MutableSpan<UInt8>) -> Int?

    /// The exact length, sent as `Content-Length`.
    public let lengthBytes: Int
    /// How long the server may take for anything, counted from the moment when it was last given bytes: the time in
    /// which the bytes themselves are awaited does not count.
    public let patience: Duration
    let read: Reader

    public init(lengthBytes: Int, patience: Duration, read: @escaping Reader) {
        self.lengthBytes = lengthBytes
        self.patience = patience
        self.read = read
    }
}
