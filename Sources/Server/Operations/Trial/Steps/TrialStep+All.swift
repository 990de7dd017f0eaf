extension TrialStep {
    /// How many calls of a failed step are shown, the last ones.
    static let shownCalls = 12
    /// The step that is done whatever happened before.
    static let cleanUp = "cleanup"

    /// All steps in their order, as far as they concern this kind of account and what is given of it.
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
