/// The result of a migration.
public struct SchemaReport: Report {
    /// Names of the newly applied steps, in order.
    public var applied: [String]
    /// Accounts of roles whose rights were changed.
    public var accounts: [String]
    /// Number of the latest migration step.
    public var schema: Int

    public init(applied: [String], accounts: [String] = [], schema: Int) {
        self.applied = applied
        self.accounts = accounts
        self.schema = schema
    }

    public var lines: [String] {
        [applied.isEmpty ? "The schema is up to date." : "Applied: \(applied.joined(separator: ", "))."]
            + accounts.map { "The account \($0) has the rights that its role needs." }
    }
}
