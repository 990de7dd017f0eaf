/// One thing that the server will ask of a provider: what is expected of it, and how to find out.
struct TrialStep: Sendable {
    /// Finds out what comes. What it throws is a failure.
    typealias Action = @Sendable (TrialAccount) throws -> TrialVerdict

    /// Stable: tests and programs that read reports know it by this word.
    let name: String
    /// What the server counts on, in one sentence.
    let expected: String
    /// The steps without whose success this one says nothing.
    let needs: [String]
    let action: Action

    init(_ name: String, expected: String, needs: [String] = [], action: @escaping Action) {
        self.name = name
        self.expected = expected
        self.needs = needs
        self.action = action
    }
}

/// What came of a step, with the words that say so.
enum TrialVerdict: Equatable {
    /// As expected.
    case passed(String)
    case failed(String)
    /// The provider, or this kind of account, has no such thing, and the server does without.
    case notOffered(String)
    /// What it takes was not given, or something went wrong before.
    case notTried(String)
}
