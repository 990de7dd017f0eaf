public import FoundationEssentials
import HTTPTransport
import HTTPTypes
import OpenSSLCrypto
public import SyncProtocol

/// Accounts of WebDAV servers: a user name and a password, preferably an app password as issued by Nextcloud; or a
/// bearer token, which is exchanged for the server's own tokens if the app maker has registered an OAuth 2.0 client.
///
/// A person who can read the folder at the address is its owner, provided that the server rejects others
/// (``PasswordAccounts``). A server never reports that a password was withdrawn; it only rejects it, and so may a
/// proxy, or a server during maintenance. A password therefore counts as withdrawn when it has been rejected twice, at
/// least a minute apart. It is not tried in between: Nextcloud slows down callers who try wrong passwords, and all our
/// users share one address. The same applies to refresh tokens, which Nextcloud rejects with an error code that has a
/// different meaning elsewhere.
public struct WebDAVAccount: PasswordAccounts {
    private static let refusalInterval: Int64 = 60
    private static let properties = "<d:resourcetype/><d:current-user-principal/><oc:fileid/>"

    private let servers: NamedServers
    private let oauth: WebDAVOAuthClient?
    private let now: @Sendable () -> Date

    /// - Parameters:
    ///   - oauth: `nil` if there is no client; bearer tokens are then used until they expire.
    ///   - now: the database's clock, for tests to control.
    public init(
        servers: NamedServers, oauth: WebDAVOAuthClient? = nil, now: @escaping @Sendable () -> Date = { Date() }
    ) {
        self.servers = servers
        self.oauth = oauth
        self.now = now
    }

    public var accountType: AccountType { .webDAV }
    public var acceptsPasswords: Bool { true }

    public func verify(
        _ presented: PresentedCredentials, through client: AccountClient
    ) throws(AccountError) -> SignInProfile {
        let location = try WebDAVLocation(presented.accountDetails)
        let folder: WebDAVResource
        switch try see(location, presented.accessToken, through: client) {
        case .folder(let resource): folder = resource
        case .refused(let error): throw error
        }
        guard let name = Self.name(in: folder) ?? location.user else {
            throw .malformedDetails("has no user, and the server does not report whose token it is")
        }
        return SignInProfile(providerUserID: location.identity(of: name), displayName: location.user ?? name)
    }

    public func statedUserID(in presented: PresentedCredentials) -> String? {
        guard let location = try? WebDAVLocation(presented.accountDetails), let user = location.user else { return nil }
        return location.identity(of: user)
    }

    public func namedServer(in presented: PresentedCredentials) -> String? {
        guard let location = try? WebDAVLocation(presented.accountDetails),
            servers.destination(of: location.root) == .named
        else { return nil }
        return location.root.origin
    }

    public func namesAddress(in presented: PresentedCredentials) -> Bool {
        (try? WebDAVLocation(presented.accountDetails)) != nil
    }

    /// The person's canonical name in Nextcloud, which lets them sign in with several names (RFC 5397).
    private static func name(in folder: WebDAVResource) -> String? {
        guard folder.fileID != nil, let principal = folder.principal else { return nil }
        return WebDAVAddress.segments(ofPath: principal[...])?.last
    }

    public func credentials(from presented: PresentedCredentials) -> StoredCredentials {
        let location = try? WebDAVLocation(presented.accountDetails)
        return StoredCredentials(
            accessToken: presented.accessToken, isLasting: location?.user == nil ? nil : true, location: location?.text)
    }

    /// Exchanges a code of the person's own server, if there is a client for it and the details name no user (they name
    /// one for a password). Without the redirect URI, which the servers compare, codes are ignored.
    public func exchange(
        code: PresentedCode, of profile: SignInProfile, through client: AccountClient
    ) throws(AccountError) -> StoredCredentials? {
        guard let location = try? WebDAVLocation(code.accountDetails), location.user == nil, code.redirectURI != nil,
            let endpoint = try tokenEndpoint(at: location)
        else { return nil }
        let tokens = try endpoint.exchange(code, standardRedirectURI: nil, through: client)
        let folder: WebDAVResource?
        do { folder = try look(location, tokens.accessToken, through: client) } catch .malformedDetails {
            // The folder existed a moment ago; it is hidden from others.
            throw .codeRejected
        } catch {
            throw error.afterUseOfCode
        }
        guard let name = folder.flatMap(Self.name), location.identity(of: name) == profile.providerUserID else {
            throw .codeRejected
        }
        return StoredCredentials(
            accessToken: tokens.accessToken, refreshToken: tokens.refreshToken, location: location.text)
    }

    /// Nextcloud checks the token before the client, so a request without a valid token reveals nothing.
    public var hasRegistration: Bool { false }

