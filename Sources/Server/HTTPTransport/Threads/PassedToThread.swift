/// A value on its way to another thread.
///
/// `@unchecked Sendable`: made for that thread alone, and not used by the one that made it; what it shares with others,
/// such as connections and limits, is made for many threads.
public struct PassedToThread<Value>: @unchecked Sendable {
    public let value: Value

    public init(_ value: Value) { self.value = value }
}
