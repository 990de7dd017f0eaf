import HTTPTypes
public import SyncProtocol

/// The credentials that a signed-in user's device sends to the server with each request.
///
/// The values come from the sign-in with the account's provider; which are needed depends on the account type
/// (docs/protocol.md, section 5).
public struct Credentials: Sendable, Hashable {
    /// The type of the account.
    public var accountType: AccountType
    /// The token of `access_token`: Google, Dropbox, Facebook an access token, Microsoft and Apple an ID token.
    public var accessToken: Secret
    /// A code that the server may exchange, once; sent until new credentials omit it.
    public var authorizationCode: Secret?
    /// The redirect URI with which a browser returned the code; nil for codes obtained without a browser.
    public var redirectURI: String?
    /// Proves that the code was issued to this client (RFC 7636).
    public var codeVerifier: Secret?
    /// Dropbox: the account id, `dbid:…`.
    public var accountID: String?
    /// Microsoft: the second token, for its storage.
    public var microsoftAccessToken: Secret?
    /// Apple: what the user disclosed to the app; at the first sign-in only.
    public var accountDetails: AccountDetails?

    /// Creates credentials.
    public init(
        accountType: AccountType, accessToken: Secret, authorizationCode: Secret? = nil, redirectURI: String? = nil,
        codeVerifier: Secret? = nil, accountID: String? = nil, microsoftAccessToken: Secret? = nil,
        accountDetails: AccountDetails? = nil
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

    /// The headers of docs/protocol.md, section 2.3, without the device's.
    public var headers: [RequestHeader: String] {
        var headers: [RequestHeader: String] = [.tokenType: accountType.tokenType, .accessToken: accessToken.value]
        headers[.authorizationCode] = authorizationCode?.value
        headers[.redirectURI] = redirectURI
        headers[.codeVerifier] = codeVerifier?.value
        headers[.accountID] = accountID
        headers[.microsoftAccessToken] = microsoftAccessToken?.value
        headers[.accountDetails] = accountDetails?.headerText
        return headers
    }

    func add(to fields: inout HTTPFields) {
        for (header, value) in headers { fields[header.fieldName] = value }
    }
}

/// What a user disclosed to the app at their first sign-in with Apple.
public struct AccountDetails: Sendable, Hashable, Codable {
    /// Given name.
    public var firstName: String?
    /// Family name.
    public var lastName: String?
    /// The full name; if present, the server uses it as the display name.
    public var fullName: String?
    /// An email address, possibly a relay address.
    public var email: String?

    /// Creates details.
    public init(firstName: String? = nil, lastName: String? = nil, fullName: String? = nil, email: String? = nil) {
        self.firstName = firstName
        self.lastName = lastName
        self.fullName = fullName
        self.email = email
    }

    /// JSON on a single line of ASCII.
    var headerText: String {
        var writer = JSONWriter(form: .asciiOnly)
        writer.object { writer in
            writer.field("firstName", text: firstName)
            writer.field("lastName", text: lastName)
            writer.field("fullName", text: fullName)
            writer.field("email", text: email)
        }
        return String(decoding: writer.bytes, as: UTF8.self)
    }
}
