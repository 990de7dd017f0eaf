/// Counts the app metadata of one file, independently of its contents: 0 for the first, one more with each change.
public struct AppMetaDataVersion: WireInteger {
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