    public func checkRegistration(through client: AccountClient) {}

    /// Renews tokens. A password cannot be renewed, so the server is asked whether it really rejects the password.
    /// - Returns: new tokens, or the same tokens or password with a record of the rejection.
    public func refresh(
        _ stored: StoredCredentials, through client: AccountClient
    ) throws(AccountError) -> StoredCredentials {
        if isResting(stored) { return stored }
        guard let token = stored.accessToken, let location = try? WebDAVLocation(stored.location) else {
            throw .revoked
        }
        if location.user == nil, stored.refreshToken != nil {
            // Without a client the tokens are as good as withdrawn, so that a phone's own token can replace them.
            guard let endpoint = try tokenEndpoint(at: location) else { return refused(stored) }
            do throws(AccountError) { return try endpoint.renew(stored, through: client) } catch {
                guard error == .revoked else { throw error }
                return refused(stored)
            }
        }
        guard try lookAgain(location, token, through: client) != nil else { return refused(stored) }
        var result = stored
        result.refusal = nil
        return result
    }

    private func refused(_ stored: StoredCredentials) -> StoredCredentials {
        var result = stored
        result.refusal =
            stored.refusal.map { CredentialRefusal(firstAt: $0.firstAt, isFinal: true) }
            ?? CredentialRefusal(firstAt: time)
        return result
    }

    public func isResting(_ stored: StoredCredentials) -> Bool {
        guard let refusal = stored.refusal else { return false }
        return !refusal.isFinal && time < refusal.firstAt + Self.refusalInterval
    }

    /// Seconds since 1970.
    private var time: Int64 { Int64(now().timeIntervalSince1970) }

    /// Ends the app password in Nextcloud (OCS API, `core/apppassword`); an access token of its OAuth app is also an
    /// app password. A password that the person chose cannot be ended in this way, and remains; a bearer token without
    /// a refresh token belongs to the phone.
    public func revoke(_ stored: StoredCredentials, through client: AccountClient) throws(AccountError) {
        guard let token = stored.accessToken, let location = try? WebDAVLocation(stored.location),
            location.user != nil || stored.refreshToken != nil, let address = try? address(of: location),
            let paths = NextcloudPaths(address)
        else { return }
        var request = request(.revoke, .delete, paths.services("core/apppassword"), location, token, address)
        request.headers[.openCollaborationRequest] = "true"
        // Any other reply means that the app password does not exist, or no longer exists. But the expiry of an access
        // token does not end the grant.
        guard try client.send(request).status == 401, stored.refreshToken != nil,
            let endpoint = try tokenEndpoint(at: location)
        else { return }
        let fresh: StoredCredentials
        do throws(AccountError) { fresh = try endpoint.renew(stored, through: client) } catch {
            guard error == .revoked else { throw error }
            return
        }
        guard let token = fresh.accessToken else { return }
        request.headers[.authorization] = location.authorization(token)
        _ = try client.send(request)
    }

    // MARK: Proof by password

    public func claim(of presented: PresentedCredentials) -> PasswordClaim? {
        guard let location = try? WebDAVLocation(presented.accountDetails), let user = location.user,
            let address = try? address(of: location)
        else { return nil }
        // Nextcloud and ownCloud have one sign-in for all of their users.
        let base = NextcloudPaths(address).flatMap { _ in NextcloudPaths.base(of: address) }
        let server = location.root.authority
        let digest = IncrementalDigest.digest(of: Array("\(location.text)\n\(presented.accessToken)".utf8), .sha256)
        return PasswordClaim(
            server: server, user: user, identity: location.identity(of: user),
            realm: base.map { "\(server)/\($0.joined(separator: "/"))" } ?? "\(server)\(location.root.path)",
            isRealmOfAllUsers: base != nil, digest: digest.hexLowercase)
    }

    public func refuses(
        _ stranger: Stranger, inPlaceOf presented: PresentedCredentials, asking request: StrangersRequest,
        through client: AccountClient
    ) throws(AccountError) -> Bool {
        let password: String?
        switch stranger {
        case .anonymous: password = nil
        case .withMadeUpPassword:
            guard let made = try? RandomBytes.uuidText() else { throw .unavailable(detail: "no random bytes") }
            password = made
        }
        let location = try WebDAVLocation(presented.accountDetails)
        switch request {
        case .write: return try refusesWriting(location, password, through: client)
        // A resource that is not a folder does not show anything.
        case .look:
            do { return try look(location, password, through: client) == nil } catch .malformedDetails { return true }
        }
    }

    public func refusesOwner(
        _ presented: PresentedCredentials, through client: AccountClient
    ) throws(AccountError) -> Bool {
        try refusesWriting(try WebDAVLocation(presented.accountDetails), presented.accessToken, through: client)
    }

