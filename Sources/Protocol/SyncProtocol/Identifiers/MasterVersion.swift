/// Counts the accepted changes of one sharing group; the optimistic lock of nearly all file operations.
public struct MasterVersion: WireInteger {
    /// The number.
    public let rawValue: Int64

    /// Gives the number its meaning.
    public init(_ rawValue: Int64) {
        self.rawValue = rawValue
    }

    /// The version of a group that was just created.
    public static let initial = Self(0)

    /// The version after one more change. Stays where it is at the end of the 64-bit range, which no group reaches.
    public var next: Self {
        Self(rawValue == .max ? .max : rawValue + 1)
    }
}
