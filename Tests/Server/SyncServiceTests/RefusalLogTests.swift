import Foundation
import SyncProtocol
import Testing

@testable import SyncService

@Suite("The log of rejected requests")
struct RefusalLogTests {
    private static let lines = 60
    private let clock = SteppedClock()
    private let here = ClientNetwork(address: "192.0.2.1")
    private let there = ClientNetwork(address: "2001:db8:1:2::9")

    @Test("A network's first rejections of a minute are logged, and after the minute the number of the others")
    func bound() {
        let log = RefusalLog { clock.now }

        let written = (0..<1_000).map { _ in log.note(from: here) }

        #expect(written.count { $0 } == Self.lines)
        #expect(written.prefix(Self.lines).allSatisfy { $0 })
        #expect(log.isQuiet(about: here) && !log.isQuiet(about: there))
        #expect(log.note(from: there))
        #expect(log.omissions() == [])
        clock.advance(.seconds(60))
        #expect(!log.isQuiet(about: here))
        #expect(log.omissions() == [.init(network: here, count: 1_000 - Self.lines)])
        #expect(log.omissions() == [])
        #expect(log.note(from: here))
    }

    @Test("Omitted rejections are also reported if the next minute begins before a query, and at the end")
    func replaced() {
        let log = RefusalLog { clock.now }
        for _ in 0..<70 { _ = log.note(from: here) }
        clock.advance(.seconds(61))
        for _ in 0..<65 { _ = log.note(from: here) }

        #expect(log.omissions() == [.init(network: here, count: 10)])
        #expect(log.omissions(isLast: true) == [.init(network: here, count: 5)])
    }

    @Test("The number of counted networks is bounded, and further ones count as one")
    func memory() {
        let log = RefusalLog { clock.now }
        for number in 0..<RefusalLog.maximumNetworks {
            _ = log.note(from: ClientNetwork(address: "2001:db8:\(String(number, radix: 16))::1"))
        }

        let written = (0..<500).map { log.note(from: ClientNetwork(address: "2001:db9:\(String($0, radix: 16))::1")) }

        #expect(written.count { $0 } == Self.lines)
    }

    // MARK: Through the router

    private func headers(_ token: String) -> [RequestHeader: String] {
        [.tokenType: "GoogleToken", .accessToken: token, .deviceUUID: UUID().uuidString]
    }

    @Test(
        "One address can log only so many rejections a minute; all successes, and all requests of others, are logged"
    )
    func router() throws {
        let server = try TestServer()
        let alice = try server.signUp()
        let before = server.log.lines("Request").count

        let replies = (0..<300).map { server.send("GET", "/Index/", headers: headers("bad \($0)")) }

        #expect(replies.allSatisfy { $0.status == 401 })
        #expect(server.log.lines("Request").count - before == Self.lines)
        let unlogged = replies.count { reply in reply.headers.contains { $0.name == "syncd-unlogged" } }
        #expect(unlogged == 300 - Self.lines)
        #expect(server.send(CheckCredsRequest(), as: alice).status == 200)
        #expect(server.log.request?["status"] == "200")
        #expect(server.send("GET", "/Index/", headers: headers("bad"), from: "192.0.2.9").status == 401)
        #expect(server.log.request?["status"] == "401")

        server.router.reportOmissions(isLast: true)

        let summary = server.log.lines("Further requests from one network were refused")
        #expect(summary == [["client_network": "192.0.2.1", "count": "\(300 - Self.lines)"]])
    }

    @Test("Provider failures caused by one address are bounded as well, but defects are always logged")
    func failures() throws {
        let server = try TestServer()
        for number in 0..<200 {
            server.send(
                "GET", "/Index/", headers: headers("down").merging([.authorizationCode: "\(number)"]) { $1 })
        }

        #expect(server.log.lines("Request failed").count == Self.lines)
    }
}
