import Providers
import Testing

@testable import SyncService

@Suite("Pieces of a download on their way to the phone")
struct PieceCollectorTests {
    private let start = ContinuousClock.now

    /// The sizes passed on when pieces of the given sizes arrive at the given milliseconds, and the rest.
    private func passed(_ pieces: [(milliseconds: Int, bytes: Int)]) -> (sizes: [Int?], rest: Int) {
        var collector = PieceCollector()
        var sent: [UInt8] = []
        var added: [UInt8] = []
        let sizes = pieces.map { milliseconds, count -> Int? in
            let piece = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ added.count) }
            added += piece
            var passed: Int?
            collector.add(piece.span, at: start + .milliseconds(milliseconds)) { bytes in
                sent.append(copying: bytes)
                passed = bytes.count
            }
            return passed
        }
        var rest = 0
        collector.passOnRest { bytes in
            sent.append(copying: bytes)
            rest = bytes.count
        }
        #expect(sent == added)
        collector.passOnRest { _ in Issue.record("The rest is passed on twice.") }
        return (sizes, rest)
    }

    @Test("The first piece is passed on at once, and quickly following ones in groups of four")
    func fast() {
        let sixteen = 16 * 1024
        let found = passed((0..<7).map { ($0, sixteen) })

        #expect(found.sizes == [sixteen, nil, nil, nil, 4 * sixteen, nil, nil])
        #expect(found.rest == 2 * sixteen)
    }

    @Test("No piece waits for a slow provider")
    func slow() {
        let found = passed([(0, 100), (11, 200), (15, 300), (21, 400), (22, 500), (100, 600)])

        #expect(found.sizes == [100, 200, nil, nil, 1_200, 600])
        #expect(found.rest == 0)
    }

    @Test("A large piece is passed on together with the retained ones")
    func large() {
        #expect(passed([(0, 1), (1, 100), (2, 40_000), (3, 65_536)]).sizes == [1, nil, 40_100, 65_536])
    }
}
