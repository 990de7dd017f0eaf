import Foundation
import HTTPTransport
import Providers
import SyncProtocol
import Synchronization
import TestSupport
import Testing

@testable import SyncService

@Suite("Failed sign-ins")
struct FailedSignInsTests {
    private final class Clock: Sendable {
        private let instant = Mutex(ContinuousClock.now)
        func advance(_ duration: Duration) { instant.withLock { $0 += duration } }
        var now: ContinuousClock.Instant { instant.withLock { $0 } }
    }

    @Test("A minute's allowance can be used at once, then one sign-in at a time, separately for each network")
    func allowance() {
        let clock = Clock()
        let failures = FailedSignIns(perMinute: 6) { clock.now }
        let (here, there) = (ClientNetwork(address: "192.0.2.1"), ClientNetwork(address: "192.0.2.2"))

        for _ in 0..<6 { #expect(failures.take(from: here) == nil) }
        #expect(failures.take(from: here) == .seconds(10))
        #expect(failures.take(from: there) == nil)

        clock.advance(.seconds(4))
        #expect(failures.take(from: here) == .seconds(6))
        clock.advance(.seconds(6))
        #expect(failures.take(from: here) == nil)
        #expect(failures.take(from: here) != nil)
        clock.advance(.seconds(3_600))
        for _ in 0..<6 { #expect(failures.take(from: here) == nil) }
        #expect(failures.take(from: here) != nil)
    }

    @Test("Valid tokens do not count, however many are sent")
    func success() {
        let failures = FailedSignIns(perMinute: 1)
        let network = ClientNetwork(address: "192.0.2.1")
        for _ in 0..<100 {
            #expect(failures.take(from: network) == nil)
            failures.refund(to: network)
        }
        #expect(failures.networksKnown == 0)
    }

    @Test("Memory for networks is bounded, and those with the most failures are kept longest")
    func bounded() {
        let clock = Clock()
        let failures = FailedSignIns(perMinute: 2) { clock.now }
        let worst = ClientNetwork(address: "192.0.2.1")
        for _ in 0..<2 { _ = failures.take(from: worst) }
        for number in 0..<60_000 {
            _ = failures.take(from: ClientNetwork(address: "2001:db8:\(String(number, radix: 16))::1"))
        }
        #expect(failures.networksKnown <= 50_000)
        #expect(failures.take(from: worst) != nil)
    }

    @Test(
        "Addresses in one network count as one caller",
        arguments: [
            ("2001:db8:1:2::1", "2001:db8:1:2:ffff:ffff:ffff:ffff", true),
            ("2001:db8:1:2::1", "2001:db8:1:3::1", false),
            ("2001:db8::1", "2001:db8:0:0:5::", true), ("::1", "::2", true), ("::ffff:192.0.2.1", "192.0.2.1", true),
            ("::ffff:192.0.2.1", "::ffff:192.0.2.2", false), ("192.0.2.1", "192.0.2.2", false), ("", "unix:", false),
        ])
    func networks(first: String, second: String, isSame: Bool) {
        #expect((ClientNetwork(address: first) == ClientNetwork(address: second)) == isSame)
    }

    // MARK: Through the router

    private func headers(_ token: String) -> [RequestHeader: String] {
        [.tokenType: "GoogleToken", .accessToken: token, .deviceUUID: UUID().uuidString]
    }

    @Test("At any endpoint, unknown tokens beyond the limit get 429 with Retry-After, and known ones continue")
    func anyEndpoint() throws {
        let server = try TestServer(failedSignInsPerMinute: 5)
        let alice = try server.signUp()
        #expect(server.send(CheckCredsRequest(), as: alice).status == 200)
        let paths = ["Index", "GetUploads", "DownloadFile", "CheckCreds", "RemoveUser"]
        for (number, path) in paths.enumerated() {
            let method = path == "RemoveUser" ? "POST" : "GET"
            #expect(server.send(method, "/\(path)/", headers: headers("bad \(number)")).status == 401)
        }

        let refused = server.send("GET", "/Index/", headers: headers("bad again"))
        #expect(refused.status == 429)
        #expect(refused.json["code"] as? String == "too_many_failed_sign_ins")
        #expect(refused.headers.contains { $0.name == "retry-after" && (1...12).contains(Int($0.value) ?? 0) })
        #expect(server.send(CheckCredsRequest(), as: alice).status == 200)
        #expect(server.send("GET", "/Index/", headers: headers("bad"), from: "192.0.2.9").status == 401)
    }

    @Test("The same invalid token is rejected without another call, and counts once")
    func sameToken() throws {
        let server = try TestServer(failedSignInsPerMinute: 2)
        for _ in 0..<10 { #expect(server.send("GET", "/Index/", headers: headers("bad")).status == 401) }
        #expect(server.send("GET", "/Index/", headers: headers("worse")).status == 401)
        #expect(server.send("GET", "/Index/", headers: headers("worst")).status == 429)
    }
}
