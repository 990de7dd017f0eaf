/// The server did something that the model says it must not.
struct Difference: Error, CustomStringConvertible {
    let seed: UInt64
    let step: Int
    /// What differs, a sentence each.
    let contradictions: [String]
    /// The end of the list of operations.
    let journal: [String]

    var description: String {
        """
        The server and the model differ. Seed \(seed), operation \(step).
        \(contradictions.map { "  ! \($0.prefix(900))" }.joined(separator: "\n"))
        The last operations, the newest at the end:
        \(journal.suffix(30).map { "  \($0)" }.joined(separator: "\n"))
        """
    }
}
