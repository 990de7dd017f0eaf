/// One operation that the server needs from a provider: the expected result, and the test.
struct TrialStep: Sendable {
    /// Performs the test. A thrown error is a failure.
    typealias Action = @Sendable (TrialAccount) throws -> TrialVerdict

    /// Stable: tests and programs that read reports identify the step by this word.
    let name: String
    /// The server's expectation, in one sentence.
    let expected: String
    /// The steps that must pass before this one is meaningful.
    let needs: [String]
    let action: Action

    init(_ name: String, expected: String, needs: [String] = [], action: @escaping Action) {
        self.name = name
        self.expected = expected
        self.needs = needs
        self.action = action
    }
}

/// The result of a step, with an explanation.
enum TrialVerdict: Equatable {
    /// As expected.
    case passed(String)
    case failed(String)
    /// The provider or this kind of account does not offer it, and the server works without it.
    case notOffered(String)
    /// A required credential was missing, or an earlier step failed.
    case notTried(String)
}

extension TrialStep {
    /// The number of a failed step's last calls to show.
    static let shownCalls = 12
    /// The step that always runs.
    static let cleanUp = "cleanup"

    /// All steps, in order, that apply to this kind of account and its credentials.
    static func all(for account: TrialAccount) -> [TrialStep] {
        let signIn =
            account.given.codeAlone == nil
            ? [identity, audience, forgery, exchange] : [codeAlone, identity, audience, forgery]
        return [registration] + signIn + [renewal] + (account.storage == nil ? [] : storageSteps)
            + [revocation, revoked]
    }

    private static let storageSteps = [
        storage, quota, smallUpload, description, download, range, largeUpload, resumedDownload, rename, listing,
        deletion, repeatedDeletion, cleaningUp,
    ]
}
