import Providers

// What the server asks when somebody signs in.
extension TrialStep {
    static let registration = TrialStep(
        "registration", expected: "the provider knows the server's client id and secret"
    ) { trial in
        guard trial.account.hasRegistration else { return .notOffered("nothing is registered with this provider") }
        try trial.account.checkRegistration(through: trial.client)
        return .passed("it knows them")
    }

    static let codeAlone = TrialStep(
        "code", expected: "the code brings an access token with the permission for the storage, and a refresh token"
    ) { trial in
        guard let code = trial.given.codeAlone,
            let signIn = try trial.account.signIn(with: code, through: trial.client)
        else { return .failed("the code cannot be exchanged without the redirect URI that it was requested with") }
        trial.presented = signIn.presented
        trial.stored = trial.account.credentials(from: signIn.presented).updated(with: signIn.stored)
        guard signIn.stored.refreshToken != nil else {
            return .failed("an access token came, but no refresh token: the server loses the storage within hours")
        }
        return .passed("both came")
    }

    static let identity = TrialStep(
        "identity", expected: "the provider says whose token it is", needs: ["code"]
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
            return .passed("it knows the token")
        }
    }

    static let audience = TrialStep(
        "audience",
        expected: "the token was issued for this server's client, or for an app that the configuration lists",
        needs: ["identity"]
    ) { trial in
        if trial.isOfAnotherApp {
            return .failed(
                "the provider knows the token, but it is another app's, another person's, or has expired: compare the "
                    + "client ids in the configuration with those of the app")
        }
        guard trial.guide.tokensNameTheirApp else {
            return trial.given.codeAlone == nil
                ? .notOffered("nothing tells for which app a token was issued")
                : .passed("the server itself has exchanged the code")
        }
        return .passed("it was")
    }

    static let forgery = TrialStep(
        "forgery", expected: "a token that nobody has issued is refused", needs: ["identity"]
    ) { trial in
        var forged = trial.presented
        forged.accessToken = altered(forged.accessToken)
        trial.confidential.append(forged.accessToken)
        do {
            _ = try trial.account.verify(forged, through: trial.client)
            return .failed("the token with another letter in it is accepted")
        } catch let error as AccountError where error.isRejection {
            return .passed("it is refused")
        } catch AccountError.rightMissing {
            return .passed("it is refused")
        }
    }

    /// The token with one character replaced, behind its middle: of a JSON Web Token that is in its claims or signature.
    private static func altered(_ token: String) -> String {
        var characters = Array(token)
        guard !characters.isEmpty else { return "x" }
        let place = characters.count * 3 / 4
        characters[place] = characters[place] == "A" ? "B" : "A"
        return String(characters)
    }

    static let exchange = TrialStep(
        "exchange", expected: "the server gets tokens of its own for what the phone presents",
        needs: ["identity", "audience"]
    ) { trial in
        guard let profile = trial.profile else { return .notTried("the provider did not say whose token it is") }
        var stored = trial.account.credentials(from: trial.presented)
        stored.refreshToken = trial.given.refreshToken ?? stored.refreshToken
        trial.stored = stored
        if let code = trial.presented.code {
            guard let own = try trial.account.exchange(code: code, of: profile, through: trial.client) else {
                return .failed("the code cannot be exchanged without the redirect URI that it was requested with")
            }
            trial.stored = stored.updated(with: own)
            return own.refreshToken == nil
                ? .failed(
                    "no refresh token came for the code: the person had consented before, and was not asked again")
                : .passed("they came for the code, with a refresh token")
        }
        if trial.account.exchangesTokens {
            guard let own = try trial.account.exchange(trial.presented, of: profile, through: trial.client) else {
                return .failed("nothing came")
            }
            trial.stored = stored.updated(with: own)
            return own.refreshToken == nil
                ? .failed("an access token came, but no refresh token") : .passed("they came for the phone's token")
        }
        if trial.guide.hasCodes { return .notTried("no authorization code is given: the server has the phone's token") }
        if let token = try trial.account.replacementToken(for: trial.presented, through: trial.client) {
            trial.confidential.append(token)
            return .passed("a token with a longer life came for the phone")
        }
        return .notOffered("the server keeps what the phone presents")
    }

    static let renewal = TrialStep(
        "renewal", expected: "the provider renews the access token, or confirms the refresh token"
    ) { trial in
        guard let stored = trial.stored else { return .notTried("needs the tokens of a step before") }
        guard stored.refreshToken != nil else {
            return trial.guide.hasCodes || trial.account.exchangesTokens
                ? .notTried("there is no refresh token") : .notOffered("nothing expires that could be renewed")
        }
        trial.confidential += [stored.accessToken, stored.refreshToken].compactMap(\.self)
        guard trial.guide.renews else {
            trial.stored = try trial.account.confirm(stored, through: trial.client)
            return .passed("it confirms the refresh token")
        }
        let fresh = try trial.account.refresh(stored, through: trial.client)
        trial.stored = stored.updated(with: fresh)
        guard fresh.accessToken != nil, fresh.refusal == nil else { return .failed("no access token came") }
        return .passed(fresh.refreshToken == nil ? "an access token came" : "both tokens came")
    }
}
