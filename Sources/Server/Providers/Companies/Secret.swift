/// A text that must never be printed.
public struct Secret: Sendable, Equatable {
    /// The text itself; pass it only to the library that needs it.
    public let value: String

    public init(_ value: String) { self.value = value }
}

extension Secret: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    public var description: String { "<redacted>" }
    public var debugDescription: String { "<redacted>" }
    public var customMirror: Mirror { Mirror(self, children: []) }
}
