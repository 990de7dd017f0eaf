/// What a migration did.
public struct SchemaReport: Report {
    /// Names of the steps that were applied now, in order.
    public var applied: [String]
    /// Number of the newest step.
    public var schema: Int

    public init(applied: [String], schema: Int) {
        self.applied = applied
        self.schema = schema
    }

    public var text: String {
        applied.isEmpty ? "The schema is up to date." : "Applied: \(applied.joined(separator: ", "))."
    }
}
