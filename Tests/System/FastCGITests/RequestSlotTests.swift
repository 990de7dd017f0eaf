import FastCGI
import Foundation
import Posix
import Synchronization
import Testing

/// A responder on its own thread, with its listening socket.
private final class Responder {
    let path: String
    let socket: ListeningSocket
    private let stop = StopSignal()
    private var thread: Worker?

    private final class StopSignal: Sendable {
        let isSet = Atomic(false)
        let hasEnded = Atomic(false)
    }

    private final class Worker {
        let thread: WorkerThread
        init(_ thread: consuming WorkerThread) { self.thread = thread }
    }

    /// - Parameter answer: Handles one request; the slot is finished afterwards.
    init(_ answer: @escaping @Sendable (inout RequestSlot) -> Void) throws {
        try FastCGILibrary.initialize()
        Signals.ignoreBrokenPipes()
        Signals.prepareWaking()
        path = "/tmp/fastcgi-\(UUID().uuidString.prefix(8)).sock"
        let socket = try ListeningSocket.bind(path: path)
        self.socket = socket
        let stop = stop
        thread = Worker(
            try WorkerThread(name: "responder") {
                // A test's thread may not block the signal, and threads inherit the mask.
                Signals.prepareWaking()
                guard var slot = try? RequestSlot(on: socket) else { return }
                while !stop.isSet.load(ordering: .acquiring) {
                    guard slot.accept(wakingSignal: Signals.waking) == .request else { continue }
                    answer(&slot)
                    slot.finish()
                }
                stop.hasEnded.store(true, ordering: .releasing)
            })
    }

    /// Asks the thread to end, and waits for it.
    /// - Returns: Whether it has ended within five seconds.
    func end() -> Bool {
        stop.isSet.store(true, ordering: .releasing)
        let limit = ContinuousClock.now + .seconds(5)
        while !stop.hasEnded.load(ordering: .acquiring) {
            guard ContinuousClock.now < limit else { return false }
            thread?.thread.wake()
            Pause.sleep(.milliseconds(2))
        }
        return true
    }

    deinit {
        _ = end()
        unsafe unlink(path)
    }
}

/// Echoes the body after the value of parameter `NAME`; records the error if the body ends early.
private func echo(_ slot: inout RequestSlot, _ outcomes: Outcomes) {
    do {
        try slot.write(Array("Status: 200\r\n\r\n\(slot.parameter("NAME") ?? "-"):".utf8))
        var buffer = [UInt8](repeating: 0, count: 10_000)
        while true {
            let range = buffer.indices
            var span = buffer.mutableSpan
            let count = try slot.read(into: &span, range)
            if count == 0 { break }
            try slot.write(Array(buffer[..<count]))
        }
        outcomes.add("whole")
    } catch {
        outcomes.add("\(error)")
    }
}

private final class Outcomes: Sendable {
    private let texts = Mutex<[String]>([])
    func add(_ text: String) { texts.withLock { $0.append(text) } }
    var all: [String] { texts.withLock { $0 } }

    /// Waits until `count` outcomes are recorded.
    func wait(for count: Int) -> Bool {
        let limit = ContinuousClock.now + .seconds(10)
        while all.count < count {
            guard ContinuousClock.now < limit else { return false }
            Pause.sleep(.milliseconds(1))
        }
        return true
    }
}

