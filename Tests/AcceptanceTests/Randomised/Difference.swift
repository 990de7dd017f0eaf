/// The server's behaviour contradicts the model.
struct Difference: Error, CustomStringConvertible {
    let seed: UInt64
    let step: Int
    /// The differences, one sentence each.
    let contradictions: [String]
    /// The end of the list of operations.
    let journal: [String]

    /// The operations on files and groups that a contradiction mentions.
    private var relevant: [String] {
        let named = Set(
            contradictions.joined(separator: " ").matches(of: /[0-9A-F]{8}(-[0-9A-F]{4}){3}-[0-9A-F]{12}/).map { $0.0 })
        return journal.dropLast(30).filter { line in named.contains { line.contains($0) } }
    }

    var description: String {
        """
        The server and the model differ. Seed \(seed), operation \(step).
        \(contradictions.map { "  ! \($0.prefix(900))" }.joined(separator: "\n"))
        Earlier operations on the same files and groups:
        \(relevant.suffix(30).map { "  \($0)" }.joined(separator: "\n"))
        The last operations, the newest at the end:
        \(journal.suffix(30).map { "  \($0)" }.joined(separator: "\n"))
        """
    }
}
