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

    /// The code with the parameters of its authorization request; `nil` if there is none.
    public var code: PresentedCode? {
        authorizationCode.map {
            PresentedCode($0, redirectURI: redirectURI, verifier: codeVerifier, accountDetails: accountDetails)
        }
    }

    /// Everything that determines to whom the credentials belong, so that different credentials are never confused.
    var identifyingText: String {
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
