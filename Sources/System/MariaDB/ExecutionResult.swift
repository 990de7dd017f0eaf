/// What a statement without rows did.
public struct ExecutionResult: Sendable, Equatable {
    /// Rows inserted, deleted or changed. A row that an UPDATE found but left as it was does not count.
    public let affectedRows: Int
    /// The AUTO_INCREMENT value made by an INSERT, of its first row if there were several; 0 if none.
    public let lastInsertID: Int64
}
