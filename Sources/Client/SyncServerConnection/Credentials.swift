import HTTPTypes
public import SyncProtocol

/// The credentials that a signed-in user's device sends to the server with each request.
///
/// The values come from the sign-in with the account's provider; the account type determines which values are needed
/// (docs/protocol.md, section 5).
public struct Credentials: Sendable, Hashable {
    /// The type of the account.
    public var accountType: AccountType
    /// The token of `access-token`: for Google, Dropbox and Facebook an access token, for Microsoft and Apple an ID
    /// token, for WebDAV a password or a bearer token, for S3 the secret access key.
    public var accessToken: Secret
    /// A code that the server may exchange once; sent until new credentials omit it.
    public var authorizationCode: Secret?
    /// The redirect URI with which a browser returned the code; nil for codes obtained without a browser.
    public var redirectURI: String?
    /// Proves that the code was issued to this client (RFC 7636).
    public var codeVerifier: Secret?
    /// Dropbox: the account id, `dbid:…`.
    public var accountID: String?
    /// Microsoft: the second token, for its storage.
    public var microsoftAccessToken: Secret?
    /// Apple: details that the user disclosed to the app, only at the first sign-in. WebDAV, S3: the storage's
    /// location.
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

    /// The headers of docs/protocol.md, section 2.3, except those of the device.
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

    /// The value of `SyncServer-Old-Account-Proof` (docs/protocol.md, section 8.31): JSON on a single line of ASCII.
    var proofText: String {
        var writer = JSONWriter(form: .asciiOnly)
        writer.object { writer in
            writer.field("accessToken", text: accessToken.value)
            writer.field("accountID", text: accountID)
            writer.field("microsoftAccessToken", text: microsoftAccessToken?.value)
            writer.field("accountDetails", text: accountDetails?.headerText)
            writer.field("authorizationCode", text: authorizationCode?.value)
            writer.field("redirectURI", text: redirectURI)
            writer.field("codeVerifier", text: codeVerifier?.value)
        }
        return String(decoding: writer.bytes, as: UTF8.self)
    }

    func add(to fields: inout HTTPFields, _ spelling: TokenSpelling) {
        for (header, value) in headers { fields[spelling.name(of: header)] = value }
    }
}

/// The spelling of header names with an underscore.
///
/// Our servers accept both spellings, but Caddy and other proxies pass on only the hyphen. SyncServerII accepts only
/// the underscore. Both in one request would repeat the token behind nginx 1.23 and later, which joins the values.
enum TokenSpelling: Sendable, Hashable {
    case hyphenated
    case underscored

    func name(of header: RequestHeader) -> HTTPField.Name {
        guard self == .hyphenated, let name = header.hyphenatedName.flatMap({ HTTPField.Name($0) }) else {
            return header.fieldName
        }
        return name
    }

    /// The spelling to try after a refusal; nil if the spelling was not the cause.
    func alternative(after error: ServerConnectionError) -> TokenSpelling? {
        guard error.code == .signInRequired, error.status == 401 else { return nil }
        switch self {
        // Servers that accept the hyphen send codes.
        case .hyphenated: return error.serverCode == nil ? .underscored : nil
        case .underscored: return error.serverCode == .known(.credentialsMissing) ? .hyphenated : nil
        }
    }
}

/// Details that a user disclosed to the app: about themselves, at their first sign-in with Apple; or about their own
/// storage (docs/protocol.md, section 5).
public struct AccountDetails: Sendable, Hashable, Codable {
    /// Given name.
    public var firstName: String?
    /// Family name.
    public var lastName: String?
    /// The full name; if present, the server uses it as the display name.
    public var fullName: String?
    /// An email address, possibly a relay address.
    public var email: String?
    /// WebDAV: the folder's URL. S3: the service's.
    public var address: String?
    /// WebDAV: the user's name for signing in; nil with a bearer token.
    public var user: String?
    /// S3: such as `us-east-1`.
    public var region: String?
    /// S3: the bucket's name.
    public var bucket: String?
    /// S3: the identifier of the access key whose secret is the access token.
    public var accessKeyID: String?
    /// S3: the common prefix of the keys of all objects; nil for the whole bucket.
    public var prefix: String?

    /// Creates details.
    public init(firstName: String? = nil, lastName: String? = nil, fullName: String? = nil, email: String? = nil) {
        self.firstName = firstName
        self.lastName = lastName
        self.fullName = fullName
        self.email = email
    }

