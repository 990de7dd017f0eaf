import Foundation
import SyncProtocol
import Synchronization
import TestSupport
import Testing

@testable import SyncService

@Suite("One user's limits in a process")
struct RequestLimitTests {
    /// Threads inside a request, and a gate that holds them there.
    private final class Gate: Sendable {
        private let state = Mutex((inside: 0, most: 0, isOpen: false))
        var inside: Int { state.withLock { $0.inside } }
        var most: Int { state.withLock { $0.most } }
        func open() { state.withLock { $0.isOpen = true } }

        func pass() {
            state.withLock {
                $0.inside += 1
                $0.most = max($0.most, $0.inside)
            }
            while !state.withLock({ $0.isOpen }) { sched_yield() }
            state.withLock { $0.inside -= 1 }
        }
    }

    /// A phone whose reply is held back.
    private final class HeldConnection: ClientConnection {
        let gate: Gate
        let ended: Mutex<Int?>
        init(_ gate: Gate) {
            self.gate = gate
            ended = Mutex(nil)
        }
        func readBody(into buffer: inout MutableSpan<UInt8>, _ range: Range<Int>) throws(ClientGone) -> Int { 0 }
        func start(status: Int, headers: [(name: String, value: String)]) throws(ClientGone) {
            gate.pass()
            ended.withLock { $0 = status }
        }
        var canWriteWithoutWaiting: Bool { false }
        func write(_ bytes: Span<UInt8>) throws(ClientGone) {}
        func goOn(onThreadOf other: any ClientConnection) {}
        func finish() {}
        func abandon() {}
    }

    @Test("Requests beyond a user's share wait without a thread, are answered, and delay no other user")
    func turns() throws {
        let server = try TestServer(requestTurns: RequestTurns(maximumPerUser: 2))
        let alice = try server.signUp()
        let bob = try server.signUp("bob")
        let gate = Gate()
        let head = RequestHead(
            method: "GET", path: "/Index/", query: "", contentLength: nil, requestID: nil, headers: alice.headers)

        // Ten at once: two threads are held, and eight are free again at once.
        let handled = Mutex<[Router.Handling]>([])
        let done = DispatchGroup()
        for _ in 0..<10 {
            done.enter()
            Thread.detachNewThread {
                let connection = HeldConnection(gate)
                let handling = server.router.handle(head, on: connection, transport: .unused)
                handled.withLock { $0.append(handling) }
                done.leave()
            }
        }
        let deadline = ContinuousClock.now + .seconds(20)
        while handled.withLock({ $0.count }) < 8 || gate.inside < 2, ContinuousClock.now < deadline { sched_yield() }
        #expect(handled.withLock { $0 } == Array(repeating: .waits, count: 8))
        #expect(server.send(IndexRequest(), as: bob).status == 200)

        gate.open()
        done.wait()

        #expect(server.log.lines("Request").suffix(10).map { $0["status"] } == Array(repeating: "200", count: 10))
        #expect(gate.most == 2)
        #expect(handled.withLock { $0.filter { $0 == .answered }.count } == 2)
        #expect(server.send(IndexRequest(), as: alice).status == 200)
    }

    @Test("A request that has waited too long is rejected, and no longer processed")
    func waitedTooLong() throws {
        let server = try TestServer(requestTurns: RequestTurns(maximumPerUser: 1, longestWait: .zero))
        let alice = try server.signUp()
        let (first, second) = (Gate(), Gate())
        second.open()
        let head = RequestHead(
            method: "GET", path: "/Index/", query: "", contentLength: nil, requestID: nil, headers: alice.headers)
        let done = DispatchGroup()
        done.enter()
        Thread.detachNewThread {
            server.router.handle(head, on: HeldConnection(first), transport: .unused)
            done.leave()
        }
        let deadline = ContinuousClock.now + .seconds(20)
        while first.inside < 1, ContinuousClock.now < deadline { sched_yield() }
        let waiting = HeldConnection(second)
        #expect(server.router.handle(head, on: waiting, transport: .unused) == .waits)

        first.open()
        done.wait()

        #expect(waiting.ended.withLock { $0 } == 429)
        #expect(server.send(IndexRequest(), as: alice).status == 200)
    }

    @Test("A transfer beyond the user's limit gets 429 at once, with its own code, and its body is not read")
    func transfers() throws {
        let limit = TransferLimit(threads: 100, maximumPerUser: 1)
        let server = try TestServer(transferLimit: limit)
        let alice = try server.signUp()
        let user = try server.userID(of: alice)

        try limit.enter(user, .download)
        let connection = FakeConnection(body: someBytes(100_000))
        let refused = server.send(
            UploadFileRequest.of(someFile(), someBytes(100_000), version: 0, master: 0, in: alice.group), as: alice,
            announcing: 100_000, on: connection)
        #expect(refused.status == 429)
        #expect(refused.code == "too_many_transfers")
        #expect(refused.header("retry-after") == "5")
        #expect(refused.readBytes == 0)

        limit.leave(user, .download)
        for _ in 0..<3 {
            #expect(server.upload(someBytes(10), of: someFile(), by: alice).status == 200, "shares are released")
        }
    }

    @Test("A body that arrives too slowly gets 408, and its rest is not awaited")
    func tooSlow() throws {
        let server = try TestServer()
        let alice = try server.signUp()
        let connection = FakeConnection(body: someBytes(100_000))
        connection.isTooSlowAfterBytes = 32_768

        let reply = server.send(
            UploadFileRequest.of(someFile(), someBytes(100_000), version: 0, master: 0, in: alice.group), as: alice,
            announcing: 100_000, on: connection)

        #expect(reply.status == 408)
        #expect(reply.code == "transfer_too_slow")
        #expect(reply.json["retryable"] as? Bool == true)
        #expect(reply.end == .finished)
        #expect(reply.readBytes == 32_768)
        #expect(server.log.request?["code"] == "transfer_too_slow")
    }
}
