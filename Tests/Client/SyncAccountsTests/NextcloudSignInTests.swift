import Foundation
import SyncAccounts
import SyncProtocol
import Synchronization
import Testing

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

@Suite("Signing in to a Nextcloud server")
struct NextcloudSignInTests {
    /// A Nextcloud at `https://cloud.example.com/nc` with scripted replies, selected by the end of the path.
    private final class Server: Sendable {
        let asked = Mutex<[URLRequest]>([])
        private let replies: Mutex<[(path: String, status: Int, body: String)]>

        init(_ replies: [(String, Int, String)]) {
            self.replies = Mutex(replies.map { (path: $0.0, status: $0.1, body: $0.2) })
        }

        var transport: ProviderTransport {
            ProviderTransport { [self] request in
                asked.withLock { $0.append(request) }
                return replies.withLock { replies in
                    guard let next = replies.first, request.url?.path.hasSuffix(next.path) == true else {
                        return ProviderTransport.Reply(status: 500, body: Data())
                    }
                    replies.removeFirst()
                    return ProviderTransport.Reply(status: next.status, body: Data(next.body.utf8))
                }
            }
        }
    }

    private static let begun = """
        {"poll": {"token": "t&1", "endpoint": "https://cloud.example.com/nc/login/v2/poll"},
         "login": "https://cloud.example.com/nc/login/v2/flow/abc"}
        """
    private static let granted = """
        {"server": "https://cloud.example.com/nc", "loginName": "alice@example.com", "appPassword": "secret"}
        """
    private static let user = #"{"ocs": {"data": {"id": "alice a", "displayname": "Alice", "email": null}}}"#

    private func signIn(
        _ server: Server, timeout: Duration = .seconds(10),
        openBrowser: @escaping @Sendable (URL) async throws -> Void = { _ in }
    ) async throws -> AccountCredentials {
        try await NextcloudSignIn(
            server: #require(URL(string: "https://cloud.example.com/nc")), transport: server.transport,
            appName: "An album", timeout: timeout, interval: .milliseconds(1), openBrowser: openBrowser
        ).signIn()
    }

    @Test("When the user grants access in the browser, the app receives its own password")
    func granted() async throws {
        let server = Server([
            ("/index.php/login/v2", 200, Self.begun), ("/login/v2/poll", 404, "[]"), ("/login/v2/poll", 404, "[]"),
            ("/login/v2/poll", 200, Self.granted), ("/ocs/v2.php/cloud/user", 200, Self.user),
        ])
        let opened = Mutex<[URL]>([])

        let account = try await signIn(server) { url in opened.withLock { $0.append(url) } }

        #expect(opened.withLock { $0.map(\.absoluteString) } == ["https://cloud.example.com/nc/login/v2/flow/abc"])
        #expect(account.accountType == .webDAV && account.person.id == "alice a" && account.person.name == "Alice")
        #expect(account.headers[.accessToken] == "secret" && account.headers[.tokenType] == "WebDAVToken")
        let details = try #require(account.headers[.accountDetails])
        let members = try JSONDecoder().decode([String: String].self, from: Data(details.utf8))
        #expect(
            members == [
                "address": "https://cloud.example.com/nc/remote.php/dav/files/alice%20a/", "user": "alice@example.com",
            ])
        let asked = server.asked.withLock { $0 }
        #expect(asked.allSatisfy { $0.value(forHTTPHeaderField: "User-Agent") == "An album" })
        #expect(asked[1].httpBody.map { String(decoding: $0, as: UTF8.self) } == "token=t%261")
    }

    @Test("A user who does not decide in time is not signed in")
    func undecided() async {
        let polls = (0..<100_000).map { _ in ("/login/v2/poll", 404, "[]") }
        let server = Server([("/index.php/login/v2", 200, Self.begun)] + polls)
        await #expect(throws: SignInError(.timedOut)) { try await signIn(server, timeout: .milliseconds(50)) }
    }

    @Test("A page or password for another server is rejected")
    func otherServer() async {
        let page = Self.begun.replacingOccurrences(
            of: "https://cloud.example.com/nc/login/v2/flow", with: "https://evil.example/x")
        let endpoint = Self.begun.replacingOccurrences(
            of: "https://cloud.example.com/nc/login/v2/poll", with: "https://evil.example/x")
        for begun in [page, endpoint] {
            let server = Server([("/index.php/login/v2", 200, begun)])
            await #expect {
                try await signIn(server)
            } throws: { ($0 as? SignInError)?.code == .misconfigured }
            #expect(server.asked.withLock { $0.count } == 1)
        }
    }

    @Test(
        "A server other than Nextcloud is distinguished from one that does not respond", arguments: [200, 404, 500])
    func noNextcloud(status: Int) async {
        let server = Server([("/index.php/login/v2", status, "<html>")])
        await #expect {
            try await signIn(server)
        } throws: { ($0 as? SignInError)?.code == .misconfigured }
    }

    @Test("If the browser cannot be opened, the sign-in fails")
    func noBrowser() async {
        let server = Server([("/index.php/login/v2", 200, Self.begun)])
        await #expect(throws: SignInError(.browserUnavailable)) {
            try await signIn(server) { _ in throw CocoaError(.fileNoSuchFile) }
        }
    }
}
