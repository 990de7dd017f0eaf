public import Foundation
public import SyncProtocol

/// The sign-in for one kind of account: its endpoints, and its OAuth clients.
///
/// The sign-in requests two codes in turn: the program's own, which identifies the user, and the server's, which gives
/// the server access to the storage even when the user is away.
public struct AccountScheme: Sendable, Hashable {
    public var accountType: AccountType
    /// The user's own server; `nil` for a commercial provider.
    public var site: URL?
    /// The provider's authorization endpoint (RFC 6749, section 3.1).
    public var authorizationEndpoint: String
    /// Its token endpoint (RFC 6749, section 3.2).
    public var tokenEndpoint: String
    /// The program's client.
    public var program: OAuthClient
    /// The server's client; `nil` if the server receives only the access token, for as long as it is valid.
    public var server: OAuthClient?
    /// For ``BrowserSignIn``: loopback ports that are registered with the provider, in order of preference; empty for
    /// any port.
    public var ports: [UInt16]

    /// The paths of the redirect URIs, which distinguish the two clients.
    private static let (programPath, serverPath) = ("/program", "/server")

    /// Google: a client of the type "Desktop app", which may use any port, and the server's, which is a web client: its
    /// redirect URIs are `http://127.0.0.1:PORT/server`, registered for each of `ports`.
    ///
    /// - Parameter ports: may be empty if the server's client is of the type "Desktop app" as well, or `nil`.
    public static func google(
        clientID: String, clientSecret: String, serverClientID: String?, ports: [UInt16]
    ) -> AccountScheme {
        AccountScheme(
            accountType: .google, authorizationEndpoint: "https://accounts.google.com/o/oauth2/v2/auth",
            tokenEndpoint: "https://oauth2.googleapis.com/token",
            program: OAuthClient(
                clientID: clientID, clientSecret: clientSecret,
                redirect: .loopback(host: .ipv4, path: programPath),
                scopes: ["openid", "profile", "email"]),
            server: serverClientID.map { id in
                OAuthClient(
                    clientID: id, redirect: .loopback(host: .ipv4, path: serverPath),
                    scopes: ["openid", "profile", "https://www.googleapis.com/auth/drive.file"],
                    // Google issues a refresh token only with the first consent, or when the user is asked again.
                    parameters: ["access_type": "offline", "prompt": "consent"])
            }, ports: ports)
    }

    /// Dropbox: one app, whose redirect URIs `http://127.0.0.1:PORT/program` and `…/server` are registered for each
    /// port.
    public static func dropbox(appKey: String, ports: [UInt16]) -> AccountScheme {
        func client(_ path: String, _ scopes: [String]) -> OAuthClient {
            OAuthClient(
                clientID: appKey, redirect: .loopback(host: .ipv4, path: path), scopes: scopes,
                parameters: ["token_access_type": "offline"])
        }
        return AccountScheme(
            accountType: .dropbox, authorizationEndpoint: "https://www.dropbox.com/oauth2/authorize",
            tokenEndpoint: "https://api.dropboxapi.com/oauth2/token",
            program: client(programPath, ["account_info.read"]),
            server: client(
                serverPath,
                ["account_info.read", "files.metadata.read", "files.content.read", "files.content.write"]),
            ports: ports)
    }

    /// Microsoft: one application; `http://localhost/program` is registered for mobile and desktop applications, and
    /// `http://localhost/server` for the web, since the server redeems its codes with a secret. Any port works.
    public static func microsoft(clientID: String) -> AccountScheme {
        func client(_ path: String, _ scopes: [String]) -> OAuthClient {
            OAuthClient(
                clientID: clientID, redirect: .loopback(host: .localhost, path: path), scopes: scopes)
        }
        let graph = "https://graph.microsoft.com/"
        return AccountScheme(
            accountType: .microsoft,
            authorizationEndpoint: "https://login.microsoftonline.com/common/oauth2/v2.0/authorize",
            tokenEndpoint: "https://login.microsoftonline.com/common/oauth2/v2.0/token",
            program: client(programPath, ["openid", "profile", "offline_access", graph + "User.Read"]),
            server: client(serverPath, [graph + "User.Read", graph + "Files.ReadWrite.AppFolder", "offline_access"]),
            ports: [])
    }

