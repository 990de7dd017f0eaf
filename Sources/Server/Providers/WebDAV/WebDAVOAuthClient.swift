import HTTPTransport
import SyncProtocol

/// The app maker's OAuth 2.0 client at the WebDAV servers that the operator lists.
///
/// The administrators of these servers register it, all with the same ID and secret. A server that only a person names
/// never receives the secret.
public struct WebDAVOAuthClient: Sendable {
    /// The code exchange of the OAuth apps of Nextcloud and ownCloud 10, relative to the installation.
    private static let standardRoute = ["index.php", "apps", "oauth2", "api", "v1", "token"]

    private let clientID: String
    /// `nil` for a public client.
    private let clientSecret: String?
    private let tokenEndpoint: String?

    /// - Parameters:
    ///   - clientSecret: `nil` for a public client.
    ///   - tokenEndpoint: see ``objection(toEndpoint:)``; `nil` for the endpoint of the OAuth apps of Nextcloud and
    ///     ownCloud 10.
    public init(clientID: String, clientSecret: String?, tokenEndpoint: String? = nil) {
        self.clientID = clientID
        self.clientSecret = clientSecret
        self.tokenEndpoint = tokenEndpoint
    }

    /// What is wrong with the location of a token endpoint, as the end of a sentence; `nil` if it is valid: a path on
    /// the person's own server, or the address of another server.
    static func objection(toEndpoint text: String) -> String? {
        let address = ServerAddress(text.hasPrefix("/") ? "https://server" + text : text)
        return address == nil ? "must be a path that begins with a slash, or an https address" : nil
    }

    /// The token endpoint for codes of a server.
    /// - Parameter servers: decides whether an endpoint on another server may have any address.
    /// - Returns: `nil` if the operator does not list the server, or if the location of its endpoint is unknown.
    func endpoint(of address: WebDAVAddress, among servers: NamedServers) -> TokenEndpoint? {
        guard address.destination == .listed else { return nil }
        let (url, destination): (String, OutgoingRequest.Destination)
        if let tokenEndpoint {
            url = tokenEndpoint.hasPrefix("/") ? address.root.origin + tokenEndpoint : tokenEndpoint
            destination = ServerAddress(url).flatMap(servers.destination) ?? .named
        } else {
            // Otherwise the route would lie outside the address that the operator has listed.
            guard let base = NextcloudPaths.base(of: address) else { return nil }
            (url, destination) = (address.url(absolute: base + Self.standardRoute), address.destination)
        }
        let host = address.root.host
        return TokenEndpoint(
            of: .webDAV, named: host, at: url, destination, clientID: clientID, clientSecret: clientSecret,
            authentication: .basic
        ) { reply, purpose in Self.refusal(reply, purpose, of: host) }
    }

    /// Nextcloud replies `invalid_request` for an unknown code or refresh token, where RFC 6749, section 5.2, requires
    /// `invalid_grant` (Nextcloud 33, `apps/oauth2`).
    private static func refusal(
        _ reply: Reply, _ purpose: TokenEndpoint.Purpose, of server: String
    ) -> AccountError {
        let word = try? AccountJSON.decode(OAuthErrorBody.self, reply).error
        guard reply.status == 400, word == "invalid_request" else {
            return TokenEndpoint.standardRefusal(reply, purpose, of: server)
        }
        return purpose == .renewal ? .revoked : .codeRejected
    }
}
