internal import FoundationEssentials
internal import OpenSSLCrypto

/// Everything that the emulated Apple issues: identity tokens, codes, notifications, refresh tokens.
struct AppleTokens {
    static let issuer = "https://appleid.apple.com"
    /// Lifetime of an identity token, in seconds.
    static let identityTokenSeconds = 600.0
    /// Lifetime of a code, in seconds ("Generate and validate tokens").
    static let codeSeconds = 300.0
    let keys: AppleKeys

    /// How a token deviates from Apple's, for tests of token validation.
    struct Oddity {
        var issuer = AppleTokens.issuer
        var audience: String?
        var key = AppleKeys.Choice.current
        var secondsOld = 0.0
        var lifeSeconds = AppleTokens.identityTokenSeconds
    }

    /// A user ID in Apple's format.
    static func userID() -> String {
        "00" + RandomText.number(4) + "." + RandomText.token(80).lowercased().filter(\.isHexDigit).prefix(32) + "."
            + RandomText.number(4)
    }

    /// A new code for the app.
    static func code(for account: Account, at now: Date) -> AuthorizationCode {
        AuthorizationCode(
            value: "c" + RandomText.token(60).filter { $0 != "-" && $0 != "_" } + ".0." + RandomText.token(22),
            clientID: account.audience, expiresAt: now.addingTimeInterval(codeSeconds), promptsConsent: false)
    }

    /// Signs in on the device at `now` by creating an unused code. Identity tokens are created on request.
    static func signIn(_ account: inout Account, at now: Date, soon: Date) -> Bool {
        guard account.freshCode(at: soon) == nil else { return false }
        account.add(code(for: account, at: now))
        return true
    }

    /// An identity token ("Authenticating users with Sign in with Apple").
    func identityToken(of account: Account, at now: Date, _ oddity: Oddity = Oddity()) throws -> String {
        let issuedAt = now.addingTimeInterval(-oddity.secondsOld)
        return try sign(
            [
                "iss": .string(oddity.issuer), "aud": .string(oddity.audience ?? account.audience),
                "exp": .int(issuedAt.addingTimeInterval(oddity.lifeSeconds).unixSeconds),
                "iat": .int(issuedAt.unixSeconds), "sub": .string(account.id), "email": .string(account.email),
                // Apple usually sends strings here, sometimes booleans.
                "email_verified": "true", "is_private_email": "false", "auth_time": .int(issuedAt.unixSeconds),
                "nonce_supported": true,
            ], oddity.key)
    }

    /// A notification to the app's server about a user's action, with `events` as a string or an object.
    func notice(
        _ type: String, about account: Account, identifier: String, isText: Bool, at now: Date, _ oddity: Oddity
    ) throws -> String {
        let time = now.addingTimeInterval(-oddity.secondsOld)
        let event: JSONValue = [
            "type": .string(type), "sub": .string(account.id), "event_time": .int(time.unixSeconds * 1_000),
            "email": .string(account.email), "is_private_email": "false",
        ]
        return try sign(
            [
                "iss": .string(oddity.issuer), "aud": .string(oddity.audience ?? account.audience),
                "iat": .int(time.unixSeconds), "jti": .string(identifier),
                "events": isText ? .string(event.text()) : event,
            ], oddity.key)
    }

    private func sign(_ claims: JSONObject, _ choice: AppleKeys.Choice) throws -> String {
        let (name, key) = try keys.key(choice)
        let header: JSONValue = ["kid": .string(name), "alg": "RS256"]
        let text = header.bytes().base64URL + "." + JSONValue.object(claims).bytes().base64URL
        return try text + "." + key.signature(over: Array(text.utf8)).base64URL
    }
}
