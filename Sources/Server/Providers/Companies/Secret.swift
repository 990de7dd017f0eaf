/// A text that must never be printed.
public struct Secret: Sendable, Equatable {
    /// The text itself; hand it to the library that needs it, and to nobody else.
    public let value: String

    public init(_ value: String) { self.value = value }
}

extension Secret: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    public var description: String { "<redacted>" }
    public var debugDescription: String { "<redacted>" }
    public var customMirror: Mirror { Mirror(self, children: []) }
}
