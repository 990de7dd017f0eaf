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
