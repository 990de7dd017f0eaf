import Providers
import SyncProtocol

// The server's requests when a user leaves.
extension TrialStep {
    static let revocation = TrialStep(
        "revocation", expected: "the person's grant to the server is revoked"
    ) { trial in
        guard let stored = trial.stored else { return .notTried("the server has no tokens") }
        if trial.keepsGrant { return .notTried("the grant is kept (--keep-grant)") }
        try trial.account.revoke(stored, through: trial.client)
        if stored.isLasting == true, let status = trial.recorder.calls.last?.status, (400..<500).contains(status) {
            return .notOffered(
                "the server answers \(status): it revokes only app passwords, but this is the person's own password")
        }
        trial.hasRevoked = !trial.recorder.calls.isEmpty
        return trial.hasRevoked
            ? .passed("it is revoked") : .notOffered("there is no call for it, or the tokens are not the server's own")
    }

    static let revoked = TrialStep(
        "revoked", expected: "revoked tokens are rejected with an error that the server recognizes as a revocation",
        needs: ["revocation"]
    ) { trial in
        guard let stored = trial.stored, trial.hasRevoked else { return .notTried("nothing was revoked") }
        guard stored.refreshToken != nil else {
            let isRefused = try trial.eventually { try refuses(.rejected) { try verify(trial) } }
            return isRefused ? .passed("they are rejected") : .failed("the provider still accepts them")
        }
        let isRefused = try trial.eventually {
            try refuses(.revoked) {
                if trial.guide.renews {
                    let fresh = try trial.account.refresh(stored, through: trial.client)
                    // For providers whose refusal counts as a revocation only when repeated.
                    if fresh.refusal != nil { throw AccountError.revoked }
                } else {
                    _ = try trial.account.confirm(stored, through: trial.client)
                }
            }
        }
        guard isRefused else { return .failed("the provider still renews them") }
        guard let storage = trial.storage else { return .passed("they are rejected") }
        let isClosed = try trial.eventually {
            do {
                _ = try storage.find(name: trial.name("small.bin"), in: trial.access)
                return false
            } catch CloudStorageError.authorizationRevoked {
                return true
            }
        }
        return isClosed ? .passed("they are rejected, also by the storage") : .failed("the storage still accepts them")
    }

    private static func verify(_ trial: TrialAccount) throws(AccountError) {
        _ = try trial.account.verify(trial.presented, through: trial.client)
    }

    /// Whether `body` ends with that error; `false` if it succeeds.
    private static func refuses(_ expected: AccountError, _ body: () throws -> Void) throws -> Bool {
        do { try body() } catch let error as AccountError where error == expected { return true }
        return false
    }
}
