/// MD5 of data that comes in pieces.
public struct IncrementalMD5: ~Copyable {
    /// Begins with nothing.
    public init() {}
    /// Adds a piece.
    public mutating func update(_ bytes: [UInt8]) {}
    /// The checksum of all pieces, in lower-case hexadecimal digits.
    public consuming func finish() -> String { "" }
}
