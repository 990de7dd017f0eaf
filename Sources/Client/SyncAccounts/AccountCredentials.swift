public import Foundation
public import SyncProtocol
public import SyncServerConnection

/// The credentials that an account's provider has issued to a program, and the part that the program sends to the
/// server.
public struct AccountCredentials: Sendable, Hashable, Codable {
    /// An authorization code that only the server can exchange, with the values that the exchange requires
    /// (docs/protocol.md, section 5.6).
    public struct ServerGrant: Sendable, Hashable, Codable {
        public var code: String
        /// `nil` for codes that were obtained without a browser.
        public var redirectURI: String?
        public var codeVerifier: String?

        public init(code: String, redirectURI: String? = nil, codeVerifier: String? = nil) {
            self.code = code
            self.redirectURI = redirectURI
            self.codeVerifier = codeVerifier
        }
    }

    /// The user, according to the provider.
    public struct Person: Sendable, Hashable, Codable {
        /// The provider's identifier of the account; unique together with the account type.
        public var id: String
        /// A display name; may be empty.
        public var name: String
        public var email: String?

        public init(id: String, name: String = "", email: String? = nil) {
            self.id = id
            self.name = name
            self.email = email
        }
    }

    public var accountType: AccountType
    public var person: Person
    /// Google, Dropbox, Facebook: the token of `access_token`. Microsoft: the one for Graph.
    public var accessToken: String
    /// Microsoft, Apple: the identity token, which is sent as `access_token`.
    public var idToken: String?
    /// `nil` if only the user can renew the access token.
    public var refreshToken: String?
    /// When the access token expires, if the provider reported it.
    public var expires: Date?
    /// The grant that the server has not accepted yet.
    public var serverGrant: ServerGrant?
    /// JSON. Apple: details that the user disclosed to the app. WebDAV: the location of their files.
    public var accountDetails: String?

    public init(
        accountType: AccountType, person: Person, accessToken: String, idToken: String? = nil,
        refreshToken: String? = nil, expires: Date? = nil, serverGrant: ServerGrant? = nil,
        accountDetails: String? = nil
    ) {
        self.accountType = accountType
        self.person = person
        self.accessToken = accessToken
        self.idToken = idToken
        self.refreshToken = refreshToken
        self.expires = expires
        self.serverGrant = serverGrant
        self.accountDetails = accountDetails
    }

    /// Google's tokens, as returned by Google's own library (GoogleSignIn).
    /// - Parameters:
    ///   - serverAuthCode: Requires the server's client id in the library's configuration, and the scope
    ///     `https://www.googleapis.com/auth/drive.file`. Nil at later sign-ins, when the server has it already.
    ///   - person: Identified by `userID`.
    public static func google(
        accessToken: String, serverAuthCode: String?, expires: Date? = nil, person: Person
    ) -> AccountCredentials {
        AccountCredentials(
            accountType: .google, person: person, accessToken: accessToken, expires: expires,
            serverGrant: serverAuthCode.map { ServerGrant(code: $0) })
    }

    /// A Dropbox access token, as returned by Dropbox's own library (SwiftyDropbox).
    /// - Parameters:
    ///   - serverGrant: A code for the server, requested with `token_access_type=offline`. Nil: the server uses the
    ///     access token until it expires, if its operator permits that.
    ///   - person: Identified by the account id, `dbid:…`.
    public static func dropbox(
        accessToken: String, serverGrant: ServerGrant?, expires: Date? = nil, person: Person
    ) -> AccountCredentials {
        AccountCredentials(
            accountType: .dropbox, person: person, accessToken: accessToken, expires: expires,
            serverGrant: serverGrant)
    }

    /// Microsoft's tokens, as returned by Microsoft's own library (MSAL). The server obtains its own on behalf of the
    /// user; it needs no code.
    /// - Parameters:
    ///   - accessToken: For Microsoft Graph.
    ///   - idToken: Issued to the server's application.
    ///   - person: Identified by the user's `id` in Graph.
    public static func microsoft(
        accessToken: String, idToken: String, expires: Date? = nil, person: Person
    ) -> AccountCredentials {
        AccountCredentials(
            accountType: .microsoft, person: person, accessToken: accessToken, idToken: idToken, expires: expires)
    }

    /// A Facebook access token, as returned by Facebook's own library.
    public static func facebook(accessToken: String, person: Person) -> AccountCredentials {
        AccountCredentials(accountType: .facebook, person: person, accessToken: accessToken)
    }

    /// The result of Sign in with Apple.
    /// - Parameter details: JSON with `firstName`, `lastName`, `fullName`, `email`, all optional; provided by the first
    ///   sign-in only.
    public static func apple(
        identityToken: String, authorizationCode: String?, details: String?, person: Person
    ) -> AccountCredentials {
        AccountCredentials(
            accountType: .appleSignIn, person: person, accessToken: "", idToken: identityToken,
            serverGrant: authorizationCode.map { ServerGrant(code: $0) }, accountDetails: details)
    }

    /// The part that is sent to the server.
    public var credentials: Credentials {
        Credentials(
            accountType: accountType, accessToken: Secret(idToken ?? accessToken),
            authorizationCode: (serverGrant?.code).map { Secret($0) }, redirectURI: serverGrant?.redirectURI,
            codeVerifier: (serverGrant?.codeVerifier).map { Secret($0) },
            accountID: accountType == .dropbox ? person.id : nil,
            microsoftAccessToken: accountType == .microsoft ? Secret(accessToken) : nil,
            accountDetails: accountDetails.flatMap {
                try? JSONDecoder().decode(AccountDetails.self, from: Data($0.utf8))
            })
    }

    /// The credentials as headers (docs/protocol.md, section 2.3), without those of the device.
    public var headers: [RequestHeader: String] { credentials.headers }

    /// Whether both belong to the same account, regardless of the tokens.
    public func isSameAccount(as other: AccountCredentials) -> Bool {
        accountType == other.accountType && person.id == other.person.id
            && credentials.accountDetails?.address == other.credentials.accountDetails?.address
    }
}

// Tokens are never printed.
extension AccountCredentials: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    public var description: String { "\(accountType.rawValue) credentials <redacted>" }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension AccountCredentials.ServerGrant: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    public var description: String { "<redacted>" }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: []) }
}

/// Credentials that another library has obtained, such as Facebook's or Apple's. For a library that renews them, use
/// ``AccountSession/init(_:store:renew:)``.
public struct GivenCredentials: CredentialProvider {
    private let given: AccountCredentials

    public init(_ credentials: AccountCredentials) { given = credentials }

    public func credentials() async -> Credentials? { given.credentials }

    /// Always throws: these credentials cannot be refreshed.
    public func refresh(_ refused: Credentials) async throws -> Credentials {
        throw SignInError(.signInRequired, "no refresh available")
    }
}