    /// Requests creation of the folder, which already exists: the reply is 405 to those who may write (RFC 4918,
    /// section 9.3.1).
    private func refusesWriting(
        _ location: WebDAVLocation, _ password: String?, through client: AccountClient
    ) throws(AccountError) -> Bool {
        let address = try address(of: location)
        let status = try client.send(
            request(.identity, .makeCollection, location.root.text, location, password, address)
        ).status
        return status == 401 || status == 403
    }

    /// Stores a file at the address like an upload (``WebDAVTrial``).
    public func requireStorage(
        with credentials: StoredCredentials, through client: AccountClient
    ) throws(AccountError) {
        guard let token = credentials.accessToken, let location = try? WebDAVLocation(credentials.location) else {
            return
        }
        try WebDAVTrial(location, token: token, at: address(of: location), servers: servers, through: client).run()
    }

    // MARK: Helpers

    /// What the server reveals about the folder.
    private enum Sight {
        case folder(WebDAVResource)
        case refused(AccountError)
    }

    /// The folder at the address; `nil` if the server rejects the credentials.
    /// - Parameter token: `nil` to present none.
    private func look(
        _ location: WebDAVLocation, _ token: String?, through client: AccountClient
    ) throws(AccountError) -> WebDAVResource? {
        switch try see(location, token, through: client) {
        case .folder(let folder): return folder
        case .refused(.storageUnusable(.termsNotAccepted)): throw .storageUnusable(.termsNotAccepted)
        case .refused: return nil
        }
    }

    /// - Parameter token: `nil` to present none.
    private func see(
        _ location: WebDAVLocation, _ token: String?, through client: AccountClient
    ) throws(AccountError) -> Sight {
        let address = try address(of: location)
        var request = request(.identity, .propfind, location.root.text, location, token, address)
        request.headers[.depth] = "0"
        request.headers[.contentType] = "application/xml"
        request.body = WebDAVResource.propfind(Self.properties)
        let reply = try client.send(request)
        switch reply.status {
        case 207:
            guard let folder = WebDAVResource.all(in: reply.body)?.first, folder.isCollection else {
                throw .malformedDetails("names an address without a folder")
            }
            return .folder(folder)
        case 401:
            guard WebDAVVerdict.isOwnRefusal(reply) else { throw .unavailable(detail: "a 401 without a challenge") }
            return .refused(WebDAVVerdict.offersDigestOnly(reply) ? .storageUnusable(.digestOnly) : .rejected)
        // Somebody else's folder; a few servers also reply with 403 to a wrong password.
        case 403:
            return .refused(
                .storageUnusable(WebDAVVerdict.wantsTermsAccepted(reply) ? .termsNotAccepted : .forbidden))
        default: throw .malformedDetails("names an address without a WebDAV server (status \(reply.status))")
        }
    }

    /// Looks at a folder that existed before: if it is missing now, or is not shown although the password is not
    /// rejected, its server is faulty.
    private func lookAgain(
        _ location: WebDAVLocation, _ token: String, through client: AccountClient
    ) throws(AccountError) -> WebDAVResource? {
        do throws(AccountError) {
            switch try see(location, token, through: client) {
            case .folder(let folder): return folder
            case .refused(.storageUnusable(.forbidden)): throw .unavailable(detail: "status 403 for the folder")
            case .refused(.storageUnusable(.termsNotAccepted)): throw .storageUnusable(.termsNotAccepted)
            case .refused: return nil
            }
        } catch .malformedDetails(let detail) {
            throw .unavailable(detail: detail)
        }
    }

    /// `nil` if the server has no client.
    private func tokenEndpoint(at location: WebDAVLocation) throws(AccountError) -> TokenEndpoint? {
        guard let oauth else { return nil }
        return oauth.endpoint(of: try address(of: location), among: servers)
    }

    private func address(of location: WebDAVLocation) throws(AccountError) -> WebDAVAddress {
        guard let destination = servers.destination(of: location.root) else { throw .serverNotAllowed }
        return WebDAVAddress(root: location.root, destination: destination)
    }

    private func request(
        _ operation: ProviderCall.Operation, _ method: HTTPRequest.Method, _ url: String, _ location: WebDAVLocation,
        _ token: String?, _ address: WebDAVAddress
    ) -> OutgoingRequest {
        var request = OutgoingRequest(.webDAV, operation, method, url)
        request.headers[.authorization] = token.map(location.authorization)
        request.destination = address.destination
        return request
    }
}

extension HTTPField.Name {
    /// The Open Collaboration Services reject a request without this header, since a web page cannot send it.
    static let openCollaborationRequest = HTTPField.Name("OCS-APIRequest")!
}
