/// A string that must not appear in logs, reports or crash dumps: it prints as `<redacted>`.
public struct Secret: Sendable, Hashable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The text.
    public let value: String

    /// Wraps a text.
    public init(_ value: String) {
        self.value = value
    }

    /// `<redacted>`.
    public var description: String { "<redacted>" }

    /// `<redacted>`.
    public var debugDescription: String { description }

    /// An empty mirror.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
