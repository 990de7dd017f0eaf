public import SyncProtocol
import UntrustedInput

/// The credentials that a phone sends with a request to identify its user.
public struct PresentedCredentials: Sendable {
    public var accountType: AccountType
    /// Header `access_token`.
    public var accessToken: String
    /// Header `SyncServer-authorization-code`: works once, but the phone sends it with every request.
    public var authorizationCode: String?
    /// Header `SyncServer-redirect-uri`: where a browser delivered the code; `nil` for codes obtained without a
    /// browser.
    public var redirectURI: String?
    /// Header `SyncServer-code-verifier`: proves that the code is the caller's own.
    public var codeVerifier: CodeVerifier?
    /// Header `X-account-id`: the account to which the token allegedly belongs (Dropbox).
    public var accountID: String?
    /// Header `X-microsoft-access-token`: Microsoft's library has two tokens; ``accessToken`` is the ID token.
    public var microsoftAccessToken: String?
    /// Header `X-account-details`: JSON with data that Apple gives the phone only once.
    public var accountDetails: String?

    public init(
        accountType: AccountType, accessToken: String, authorizationCode: String? = nil,
        redirectURI: String? = nil, codeVerifier: CodeVerifier? = nil, accountID: String? = nil,
        microsoftAccessToken: String? = nil, accountDetails: String? = nil
    ) {
        self.accountType = accountType
        self.accessToken = accessToken
        self.authorizationCode = authorizationCode
        self.redirectURI = redirectURI
        self.codeVerifier = codeVerifier
        self.accountID = accountID
        self.microsoftAccessToken = microsoftAccessToken
        self.accountDetails = accountDetails
    }

    /// The code with the parameters of its authorization request, or `nil`.
    public var code: PresentedCode? {
        authorizationCode.map {
            PresentedCode($0, redirectURI: redirectURI, verifier: codeVerifier, accountDetails: accountDetails)
        }
    }

    /// Everything that determines to whom the credentials belong, so that different credentials are never confused.
    package var identifyingText: String {
        [accountType.rawValue, accessToken, accountID ?? "", microsoftAccessToken ?? "", accountDetails ?? ""]
            .joined(separator: "\n")
    }
}

/// An authorization code, and the values that the provider compares when it is exchanged (RFC 6749, section 4.1.3; RFC
/// 7636, section 4.5).
public struct PresentedCode: Sendable {
    public var value: String
    /// The redirect URI with which the code was requested; `nil` if the caller names none.
    public var redirectURI: String?
    /// `nil` if the caller sent none.
    public var verifier: CodeVerifier?
    /// Header `X-account-details`: the server that issued the code, for accounts whose users name their server.
    public var accountDetails: String?

    public init(
        _ value: String, redirectURI: String? = nil, verifier: CodeVerifier? = nil, accountDetails: String? = nil
    ) {
        self.value = value
        self.redirectURI = redirectURI
        self.verifier = verifier
        self.accountDetails = accountDetails
    }

    /// The verifier as a parameter of a token request; empty without a verifier.
    var proof: [(name: String, value: String)] {
        verifier.map { [(name: "code_verifier", value: $0.rawValue)] } ?? []
    }
}

/// The user's identity according to the provider.
public struct SignInProfile: Equatable, Sendable {
    /// The number of characters of an identifier or a name that are stored (OpenID Connect Core, section 2: `sub` has
    /// at most 255).
    private static let maximumLength = 255

    /// The provider's identifier of the person; together with the account type, it is the person's identity for us.
    public var providerUserID: String
    /// The name that other members see, truncated to 255 characters; may be empty.
    public var displayName: String
    /// The longest time for which the provider will honour the token; `nil` if it does not report one.
    public var tokenLifetime: Duration?
    /// Set where the token alone proves the identity, and the sign-in outlasts the token's expiry (Apple).
    public var identityToken: IdentityToken?

    public init(
        providerUserID: String, displayName: String, tokenLifetime: Duration? = nil,
        identityToken: IdentityToken? = nil
    ) {
        self.providerUserID = providerUserID
        self.displayName = displayName.limited(toScalars: Self.maximumLength)
        self.tokenLifetime = tokenLifetime
        self.identityToken = identityToken
    }

    /// Whether the identifier can be stored, and printed on one line.
    public var isPlausible: Bool {
        !providerUserID.isEmpty && providerUserID.unicodeScalars.count <= Self.maximumLength
            && providerUserID.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control }
    }
}

/// Properties of a presented identity token, apart from the person's identity.
public struct IdentityToken: Equatable, Sendable {
    /// SHA-256 of the token, in hexadecimal digits.
    public var hash: String
    /// Whether it has expired. An expired token is accepted only for an existing user whose ``IdentityRecord`` contains
    /// it.
    public var isExpired: Bool
    /// When it was issued, in seconds since 1970.
    public var issuedAt: Int64
    /// The client of the app maker for which it was issued.
    public var clientID: String

    public init(hash: String, isExpired: Bool, issuedAt: Int64, clientID: String) {
        self.hash = hash
        self.isExpired = isExpired
        self.issuedAt = issuedAt
        self.clientID = clientID
    }
}

/// The record of the identity tokens with which a user signs in, stored with their credentials.
///
/// Such a token is valid for minutes, and a phone cannot renew it without showing the person a dialogue, so a token
/// that the server saw while it was valid remains accepted.
public struct IdentityRecord: Equatable, Sendable, Codable {
    /// The number of tokens kept, more than a person has devices; beyond it, the oldest is no longer accepted.
    public static let maximumTokens = 16

    /// Hashes of the tokens that the server saw while they were valid, oldest first.
    public private(set) var tokenHashes: [String]
    /// When the provider last confirmed that the refresh token is valid, in seconds since 1970.
    public var confirmedAt: Int64?
    /// Tokens issued until this time, in seconds since 1970, are no longer accepted, because the person had withdrawn
    /// consent.
    public var withdrawnAt: Int64?
    /// The client to which the refresh token was issued, and which alone can use it; `nil` in older records: the main
    /// client.
    public var clientID: String?

    public init(
        tokenHashes: [String] = [], confirmedAt: Int64? = nil, withdrawnAt: Int64? = nil, clientID: String? = nil
    ) {
        self.tokenHashes = Array(tokenHashes.suffix(Self.maximumTokens))
        self.confirmedAt = confirmedAt
        self.withdrawnAt = withdrawnAt
        self.clientID = clientID
    }

    /// Whether a verified token is accepted.
    public func admits(_ token: IdentityToken) -> Bool {
        if let withdrawnAt, token.issuedAt <= withdrawnAt { return false }
        return !token.isExpired || tokenHashes.contains(token.hash)
    }

    /// This record updated with a newer one.
    func updated(with newer: IdentityRecord) -> IdentityRecord {
        IdentityRecord(
            tokenHashes: tokenHashes.filter { !newer.tokenHashes.contains($0) } + newer.tokenHashes,
            confirmedAt: newer.confirmedAt ?? confirmedAt, withdrawnAt: newer.withdrawnAt ?? withdrawnAt,
            clientID: newer.clientID ?? clientID)
    }
}

extension StoredCredentials {
    /// These credentials with a currently valid token added to the record; `nil` if the record already contains it.
    public func remembering(_ token: IdentityToken) -> StoredCredentials? {
        if identity?.tokenHashes.contains(token.hash) == true { return nil }
        return updated(with: StoredCredentials(identity: IdentityRecord(tokenHashes: [token.hash])))
    }
}
