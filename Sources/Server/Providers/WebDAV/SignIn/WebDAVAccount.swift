public import FoundationEssentials
import HTTPTransport
import HTTPTypes
public import SyncProtocol

/// Accounts of WebDAV servers: a user name and a password, best one for this app alone, as Nextcloud hands them out; or
/// a bearer token.
///
/// Whoever can read the folder at the address is its owner. A server never says that a password was withdrawn; it only
/// refuses it. A proxy may do that as well, or a server in the midst of a change. So a password counts as withdrawn when
/// it is refused twice, at least a minute apart, and it is not tried in between: Nextcloud slows down whoever tries wrong
/// passwords, and all our people come from one address.
public struct WebDAVAccount: AccountProvider {
    private static let refusalInterval: Int64 = 60
    private static let properties = "<d:resourcetype/><d:current-user-principal/><oc:fileid/>"

    private let servers: NamedServers
    private let now: @Sendable () -> Date

    /// - Parameter now: the clock of the database; tests pass one that they control.
    public init(servers: NamedServers, now: @escaping @Sendable () -> Date = { Date() }) {
        self.servers = servers
        self.now = now
    }

    public var accountType: AccountType { .webDAV }

    public func verify(
        _ presented: PresentedCredentials, through client: AccountClient
    ) throws(AccountError) -> SignInProfile {
        let location = try WebDAVLocation(presented.accountDetails)
        guard let folder = try look(location, presented.accessToken, through: client) else { throw .rejected }
        guard let name = Self.name(in: folder) ?? location.user else {
            throw .malformedDetails("has no user, and the server does not tell whose token it is")
        }
        return SignInProfile(providerUserID: location.identity(of: name), displayName: location.user ?? name)
    }

    public func statedUserID(in presented: PresentedCredentials) -> String? {
        guard let location = try? WebDAVLocation(presented.accountDetails), let user = location.user else { return nil }
        return location.identity(of: user)
    }

    /// The person's own name at a Nextcloud, to which they can sign in with several (RFC 5397).
    private static func name(in folder: WebDAVResource) -> String? {
        guard folder.fileID != nil, let principal = folder.principal else { return nil }
        return WebDAVAddress.segments(ofPath: principal[...])?.last
    }

    public func credentials(from presented: PresentedCredentials) -> StoredCredentials {
        StoredCredentials(
            accessToken: presented.accessToken, location: try? WebDAVLocation(presented.accountDetails).text)
    }

    /// The app maker has registered nothing anywhere.
    public var hasRegistration: Bool { false }

    public func checkRegistration(through client: AccountClient) {}

    /// There is nothing to renew: asks the server whether it really refuses the password.
    /// - Returns: the same password, with what is remembered of its refusal.
    public func refresh(
        _ stored: StoredCredentials, through client: AccountClient
    ) throws(AccountError) -> StoredCredentials {
        var result = stored
        if isResting(stored) { return result }
        guard let token = stored.accessToken, let location = try? WebDAVLocation(stored.location) else {
            throw .revoked
        }
        let folder: WebDAVResource?
        do {
            folder = try look(location, token, through: client)
        } catch .malformedDetails(let detail) {
            // It was right once.
            throw .unavailable(detail: detail)
        }
        if folder != nil {
            result.refusal = nil
        } else if let refusal = stored.refusal {
            result.refusal = CredentialRefusal(firstAt: refusal.firstAt, isFinal: true)
        } else {
            result.refusal = CredentialRefusal(firstAt: time)
        }
        return result
    }

    public func isResting(_ stored: StoredCredentials) -> Bool {
        guard let refusal = stored.refusal else { return false }
        return !refusal.isFinal && time < refusal.firstAt + Self.refusalInterval
    }

    /// Seconds since 1970.
    private var time: Int64 { Int64(now().timeIntervalSince1970) }

    /// Ends the app password at a Nextcloud (OCS API, `core/apppassword`). One that the person chose for themselves
    /// cannot be ended in this way, and stays.
    public func revoke(_ stored: StoredCredentials, through client: AccountClient) throws(AccountError) {
        guard let token = stored.accessToken, let location = try? WebDAVLocation(stored.location),
            location.user != nil, let address = try? address(of: location), let paths = NextcloudPaths(address)
        else { return }
        var request = request(.revoke, .delete, paths.services("core/apppassword"), location, token, address)
        request.headers[.openCollaborationRequest] = "true"
        // Whatever it replies: there is none, or no longer any.
        _ = try client.send(request)
    }

    // MARK: Pieces

    /// The folder at the address; `nil` if the server refuses the credentials.
    private func look(
        _ location: WebDAVLocation, _ token: String, through client: AccountClient
    ) throws(AccountError) -> WebDAVResource? {
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
            return folder
        // 403: of somebody else.
        case 401, 403: return nil
        default: throw .malformedDetails("has an address at which there is no WebDAV server (status \(reply.status))")
        }
    }

    private func address(of location: WebDAVLocation) throws(AccountError) -> WebDAVAddress {
        guard let destination = servers.destination(of: location.root) else { throw .serverNotAllowed }
        return WebDAVAddress(root: location.root, destination: destination)
    }

    private func request(
        _ operation: ProviderCall.Operation, _ method: HTTPRequest.Method, _ url: String, _ location: WebDAVLocation,
        _ token: String, _ address: WebDAVAddress
    ) -> OutgoingRequest {
        var request = OutgoingRequest(
            .webDAV, operation, method, url, headers: [.authorization: location.authorization(token)])
        request.destination = address.destination
        return request
    }
}

extension HTTPField.Name {
    /// Without it the Open Collaboration Services refuse a request, since a web page cannot send it.
    static let openCollaborationRequest = HTTPField.Name("OCS-APIRequest")!
}
