import Testing

@testable import Sandbox

@Suite("Replies of a server behind the sandbox")
struct BackendAnswerTests {
    /// A reader that receives a text in pieces of `size` bytes.
    private func reader(_ text: String, in size: Int) -> AnswerReader {
        var rest = Array(text.utf8)[...]
        return AnswerReader { buffer in
            let piece = rest.prefix(size)
            rest = rest.dropFirst(size)
            buffer.replaceSubrange(..<piece.count, with: piece)
            return piece.count
        }
    }

    @Test("A chunked body is forwarded without its framing", arguments: [1, 3, 1_000])
    func chunks(size: Int) throws {
        let text = "5\r\n<?xml\r\n10;name=value\r\n version='1.0'?>\r\n0\r\nX-Trailer: 1\r\n\r\n"

        let body = try reader(text, in: size).chunks(limit: 100)

        #expect(String(decoding: body, as: UTF8.self) == "<?xml version='1.0'?>")
    }

    @Test(
        "Truncated, oversized and malformed chunks are errors",
        arguments: ["5\r\n<?x", "", "65\r\n", "x\r\n", "2\r\nabc\r\n0\r\n\r\n", "-1\r\n"])
    func broken(text: String) {
        #expect(throws: (any Error).self) { _ = try reader(text, in: 1_000).chunks(limit: 100) }
    }
}
