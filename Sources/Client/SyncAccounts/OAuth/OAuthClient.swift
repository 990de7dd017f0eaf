public import SyncProtocol

/// A client registered at a provider, and what it asks people for (RFC 6749, section 2).
public struct OAuthClient: Sendable, Hashable {
    public var clientID: String
    /// Google's desktop clients have one that must be sent although every copy of the program holds it; `nil` elsewhere.
    public var clientSecret: String?
    /// Where the browser comes back to.
    public var redirect: Redirect
    /// In the provider's names.
    public var scopes: [String]
    /// Further parameters of the authorization request.
    public var parameters: [String: String]

    public init(
        clientID: String, clientSecret: String? = nil, redirect: Redirect, scopes: [String],
        parameters: [String: String] = [:]
    ) {
        self.clientID = clientID
        self.clientSecret = clientSecret
        self.redirect = redirect
        self.scopes = scopes
        self.parameters = parameters
    }

    /// A redirect URI of the program without its port.
    public struct Redirect: Sendable, Hashable {
        public var host: LoopbackRedirectURI.Host
        /// Begins with a slash.
        public var path: String

        public init(host: LoopbackRedirectURI.Host, path: String) {
            self.host = host
            self.path = path
        }
    }
}
