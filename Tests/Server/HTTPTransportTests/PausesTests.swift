import HTTPTransport
import HTTPTypes
import TestSupport
import Testing

@Suite("Pauses that sign-in services request")
struct PausesTests {
    private let clock = SteppedClock()
    private let pauses: Pauses

    init() {
        let clock = clock
        pauses = Pauses(now: { clock.now })
    }

    private static let google = ExternalService("google", hosts: ["www.googleapis.com"])

    private func question(
        of token: String = "one", _ operation: ProviderCall.Operation = .identity,
        service: ExternalService = Self.google
    ) -> OutgoingRequest {
        OutgoingRequest(
            service, operation, .get, "https://www.googleapis.com/userinfo",
            headers: [.authorization: "Bearer \(token)"])
    }

    /// The result of a call, and whether it was sent.
    private func call(
        _ request: OutgoingRequest, _ answer: @escaping @Sendable () -> Result<Reply, TransportError>
    ) -> (error: TransportError?, isMade: Bool) {
        let script = ScriptedTransport { _ throws(TransportError) in try answer().get() }
        do throws(TransportError) {
            _ = try script.transport.decorated(by: pauses).send(request, by: .after(.seconds(9)))
            return (nil, !script.requests.isEmpty)
        } catch {
            return (error, !script.requests.isEmpty)
        }
    }

    private func refuse(_ request: OutgoingRequest, _ status: Int = 429, after seconds: Int? = 6) {
        var headers: HTTPFields = [:]
        headers[.retryAfter] = seconds.map { "\($0)" }
        let reply = Reply(status, "", headers: headers)
        #expect(call(request) { .success(reply) }.isMade)
    }

    private func withheld(_ request: OutgoingRequest) -> Duration? {
        let (error, isMade) = call(request) { .success(Reply(200)) }
        guard case .withheld(.paused(let retryAfter)) = error, !isMade else { return nil }
        return retryAfter
    }

    @Test(
        "A rejected token is not tried again before the given time; other tokens are",
        arguments: [429, 503])
    func ownToken(status: Int) {
        refuse(question(), status)

        #expect(withheld(question()) == .seconds(6))
        #expect(withheld(question(of: "two")) == nil)
        clock.advance(.seconds(4))
        #expect(withheld(question()) == .seconds(2))
        clock.advance(.seconds(2))
        #expect(withheld(question()) == nil)
    }

    @Test("After three consecutive refusals for different users, a service gets no calls until the pause ends")
    func everybody() {
        for token in ["one", "two", "three"] { refuse(question(of: token)) }

        #expect(withheld(question(of: "four")) == .seconds(6))
        #expect(withheld(question(of: "four", .token)) == nil, "another purpose has another limit")
        #expect(withheld(question(of: "four", service: ExternalService("dropbox", hosts: []))) == nil)
        clock.advance(.seconds(6))
        #expect(withheld(question(of: "four")) == nil)
    }

    @Test("While the service accepts some users, refusals of other users affect only those users")
    func somebody() {
        for number in 0..<20 {
            refuse(question(of: "refused \(number)"))
            #expect(withheld(question(of: "served \(number)")) == nil)
        }
        #expect(withheld(question(of: "refused 1")) == .seconds(6))
    }

    @Test("One user who is repeatedly refused does not block others")
    func oneProvoker() {
        for _ in 0..<10 {
            refuse(question())
            clock.advance(.seconds(6))
        }
        #expect(withheld(question(of: "two")) == nil)
    }

    @Test("Pauses are bounded, as is the default for a service that gives no time")
    func bounds() {
        refuse(question(), after: 86_400)
        #expect(withheld(question()) == .seconds(60))
        for token in ["two", "three"] { refuse(question(of: token), after: 86_400) }
        #expect(withheld(question(of: "four")) == .seconds(30))

        let dropbox = ExternalService("dropbox", hosts: [])
        refuse(question(service: dropbox), after: nil)
        #expect(withheld(question(service: dropbox)) == .seconds(2))
        let facebook = ExternalService("facebook", hosts: [])
        refuse(question(service: facebook), 503, after: nil)
        #expect(withheld(question(service: facebook)) == nil, "it requests no pause")
    }

    @Test("Requests to storage are not withheld, because their limits apply per user")
    func storage() {
        for _ in 0..<5 { refuse(question(.upload)) }
    }

    private func question(_ operation: ProviderCall.Operation) -> OutgoingRequest { question(of: "one", operation) }

    @Test(
        "An unreachable server without known users gets no more calls for a while; one with known users does",
        arguments: [TransportError.notSent, .timedOut, .interrupted])
    func unreachable(error: TransportError) {
        var request = OutgoingRequest(
            ExternalService("webdav", hosts: []), .identity, .get, "https://made-up.example.com/dav")
        request.destination = .named
        #expect(call(request) { .failure(error) }.isMade)
        #expect(withheld(request) == nil)
        request.isUnproved = true
        #expect(call(request) { .failure(error) }.isMade)

        request.headers[.authorization] = "Basic another"
        #expect(withheld(request) == .seconds(30))
        request.url = "https://other.example.com/dav"
        #expect(withheld(request) == nil)
    }
}
