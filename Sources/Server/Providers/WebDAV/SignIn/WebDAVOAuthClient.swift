import HTTPTransport
import SyncProtocol

/// The app maker's OAuth 2.0 client at the WebDAV servers that the operator lists.
///
/// Whoever administers such a server registers it there, everywhere with the same id and secret. A server that only a person
/// names never gets to see the secret.
public struct WebDAVOAuthClient: Sendable {
    /// Where the OAuth apps of Nextcloud and ownCloud 10 exchange codes, below the place where these are installed.
    private static let standardRoute = ["index.php", "apps", "oauth2", "api", "v1", "token"]

    private let clientID: String
    /// `nil` for a public client.
    private let clientSecret: String?
    private let tokenEndpoint: String?

    /// - Parameters:
    ///   - clientSecret: `nil` for a public client.
    ///   - tokenEndpoint: see ``objection(toEndpoint:)``; `nil` for that of the OAuth apps of Nextcloud and ownCloud 10.
    public init(clientID: String, clientSecret: String?, tokenEndpoint: String? = nil) {
        self.clientID = clientID
        self.clientSecret = clientSecret
        self.tokenEndpoint = tokenEndpoint
    }

    /// What is wrong with the place of a token endpoint, as the end of a sentence; `nil` if nothing is: it is a path on the
    /// person's own server, or the address of another one.
    static func objection(toEndpoint text: String) -> String? {
        let address = ServerAddress(text.hasPrefix("/") ? "https://server" + text : text)
        return address == nil ? "must be a path that begins with a slash, or an https address" : nil
    }

    /// Where codes of a server are exchanged.
    /// - Parameter servers: tells whether another server that the endpoint is at may have any address.
    /// - Returns: `nil` if the operator does not list the server, or nobody knows where in it the endpoint is.
    func endpoint(of address: WebDAVAddress, among servers: NamedServers) -> TokenEndpoint? {
        guard address.destination == .listed else { return nil }
        let (url, destination): (String, OutgoingRequest.Destination)
        if let tokenEndpoint {
            url = tokenEndpoint.hasPrefix("/") ? address.root.origin + tokenEndpoint : tokenEndpoint
            destination = ServerAddress(url).flatMap(servers.destination) ?? .named
        } else {
            // Elsewhere the route would be at a place that the operator has not listed.
            guard let base = NextcloudPaths.base(of: address) else { return nil }
            (url, destination) = (address.url(absolute: base + Self.standardRoute), address.destination)
        }
        let host = address.root.host
        return TokenEndpoint(
            of: .webDAV, named: host, at: url, destination, clientID: clientID, clientSecret: clientSecret,
            authentication: .basic
        ) { reply, purpose in Self.refusal(reply, purpose, of: host) }
    }

    /// A Nextcloud says `invalid_request` of a code or refresh token that it does not know, where RFC 6749, section 5.2, has
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
