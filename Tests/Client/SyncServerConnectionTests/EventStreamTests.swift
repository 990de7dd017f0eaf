import Foundation
import HTTPTypes
import SyncProtocol
import Synchronization
import Testing

@testable import SyncServerConnection

@Suite("Streams of signals")
struct EventStreamTests {
    private static let stream = """
        retry: 500

        : hi

        event: change
        id: 1796007700:0
        data: {"sharingGroupUUID":"\(Sample.group)","masterVersion":7}

        event: unknown
        data: {}

        :\u{20}

        id: ad1b704458d1bf165fdfe10b135d88dc
        event: index
        data: {}

        event: change
        data: {"sharingGroupUUID":"\(Sample.group)","masterVer
        """
    private static let change = ChangeSignal.Change(sharingGroupUUID: Sample.group, masterVersion: MasterVersion(7))

    /// The signals of a call.
    private final class Received: Sendable {
        private let state = Mutex<[ListenedSignal]>([])
        var all: [ListenedSignal] { state.withLock { $0 } }
        func add(_ signal: ListenedSignal) { state.withLock { $0.append(signal) } }
    }

    private static func header(_ name: String, of exchange: HTTPExchange) -> String? {
        HTTPField.Name(name).flatMap { exchange.request.headerFields[$0] }
    }

    // MARK: Parsing

    @Test(
        "Signals are read however the bytes are cut; comments count, unknown and incomplete events do not",
        arguments: [1, 7, 4_096], ["\n", "\r\n"])
    func cut(size: Int, end: String) {
        let received = Received()
        let reader = EventStreamReader(after: "known") { received.add($0) }
        #expect(reader.lastEventID == "known")
        let bytes = Array(Self.stream.replacing("\n", with: end).utf8)
        for start in stride(from: 0, to: bytes.count, by: size) {
            reader.read(bytes[start..<min(start + size, bytes.count)])
        }
        #expect(
            received.all == [
                .listening, .signal(ChangeSignal(change: Self.change)), .listening, .signal(ChangeSignal(change: nil)),
            ])
        #expect(reader.lastEventID == "ad1b704458d1bf165fdfe10b135d88dc")
    }

    @Test("A line that is too long is skipped, and the next event is read")
    func longLine() {
        let received = Received()
        let reader = EventStreamReader(after: nil) { received.add($0) }
        reader.read("data: \(String(repeating: "x", count: 100_000))\n\nevent: index\ndata: {}\n\n".utf8)
        #expect(received.all == [.signal(ChangeSignal(change: nil))])
        #expect(reader.lastEventID == nil)
    }

    // MARK: Calls

    @Test("A call names the known state, asks for a stream, and returns the last state", arguments: ["known", nil])
    func resumption(known: String?) async throws {
        let bench = Bench(
            ScriptedExecutor(streamsReplies: true) { exchange, _ in
                for byte in Self.stream.utf8 { exchange.arriving?(Data([byte])) }
                return .reply(200, "")
            })
        let received = Received()
        let next = try await bench.connection.listen(after: known) { received.add($0) }
        let exchange = try #require(bench.executor.exchanges.first)
        #expect(Self.header("last-event-id", of: exchange) == known)
        #expect(Self.header("accept", of: exchange) == "text/event-stream")
        // The server sends a heartbeat every 30 s, and proxies wait for a minute.
        #expect((.seconds(61)...(.seconds(120))).contains(exchange.idleTimeout))
        #expect(next == "ad1b704458d1bf165fdfe10b135d88dc")
        #expect(received.all.count == 4)
    }

    @Test("A stream that breaks, or falls silent, is not repeated within the call: its signals would be mixed")
    func broken() async {
        for kind in [TransportFailure.Kind.interrupted, .timedOut] {
            let bench = Bench(
                ScriptedExecutor(streamsReplies: true) { exchange, _ throws(TransportFailure) in
                    exchange.arriving?(Data(Self.stream.utf8))
                    throw TransportFailure(kind)
                })
            let error = await failure { () async throws(ServerConnectionError) in
                try await bench.connection.listen { _ in }
            }
            #expect(error != nil)
            #expect(bench.requestCount == 1)
        }
    }

    @Test("A refused token is renewed once; a second refusal means that the user must sign in")
    func refusedToken() async throws {
        let refusal = HTTPReply.error(401, "credentials_rejected")
        let renewed = Bench(
            ScriptedExecutor(streamsReplies: true) { _, n in n == 0 ? refusal : .reply(200, "") })
        _ = try await renewed.connection.listen { _ in }
        #expect(renewed.tokens == ["token", "token'"])

        let refused = Bench(ScriptedExecutor(streamsReplies: true) { _, _ in refusal })
        let error = await failure { () async throws(ServerConnectionError) in
            try await refused.connection.listen { _ in }
        }
        #expect(error?.code == .signInRequired)
    }

    @Test(
        "Servers that offer no signals, or none now, are recognised",
        arguments: [(404, "endpoint_unknown"), (403, "other"), (503, "maintenance")])
    func refusal(status: Int, code: String) async {
        let bench = Bench(
            ScriptedExecutor(streamsReplies: true) { _, _ in
                .error(status, code, headers: status == 503 ? ["retry-after": "90"] : [:])
            })
        let error = await failure { () async throws(ServerConnectionError) in
            try await bench.connection.listen { _ in }
        }
        #expect(error?.status == status)
        #expect(error?.serverCode?.rawValue == code)
        #expect(error?.retryAfter == (status == 503 ? .seconds(90) : nil))
        #expect(bench.requestCount == 1)
    }

    // MARK: Long polling

    @Test("Without streams of replies, a call is one long poll: a change, or none in time")
    func longPolling() async throws {
        let body = #"{"sharingGroupUUID":"\#(Sample.group)","masterVersion":7}"#
        let bench = Bench(
            ScriptedExecutor { _, n in
                switch n {
                case 0: .reply(200, #"{"lastEventId":"one"}"#)
                case 1: .reply(408, "")
                default: .reply(200, body)
                }
            })
        let received = Received()
        var known = try await bench.connection.listen { received.add($0) }
        #expect(known == "one" && received.all == [.signal(ChangeSignal(change: nil, lastEventID: "one"))])
        known = try await bench.connection.listen(after: known) { received.add($0) }
        #expect(known == "one" && received.all.last == .listening)
        known = try await bench.connection.listen(after: known) { received.add($0) }
        #expect(known == "one" && received.all.last == .signal(ChangeSignal(change: Self.change)))
        #expect(bench.executor.exchanges.map { Self.header("last-event-id", of: $0) } == [nil, "one", "one"])
        #expect(bench.executor.exchanges.allSatisfy { Self.header("accept", of: $0) == nil })
    }
}
