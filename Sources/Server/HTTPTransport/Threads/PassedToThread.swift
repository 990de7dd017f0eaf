/// A value handed over to another thread.
///
/// `@unchecked Sendable`: created for that thread alone, and not used by its creator; shared parts, such as connections
/// and limits, support many threads.
public struct PassedToThread<Value>: @unchecked Sendable {
    public let value: Value

    public init(_ value: Value) { self.value = value }
}
