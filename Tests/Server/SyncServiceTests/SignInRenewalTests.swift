import SyncProtocol
import TestSupport
import Testing

@testable import SyncService

@Suite("Sign-ins renewed before they expire")
struct SignInRenewalTests {
    let clock = SteppedClock()
    let server: TestServer
    let alice: Phone
    private let token = "good alice"

    init() throws {
        server = try TestServer(signInClock: clock)
        alice = try server.signUp()
    }

    private var status: Int? { server.send(CheckCredsRequest(), as: alice).status }

    @Test("A user who is continuously active waits for the provider only once")
    func renewed() async throws {
        #expect(server.exchanges.tokens == [token])
        clock.advance(.seconds(44))
        #expect(status == 200)
        #expect(server.exchanges.tokens == [token])
        clock.advance(.seconds(1))

        for round in 1...3 {
            // A request that waited for the provider would now wait forever.
            server.exchanges.hold()
            #expect(status == 200)
            #expect(status == 200)
            server.exchanges.release()
            try await eventually("the answer has arrived") { server.backgroundWork.count == round }
            #expect(server.exchanges.tokens.count == round + 1)
            clock.advance(.seconds(45))
        }
    }

    @Test("A token that was revoked meanwhile is rejected from the renewal on")
    func revoked() async throws {
        server.exchanges.end(token)
        clock.advance(.seconds(46))

        #expect(status == 200)
        try await eventually("the rejection is known") { status == 401 }

        #expect(server.exchanges.tokens == [token, token])
    }
}
