/// Names a user; given out by the server, never reused.
public struct UserID: WireInteger {
    /// The number.
    public let rawValue: Int64

    /// Gives the number its meaning.
    public init(_ rawValue: Int64) {
        self.rawValue = rawValue
    }
}
