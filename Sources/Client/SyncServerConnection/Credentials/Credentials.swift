import HTTPTypes
public import SyncProtocol

/// What a signed-in person's device shows to the server with each request.
///
/// The values come from the sign-in with the account's provider; which are needed depends on the account type
/// (docs/protocol.md, section 5).
public struct Credentials: Sendable, Hashable {
    /// Whose account it is.
    public var accountType: AccountType
    /// The token of `access_token`: Google, Dropbox, Facebook an access token, Microsoft and Apple an ID token.
    public var accessToken: Secret
    /// A code that the server may exchange, once; sent until the next credentials come without it.
    public var authorizationCode: Secret?
    /// The redirect URI with which a browser brought the code; nil for codes that came without one.
    public var redirectURI: String?
    /// What proves that the code is ours (RFC 7636).
    public var codeVerifier: Secret?
    /// Dropbox: the account id, `dbid:…`.
    public var accountID: String?
    /// Microsoft: the second token, for its storage.
    public var microsoftAccessToken: Secret?
    /// Apple: what the person let the app know, at the first sign-in only.
    public var accountDetails: AccountDetails?

    /// Puts credentials together.
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

    /// The headers of docs/protocol.md, section 2.3, all but the device's.
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

/// What a person let the app know at their first sign-in with Apple.
public struct AccountDetails: Sendable, Hashable, Codable {
    /// Given name.
    public var firstName: String?
    /// Family name.
    public var lastName: String?
    /// The whole name; the server's display name if it is there.
    public var fullName: String?
    /// An address, perhaps one that only forwards.
    public var email: String?

    /// Puts details together.
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
