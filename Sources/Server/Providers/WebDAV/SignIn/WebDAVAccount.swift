public import FoundationEssentials
import HTTPTransport
import HTTPTypes
import OpenSSLCrypto
public import SyncProtocol

/// Accounts of WebDAV servers: a user name and a password, best one for this app alone, as Nextcloud hands them out; or
/// a bearer token, with tokens of the server's own where the app maker has registered an OAuth 2.0 client.
///
/// A person who can read the folder at the address is its owner, provided that the server refuses others
/// (``PasswordAccounts``). A server never says that a password was withdrawn; it only
/// refuses it. A proxy may do that as well, or a server in the midst of a change. So a password counts as withdrawn when
/// it is refused twice, at least a minute apart, and it is not tried in between: Nextcloud slows down whoever tries wrong
/// passwords, and all our people come from one address. The same holds for refresh tokens, which Nextcloud refuses with a
/// word that means something else elsewhere.
public struct WebDAVAccount: PasswordAccounts {
    private static let refusalInterval: Int64 = 60
    private static let properties = "<d:resourcetype/><d:current-user-principal/><oc:fileid/>"

    private let servers: NamedServers
    private let oauth: WebDAVOAuthClient?
    private let now: @Sendable () -> Date

    /// - Parameters:
    ///   - oauth: `nil` if there is none, and bearer tokens are used for as long as they live.
    ///   - now: the clock of the database; tests pass one that they control.
    public init(
        servers: NamedServers, oauth: WebDAVOAuthClient? = nil, now: @escaping @Sendable () -> Date = { Date() }
    ) {
        self.servers = servers
        self.oauth = oauth
        self.now = now
    }

    public var accountType: AccountType { .webDAV }

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
            throw .malformedDetails("has no user, and the server does not tell whose token it is")
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

    /// The person's own name at a Nextcloud, to which they can sign in with several (RFC 5397).
    private static func name(in folder: WebDAVResource) -> String? {
        guard folder.fileID != nil, let principal = folder.principal else { return nil }
        return WebDAVAddress.segments(ofPath: principal[...])?.last
    }

    public func credentials(from presented: PresentedCredentials) -> StoredCredentials {
        let location = try? WebDAVLocation(presented.accountDetails)
        return StoredCredentials(
            accessToken: presented.accessToken, isLasting: location?.user == nil ? nil : true, location: location?.text)
    }

    /// Exchanges a code of the person's own server, if there is a client at it, and the details name no user, as a
    /// password's do. Without the redirect URI, which the servers compare, codes are left alone.
    public func exchange(
        code: PresentedCode, of profile: SignInProfile, through client: AccountClient
    ) throws(AccountError) -> StoredCredentials? {
        guard let location = try? WebDAVLocation(code.accountDetails), location.user == nil, code.redirectURI != nil,
            let endpoint = try tokenEndpoint(at: location)
        else { return nil }
        let tokens = try endpoint.exchange(code, standardRedirectURI: nil, through: client)
        let folder: WebDAVResource?
        do { folder = try look(location, tokens.accessToken, through: client) } catch .malformedDetails {
            // The folder was there a moment ago: of somebody else it is hidden.
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

    /// A Nextcloud looks for a token before it looks at the client, so that no question without a token tells anything.
    public var hasRegistration: Bool { false }

    public func checkRegistration(through client: AccountClient) {}

    /// Renews tokens. Of a password there is nothing to renew: asks the server whether it really refuses it.
    /// - Returns: new tokens; or the same ones or the same password, with what is remembered of the refusal.
    public func refresh(
        _ stored: StoredCredentials, through client: AccountClient
    ) throws(AccountError) -> StoredCredentials {
        if isResting(stored) { return stored }
        guard let token = stored.accessToken, let location = try? WebDAVLocation(stored.location) else {
            throw .revoked
        }
        if location.user == nil, stored.refreshToken != nil {
            // Without a client they are as good as withdrawn, so that a phone's own token can take their place.
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

    /// Ends the app password at a Nextcloud (OCS API, `core/apppassword`), which an access token of its OAuth app is as well.
    /// A password that the person chose for themselves cannot be ended in this way, and stays; a bearer token without a
    /// refresh token is the phone's.
    public func revoke(_ stored: StoredCredentials, through client: AccountClient) throws(AccountError) {
        guard let token = stored.accessToken, let location = try? WebDAVLocation(stored.location),
            location.user != nil || stored.refreshToken != nil, let address = try? address(of: location),
            let paths = NextcloudPaths(address)
        else { return }
        var request = request(.revoke, .delete, paths.services("core/apppassword"), location, token, address)
        request.headers[.openCollaborationRequest] = "true"
        // Whatever it replies: there is none, or no longer any. But an expired access token ends no grant.
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

    // MARK: What a password proves

    public func claim(of presented: PresentedCredentials) -> PasswordClaim? {
        guard let location = try? WebDAVLocation(presented.accountDetails), let user = location.user,
            let address = try? address(of: location)
        else { return nil }
        // Nextcloud and ownCloud have one sign-in for all of their people.
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
        // Whatever is no folder is not shown.
        case .look:
            do { return try look(location, password, through: client) == nil } catch .malformedDetails { return true }
        }
    }

    public func refusesOwner(
        _ presented: PresentedCredentials, through client: AccountClient
    ) throws(AccountError) -> Bool {
        try refusesWriting(try WebDAVLocation(presented.accountDetails), presented.accessToken, through: client)
    }

    /// Asks for the folder to be made, which is there: 405 for whoever may write (RFC 4918, section 9.3.1).
    private func refusesWriting(
        _ location: WebDAVLocation, _ password: String?, through client: AccountClient
    ) throws(AccountError) -> Bool {
        let address = try address(of: location)
        let status = try client.send(
            request(.identity, .makeCollection, location.root.text, location, password, address)
        ).status
        return status == 401 || status == 403
    }

    /// Keeps a file at the address as an upload does (``WebDAVTrial``).
    public func requireStorage(
        with credentials: StoredCredentials, through client: AccountClient
    ) throws(AccountError) {
        guard let token = credentials.accessToken, let location = try? WebDAVLocation(credentials.location) else {
            return
        }
        try WebDAVTrial(location, token: token, at: address(of: location), servers: servers, through: client).run()
    }

    // MARK: Pieces

    /// What a server shows to somebody.
    private enum Sight {
        case folder(WebDAVResource)
        case refused(AccountError)
    }

    /// The folder at the address; `nil` if the server refuses the credentials.
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
                throw .malformedDetails("has an address at which there is no folder")
            }
            return .folder(folder)
        case 401:
            guard WebDAVVerdict.isOwnRefusal(reply) else { throw .unavailable(detail: "a 401 without a challenge") }
            return .refused(WebDAVVerdict.offersDigestOnly(reply) ? .storageUnusable(.digestOnly) : .rejected)
        // Somebody else's folder; a few servers say so to a wrong password as well.
        case 403:
            return .refused(
                .storageUnusable(WebDAVVerdict.wantsTermsAccepted(reply) ? .termsNotAccepted : .forbidden))
        default: throw .malformedDetails("has an address at which there is no WebDAV server (status \(reply.status))")
        }
    }

    /// Looks at a folder that was there before: if it cannot be found now, or is not shown to a password that is not refused, its
    /// server is disturbed.
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

    /// `nil` if there is no client at the server.
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
    /// Without it the Open Collaboration Services refuse a request, since a web page cannot send it.
    static let openCollaborationRequest = HTTPField.Name("OCS-APIRequest")!
}
