import Foundation
import HTTPTypes
import SyncClient
import Synchronization
import Testing

@Suite("Signals about changes")
struct LiveChangeTests {
    private static let change = #"event: change\#ndata: {"sharingGroupUUID":"\#(Bench.group)","masterVersion":7}\#n\#n"#
    private static let changed = LiveChange.changed(Bench.group, MasterVersion(7))
    private static let waiting = ": hi\n\n"

    /// The event of a server whose current state is another one.
    private static func state(_ id: String) -> String { "id: \(id)\nevent: index\ndata: {}\n\n" }

    // MARK: Connections

    @Test("The library sends the last state that the server reported, and reports each signal once")
    func signals() async throws {
        let bench = try LiveBench()
        var changes = bench.client.liveChanges().makeAsyncIterator()
        let first = await bench.connection()
        #expect(first.known == nil)
        first.send(Self.state("one"))
        first.end()
        #expect(await changes.next() == .somethingChanged)

        let second = await bench.connection()
        #expect(second.known == "one")
        second.send(Self.waiting)
        #expect(await changes.next() == .listening)
        // nchan repeats signals, and heartbeats arrive.
        for text in [Self.change, Self.waiting, Self.change, Self.state("two")] { second.send(text) }
        #expect(await changes.next() == Self.changed)
        #expect(await changes.next() == .somethingChanged)
        // The server has named the current state: no pause before the second request.
        #expect(bench.clock.pauses.allSatisfy { $0 == .seconds(60) })
    }

    @Test("After the server has ended a stream, devices connect again at different times")
    func jitter() async throws {
        let bench = try LiveBench(isPausing: false)
        let changes = bench.client.liveChanges()
        for _ in 0..<20 {
            let connection = await bench.connection()
            connection.send(Self.waiting)
            connection.end()
        }
        _ = await bench.connection()
        let pauses = Set(bench.clock.pauses.filter { $0 < .seconds(60) })
        #expect(pauses.count > 10 && pauses.allSatisfy { $0 <= .seconds(2) })
        withExtendedLifetime(changes) {}
    }

    @Test("If the server reports a new state each time, the library pauses between requests")
    func unstableState() async throws {
        let bench = try LiveBench(isPausing: false)
        let changes = bench.client.liveChanges()
        for number in 0..<6 {
            let connection = await bench.connection()
            connection.send(Self.state("\(number)"))
            connection.end()
        }
        _ = await bench.connection()
        #expect(bench.clock.pauses.count == 5)
        #expect(bench.clock.pauses.allSatisfy { $0 >= .milliseconds(500) })
        withExtendedLifetime(changes) {}
    }

    @Test("A broken or silent stream is reported once, and pauses grow to a minute")
    func failures() async throws {
        let bench = try LiveBench(isPausing: false)
        let changes = bench.client.liveChanges()
        var iterator = changes.makeAsyncIterator()
        let first = await bench.connection()
        first.send(Self.waiting)
        #expect(await iterator.next() == .listening)
        first.fail(.timedOut)
        #expect(await iterator.next() == .interrupted)
        for _ in 0..<9 { await bench.connection().fail(.interrupted) }
        await bench.connection().send(Self.waiting)
        #expect(await iterator.next() == .listening)
        let pauses = bench.clock.pauses.filter { $0 != .seconds(60) }
        #expect(pauses.count >= 9)
        for (number, pause) in pauses.prefix(6).enumerated() {
            let longest = Duration.seconds(1 << number)
            #expect((longest / 2...longest).contains(pause))
        }
        #expect(pauses.allSatisfy { $0 <= .seconds(60) })
    }

    @Test("A pause is as long as the server requests, ten minutes at most", arguments: [(90, 90), (86_400, 600)])
    func retryAfter(wanted: Int, expected: Int) async throws {
        let bench = try LiveBench()
        let changes = bench.client.liveChanges()
        await bench.connection().reply(503, "maintenance", ["retry-after": "\(wanted)"])
        let pause = await bench.clock.next()
        #expect(pause.duration == .seconds(expected))
        pause.end()
        _ = await bench.connection()
        withExtendedLifetime(changes) {}
    }

    @Test("If a user has too many listeners (403), the library tries again later")
    func tooMany() async throws {
        let bench = try LiveBench(isPausing: false)
        let changes = bench.client.liveChanges()
        await bench.connection().reply(403, nil, [:])
        await bench.connection().send(Self.waiting)
        var iterator = changes.makeAsyncIterator()
        #expect(await iterator.next() == .listening)
    }

    @Test(
        "The stream ends if the server offers no signals, or if the user must sign in",
        arguments: [(404, nil), (404, "endpoint_unknown"), (401, "account_retired"), (401, "user_unknown")])
    func ends(status: Int, code: String?) async throws {
        let bench = try LiveBench()
        var changes = bench.client.liveChanges().makeAsyncIterator()
        await bench.connection().reply(status, code, [:])
        #expect(await changes.next() == nil)
    }

