import FoundationEssentials

/// A provider that the sandbox can emulate.
public enum Provider: String, Codable, Sendable, CaseIterable {
    case google, facebook, dropbox, microsoft, apple
    /// A Nextcloud server.
    case webdav
}

/// The requester of a token: an app on a device, the app maker's server, or a program whose user signed in with a
/// browser.
enum TokenHolder: String, Codable, Sendable {
    case device, server, program
}

/// An access token and its permissions.
struct AccessToken: Codable, Sendable {
    let value: String
    let holder: TokenHolder
    /// The client ID or app ID for which it was issued.
    let audience: String
    let issuedAt: Date
    var expiresAt: Date
    var isRevoked = false
    /// Its scopes; `nil` for all scopes that the account grants.
    var scopes: [String]?
    /// Dropbox: the refresh token from which or with which it was issued; `nil` if there is none, as for a device's
    /// token.
    var refreshToken: String?
}

/// A refresh token.
struct RefreshToken: Codable, Sendable {
    let value: String
    let clientID: String
    let holder: TokenHolder
    var isRevoked = false
    /// The granted scopes; `nil` for all scopes that the account grants.
    var scopes: [String]?
    /// Microsoft: the token that this one replaces; it is revoked when this one is first used.
    var predecessor: String?
}

/// An authorization code: works once, for ten minutes.
struct AuthorizationCode: Codable, Sendable {
    /// Lifetime of a code; Google states no figure, RFC 6749, section 4.1.2, recommends at most ten minutes.
    static let lifeSeconds = 600.0
    let value: String
    let clientID: String
    let expiresAt: Date
    /// Whether the user was asked for consent again, which yields a new refresh token.
    let promptsConsent: Bool
    /// The PKCE challenge, if the code was requested with one.
    var challenge: CodeChallenge?
    /// The redirect URI with which the code was requested.
    var redirect: String?
    /// The scopes that the person granted on the page in the browser; `nil` for codes of apps on devices.
    var scopes: [String]?
    /// Whether it was requested with offline access.
    var isOffline = true
    var isUsed = false
}

/// One person's account at one provider.
struct Account: Codable, Sendable {
    /// The provider's own user ID, unique among all accounts of the sandbox.
    let id: String
    let provider: Provider
    let name: String
    let email: String
    let createdAt: Date
    /// The client ID (Google), app ID (Facebook) or app key (Dropbox) for which device tokens are issued.
    let audience: String
    /// The scopes that the user granted.
    let scopes: [String]
    /// Facebook: `USER`, `PAGE`, or `LIMITED` for Limited Login. Microsoft: `WORK` for an organization's account.
    let tokenType: String
    /// Microsoft: whether its ID tokens are accepted as assertions, as SyncServerII's clients require.
    let acceptsIDTokenAssertions: Bool
    /// Microsoft: whether the account has a OneDrive.
    var oneDriveState: OneDriveState
    /// The account's storage, in bytes.
    var quotaBytes: Int
    /// Whether the app's server has received its refresh token.
    var hasConsented = false
    var accessTokens: [AccessToken] = []
    var refreshTokens: [RefreshToken] = []
    var codes: [AuthorizationCode] = []

    private enum CodingKeys: String, CodingKey {
        case id, provider, name, email, createdAt, audience, scopes, tokenType, quotaBytes, hasConsented
        case acceptsIDTokenAssertions = "idTokenAssertions"
        case oneDriveState = "oneDrive"
        case accessTokens, refreshTokens, codes
    }

    static let organisationTokenType = "WORK"
    /// Microsoft: whether it belongs to an organization; their drives differ from personal ones.
    var isOfOrganisation: Bool { provider == .microsoft && tokenType == Self.organisationTokenType }

    /// The device's newest token that is still valid at `now`, for the given audience if there is one.
    func deviceToken(at now: Date, for audience: String? = nil) -> AccessToken? {
        accessTokens.last {
            $0.holder == .device && !$0.isRevoked && $0.expiresAt > now && (audience ?? $0.audience) == $0.audience
        }
    }

    /// The newest token of a program that is still valid at `now`.
    func programToken(at now: Date) -> AccessToken? {
        accessTokens.last { $0.holder == .program && !$0.isRevoked && $0.expiresAt > now }
    }

    /// The device's newest authorization code that is still valid at `now`.
    func freshCode(at now: Date) -> AuthorizationCode? {
        codes.last { !$0.isUsed && $0.expiresAt > now && $0.scopes == nil }
    }

    /// Expires access tokens of the given holder (`nil`: of all) now.
    mutating func expireAccessTokens(of holder: TokenHolder?, at now: Date) {
        for index in accessTokens.indices where holder == nil || accessTokens[index].holder == holder {
            accessTokens[index].expiresAt = min(accessTokens[index].expiresAt, now)
        }
    }

    /// Revokes the user's grant to the given holder (`nil`: to all); the next sign-in asks for consent again.
    mutating func revoke(_ holder: TokenHolder?) {
        for index in accessTokens.indices where holder == nil || accessTokens[index].holder == holder {
            accessTokens[index].isRevoked = true
        }
        guard holder != .device else { return }
        for index in refreshTokens.indices
        where holder == nil || (holder == .program) == (refreshTokens[index].holder == .program) {
            refreshTokens[index].isRevoked = true
        }
        guard holder != .program else { return }
        // The codes are invalid from now on, but have not been used.
        codes = []
        hasConsented = false
    }

    /// Revokes one access token and, if it has a refresh token, that token and all access tokens issued from it.
    mutating func revoke(_ token: AccessToken) {
        for index in accessTokens.indices
        where accessTokens[index].value == token.value
            || token.refreshToken != nil && accessTokens[index].refreshToken == token.refreshToken
        {
            accessTokens[index].isRevoked = true
        }
        for index in refreshTokens.indices where refreshTokens[index].value == token.refreshToken {
            refreshTokens[index].isRevoked = true
        }
    }
}

extension Date {
    /// The time in the providers' format: `2026-11-21T07:46:21.123Z`.
    var text: String {
        formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))
    }

    /// The time as JSON.
    var json: JSONValue { .string(text) }

    /// Whole seconds since 1970.
    var unixSeconds: Int { Int(timeIntervalSince1970.rounded(.down)) }

    /// A time in RFC 3339 form, with or without a fraction, a zone, or a time of day.
    init?(text: String) {
        let candidates = [
            Date.ISO8601FormatStyle(includingFractionalSeconds: true), Date.ISO8601FormatStyle(),
        ]
        for form in [text, text + "Z", text + "T00:00:00Z"] {
            for style in candidates {
                if let date = try? style.parse(form) {
                    self = date
                    return
                }
            }
        }
        return nil
    }

    /// A time in the format of ``json``.
    init?(json: JSONValue?) {
        guard let text = json?.string else { return nil }
        self.init(text: text)
    }
}

/// Identifiers and tokens in the providers' formats.
enum RandomText {
    private static let base64url = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")
    private static let digits = Array("0123456789")

    /// Letters, digits, `-` and `_`.
    static func token(_ length: Int) -> String { text(length, of: base64url) }

    /// Decimal digits, the first one not 0.
    static func number(_ length: Int) -> String {
        var text = text(length, of: digits)
        if text.hasPrefix("0") { text = "1" + text.dropFirst() }
        return text
    }

    private static func text(_ length: Int, of alphabet: [Character]) -> String {
        var generator = SystemRandomNumberGenerator()
        return String((0..<length).map { _ in alphabet[Int.random(in: 0..<alphabet.count, using: &generator)] })
    }
}
