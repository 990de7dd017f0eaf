import HTTPTransport
import HTTPTypes
import Posix
import Synchronization
import TestSupport
import Testing

@Suite("Bulkhead and circuits")
struct BulkheadAndCircuitsTests {
    private static let googleService = ExternalService(
        "google", hosts: ["www.googleapis.com", "oauth2.googleapis.com"])
    private static let dropboxService = ExternalService("dropbox", hosts: ["api.dropboxapi.com"])
    private static let google = OutgoingRequest(
        googleService, .identity, .get, "https://www.googleapis.com/oauth2/v3/userinfo")
    private static let dropbox = OutgoingRequest(
        dropboxService, .identity, .get, "https://api.dropboxapi.com/2/users/get_current_account")

    private let clock = SteppedClock()

    /// A bulkhead around circuits.
    private struct Gate {
        var bulkhead: Bulkhead
        var circuits: Circuits
        func guarding(_ transport: Transport) -> Transport { transport.decorated(by: [bulkhead, circuits]) }
    }

    private func gate(calls: Int, waiting: Int, observer: @escaping Circuits.Observer = { _, _, _ in }) -> Gate {
        let clock = clock
        return Gate(
            bulkhead: Bulkhead(
                limits: .init(calls: calls, waiting: waiting), pause: { clock.advance($0) }, now: { clock.now }),
            circuits: Circuits(now: { clock.now }, observer: observer))
    }

    /// A provider whose calls each take `duration` of the test's clock and end with `outcome`.
    private func provider(
        taking duration: Duration, _ outcome: @escaping @Sendable () -> Result<Reply, TransportError>
    ) -> ScriptedTransport {
        ScriptedTransport { [clock] _ throws(TransportError) in
            clock.advance(duration)
            return try outcome().get()
        }
    }

    private func refusal(_ transport: Transport, _ request: OutgoingRequest) -> TransportError? {
        do throws(TransportError) {
            _ = try transport.send(request, by: .after(.seconds(40)))
            return nil
        } catch {
            return error
        }
    }

