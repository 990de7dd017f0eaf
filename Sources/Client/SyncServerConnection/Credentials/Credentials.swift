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
    /// Dropbox: the account id, `dbid:…`.
    public var accountID: String?
    /// Microsoft: the second token, for its storage.
    public var microsoftAccessToken: Secret?
    /// Apple: what the person let the app know, at the first sign-in only.
    public var accountDetails: AccountDetails?

    /// Puts credentials together.
    public init(
        accountType: AccountType, accessToken: Secret, authorizationCode: Secret? = nil, accountID: String? = nil,
        microsoftAccessToken: Secret? = nil, accountDetails: AccountDetails? = nil
    ) {
        self.accountType = accountType
        self.accessToken = accessToken
        self.authorizationCode = authorizationCode
        self.accountID = accountID
        self.microsoftAccessToken = microsoftAccessToken
        self.accountDetails = accountDetails
    }

    /// Adds the headers of docs/protocol.md, section 2.3.
    func add(to fields: inout HTTPFields) {
        fields[RequestHeader.tokenType.fieldName] = accountType.tokenType
        fields[RequestHeader.accessToken.fieldName] = accessToken.value
        fields[RequestHeader.authorizationCode.fieldName] = authorizationCode?.value
        fields[RequestHeader.accountID.fieldName] = accountID
        fields[RequestHeader.microsoftAccessToken.fieldName] = microsoftAccessToken?.value
        fields[RequestHeader.accountDetails.fieldName] = accountDetails?.headerText
    }
}

/// What a person let the app know at their first sign-in with Apple.
public struct AccountDetails: Sendable, Hashable {
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
