public import SyncProtocol

/// A client registered with a provider, and the scopes that it requests (RFC 6749, section 2).
public struct OAuthClient: Sendable, Hashable {
    public var clientID: String
    /// Google's desktop clients must send their secret, although every copy of the program contains it; otherwise
    /// `nil`.
    public var clientSecret: String?
    /// The redirect URI.
    public var redirect: Redirect
    /// The provider's names of the scopes.
    public var scopes: [String]
    /// Additional parameters of the authorization request.
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

    /// A redirect URI of the program, without its port.
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
