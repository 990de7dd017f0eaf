import Testing

@testable import SyncService

@Suite("The reply buffer")
struct ReplyBufferTests {
    private static let piece = 64 * 1024
    private static let pieces = ReplyBuffer.proofBytes / piece

    /// Writes enough to prove how fast a phone is, in pieces that take `time` each.
    private func proof(_ buffer: inout ReplyBuffer, piecesTake time: Duration) -> [ReplyBuffer.Size] {
        (0..<Self.pieces).compactMap { _ in buffer.wrote(Self.piece, in: time) }
    }

    @Test("The buffer is enlarged once, when a phone has proved to be fast")
    func fast() {
        var buffer = ReplyBuffer()
        for _ in 1..<Self.pieces { #expect(buffer.wrote(Self.piece, in: .microseconds(7_800)) == nil) }
        #expect(buffer.wrote(Self.piece, in: .microseconds(7_800)) == .large)
        #expect(proof(&buffer, piecesTake: .microseconds(100)) == [])
    }

    @Test("The buffer stays as it is for a phone that is slow at first, however fast it becomes")
    func slow() {
        var buffer = ReplyBuffer()
        #expect(proof(&buffer, piecesTake: .microseconds(7_900)) == [])
        #expect(proof(&buffer, piecesTake: .zero) == [])
    }

    @Test("The buffer is reduced when a phone falls behind, and not enlarged again")
    func fallsBehind() {
        var buffer = ReplyBuffer()
        #expect(proof(&buffer, piecesTake: .zero) == [.large])
        #expect(buffer.wrote(Self.piece, in: .seconds(1)) == nil)
        #expect(buffer.wrote(Self.piece, in: .milliseconds(1_001)) == .usual)
        #expect(buffer.wrote(Self.piece, in: .seconds(2)) == nil)
        #expect(proof(&buffer, piecesTake: .zero) == [])
    }
}
