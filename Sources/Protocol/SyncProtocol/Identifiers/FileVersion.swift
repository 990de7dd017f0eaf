/// Counts the contents of one file: 0 for the first upload, one more with each later one.
public struct FileVersion: WireInteger {
    /// The number.
    public let rawValue: Int32

    /// Gives the number its meaning.
    public init(_ rawValue: Int32) {
        self.rawValue = rawValue
    }

    /// The first version, that of a new one.
    public static let first = Self(0)

    /// The version after this one; nil at the end of the 32-bit range.
    public var next: Self? {
        rawValue == .max ? nil : Self(rawValue + 1)
    }
}
