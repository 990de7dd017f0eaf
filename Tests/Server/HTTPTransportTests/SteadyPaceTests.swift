import HTTPTransport
import HTTPTypes
import TestSupport
import Testing

@Suite("A steady pace")
struct SteadyPaceTests {
    private let clock = SteppedClock()
    private let pace: SteadyPace

    init() {
        let clock = clock
        pace = SteadyPace(callsPerSecond: 4, pause: { clock.advance($0) }, now: { clock.now })
    }

    /// Sends a request, and returns how long it waited.
    private func call(by deadline: Duration = .seconds(40)) throws -> Duration {
        let before = clock.now
        let transport = ScriptedTransport(replies: [Reply(200)]).transport.decorated(by: pace)
        _ = try transport.send(
            OutgoingRequest(
                ExternalService("google", hosts: ["www.googleapis.com"]), .metadata, .get,
                "https://www.googleapis.com/drive/v3/files"), by: .after(deadline))
        return clock.now - before
    }

    @Test("Calls begin at a fixed interval, the first one at once")
    func spaced() throws {
        #expect(try (0..<4).map { _ in try call() } == [.zero] + Array(repeating: .milliseconds(250), count: 3))
    }

    @Test("Idle time is not made up for")
    func idle() throws {
        _ = try call()
        clock.advance(.seconds(10))

        #expect(try (0..<2).map { _ in try call() } == [.zero, .milliseconds(250)])
    }

    @Test("No call waits beyond its deadline")
    func deadline() throws {
        _ = try call()

        #expect(try call(by: .milliseconds(50)) <= .milliseconds(50))
    }
}
