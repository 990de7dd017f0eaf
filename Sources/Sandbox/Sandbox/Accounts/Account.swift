internal import FoundationEssentials

/// A provider that the sandbox can stand in for.
public enum Provider: String, Sendable, CaseIterable {
    case google, facebook, dropbox, microsoft, apple
    /// A Nextcloud.
    case webdav
}

/// Who asked for a token: an app on a device, the app maker's server, or a program whose person signed in with a browser.
enum TokenHolder: String, Sendable {
    case device, server, program
}

/// An access token and its permissions.
struct AccessToken: Sendable {
    let value: String
    let holder: TokenHolder
    /// The client id or app id for which it was issued.
    let audience: String
    let issuedAt: Date
    var expiresAt: Date
    var isRevoked = false
    /// Its scopes; `nil` for all that the account grants.
    var scopes: [String]?
    /// Dropbox: the refresh token that it came from or with; `nil` for one without, such as a device's.
    var refreshToken: String?
}

/// A refresh token.
struct RefreshToken: Sendable {
    let value: String
    let clientID: String
    let holder: TokenHolder
    var isRevoked = false
    /// The scopes granted; `nil` for all that the account grants.
    var scopes: [String]?
    /// Microsoft: the token that this one replaces; it is revoked when this one is first used.
    var predecessor: String?
}

/// An authorization code: works once, for ten minutes.
struct AuthorizationCode: Sendable {
    /// Life of a code; Google states no figure, RFC 6749 section 4.1.2 recommends at most ten minutes.
    static let lifeSeconds = 600.0
    let value: String
    let clientID: String
    let expiresAt: Date
    /// Whether the user was asked for consent again, which yields another refresh token.
    let promptsConsent: Bool
    /// The PKCE challenge, if the code was requested with one.
    var challenge: CodeChallenge?
    /// The redirect URI with which the code was requested.
    var redirect: String?
    /// What the person granted on the page in the browser; `nil` for codes of apps on devices.
    var scopes: [String]?
    /// Whether it was requested with offline access.
    var isOffline = true
    var isUsed = false
}

/// One person's account at one provider.
struct Account: Sendable {
    /// The provider's own user id, unique among all accounts of the sandbox.
    let id: String
    let provider: Provider
    let name: String
    let email: String
    let createdAt: Date
    /// The client id (Google), app id (Facebook) or app key (Dropbox) for which device tokens are issued.
    let audience: String
    /// What the user granted.
    let scopes: [String]
    /// Facebook: `USER`, `PAGE`, or `LIMITED` for Limited Login. Microsoft: `WORK` for an organisation's.
    let tokenType: String
    /// Microsoft: whether its id tokens are accepted as assertions, as SyncServerII's clients need it.
    let acceptsIDTokenAssertions: Bool
    /// Microsoft: whether there is a OneDrive.
    var oneDriveState: OneDriveState
    /// Storage the account has, in bytes.
    var quotaBytes: Int
    /// Whether the app's server has received its refresh token.
    var hasConsented = false
    var accessTokens: [AccessToken] = []
    var refreshTokens: [RefreshToken] = []
    var codes: [AuthorizationCode] = []

    static let organisationTokenType = "WORK"
    /// Microsoft: whether it belongs to an organisation, whose drives differ from personal ones.
    var isOfOrganisation: Bool { provider == .microsoft && tokenType == Self.organisationTokenType }

    /// The device's newest token that still works at `now`; of that audience, if one is named.
    func deviceToken(at now: Date, for audience: String? = nil) -> AccessToken? {
        accessTokens.last {
            $0.holder == .device && !$0.isRevoked && $0.expiresAt > now && (audience ?? $0.audience) == $0.audience
        }
    }

    /// The newest token of a program that still works at `now`.
    func programToken(at now: Date) -> AccessToken? {
        accessTokens.last { $0.holder == .program && !$0.isRevoked && $0.expiresAt > now }
    }

    /// The device's newest authorization code that still works at `now`.
    func freshCode(at now: Date) -> AuthorizationCode? {
        codes.last { !$0.isUsed && $0.expiresAt > now && $0.scopes == nil }
    }

    /// Makes access tokens of the named holders (`nil`: of all) expire now.
    mutating func expireAccessTokens(of holder: TokenHolder?, at now: Date) {
        for index in accessTokens.indices where holder == nil || accessTokens[index].holder == holder {
            accessTokens[index].expiresAt = min(accessTokens[index].expiresAt, now)
        }
    }

    /// Revokes what the user granted to the named holder (`nil`: to all); the next sign-in asks for consent again.
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
        // They are invalid from now on, but nobody has used them.
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
