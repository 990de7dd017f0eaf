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
        pacing = Pacing(pause: { clock.advance($0) }, now: { clock.now })
    }

    private func request(_ authorization: String?) -> OutgoingRequest {
        var headers: HTTPFields = [:]
        headers[.authorization] = authorization
        return OutgoingRequest(
            ExternalService("google", hosts: ["www.googleapis.com"]), .metadata, .get,
            "https://www.googleapis.com/drive/v3/files", headers: headers)
    }

    /// Makes a call, and returns how long it waited.
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

    @Test("Nobody waits before a provider has said that it is too much")
    func unpaced() throws {
        for status in [200, 401, 403, 404, 500, 503] { #expect(try call(reply: status) == .zero) }
    }

    @Test("Each 429 doubles the distance of the token's calls up to a second, and others are not affected")
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

    @Test("Successes shorten the distance until it is forgotten; other refusals do not")
    func faster() throws {
        try call(reply: 429)
        #expect(try call(reply: 404) == .milliseconds(100))
        #expect(try call() == .milliseconds(100))
        var waits: [Duration] = []
        for _ in 0..<8 { waits.append(try call()) }

        #expect(waits.first == .milliseconds(100), "begun with the distance before the success")
        #expect(zip(waits, waits.dropFirst()).allSatisfy { $0 >= $1 })
        #expect(waits.suffix(2) == [.zero, .zero])
    }

    @Test("Calls of one token at the same time are spaced, and none waits more than two seconds or its deadline")
    func bounded() throws {
        for _ in 0..<5 { try call(reply: 429) }
        let waits = Mutex<[Duration]>([])
        let clock = clock
        let pacing = Pacing(pause: { wait in waits.withLock { $0.append(wait) } }, now: { clock.now })
        let refusing = ScriptedTransport { _ throws(TransportError) in Reply(429) }.transport.decorated(by: pacing)
        for _ in 0..<5 { _ = try refusing.send(request("Bearer one"), by: .after(.seconds(40))) }
        waits.withLock { $0 = [] }

        // The clock stands still: all of them begin at once.
        let working = ScriptedTransport { _ throws(TransportError) in Reply(404) }.transport.decorated(by: pacing)
        for _ in 0..<4 { _ = try working.send(request("Bearer one"), by: .after(.seconds(40))) }
        #expect(waits.withLock { $0 } == [.seconds(1), .seconds(2), .seconds(2), .seconds(2)])

        waits.withLock { $0 = [] }
        _ = try working.send(request("Bearer one"), by: .after(.milliseconds(300)))
        #expect(waits.withLock { $0.first.map { $0 <= .milliseconds(300) } } == true)
    }

    @Test("Requests without a bearer token are not paced: nobody knows whose limit they count against")
    func anonymous() throws {
        for authorization in [nil, "Basic eDp5", "AWS4-HMAC-SHA256 Credential=x"] {
            for _ in 0..<3 { #expect(try call(authorization, reply: 429) == .zero) }
        }
    }
}
