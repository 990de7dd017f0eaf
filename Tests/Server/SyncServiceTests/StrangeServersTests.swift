import Foundation
import HTTPTransport
import HTTPTypes
import Providers
import SyncProtocol
import Synchronization
import TestSupport
import Testing

@testable import SyncService

@Suite("Servers named by callers, without known users")
struct StrangeServersTests {
    private let clock = SteppedClock()

    @Test("In ten minutes a network may name a limited number of servers, each any number of times")
    func allowance() {
        let servers = StrangeServers(perNetwork: 2) { clock.now }
        let (here, there) = (ClientNetwork(address: "192.0.2.1"), ClientNetwork(address: "192.0.2.2"))

        #expect(servers.take("https://one.example", from: here) == nil)
        clock.advance(.seconds(60))
        #expect(servers.take("https://two.example", from: here) == nil)
        #expect(servers.take("https://one.example", from: here) == nil)
        #expect(servers.take("https://three.example", from: here) == .seconds(540))
        #expect(servers.take("https://three.example", from: there) == nil)
        clock.advance(.seconds(540))
        #expect(servers.take("https://three.example", from: here) == nil)
        #expect(servers.take("https://one.example", from: here) == .seconds(60))
    }

    @Test("Memory for networks is bounded, and those that name the most servers are kept longest")
    func bounded() {
        let servers = StrangeServers(perNetwork: 2) { clock.now }
        let worst = ClientNetwork(address: "192.0.2.1")
        for name in ["one", "two"] { _ = servers.take(name, from: worst) }
        for number in 0..<25_000 {
            _ = servers.take("one", from: ClientNetwork(address: "2001:db8:\(String(number, radix: 16))::1"))
        }

        #expect(servers.networksKnown <= StrangeServers.maximumNetworks)
        #expect(servers.take("three", from: worst) != nil)
    }

    // MARK: Through the router

    private static let webDAV = WebDAVAccount(servers: NamedServers(listed: [], admitsAnyPublic: true))

    private func headers(host: String, user: String = "alice", password: String = "secret") -> [RequestHeader: String] {
        [
            .tokenType: "WebDAVToken", .accessToken: password, .deviceUUID: UUID().uuidString,
            .accountDetails: #"{"address": "https://\#(host)/dav/", "user": "\#(user)"}"#,
        ]
    }

    private static func folder() -> Reply {
        Reply(
            207,
            """
            <d:multistatus xmlns:d="DAV:"><d:response><d:href>/dav/</d:href><d:propstat><d:prop><d:resourcetype>\
            <d:collection/></d:resourcetype></d:prop><d:status>HTTP/1.1 200 OK</d:status></d:propstat></d:response>\
            </d:multistatus>
            """)
    }

    @Test(
        "Unresolvable names count against the address that sends them, and are not resolved beyond the limit"
    )
    func madeUpNames() throws {
        let script = ScriptedTransport { _ throws(TransportError) in throw .notSent }
        let server = try TestServer(
            failedSignInsPerMinute: 1_000, strangeServersPerNetwork: 3, accounts: [Self.webDAV], providers: script)
        func ask(_ number: Int, from address: String = "192.0.2.1") -> FakeConnection {
            server.send("GET", "/Index/", headers: headers(host: "made-up\(number).example.com"), from: address)
        }

        for number in 1...3 {
            let reply = ask(number)
            #expect(reply.status == 429)
            #expect(reply.json["code"] as? String == "provider_paused")
            #expect(reply.headers.contains { $0.name == "retry-after" && $0.value == "2" })
            #expect((reply.json["error"] as? String)?.contains("address in X-account-details") == true)
        }
        let refused = ask(4)
        #expect(refused.status == 429)
        #expect(refused.json["code"] as? String == "too_many_failed_sign_ins")
        #expect(Set(script.requests.map(\.url)).count == 3)
        #expect(script.requests.allSatisfy { $0.isUnproved })
        #expect(ask(4, from: "192.0.2.9").json["code"] as? String == "provider_paused")
    }

    @Test("An unanswered sign-in does not count for a provider, but counts for a server that the caller names")
    func refunds() throws {
        let script = ScriptedTransport { _ throws(TransportError) in throw .notSent }
        let server = try TestServer(failedSignInsPerMinute: 3, accounts: [Self.webDAV], providers: script)
        for number in 0..<10 {
            let reply = server.send(
                "GET", "/Index/",
                headers: [
                    .tokenType: "GoogleToken", .accessToken: "down", .deviceUUID: UUID().uuidString,
                    .authorizationCode: "\(number)",
                ])
            #expect(reply.status == 502)
        }

        let statuses = (0..<5).map { number in
            server.send("GET", "/Index/", headers: headers(host: "same.example.com", password: "\(number)"))
                .json["code"] as? String
        }

        #expect(statuses[..<3].allSatisfy { $0 == "provider_paused" }, "\(statuses)")
        #expect(statuses[3...].allSatisfy { $0 == "too_many_failed_sign_ins" }, "\(statuses)")
    }

    @Test("An outage of a server with known users counts against no caller, even in a new process")
    func knownServer() throws {
        let isDown = Mutex(false)
        let alicesPassword = "Basic \(Data("alice:secret".utf8).base64EncodedString())"
        let script = ScriptedTransport { request throws(TransportError) in
            if isDown.withLock({ $0 }) { throw .notSent }
            let challenge: HTTPFields = [.wwwAuthenticate: "Basic realm=\"files\""]
            return request.headers[.authorization] == alicesPassword
                ? Self.folder() : Reply(401, "", headers: challenge)
        }
        let server = try TestServer(failedSignInsPerMinute: 3, accounts: [Self.webDAV], providers: script)
        let alice = headers(host: "cloud.example.com")
        #expect(server.send("GET", "/Index/", headers: alice).status == 401)
        let asked = script.requests.count
        isDown.withLock { $0 = true }

        for number in 0..<10 {
            let reply = server.send(
                "GET", "/Index/", headers: headers(host: "cloud.example.com", user: "bob", password: "\(number)"))
            #expect(reply.json["code"] as? String == "provider_paused")
        }
        #expect(script.requests[asked...].allSatisfy { !$0.isUnproved })

        // The known identity of one user is enough.
        try server.execute(
            """
            INSERT INTO users (account_type, provider_user_id, display_name, cloud_folder_name, created_at)
            VALUES ('WebDAV', '\(WebDAVIdentity.of("carol", at: "https://quiet.example.com/dav/"))', 'C', 'F', NOW())
            """)
        for number in 0..<10 {
            let reply = server.send(
                "GET", "/Index/", headers: headers(host: "quiet.example.com", user: "carol", password: "\(number)"))
            #expect(reply.json["code"] as? String == "provider_paused")
        }
    }

    /// The identifier of a user at a server, as their credentials state it.
    private enum WebDAVIdentity {
        static func of(_ user: String, at address: String) -> String {
            let presented = PresentedCredentials(
                accountType: .webDAV, accessToken: "x", authorizationCode: nil,
                accountDetails: #"{"address": "\#(address)", "user": "\#(user)"}"#)
            return StrangeServersTests.webDAV.statedUserID(in: presented) ?? ""
        }
    }
}