    /// Google, for ``WebSessionSignIn``: a client of the type "iOS", which always has the redirect URI that is derived
    /// from its id, and the server's, which is a web client. Google permits only https for web clients (Google
    /// Identity, "OAuth 2.0 for Mobile & Desktop Apps" and "… for Web Server Applications").
    ///
    /// - Parameter serverRedirect: such as `https://app.example.com/oauth`: registered for the server's client, in the
    ///   server's `redirectURIs`, and on an associated domain of the app (`webcredentials:app.example.com`).
    public static func googleApp(
        clientID: String, serverClientID: String, serverRedirect: String
    ) -> AccountScheme {
        var scheme = google(clientID: clientID, clientSecret: "", serverClientID: serverClientID, ports: [])
        scheme.program.clientSecret = nil
        let reversedID = clientID.split(separator: ".").reversed().joined(separator: ".")
        scheme.program.redirect = .app(uri: reversedID + ":/oauthredirect")
        scheme.server?.redirect = .app(uri: serverRedirect)
        return scheme
    }

    /// Dropbox, for ``WebSessionSignIn``: one app, with the redirect URI `db-APPKEY://2/token`, which is the one of
    /// Dropbox's own libraries. It is registered with Dropbox, and in the server's `redirectURIs`.
    public static func dropboxApp(appKey: String) -> AccountScheme {
        var scheme = dropbox(appKey: appKey, ports: [])
        scheme.program.redirect = .app(uri: "db-\(appKey)://2/token")
        scheme.server?.redirect = scheme.program.redirect
        return scheme
    }

    /// Microsoft, for ``WebSessionSignIn``: one application, with the redirect URI `msauth.BUNDLEID://auth` of the
    /// platform "iOS / macOS", and one of the platform "Web", since the server redeems its codes with a secret
    /// (Microsoft identity platform, "Redirect URI best practices").
    ///
    /// - Parameter serverRedirect: as for ``googleApp(clientID:serverClientID:serverRedirect:)``.
    public static func microsoftApp(clientID: String, bundleID: String, serverRedirect: String) -> AccountScheme {
        var scheme = microsoft(clientID: clientID)
        scheme.program.redirect = .app(uri: "msauth.\(bundleID)://auth")
        scheme.server?.redirect = .app(uri: serverRedirect)
        return scheme
    }

    /// A Nextcloud or ownCloud server whose administrator has registered two clients, with the redirect URIs
    /// `http://127.0.0.1/program` and `http://127.0.0.1/server`.
    ///
    /// - Parameters:
    ///   - site: its address, such as `https://cloud.example.com` or `https://example.com/nextcloud`.
    ///   - clientSecret: the secret of the program's client, which these servers require.
    ///   - ports: the registered ports, for servers that compare ports as well.
    public static func nextcloud(
        at site: URL, clientID: String, clientSecret: String, serverClientID: String?, ports: [UInt16] = []
    ) -> AccountScheme {
        let routes = site.appending(path: "index.php/apps/oauth2")
        return AccountScheme(
            accountType: .webDAV, site: site, authorizationEndpoint: routes.appending(path: "authorize").absoluteString,
            tokenEndpoint: routes.appending(path: "api/v1/token").absoluteString,
            program: OAuthClient(
                clientID: clientID, clientSecret: clientSecret,
                redirect: .loopback(host: .ipv4, path: programPath), scopes: []),
            server: serverClientID.map { id in
                OAuthClient(
                    clientID: id, redirect: .loopback(host: .ipv4, path: serverPath), scopes: [])
            }, ports: ports)
    }
}

/// A client registered with a provider, and the scopes that it requests (RFC 6749, section 2).
public struct OAuthClient: Sendable, Hashable {
    public var clientID: String
    /// Google's desktop clients must send their secret, although every copy of the program contains it; otherwise
    /// `nil`.
    public var clientSecret: String?
    /// Where the provider sends the browser with the code.
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

    /// A redirect URI (RFC 8252, section 7).
    public enum Redirect: Sendable, Hashable {
        /// A listener of the program on the same computer, for ``BrowserSignIn``; the port is chosen at sign-in. `path`
        /// begins with a slash.
        case loopback(host: LoopbackRedirectURI.Host, path: String)
        /// An address that the system passes to the app, for ``WebSessionSignIn``, as registered with the provider:
        /// with a scheme of the app's own, such as `com.example.app:/oauth`, or https without a port. Without a query.
        case app(uri: String)

        /// A listener on the same computer.
        public init(host: LoopbackRedirectURI.Host, path: String) { self = .loopback(host: host, path: path) }
    }
}