    /// A folder on a WebDAV server.
    public static func webDAV(address: String, user: String?) -> AccountDetails {
        var details = AccountDetails()
        details.address = address
        details.user = user
        return details
    }

    /// A bucket, or a part of one, of a service with the interface of Amazon S3.
    public static func s3(
        address: String, region: String, bucket: String, accessKeyID: String, prefix: String? = nil
    ) -> AccountDetails {
        var details = AccountDetails()
        details.address = address
        details.region = region
        details.bucket = bucket
        details.accessKeyID = accessKeyID
        details.prefix = prefix
        return details
    }

    /// JSON on a single line of ASCII.
    var headerText: String {
        var writer = JSONWriter(form: .asciiOnly)
        writer.object { writer in
            writer.field("firstName", text: firstName)
            writer.field("lastName", text: lastName)
            writer.field("fullName", text: fullName)
            writer.field("email", text: email)
            writer.field("address", text: address)
            writer.field("user", text: user)
            writer.field("region", text: region)
            writer.field("bucket", text: bucket)
            writer.field("accessKeyID", text: accessKeyID)
            writer.field("prefix", text: prefix)
        }
        return String(decoding: writer.bytes, as: UTF8.self)
    }
}

/// Provides a ``ServerConnection`` with the credentials of the app's user.
///
/// An app implements it on top of its sign-in. A ``ServerConnection`` asks for a refresh once for all requests that
/// were refused with the same credentials, and at most once for each request.
public protocol CredentialProvider: Sendable {
    /// The current credentials; nil if nobody is signed in. Called before each request: must not use the network.
    func credentials() async -> Credentials?

    /// Obtains new credentials to replace those that the server has refused, and stores them for ``credentials()``.
    /// - Throws: Any error, if new credentials require the user's help: the requests end with
    ///   ``ServerConnectionError/Code/signInRequired``. If the provider cannot be reached now, throw
    ///   ``CredentialRefreshFailure/unreachable``: the requests end with
    ///   ``ServerConnectionError/Code/credentialsUnavailable``, and may be retried later.
    func refresh(_ refused: Credentials) async throws -> Credentials

    /// Called when the server has accepted the credentials for a sign-in: CheckCreds, AddUser or
    /// RedeemSharingInvitation succeeded. The server has exchanged their authorization code, which must not be sent
    /// again. Does nothing by default.
    /// - Parameter newAccessToken: A longer-lived token to use from now on instead of the access token, if the server
    ///   sent one (Facebook).
    func serverAccepted(_ accepted: Credentials, newAccessToken: Secret?) async
}

extension CredentialProvider {
    public func serverAccepted(_ accepted: Credentials, newAccessToken: Secret?) async {}
}

/// The error that a ``CredentialProvider`` throws if a later refresh may succeed.
public enum CredentialRefreshFailure: Error, Sendable, Hashable {
    /// The account's provider did not answer, or asked the client to retry later.
    case unreachable
}

/// A device's information about the identity above its user's account (docs/protocol.md, section 5.10).
public struct KnownIdentity: Sendable, Hashable {
    /// The number of account switches of the identity; nil if the server has not reported it yet, or does not support
    /// identities.
    public var accountEpoch: AccountEpoch?
    /// Proves that the device belongs to the identity, even when its account can no longer be used.
    public var deviceGrant: DeviceGrant?

    /// Creates a value.
    public init(accountEpoch: AccountEpoch? = nil, deviceGrant: DeviceGrant? = nil) {
        self.accountEpoch = accountEpoch
        self.deviceGrant = deviceGrant
    }

    /// Adds the headers that an endpoint reads.
    func add(to fields: inout HTTPFields, for endpoint: EndpointName) {
        switch endpoint {
        case .checkCreds, .addUser, .redeemSharingInvitation, .beginAccountSwitch, .undoAccountSwitch:
            fields[RequestHeader.deviceGrant.fieldName] = deviceGrant?.secret
        default:
            if endpoint == .revokeDeviceGrants { fields[RequestHeader.deviceGrant.fieldName] = deviceGrant?.secret }
            guard endpoint.route.authentication == .secondary else { return }
            fields[RequestHeader.accountEpoch.fieldName] = accountEpoch.map { String($0.rawValue) }
        }
    }
}
