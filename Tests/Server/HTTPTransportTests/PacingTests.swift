import HTTPTransport
import HTTPTypes
import Synchronization
import TestSupport
import Testing

@Suite("Pacing")
struct PacingTests {
    private let clock = SteppedClock()
    private let pacing: Pacing

    init() {
        let clock = clock
        pacing = Pacing(maximumWaiting: 4, pause: { clock.advance($0) }, now: { clock.now })
    }

    private func request(_ authorization: String?) -> OutgoingRequest {
        var headers: HTTPFields = [:]
        headers[.authorization] = authorization
        return OutgoingRequest(
            ExternalService("google", hosts: ["www.googleapis.com"]), .metadata, .get,
            "https://www.googleapis.com/drive/v3/files", headers: headers)
    }

    /// Sends a request, and returns how long it waited.
    @discardableResult
    private func call(
        _ authorization: String? = "Bearer one", reply status: Int = 200, by deadline: Duration = .seconds(40)
    ) throws -> Duration {
        let before = clock.now
        let transport = ScriptedTransport(replies: [Reply(status)]).transport.decorated(by: pacing)
        let reply = try transport.send(request(authorization), by: .after(deadline))
        #expect(reply.status == status)
        return clock.now - before
    }

    @Test("Calls do not wait before a provider has reported too many requests")
    func unpaced() throws {
        for status in [200, 401, 403, 404, 500, 503] { #expect(try call(reply: status) == .zero) }
    }

    @Test("Each 429 doubles the interval between the token's calls, up to a second, and other tokens are not affected")
    func slower() throws {
        var waits: [Duration] = []
        for _ in 0..<6 { waits.append(try call(reply: 429)) }

        #expect(
            waits == [
                .zero, .milliseconds(100), .milliseconds(200), .milliseconds(400), .milliseconds(800), .seconds(1),
            ])
        #expect(try call("Bearer two") == .zero)
        #expect(try call() == .seconds(1))
    }

    @Test("Successes shorten the interval until it disappears; other rejections do not")
    func faster() throws {
        try call(reply: 429)
        #expect(try call(reply: 404) == .milliseconds(100))
        #expect(try call() == .milliseconds(100))
        var waits: [Duration] = []
        for _ in 0..<8 { waits.append(try call()) }

        #expect(waits.first == .milliseconds(100), "begun with the interval before the success")
        #expect(zip(waits, waits.dropFirst()).allSatisfy { $0 >= $1 })
        #expect(waits.suffix(2) == [.zero, .zero])
    }

    @Test("Rejections of simultaneous calls count once")
    func burst() throws {
        let refusing = ScriptedTransport { [self] _ throws(TransportError) in
            // During this call, another call is sent and rejected.
            _ = try ScriptedTransport(replies: [Reply(429)]).transport.decorated(by: pacing)
                .send(request("Bearer one"), by: .after(.seconds(40)))
            clock.advance(.milliseconds(10))
            return Reply(429)
        }
        _ = try refusing.transport.decorated(by: pacing).send(request("Bearer one"), by: .after(.seconds(40)))

        #expect(try call() == .milliseconds(90), "100 ms after the first rejection")
    }

    @Test("Simultaneous calls with one token are spaced; none waits more than two seconds, or needlessly")
    func bounded() throws {
        for _ in 0..<5 { try call(reply: 429) }
        let waits = Mutex<[Duration]>([])
        let clock = clock
        clock.advance(.seconds(2))
        // The clock does not move: all calls begin at once.
        let pacing = Pacing(
            maximumWaiting: 4, pause: { wait in waits.withLock { $0.append(wait) } }, now: { clock.now })
        func begin(by deadline: Duration = .seconds(40)) throws {
            _ = try ScriptedTransport(replies: [Reply(404)]).transport.decorated(by: pacing)
                .send(request("Bearer one"), by: .after(deadline))
        }
        let refusing = ScriptedTransport { _ throws(TransportError) in Reply(429) }.transport.decorated(by: pacing)
        for _ in 0..<5 { _ = try refusing.send(request("Bearer one"), by: .after(.seconds(40))) }
        clock.advance(.seconds(2))
        waits.withLock { $0 = [] }

        for _ in 0..<5 { try begin() }
        #expect(waits.withLock { $0 } == [.seconds(1), .seconds(2), .seconds(2), .seconds(2)])

        waits.withLock { $0 = [] }
        try begin(by: .milliseconds(300))
        #expect(waits.withLock { $0 } == [], "the call could not be sent after the wait")
    }

    @Test("The number of waiting calls is limited; further calls are sent at once")
    func waiters() throws {
        let waits = Mutex(0)
        let clock = clock
        let inner = Mutex<Pacing?>(nil)
        let pacing = Pacing(
            maximumWaiting: 2,
            pause: { [self] _ in
                waits.withLock { $0 += 1 }
                // While this thread waits, another thread begins a call.
                guard let pacing = inner.withLock({ $0 }) else { return }
                _ = try? ScriptedTransport(replies: [Reply(404)]).transport.decorated(by: pacing)
                    .send(request("Bearer one"), by: .after(.seconds(40)))
            }, now: { clock.now })
        inner.withLock { $0 = pacing }
        let refusing = ScriptedTransport { _ throws(TransportError) in Reply(429) }.transport.decorated(by: pacing)
        _ = try refusing.send(request("Bearer one"), by: .after(.seconds(40)))

        _ = try ScriptedTransport(replies: [Reply(404)]).transport.decorated(by: pacing)
            .send(request("Bearer one"), by: .after(.seconds(40)))

        #expect(waits.withLock { $0 } == 2)
    }

    @Test("Requests without a bearer token are not paced, because their limit is unknown")
    func anonymous() throws {
        for authorization in [nil, "Basic eDp5", "AWS4-HMAC-SHA256 Credential=x"] {
            for _ in 0..<3 { #expect(try call(authorization, reply: 429) == .zero) }
        }
    }
}
