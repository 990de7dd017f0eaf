public import Foundation
import SyncProtocol
import SyncServerConnection

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Signs a user in at their Nextcloud with the browser on their machine: login flow version 2 (Nextcloud Developer
/// Manual, "Login Flow").
///
/// The user grants the app access on a page of their own server, which then issues a password for this app only. The
/// app never sees the user's own password, and the user can revoke the app's password in their settings.
public struct NextcloudSignIn: Sendable {
    /// How long a Nextcloud server keeps a flow open.
    public static let longestFlow: Duration = .seconds(1_200)

    private let server: URL
    private let transport: ProviderTransport
    private let appName: String
    private let timeout: Duration
    private let interval: Duration
    private let openBrowser: @Sendable (URL) async throws -> Void

    /// - Parameters:
    ///   - server: Nextcloud's address, such as `https://cloud.example.com` or `https://example.com/nextcloud`.
    ///   - appName: shown to the user on the page, and in the list of their devices.
    ///   - timeout: the user's time limit.
    ///   - interval: how often to ask the server for the user's decision.
    ///   - openBrowser: opens a URL in the system's browser; an error that it throws ends the sign-in.
    public init(
        server: URL, transport: ProviderTransport = .system(), appName: String,
        timeout: Duration = Self.longestFlow, interval: Duration = .seconds(1),
        openBrowser: @escaping @Sendable (URL) async throws -> Void
    ) {
        self.server = server
        self.transport = transport
        self.appName = appName
        self.timeout = timeout
        self.interval = interval
        self.openBrowser = openBrowser
    }

    /// Signs in, and returns credentials for the server, whose storage is the user's Nextcloud.
    /// - Throws: ``SignInError``: timed out, cancelled, the browser cannot be opened, or no Nextcloud answers.
    public func signIn() async throws(SignInError) -> AccountCredentials {
        let flow = try await begin()
        do { try await openBrowser(flow.page) } catch { throw SignInError(.browserUnavailable) }
        let granted = try await poll(flow)
        let person = try await person(granted)
        return try Self.credentials(granted, person)
    }

    // MARK: The flow

    private struct Flow {
        var page: URL
        var endpoint: URL
        var token: String
    }

    private struct Begun: Decodable {
        struct Poll: Decodable {
            var token: String
            var endpoint: String
        }
        var poll: Poll
        var login: String
    }

    private struct Granted: Decodable {
        var server: String
        var loginName: String
        var appPassword: String
    }

    private func begin() async throws(SignInError) -> Flow {
        var request = URLRequest(url: server.appending(path: "index.php/login/v2"))
        request.httpMethod = "POST"
        let reply = try await send(request)
        guard reply.status == 200, let begun = try? JSONDecoder().decode(Begun.self, from: reply.body),
            let page = URL(string: begun.login), let endpoint = URL(string: begun.poll.endpoint)
        else { throw SignInError(.misconfigured, "not a Nextcloud server: status \(reply.status)") }
        // The server will issue the password there.
        guard isOfServer(page), isOfServer(endpoint) else {
            throw SignInError(.misconfigured, "Nextcloud names a different server")
        }
        return Flow(page: page, endpoint: endpoint, token: begun.poll.token)
    }

    private func poll(_ flow: Flow) async throws(SignInError) -> Granted {
        var request = URLRequest(url: flow.endpoint)
        request.httpMethod = "POST"
        request.setValue("application/x-www-form-urlencoded", forHTTPHeaderField: "Content-Type")
        request.httpBody = Data("token=\(PercentEncoding.encode(flow.token))".utf8)
        let deadline = ContinuousClock.now + timeout
        while ContinuousClock.now < deadline {
            // While the user is still deciding, a failure is not an error of the sign-in.
            if let reply = try? await send(request), reply.status == 200 {
                guard let granted = try? JSONDecoder().decode(Granted.self, from: reply.body) else {
                    throw SignInError(.failed, "unreadable grant from Nextcloud")
                }
                return granted
            }
            do { try await Task.sleep(for: interval) } catch { throw SignInError(.cancelled) }
        }
        throw SignInError(.timedOut)
    }

    /// The login name may be an email address, but paths have the user id.
    private func person(_ granted: Granted) async throws(SignInError) -> AccountCredentials.Person {
        guard let root = URL(string: granted.server), isOfServer(root),
            let address = URL(string: NextcloudUser.address(at: root))
        else { throw SignInError(.misconfigured, "Nextcloud names a different server") }
        var request = URLRequest(url: address)
        request.setValue("true", forHTTPHeaderField: NextcloudUser.requestHeader)
        let password = Data("\(granted.loginName):\(granted.appPassword)".utf8).base64EncodedString()
        request.setValue("Basic " + password, forHTTPHeaderField: "Authorization")
        let reply = try await send(request)
        guard reply.status == 200, let person = NextcloudUser.read(reply.body) else {
            throw SignInError(
                .providerUnavailable, "Nextcloud does not identify the user: status \(reply.status)")
        }
        return person
    }

    private static func credentials(
        _ granted: Granted, _ person: AccountCredentials.Person
    ) throws(SignInError) -> AccountCredentials {
        guard let details = NextcloudUser.details(of: person.id, at: granted.server, name: granted.loginName) else {
            throw SignInError(.failed)
        }
        return AccountCredentials(
            accountType: .webDAV, person: person, accessToken: granted.appPassword,
            accountDetails: details)
    }

    // MARK: Pieces

    private func send(_ request: URLRequest) async throws(SignInError) -> ProviderTransport.Reply {
        var request = request
        // Nextcloud shows this name to the user.
        request.setValue(appName, forHTTPHeaderField: "User-Agent")
        do { return try await transport.send(request) } catch {
            if error is CancellationError || Task.isCancelled { throw SignInError(.cancelled) }
            throw SignInError(.providerUnavailable, "Nextcloud is not answering")
        }
    }

    /// Whether an address belongs to the server itself.
    private func isOfServer(_ address: URL) -> Bool {
        address.scheme == server.scheme && address.host() == server.host() && address.port == server.port
    }
}

/// A Nextcloud or ownCloud server's information about its user (Nextcloud, Developer Manual, "OCS API overview").
enum NextcloudUser {
    private struct Reply: Decodable {
        struct Services: Decodable { var data: User }
        struct User: Decodable {
            var id: String
            var displayname: String?
            /// ownCloud's spelling.
            var displayName: String?
            var email: String?

            private enum CodingKeys: String, CodingKey {
                case id, displayname, email
                case displayName = "display-name"
            }
        }
        var ocs: Services
    }

    /// The address of the user's data; requires ``requestHeader``.
    static func address(at server: URL) -> String {
        server.appending(path: "ocs/v2.php/cloud/user").absoluteString + "?format=json"
    }

    /// The services refuse requests without this header, since a web page cannot send it.
    static let requestHeader = "OCS-APIRequest"

    static func read(_ body: Data) -> AccountCredentials.Person? {
        (try? JSONDecoder().decode(Reply.self, from: body).ocs.data).map { user in
            AccountCredentials.Person(
                id: user.id, name: user.displayname ?? user.displayName ?? "", email: user.email)
        }
    }

    /// The location of the user's files, for the server.
    /// - Parameters:
    ///   - server: the Nextcloud's address; may end with slashes.
    ///   - name: the name that accompanies a password; `nil` for a bearer token.
    static func details(of id: String, at server: String, name: String?) -> String? {
        var root = server
        while root.hasSuffix("/") { root.removeLast() }
        let address = "\(root)/remote.php/dav/files/\(PercentEncoding.encode(id))/"
        return (try? JSONEncoder().encode(AccountDetails.webDAV(address: address, user: name)))
            .map { String(decoding: $0, as: UTF8.self) }
    }
}
