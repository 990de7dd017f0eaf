import Providers
import SyncProtocol

// The server's requests when a user signs in.
extension TrialStep {
    static let registration = TrialStep(
        "registration", expected: "the provider accepts the server's client id and secret"
    ) { trial in
        guard trial.account.hasRegistration else { return .notOffered("nothing is registered with this provider") }
        try trial.account.checkRegistration(through: trial.client)
        return .passed("it accepts them")
    }

    static let codeAlone = TrialStep(
        "code",
        expected:
            "the provider exchanges the code for an access token with the storage permission, and a refresh token"
    ) { trial in
        guard let code = trial.given.codeAlone,
            let signIn = try trial.account.signIn(with: code, through: trial.client)
        else { return .failed("the code cannot be exchanged without its redirect URI") }
        trial.presented = signIn.presented
        trial.stored = trial.account.credentials(from: signIn.presented).updated(with: signIn.stored)
        guard signIn.stored.refreshToken != nil else {
            return .failed(
                "the reply has an access token but no refresh token: the server would lose access to the "
                    + "storage within hours")
        }
        return .passed("it returns both")
    }

    static let identity = TrialStep(
        "identity", expected: "the provider returns the token's user", needs: ["code"]
    ) { trial in
        do {
            let profile = try trial.account.verify(trial.presented, through: trial.client)
            trial.profile = profile
            guard profile.isPlausible else { return .failed("the identifier is empty or has more than 255 characters") }
            return .passed(profile.displayName.isEmpty ? "it does, without a name" : "it does")
        } catch let error as AccountError
            where error == .rejected && !trial.recorder.calls.isEmpty && trial.recorder.calls.allSatisfy(\.isSmooth)
        {
            trial.isOfAnotherApp = true
            return .passed("it accepts the token")
        }
    }

    static let audience = TrialStep(
        "audience",
        expected: "the token was issued for this server's client, or for an app that the configuration lists",
        needs: ["identity"]
    ) { trial in
        if trial.isOfAnotherApp {
            return .failed(
                "the provider recognizes the token, but it belongs to another app or person, or has expired: compare "
                    + "the client ids in the configuration with the app's")
        }
        guard trial.guide.tokensNameTheirApp else {
            return trial.given.codeAlone == nil
                ? .notOffered("tokens do not identify their app")
                : .passed("the server itself has exchanged the code")
        }
        return .passed("it was")
    }

    static let forgery = TrialStep(
        "forgery", expected: "a forged token is rejected", needs: ["identity"]
    ) { trial in
        var forged = trial.presented
        forged.accessToken = altered(forged.accessToken)
        trial.confidential.append(forged.accessToken)
        do {
            _ = try trial.account.verify(forged, through: trial.client)
            return .failed("the token with one changed character is accepted")
        } catch let error as AccountError where error.isRejection {
            return .passed("it is rejected")
        } catch AccountError.rightMissing {
            return .passed("it is rejected")
        }
    }

    /// The token with one character replaced after its middle, which in a JSON Web Token is in the claims or the
    /// signature.
    private static func altered(_ token: String) -> String {
        var characters = Array(token)
        guard !characters.isEmpty else { return "x" }
        let place = characters.count * 3 / 4
        characters[place] = characters[place] == "A" ? "B" : "A"
        return String(characters)
    }

    static let exchange = TrialStep(
        "exchange", expected: "the server gets its own tokens for the phone's credentials",
        needs: ["identity", "audience"]
    ) { trial in
        guard let profile = trial.profile else { return .notTried("the provider did not return the token's user") }
        var stored = trial.account.credentials(from: trial.presented)
        stored.refreshToken = trial.given.refreshToken ?? stored.refreshToken
        trial.stored = stored
        if let code = trial.presented.code {
            guard let own = try trial.account.exchange(code: code, of: profile, through: trial.client) else {
                return .failed("the code cannot be exchanged without its redirect URI")
            }
            trial.stored = stored.updated(with: own)
            return own.refreshToken == nil
                ? .failed(
                    "the reply has no refresh token: the person had already consented, and was not asked again")
                : .passed("it gets them for the code, with a refresh token")
        }
        if trial.account.exchangesTokens {
            guard let own = try trial.account.exchange(trial.presented, of: profile, through: trial.client) else {
                return .failed("it gets none")
            }
            trial.stored = stored.updated(with: own)
            return own.refreshToken == nil
                ? .failed("it gets an access token but no refresh token")
                : .passed(
                    "it gets them for the phone's token")
        }
        if trial.guide.hasCodes {
            return .notTried(
                "there is no authorization code: the server uses the phone's token")
        }
        if let token = try trial.account.replacementToken(for: trial.presented, through: trial.client) {
            trial.confidential.append(token)
            return .passed("the phone gets a longer-lived token")
        }
        return .notOffered("the server stores the phone's credentials")
    }

    static let renewal = TrialStep(
        "renewal", expected: "the provider renews the access token, or confirms the refresh token"
    ) { trial in
        guard let stored = trial.stored else { return .notTried("requires the tokens from an earlier step") }
        guard stored.refreshToken != nil else {
            return trial.guide.hasCodes || trial.account.exchangesTokens
                ? .notTried("there is no refresh token") : .notOffered("these tokens do not expire")
        }
        trial.confidential += [stored.accessToken, stored.refreshToken].compactMap(\.self)
        guard trial.guide.renews else {
            trial.stored = try trial.account.confirm(stored, through: trial.client)
            return .passed("it confirms the refresh token")
        }
        let fresh = try trial.account.refresh(stored, through: trial.client)
        trial.stored = stored.updated(with: fresh)
        guard fresh.accessToken != nil, fresh.refusal == nil else { return .failed("it returns no access token") }
        return .passed(fresh.refreshToken == nil ? "it returns an access token" : "it returns both tokens")
    }
}

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
        return isClosed ? .passed("they are rejected, even by the storage") : .failed("the storage still accepts them")
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