    @Test("Each service has its share of calls, other services are not affected, and every slot is released")
    func bulkhead() {
        let gate = gate(calls: 3, waiting: 0)
        let nested = Mutex<[TransportError?]>([])
        // Each call begins while the earlier ones are in progress.
        @Sendable func call(_ depth: Int) -> TransportError? {
            let provider = ScriptedTransport { _ throws(TransportError) in
                let inner = depth < 5 ? call(depth + 1) : nil
                nested.withLock { $0.append(inner) }
                return Reply(200)
            }
            return refusal(gate.guarding(provider.transport), Self.google)
        }

        #expect(call(1) == nil)

        #expect(nested.withLock { $0 } == [.withheld(.busy), nil, nil])
        let other = ScriptedTransport { _ throws(TransportError) in Reply(200) }
        let full = ScriptedTransport { _ throws(TransportError) in
            let free = self.refusal(gate.guarding(other.transport), Self.dropbox)
            #expect(free == nil)
            return Reply(200)
        }
        for _ in 0..<10 { #expect(refusal(gate.guarding(full.transport), Self.google) == nil) }
    }

    @Test("An early call leaves half of the slots free, and does not wait for a slot")
    func early() {
        let gate = gate(calls: 4, waiting: 4)
        var early = Self.google
        early.isEarly = true
        let before = clock.now
        let nested = Mutex<[TransportError?]>([])
        // Each call begins while the earlier ones are in progress, the early one last.
        @Sendable func call(after others: Int, _ early: OutgoingRequest) {
            let provider = ScriptedTransport { _ throws(TransportError) in
                if others > 0 { call(after: others - 1, early) }
                return Reply(200)
            }
            let refusal = refusal(gate.guarding(provider.transport), others > 0 ? Self.google : early)
            if others == 0 { nested.withLock { $0.append(refusal) } }
        }

        call(after: 1, early)
        call(after: 2, early)

        #expect(nested.withLock { $0 } == [nil, .withheld(.busy)])
        #expect(clock.now == before)
    }

    @Test("A caller waits for a slot up to the limit, and obtains one as soon as it is free")
    func waiting() throws {
        let gate = gate(calls: 1, waiting: 1)
        let before = clock.now
        let outer = ScriptedTransport { _ throws(TransportError) in
            let inner = self.refusal(gate.guarding(ScriptedTransport(replies: [Reply(200)]).transport), Self.google)
            #expect(inner == .withheld(.busy))
            return Reply(200)
        }
        #expect(refusal(gate.guarding(outer.transport), Self.google) == nil)
        #expect(clock.now - before >= .seconds(1))
        #expect(clock.now - before < .milliseconds(1_100))

        // Real threads and real time: all calls succeed, one after another.
        let busy = Gate(
            bulkhead: Bulkhead(limits: .init(calls: 2, waiting: 6, patience: .seconds(20))) { Pause.sleep($0) },
            circuits: Circuits())
        let underWay = Atomic(0)
        let most = Atomic(0)
        let outcomes = concurrently(8) { _ in
            let provider = ScriptedTransport { _ throws(TransportError) in
                most.max(underWay.add(1, ordering: .relaxed).newValue, ordering: .relaxed)
                Pause.sleep(.milliseconds(2))
                underWay.subtract(1, ordering: .relaxed)
                return Reply(200)
            }
            return self.refusal(busy.guarding(provider.transport), Self.google)
        }
        #expect(outcomes.successes().filter { $0 != nil } == [])
        #expect(most.load(ordering: .relaxed) <= 2)
    }

    @Test(
        "A host that keeps failing is not called for a while, unlike its neighbour, and is called again later",
        arguments: [TransportError.timedOut, .notSent, .interrupted])
    func circuit(error: TransportError) {
        let gate = gate(calls: 4, waiting: 1)
        let clock = clock
        let failing = ScriptedTransport { _ throws(TransportError) in
            clock.advance(.seconds(9))
            throw error
        }
        for _ in 0..<8 { #expect(refusal(gate.guarding(failing.transport), Self.google) == error) }

        #expect(
            refusal(gate.guarding(failing.transport), Self.google) == .withheld(.circuitOpen(retryAfter: .seconds(5))))
        #expect(failing.requests.count == 8)
        let working = ScriptedTransport { _ throws(TransportError) in Reply(200) }
        let token = OutgoingRequest(Self.googleService, .token, .post, "https://oauth2.googleapis.com/token")
        #expect(refusal(gate.guarding(working.transport), token) == nil)

        clock.advance(.seconds(10))
        #expect(refusal(gate.guarding(working.transport), Self.google) == nil)
        #expect(refusal(gate.guarding(working.transport), Self.google) == nil)
    }

    @Test("A rejection is a reply; only statuses of an unavailable host count as failures")
    func statuses() {
        for (status, opens) in [(401, false), (429, false), (500, false), (502, true), (503, true), (504, true)] {
            let gate = gate(calls: 4, waiting: 1)
            let clock = clock
            let provider = ScriptedTransport { _ throws(TransportError) in
                clock.advance(.seconds(1))
                return Reply(status)
            }
            for _ in 0..<8 { _ = refusal(gate.guarding(provider.transport), Self.google) }
            let isWithheld = refusal(gate.guarding(provider.transport), Self.google) != nil
            #expect(isWithheld == opens, "\(status)")
        }
    }

    @Test("A download that fails after its head is not a failure of the host, and releases its slot")
    func streams() {
        let gate = gate(calls: 1, waiting: 0)
        let clock = clock
        let provider = ScriptedTransport { _ throws(TransportError) in
            clock.advance(.seconds(9))
            return Reply(200, "half", headers: [.contentLength: "8"])
        }
        let transport = gate.guarding(provider.transport)
        for _ in 0..<20 {
            do throws(TransportError) {
                _ = try transport.stream(
                    Self.google, by: .after(.seconds(40)), head: { _ in true }, body: { _ in true })
                Issue.record("the download was cut off")
            } catch {
                #expect(error == .interrupted)
            }
        }
    }

    @Test("Without waiting places, or with all of them taken, a caller is rejected at once")
    func line() {
        let (gate, clock) = (gate(calls: 1, waiting: 0), clock)
        let full = ScriptedTransport { _ throws(TransportError) in
            let before = clock.now
            let refused = self.refusal(gate.guarding(ScriptedTransport(replies: [Reply(200)]).transport), Self.google)
            #expect(refused == .withheld(.busy))
            #expect(clock.now == before)
            return Reply(200)
        }
        #expect(refusal(gate.guarding(full.transport), Self.google) == nil)
    }

    @Test("A caller that gives up waiting releases its waiting place")
    func waitingAgain() {
        let (gate, clock) = (gate(calls: 1, waiting: 1), clock)
        let full = ScriptedTransport { _ throws(TransportError) in
            for _ in 0..<3 {
                let before = clock.now
                #expect(self.refusal(gate.guarding(ScriptedTransport(replies: []).transport), Self.google) != nil)
                #expect(clock.now - before >= .seconds(1), "it was rejected without a wait")
            }
            return Reply(200)
        }
        #expect(refusal(gate.guarding(full.transport), Self.google) == nil)
    }

    @Test("A caller never waits beyond its deadline")
    func deadline() {
        let (gate, clock) = (gate(calls: 1, waiting: 1), clock)
        let full = ScriptedTransport { _ throws(TransportError) in
            let before = clock.now
            do throws(TransportError) {
                _ = try gate.guarding(ScriptedTransport(replies: [Reply(200)]).transport)
                    .send(Self.google, by: .after(.milliseconds(100)))
                Issue.record("the call was admitted")
            } catch {
                #expect(error == .withheld(.busy))
            }
            #expect(clock.now - before <= .milliseconds(110))
            return Reply(200)
        }
        #expect(refusal(gate.guarding(full.transport), Self.google) == nil)
    }

    @Test("The timeout of a call that had less than two seconds is not a failure of the host")
    func shortTimeouts() {
        for (seconds, opens) in [(1.9, false), (2, true)] {
            let gate = gate(calls: 1, waiting: 0)
            let slow = provider(taking: .seconds(seconds)) { .failure(.timedOut) }
            for _ in 0..<8 { #expect(refusal(gate.guarding(slow.transport), Self.google) == .timedOut) }

            let isWithheld = refusal(gate.guarding(slow.transport), Self.google) != .timedOut
            #expect(isWithheld == opens, "after \(seconds) s")
        }
    }

    @Test("Calls rejected by an open circuit take no slots")
    func refusedPlaces() {
        let gate = gate(calls: 1, waiting: 0)
        let slow = provider(taking: .seconds(9)) { .failure(.timedOut) }
        for _ in 0..<8 { _ = refusal(gate.guarding(slow.transport), Self.google) }

        for _ in 0..<3 {
            #expect(
                refusal(gate.guarding(slow.transport), Self.google)
                    == .withheld(.circuitOpen(retryAfter: .seconds(5))))
        }
        let neighbour = OutgoingRequest(Self.googleService, .token, .post, "https://oauth2.googleapis.com/token")
        #expect(refusal(gate.guarding(ScriptedTransport(replies: [Reply(200)]).transport), neighbour) == nil)
    }

    @Test("A download's head counts as the reply: it closes or opens a circuit before any byte of the body")
    func heads() {
        let isOpen = Mutex<[Bool]>([])
        let (gate, clock) = (gate(calls: 1, waiting: 0) { _, _, open in isOpen.withLock { $0.append(open) } }, clock)
        func fetch(_ status: Int) -> TransportError? {
            let provider = provider(taking: .seconds(1)) { .success(Reply(status, "body")) }
            do throws(TransportError) {
                _ = try gate.guarding(provider.transport).stream(
                    Self.google, by: .after(.seconds(40)), head: { _ in true },
                    body: { _ in
                        if status == 200 { #expect(isOpen.withLock { $0 } == [true, false]) }
                        return true
                    })
                return nil
            } catch {
                return error
            }
        }

        for _ in 0..<8 { #expect(fetch(503) == nil) }
        #expect(isOpen.withLock { $0 } == [true])
        #expect(fetch(200) == .withheld(.circuitOpen(retryAfter: .seconds(5))))
        clock.advance(.seconds(5))
        #expect(fetch(200) == nil)
        #expect(isOpen.withLock { $0 } == [true, false])
    }

    @Test("A service may use only part of a process's threads, but always at least one")
    func shares() {
        #expect(Bulkhead.Limits.ofShortRequests(threads: 16) == .init(calls: 8, waiting: 4))
        #expect(Bulkhead.Limits.ofShortRequests(threads: 1) == .init(calls: 1, waiting: 1))
        #expect(Bulkhead.Limits.ofTransfers(threads: 64) == .init(calls: 48, waiting: 4))
        #expect(Bulkhead.Limits.ofTransfers(threads: 1) == .init(calls: 1, waiting: 1))
    }

    @Test("Concurrent failures of downloads after their heads do not open the circuit")
    func manyStreams() {
        let (gate, clock) = (gate(calls: 20, waiting: 0), clock)
        let provider = provider(taking: .zero) { .success(Reply(200, "half", headers: [.contentLength: "8"])) }
        // Each download begins while the earlier ones are in progress.
        @Sendable func fetch(_ depth: Int) {
            do throws(TransportError) {
                _ = try gate.guarding(provider.transport).stream(
                    Self.google, by: .after(.seconds(40)), head: { _ in true },
                    body: { _ in
                        if depth < 10 { fetch(depth + 1) } else { clock.advance(.seconds(9)) }
                        return true
                    })
            } catch {
                #expect(error == .interrupted)
            }
        }

        fetch(1)

        #expect(refusal(gate.guarding(ScriptedTransport(replies: [Reply(200)]).transport), Self.google) == nil)
    }

    // MARK: Servers named by users

    @Test("All servers without known users share a few slots, separate from those of other servers, without waiting")
    func unprovedServers() {
        let gate = gate(calls: 8, waiting: 4)
        let before = clock.now
        let outcomes = Mutex<[TransportError?]>([])
        // Each call begins while the earlier ones are in progress.
        @Sendable func call(_ requests: ArraySlice<OutgoingRequest>) {
            guard let request = requests.first else { return }
            let provider = ScriptedTransport { _ throws(TransportError) in
                call(requests.dropFirst())
                return Reply(200)
            }
            let outcome = refusal(gate.guarding(provider.transport), request)
            outcomes.withLock { $0.append(outcome) }
            if outcome != nil { call(requests.dropFirst()) }
        }
        let unproved = (1...3).map { number in
            var request = Self.request(to: "https://made-up\(number).example.com", .named)
            request.isUnproved = true
            return request
        }
        let proved = (1...6).map { Self.request(to: "https://known\($0).example.com", .named) }

        call(unproved + proved + [Self.google])

        #expect(outcomes.withLock { $0.count { $0 == .withheld(.busy) } } == 1)
        #expect(outcomes.withLock { $0.count { $0 == nil } } == 9)
        #expect(clock.now == before)
    }

    private static func request(to server: String, _ destination: OutgoingRequest.Destination) -> OutgoingRequest {
        var request = OutgoingRequest(ExternalService("s3", hosts: []), .metadata, .get, server + "/bucket/key")
        request.destination = destination
        return request
    }

    @Test("A server named by a user has its own circuit, reported to the operator only if the server is listed")
    func circuitPerServer() {
        let heard = Mutex<[String]>([])
        let gate = gate(calls: 10, waiting: 0) { _, host, isOpen in
            if isOpen { heard.withLock { $0.append(host) } }
        }
        let dead = provider(taking: .seconds(1)) { .failure(.notSent) }
        let alive = provider(taking: .zero) { .success(Reply(200, "")) }
        for destination in [OutgoingRequest.Destination.named, .listed] {
            let request = Self.request(to: "https://\(destination).example.com", destination)

            for _ in 0..<8 { #expect(refusal(gate.guarding(dead.transport), request) == .notSent) }

            guard case .withheld(.circuitOpen) = refusal(gate.guarding(alive.transport), request) else {
                Issue.record("a failing server is still called")
                continue
            }
        }
        let other = Self.request(to: "https://other.example.com", .named)
        #expect(refusal(gate.guarding(alive.transport), other) == nil)
        #expect(heard.withLock { $0 } == ["https://listed.example.com"])
    }

    @Test("However many servers named by users fail, a company's host keeps its circuit")
    func manyNames() {
        let gate = gate(calls: 10, waiting: 0)
        let dead = gate.guarding(provider(taking: .seconds(1)) { .failure(.notSent) }.transport)
        for number in 0...4_096 { _ = refusal(dead, Self.request(to: "https://x\(number).example.com", .named)) }

        for _ in 0..<8 { _ = refusal(dead, Self.google) }

        guard case .withheld(.circuitOpen) = refusal(dead, Self.google) else {
            Issue.record("a company's failing host is still called")
            return
        }
    }

    @Test("Calls to one server that a user names leave room for the same service's calls to other servers")
    func sharePerServer() {
        let gate = gate(calls: 8, waiting: 0)
        // Each call begins while the earlier ones are in progress.
        @Sendable func calls(to server: String, depth: Int) -> Int {
            let counted = Mutex(0)
            let nested = ScriptedTransport { _ throws(TransportError) in
                counted.withLock { $0 = 1 + (depth > 1 ? calls(to: server, depth: depth - 1) : 0) }
                return Reply(200, "")
            }
            _ = refusal(gate.guarding(nested.transport), Self.request(to: server, .named))
            return counted.withLock { $0 }
        }

        #expect(calls(to: "https://slow.example.com", depth: 5) == 2)

        let both = Mutex(0)
        let slow = ScriptedTransport { _ throws(TransportError) in
            both.withLock { $0 = calls(to: "https://slow.example.com", depth: 5) }
            both.withLock { $0 += calls(to: "https://other.example.com", depth: 5) }
            return Reply(200, "")
        }
        #expect(refusal(gate.guarding(slow.transport), Self.request(to: "https://slow.example.com", .named)) == nil)
        #expect(both.withLock { $0 } == 3)
        // Every slot has been released.
        #expect(calls(to: "https://slow.example.com", depth: 5) == 2)
    }
}