private let someBody = (0..<15_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
private let header = Array("Status: 200\r\n\r\n".utf8)

@Suite("Requests over FastCGI", .serialized)
struct RequestSlotTests {
    @Test("Parameters and body of any size arrive as sent", arguments: [0, 1, 8_191, 8_192, 300_001])
    func roundTrip(bytes: Int) throws {
        let outcomes = Outcomes()
        let responder = try Responder { echo(&$0, outcomes) }
        let body = (0..<bytes).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        let name = String(repeating: "ä", count: 200)

        let client = FastCGIClient(path: responder.path)
        client.begin([("NAME", name), ("EMPTY", "")])
        // The echo arrives while the body is still being sent, so both run concurrently.
        let sender = Thread {
            client.body(body)
            client.endBody()
        }
        sender.start()
        let reply = try #require(client.reply())

        #expect(reply == header + Array("\(name):".utf8) + body)
        #expect(responder.end())
    }

    @Test(
        "A body arrives as sent, for all forms of its records and all sizes of the pieces sent",
        arguments: [(1, 0), (7, 1), (1_000, 0), (2_000, 255), (8_184, 8), (8_192, 0), (32_768, 7), (65_535, 1)],
        [1, 13, 4_096, 8_192, 70_000])
    func records(_ form: (recordBytes: Int, paddingBytes: Int), pieceBytes: Int) throws {
        let outcomes = Outcomes()
        let responder = try Responder { echo(&$0, outcomes) }
        // Fewer bytes where each one costs a system call.
        let count = min(form.recordBytes, pieceBytes) < 100 ? 20_011 : 300_007
        let body = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31 ^ $0 >> 8) }
        let records = FastCGIClient.input(body, recordBytes: form.recordBytes, paddingBytes: form.paddingBytes)

        let client = FastCGIClient(path: responder.path)
        client.begin([("NAME", "x")])
        let sender = Thread {
            var rest = (records + FastCGIClient.endOfInput)[...]
            while !rest.isEmpty {
                client.sendRaw(Array(rest.prefix(pieceBytes)))
                rest = rest.dropFirst(pieceBytes)
            }
        }
        sender.start()
        let reply = try #require(client.reply())

        #expect(reply == header + Array("x:".utf8) + body)
        #expect(responder.end() && outcomes.all == ["whole"])
    }

    @Test(
        "A truncated body, or one followed by an invalid record, never counts as complete",
        arguments: [20_000, 40_000],
        [
            [], [1], [1, 5, 0, 1, 0, 8, 0], [1, 5, 0, 1, 0, 8, 0, 0, 9, 9], [1, 2, 0, 1, 0, 0, 0, 0],
            [1, 5, 0, 2, 0, 0, 0, 0], [2, 5, 0, 1, 0, 0, 0, 0], [1, 4, 0, 1, 0, 0, 0, 0],
        ])
    func cut(bytes: Int, end: [UInt8]) throws {
        let outcomes = Outcomes()
        let responder = try Responder { slot in
            var buffer = [UInt8](repeating: 0, count: 3_000)
            do {
                for _ in 0... {
                    let range = buffer.indices
                    var span = buffer.mutableSpan
                    if try slot.read(into: &span, range) == 0 { break }
                }
                outcomes.add("whole")
            } catch {
                // The error persists.
                let range = buffer.indices
                var span = buffer.mutableSpan
                let again = (try? slot.read(into: &span, range)) ?? -1
                outcomes.add("\(error) \(again)")
            }
        }

        let client = FastCGIClient(path: responder.path)
        client.begin([("NAME", "x")])
        client.body([UInt8](repeating: 1, count: bytes))
        client.sendRaw(end)
        client.hangUp()

        #expect(outcomes.wait(for: 1))
        #expect(outcomes.all == ["\(FastCGIError.aborted) -1"])
        #expect(responder.end())
    }

    @Test("A peer that disconnects during the body is detected, and the thread serves the next one")
    func hangUp() throws {
        let outcomes = Outcomes()
        let responder = try Responder { echo(&$0, outcomes) }

        let first = FastCGIClient(path: responder.path)
        first.begin([("NAME", "first")])
        first.body([1, 2, 3])
        first.hangUp()
        #expect(outcomes.wait(for: 1))
        let second = FastCGIClient(path: responder.path)
        second.begin([("NAME", "second")])
        second.endBody()

        #expect(second.reply() == header + Array("second:".utf8))
        #expect(outcomes.all == ["\(FastCGIError.aborted)", "whole"])
    }

    @Test(
        "A connection without a request does not occupy the thread", arguments: [[], [9, 9, 9, 9, 9, 9, 9, 9, 9]])
    func garbage(bytes: [UInt8]) throws {
        let outcomes = Outcomes()
        let responder = try Responder { echo(&$0, outcomes) }

        let stranger = FastCGIClient(path: responder.path)
        stranger.sendRaw(bytes)
        stranger.hangUp()
        let client = FastCGIClient(path: responder.path)
        client.begin([("NAME", "after")])
        client.endBody()

        #expect(client.reply() == header + Array("after:".utf8))
        #expect(responder.end())
    }

    @Test("A thread waiting for a request can be woken to stop, and the socket stays open for others")
    func waking() throws {
        let outcomes = Outcomes()
        let responder = try Responder { echo(&$0, outcomes) }
        #expect(responder.end())

        // Another user of the socket, here a second slot, can still accept.
        let client = FastCGIClient(path: responder.path)
        client.begin([("NAME", "later")])
        client.endBody()
        Signals.prepareWaking()
        var slot = try RequestSlot(on: responder.socket)
        #expect(slot.accept(wakingSignal: Signals.waking) == .request)
        echo(&slot, outcomes)
        slot.finish()

        #expect(client.reply() == header + Array("later:".utf8))
    }

    @Test("Signals never reach a request in progress")
    func signalsDuringRequests() throws {
        let outcomes = Outcomes()
        let responder = try Responder { echo(&$0, outcomes) }

        for index in 0..<200 {
            let client = FastCGIClient(path: responder.path)
            client.begin([("NAME", "\(index)")])
            kill(getpid(), Signals.waking)
            client.body([UInt8](repeating: 7, count: 20_000))
            client.endBody()
            #expect(client.reply() == header + Array("\(index):".utf8) + [UInt8](repeating: 7, count: 20_000))
        }

        #expect(responder.end())
        #expect(outcomes.all == Array(repeating: "whole", count: 200))
    }

    /// The number of 64 KiB pieces accepted without waiting for a peer that has not read anything yet.
    private func piecesAccepted(after prepare: @escaping @Sendable (borrowing RequestSlot) -> Void) throws -> Int {
        let outcomes = Outcomes()
        let chunk = [UInt8](repeating: 7, count: 64 * 1024)
        let responder = try Responder { slot in
            prepare(slot)
            var chunks = 0
            try? slot.write(header)
            while chunks < 100, slot.canWriteWithoutWaiting {
                try? slot.write(chunk)
                chunks += 1
            }
            outcomes.add("\(chunks)")
        }
        let client = FastCGIClient(path: responder.path)
        client.begin([])
        client.endBody()

        #expect(outcomes.wait(for: 1))
        let chunks = try #require(outcomes.all.first.flatMap { Int($0) })
        #expect(client.reply() == header + Array(repeating: chunk, count: chunks).joined())
        return chunks
    }

    @Test("Writing only when 64 KiB are accepted immediately never waits for a slow peer, and loses nothing")
    func writingWithoutWaiting() throws {
        #expect((1..<100).contains(try piecesAccepted { _ in }))
    }

    @Test("A large buffer accepts more, and can be reset to its previous size")
    func sendBuffer() throws {
        let usual = try piecesAccepted { _ in }
        let large = try piecesAccepted { $0.useSendBuffer(isLarge: true) }
        let small = try piecesAccepted {
            $0.useSendBuffer(isLarge: true)
            $0.useSendBuffer(isLarge: false)
        }
        #expect(large > usual)
        #expect(small == usual)
    }

    @Test("Pieces of any size arrive in the order in which they were written")
    func writingPieces() throws {
        let sizes = [1, 8_191, 8_192, 3, 65_527, 65_528, 65_529, 7, 1_000_001, 8_191, 8_191, 8_192]
        let pieces = sizes.enumerated().map { number, size in [UInt8](repeating: UInt8(number), count: size) }
        let responder = try Responder { slot in
            for piece in pieces { try? slot.write(piece) }
        }
        let client = FastCGIClient(path: responder.path)
        client.begin([])
        client.endBody()

        #expect(client.reply() == Array(pieces.joined()))
        #expect(responder.end())
    }

    @Test("If a peer reads nothing, writing fails after the limit", arguments: [4_096, 16_384])
    func writingToTheIdle(size: Int) throws {
        let outcomes = Outcomes()
        let piece = [UInt8](repeating: 7, count: size)
        let responder = try Responder { slot in
            slot.limitWriting(to: .milliseconds(50))
            do {
                for _ in 0..<1_000 { try slot.write(piece) }
                outcomes.add("written")
            } catch {
                outcomes.add("\(error)")
            }
            slot.abandon()
        }
        let client = FastCGIClient(path: responder.path)
        client.begin([])
        client.endBody()

        #expect(outcomes.wait(for: 1))
        #expect(outcomes.all == ["\(FastCGIError.timedOut)"])
        #expect(responder.end())
    }

    @Test("Writing to a disconnected peer is an error")
    func writingToNobody() throws {
        let outcomes = Outcomes()
        let chunk = [UInt8](repeating: 7, count: 64 * 1024)
        let responder = try Responder { slot in
            do {
                for _ in 0..<1_000 { try slot.write(chunk) }
                outcomes.add("written")
            } catch {
                outcomes.add("\(error)")
            }
        }
        let client = FastCGIClient(path: responder.path)
        client.begin([])
        client.endBody()
        client.hangUp()

        #expect(outcomes.wait(for: 1))
        #expect(outcomes.all != ["written"])
    }

    @Test("Reading returns available bytes immediately, and detects the end and a disconnect")
    func readingArriving() throws {
        let outcomes = Outcomes()
        let responder = try Responder { slot in
            var buffer = [UInt8](repeating: 0, count: 20_000)
            var filled = 0
            do {
                while true {
                    let range = filled..<buffer.count
                    var span = buffer.mutableSpan
                    let count = try slot.readArriving(into: &span, range)
                    if count == 0 { break }
                    filled += count
                    if filled <= 3 { outcomes.add("\(filled)") }
                }
                outcomes.add("\(filled) \(buffer[..<filled] == someBody[..<filled])")
            } catch {
                outcomes.add("\(error)")
            }
        }

        let client = FastCGIClient(path: responder.path)
        client.begin([("NAME", "x")])
        for byte in 0..<3 {
            client.body([someBody[byte]])
            #expect(outcomes.wait(for: byte + 1))
        }
        client.body(Array(someBody[3...]))
        client.endBody()
        #expect(outcomes.wait(for: 4))
        let second = FastCGIClient(path: responder.path)
        second.begin([("NAME", "y")])
        second.body([1])
        #expect(outcomes.wait(for: 5))
        second.hangUp()
        #expect(outcomes.wait(for: 6))

        #expect(outcomes.all == ["1", "2", "3", "15000 true", "1", "\(FastCGIError.aborted)"])
        #expect(responder.end())
    }

    @Test("Arriving bytes do not end a collection")
    func collecting() throws {
        let outcomes = Outcomes()
        let responder = try Responder { slot in
            var byte: [UInt8] = [0]
            // The byte may arrive before the collection begins.
            for _ in 0..<20 {
                outcomes.add("ready")
                let began = ContinuousClock.now
                slot.collect(for: .milliseconds(100))
                let isWhole = began.duration(to: .now) >= .milliseconds(100)
                var span = byte.mutableSpan
                guard let count = try? slot.readArriving(into: &span, 0..<1), count == 1 else { break }
                if isWhole { return outcomes.add("whole") }
            }
            outcomes.add("too short")
        }
        let client = FastCGIClient(path: responder.path)
        client.begin([("NAME", "x")])
        var round = 0
        repeat {
            client.body([1])
            round += 1
        } while outcomes.wait(for: round + 1) && outcomes.all.last == "ready"

        #expect(outcomes.all.last == "whole")
        client.hangUp()
        #expect(responder.end())
    }

    @Test("A collection ends immediately if bytes are available or the peer disconnects")
    func endOfCollecting() throws {
        let outcomes = Outcomes()
        let responder = try Responder { slot in
            var buffer = [UInt8](repeating: 0, count: 10)
            /// Reads the available bytes after collecting for longer than the test waits.
            func collect(_ slot: inout RequestSlot, room: Int) {
                slot.collect(for: .seconds(600))
                var span = buffer.mutableSpan
                outcomes.add((try? slot.readArriving(into: &span, 0..<room)).map { "\($0)" } ?? "gone")
            }
            var span = buffer.mutableSpan
            _ = try? slot.readArriving(into: &span, 0..<1)
            outcomes.add("first")
            // The bytes are in libfcgi's buffer.
            collect(&slot, room: 2)
            // The bytes are in the socket's buffer, or have not arrived yet.
            collect(&slot, room: 10)
            collect(&slot, room: 10)
        }
        let client = FastCGIClient(path: responder.path)
        client.begin([("NAME", "x")])
        client.body([1, 2, 3])
        #expect(outcomes.wait(for: 2))
        client.body([4, 5])
        client.hangUp()
        #expect(outcomes.wait(for: 4))

        #expect(outcomes.all == ["first", "2", "2", "gone"])
        #expect(responder.end())
    }

    @Test("A reply before the end of the body arrives although the peer is still sending")
    func finishingUnread() throws {
        let responder = try Responder { slot in
            try? slot.write(Array("Status: 401\r\n\r\n".utf8))
            slot.finishUnread(within: .seconds(10))
        }

        for _ in 0..<50 {
            let client = FastCGIClient(path: responder.path)
            client.begin([("NAME", "x")])
            for _ in 0..<20 { client.body([UInt8](repeating: 7, count: 32_768)) }
            #expect(!client.isBroken)
            #expect(client.reply() == Array("Status: 401\r\n\r\n".utf8))
        }
        #expect(responder.end())
    }

    @Test("A peer that does not close its side does not occupy the thread beyond the limit")
    func finishingUnreadLimit() throws {
        let outcomes = Outcomes()
        let responder = try Responder { slot in
            slot.finishUnread(within: .milliseconds(100))
            outcomes.add("ended")
        }

        let client = FastCGIClient(path: responder.path)
        client.begin([("NAME", "x")])
        #expect(outcomes.wait(for: 1))
        #expect(responder.end())
        client.hangUp()
    }

    @Test("A peer that accepts nothing times out after the limit")
    func limitedWriting() throws {
        let outcomes = Outcomes()
        let responder = try Responder { slot in
            slot.limitWriting(to: .milliseconds(200))
            do {
                for _ in 0..<1_000 { try slot.write([UInt8](repeating: 7, count: 64 * 1024)) }
                outcomes.add("whole")
            } catch {
                outcomes.add("\(error)")
            }
            slot.abandon()
        }

        let client = FastCGIClient(path: responder.path)
        client.begin([("NAME", "x")])
        client.endBody()
        #expect(outcomes.wait(for: 1))

        #expect(outcomes.all == ["\(FastCGIError.timedOut)"])
        client.hangUp()
    }

    @Test("A responder that still works on a request detects that the web server has closed the connection")
    func closedByPeer() throws {
        let outcomes = Outcomes()
        let responder = try Responder { slot in
            outcomes.add("\(slot.isClosedByPeer())")
            outcomes.add("\(slot.isClosedByPeer(within: .seconds(5)))")
        }

        let client = FastCGIClient(path: responder.path)
        client.begin([])
        client.endBody()
        #expect(outcomes.wait(for: 1))
        client.hangUp()
        #expect(outcomes.wait(for: 2))

        #expect(outcomes.all == ["false", "true"])
    }

    @Test("An aborted reply has no end-of-request record")
    func abandon() throws {
        let responder = try Responder { slot in
            try? slot.write(Array("Status: 200\r\n\r\nhalf".utf8))
            slot.abandon()
        }

        let client = FastCGIClient(path: responder.path)
        client.begin([("NAME", "x")])
        client.endBody()

        #expect(client.reply() == nil)
    }

    @Test("Opening, failing and closing in a loop leaks neither memory nor descriptors")
    func loop() throws {
        let outcomes = Outcomes()
        let responder = try Responder { echo(&$0, outcomes) }
        func descriptors() throws -> Int { try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count }
        let before = try descriptors()

        for round in 0..<300 {
            _ = try RequestSlot(on: responder.socket)
            let client = FastCGIClient(path: responder.path)
            client.begin([("NAME", "\(round)")])
            if round % 2 == 0 {
                client.endBody()
                #expect(client.reply() != nil)
            } else {
                client.body([1])
            }
            client.hangUp()
            #expect(throws: FastCGIError.self) { try ListeningSocket.bind(path: "/nonexistent/\(round).sock") }
        }

        #expect(outcomes.wait(for: 300))
        #expect(responder.end())
        // Other suites of this process open and close descriptors as well.
        #expect(try descriptors() < before + 50)
    }
}