    @Test("Without the setting, the stream is empty")
    func disabled() async throws {
        let bench = try LiveBench { $0.liveChanges = false }
        var changes = bench.client.liveChanges().makeAsyncIterator()
        #expect(await changes.next() == nil)
        #expect(bench.executor.count == 0)
    }

    // MARK: The right to signals

    @Test("Signing out ends the stream with the next heartbeat, before a signal is passed on")
    func signOut() async throws {
        let bench = try LiveBench()
        var changes = bench.client.liveChanges().makeAsyncIterator()
        let connection = await bench.connection()
        connection.send(Self.waiting)
        #expect(await changes.next() == .listening)
        bench.credentials.set(nil)
        connection.send(Self.change)
        #expect(await changes.next() == .interrupted)
        #expect(await changes.next() == nil)
        #expect(await connection.isCancelled)
    }

    @Test("After a switch of accounts, the library connects with the new credentials at the next heartbeat")
    func switchedAccount() async throws {
        let bench = try LiveBench()
        var changes = bench.client.liveChanges().makeAsyncIterator()
        let first = await bench.connection()
        first.send(Self.waiting)
        #expect(await changes.next() == .listening)
        bench.credentials.set("other")
        first.send(Self.waiting)
        #expect(await first.isCancelled)
        let second = await bench.connection()
        #expect(second.token == "other")
        second.send(Self.waiting + Self.change)
        #expect(await changes.next() == Self.changed)
    }

    @Test("A suspended instance does not listen; it continues when it is resumed, from the state that it knows")
    func suspension() async throws {
        let bench = try LiveBench()
        var changes = bench.client.liveChanges().makeAsyncIterator()
        let first = await bench.connection()
        first.send(Self.state("one"))
        first.end()
        #expect(await changes.next() == .somethingChanged)
        let second = await bench.connection()
        second.send(Self.waiting)
        #expect(await changes.next() == .listening)
        bench.client.suspend()
        #expect(await changes.next() == .interrupted)
        #expect(await second.isCancelled)
        #expect(bench.executor.count == 2)
        try bench.client.resume()
        let third = await bench.connection()
        #expect(third.known == "one")
        third.send(Self.waiting)
        #expect(await changes.next() == .listening)
    }

    @Test("The stream ends with the library, and the connection with its reader")
    func close() async throws {
        let bench = try LiveBench()
        var changes = bench.client.liveChanges().makeAsyncIterator()
        let reader = Task { for await _ in bench.client.liveChanges() {} }
        let connections = (await bench.connection(), await bench.connection())
        reader.cancel()
        await bench.client.close()
        #expect(await changes.next() == nil)
        for connection in [connections.0, connections.1] { #expect(await connection.isCancelled) }
    }

    // MARK: Lost signals

    @Test("A renewed connection reports a lost signal; an idle device sends two requests an hour")
    func renewal() async throws {
        let bench = try LiveBench()
        var changes = bench.client.liveChanges().makeAsyncIterator()
        let first = await bench.connection()
        first.send(Self.state("one"))
        first.end()
        #expect(await changes.next() == .somethingChanged)
        var durations: [Duration] = []
        for _ in 0..<8 {
            let connection = await bench.connection()
            #expect(connection.known == "one")
            connection.send(Self.waiting)
            let renewal = await bench.clock.next()
            durations.append(renewal.duration)
            renewal.end()
            #expect(await connection.isCancelled)
        }
        #expect(durations == [60, 120, 240, 480, 960, 1_800, 1_800, 1_800].map { .seconds($0) })
        #expect(await changes.next() == .listening)

        // The signal for the state two was lost.
        let late = await bench.connection()
        late.send(Self.change + Self.state("two"))
        late.end()
        #expect(await changes.next() == Self.changed)
        #expect(await changes.next() == .somethingChanged)
        let next = await bench.connection()
        #expect(next.known == "two")
        next.send(Self.waiting)
        #expect(await bench.clock.next().duration == .seconds(60))
    }

    // MARK: Automatic syncs

    @Test("Automatic syncs follow signals; without signals they happen every interval")
    func automatic() async throws {
        let bench = try LiveBench()
        let syncing = Task { await bench.client.syncAutomatically(every: .seconds(7)) }
        await bench.indexes(1)
        try await bench.clock.pause(of: .seconds(7)).end()
        await bench.indexes(2)
        let connection = await bench.connection()
        connection.send(Self.waiting)
        connection.send(Self.state("one"))
        await bench.indexes(3)
        try await bench.clock.pause(of: .seconds(7)).end()
        let next = try await bench.clock.pause(of: .seconds(7))
        #expect(bench.executor.indexes == 3)

        connection.fail(.interrupted)
        next.end()
        while bench.executor.indexes < 4 { try await bench.clock.pause(of: .seconds(7)).end() }
        syncing.cancel()
        await syncing.value
    }

    @Test("Registering for push notifications ends the connection of automatic syncs")
    func push() async throws {
        let bench = try LiveBench()
        let syncing = Task { await bench.client.syncAutomatically() }
        let connection = await bench.connection()
        try await bench.client.registerPushNotificationToken("token")
        #expect(await connection.isCancelled)
        await bench.client.close()
        await syncing.value
    }
}
