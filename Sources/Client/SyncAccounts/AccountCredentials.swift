public import Foundation
public import SyncProtocol
public import SyncServerConnection

/// What an account's provider has given to a program, and what the program sends to the server of it.
public struct AccountCredentials: Sendable, Hashable, Codable {
    /// An authorization code that only the server can exchange, with what it needs for that (docs/protocol.md, section 5.6).
    public struct ServerGrant: Sendable, Hashable, Codable {
        public var code: String
        /// `nil` for codes that came without a browser.
        public var redirectURI: String?
        public var codeVerifier: String?

        public init(code: String, redirectURI: String? = nil, codeVerifier: String? = nil) {
            self.code = code
            self.redirectURI = redirectURI
            self.codeVerifier = codeVerifier
        }
    }

    /// Who the person is, in the provider's words.
    public struct Person: Sendable, Hashable, Codable {
        /// The provider's identifier of the account; with the account type it says who it is.
        public var id: String
        /// A name for people to read; may be empty.
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
    /// Microsoft, Apple: the identity token, which is what goes into `access_token`.
    public var idToken: String?
    /// `nil` if only the person can renew the access token.
    public var refreshToken: String?
    /// When the access token ends, as far as the provider said.
    public var expires: Date?
    /// What the server has not taken yet.
    public var serverGrant: ServerGrant?
    /// Apple: JSON with what the person let the app know.
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

    /// A Facebook access token, as Facebook's own library hands it out.
    public static func facebook(accessToken: String, person: Person) -> AccountCredentials {
        AccountCredentials(accountType: .facebook, person: person, accessToken: accessToken)
    }

    /// What a sign-in with Apple hands out.
    /// - Parameter details: JSON with `firstName`, `lastName`, `fullName`, `email`, all optional; only the first sign-in
    ///   brings them.
    public static func apple(
        identityToken: String, authorizationCode: String?, details: String?, person: Person
    ) -> AccountCredentials {
        AccountCredentials(
            accountType: .appleSignIn, person: person, accessToken: "", idToken: identityToken,
            serverGrant: authorizationCode.map { ServerGrant(code: $0) }, accountDetails: details)
    }

    /// What goes to the server of it.
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

    /// The same as headers (docs/protocol.md, section 2.3), all but the device's.
    public var headers: [RequestHeader: String] { credentials.headers }

    /// Whether both are one account's, whatever the tokens.
    public func isSameAccount(as other: AccountCredentials) -> Bool {
        accountType == other.accountType && person.id == other.person.id
    }
}

// Tokens never print.
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
