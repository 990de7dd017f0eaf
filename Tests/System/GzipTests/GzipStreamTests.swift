import Foundation
import Gzip
import TestSupport
import Testing

@Suite("Gzip streams")
struct GzipStreamTests {
    private let folder: ScratchFolder

    init() throws { folder = try ScratchFolder("gzip") }

    /// A part of a stream: compressed, or stored as it is.
    private struct Part {
        var text: [UInt8]
        var isStored = false

        init(_ text: [UInt8], isStored: Bool = false) {
            self.text = text
            self.isStored = isStored
        }
        init(_ text: String, isStored: Bool = false) { self.init(Array(text.utf8), isStored: isStored) }
    }

    /// Compresses parts that are appended in pieces of `pieceBytes`, and removes the output after each.
    private func compressed(_ parts: [Part], pieceBytes: Int = .max) -> [UInt8] {
        var stream = GzipStream()
        var output: [UInt8] = []
        for part in parts {
            var start = 0
            while start < part.text.count {
                let end = start + min(pieceBytes, part.text.count - start)
                let piece = part.text.span.extracting(start..<end)
                if part.isStored { stream.store(piece) } else { stream.append(piece) }
                output += stream.output
                stream.output = []
                start = end
            }
        }
        stream.finish()
        return output + stream.output
    }

    /// What zlib reads from a gzip file, which must end with a line feed.
    private func read(_ bytes: [UInt8]) throws -> [UInt8] {
        let file = folder.url.appending(path: "\(UUID().uuidString).gz")
        try Data(bytes).write(to: file)
        var reader = try GzipLineReader(reading: file.path)
        var text: [UInt8] = []
        while let line = try reader.next() { text += line + [UInt8(ascii: "\n")] }
        return text
    }

    private func expectSame(_ parts: [Part], pieceBytes: Int = .max, _ what: String) throws {
        let parts = parts + [Part("\n")]
        let read = try read(compressed(parts, pieceBytes: pieceBytes))
        #expect(read == parts.flatMap(\.text), "\(what)")
    }

    /// Rows as in Index, with random values; some rows lack a member, and dates repeat within a row.
    private static func rows(_ count: Int, _ generator: inout some RandomNumberGenerator) -> String {
        var rows: [String] = []
        for number in 0..<count {
            let file = UUID().uuidString
            let day = "2026-0\(Int.random(in: 1...9, using: &generator))-11 10:\(10 + number % 50):00"
            let metadata = Bool.random(using: &generator) ? #""appMetaDataVersion":\#(number % 12),"# : ""
            rows.append(
                #"{"fileUUID":"\#(file)","creationDate":"\#(day)","updateDate":"\#(day)",\#(metadata)"deleted":false}"#)
        }
        return "[" + rows.joined(separator: ",") + "]"
    }

    // The texts are short: a debug build compresses slowly.
    @Test("zlib reads what was written, whatever the text and its pieces", arguments: [1, 300, .max])
    func roundTrips(pieceBytes: Int) throws {
        var generator = SystemRandomNumberGenerator()
        let letters = Array("\"\",,:{}0123abc".utf8)
        let random = (0..<1_000).map { (_: Int) -> UInt8 in .random(in: 0...255, using: &generator) }
        let few = random.map { letters[Int($0) % letters.count] }
        let texts: [(String, [UInt8])] = [
            ("nothing", []), ("a byte", [34]), ("a key", Array("\"12345678".utf8)),
            ("zeros", [UInt8](repeating: 0, count: 1_000)), ("quotes", [UInt8](repeating: 34, count: 1_000)),
            ("rows", Array(Self.rows(10, &generator).utf8)), ("random bytes", random), ("few letters", few),
        ]
        for (what, text) in texts {
            try expectSame(
                [Part(text), Part(text, isStored: true), Part(text)], pieceBytes: pieceBytes, "\(what)")
        }
    }

    @Test("Texts may be longer than a block, compressed and stored", arguments: [false, true])
    func blocks(isStored: Bool) throws {
        var generator = SystemRandomNumberGenerator()
        let rows = Part(Self.rows(20, &generator))
        let random = (0..<61_440).map { (_: Int) -> UInt8 in .random(in: 0...255, using: &generator) }

        try expectSame([rows, Part(random, isStored: isStored), rows], "\(isStored)")
    }

    @Test("Frequencies that would need codes of more than 15 bits are encoded")
    func longCodes() throws {
        // Fibonacci numbers give the longest codes.
        var text: [UInt8] = []
        for (index, count) in Self.fibonacci(19).enumerated() {
            text += [UInt8](repeating: 97 + UInt8(index), count: count)
        }
        text.shuffle()

        try expectSame([Part(text)], "frequencies")
    }

    private static func fibonacci(_ count: Int) -> [Int] {
        var numbers = [1, 1]
        while numbers.count < count { numbers.append(numbers[numbers.count - 1] + numbers[numbers.count - 2]) }
        return numbers
    }

    @Test("Repetitions are found at all distances of the window, and not beyond it")
    func distances() throws {
        let needle = "\"a text of thirty bytes, repeated\""
        for distance in [258, 32_768, 32_769] {
            let noise = (0..<distance - needle.utf8.count).map { (index: Int) -> UInt8 in
                UInt8(35 + (index * 7919 + index / 11) % 90)
            }
            try expectSame([Part(needle), Part(noise), Part(needle)], "\(distance)")
        }
    }

    @Test("A list of rows shrinks to the bits of its random values; text without repetition hardly grows")
    func ratio() {
        var generator = SystemRandomNumberGenerator()
        // Of each row, 36 random bytes remain, and the random part of a date.
        let rows = Array(Self.rows(100, &generator).utf8)
        let noise = (0..<20_000).map { (_: Int) -> UInt8 in .random(in: 0...255, using: &generator) }

        #expect(compressed([Part(rows)]).count < rows.count * 2 / 7)
        #expect(compressed([Part(noise)]).count < noise.count + noise.count / 1_000 + 30)
    }

    @Test("The length of a stored text says nothing about what it has in common with the text before it")
    func stored() {
        var generator = SystemRandomNumberGenerator()
        let before = Part(Self.rows(20, &generator) + "\"the name of a group\",\"the name of a group\"")
        let (same, other) = ("\"the name of a group\"", "\"qvxzjkwypmfbgdhcltr\"")

        #expect(same.utf8.count == other.utf8.count)
        let lengths = [same, other].map { compressed([before, Part($0, isStored: true)]).count }
        #expect(lengths[0] == lengths[1])
        #expect(compressed([before, Part(same)]).count < lengths[0])
    }
}
