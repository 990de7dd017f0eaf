import Foundation
import SyncProtocol
import Testing

@Suite("Writing JSON")
struct JSONWriterTests {
    private static func text(_ form: JSONWriter.Form = .utf8, _ write: (inout JSONWriter) -> Void) -> String {
        var writer = JSONWriter(form: form)
        write(&writer)
        return String(decoding: writer.bytes, as: UTF8.self)
    }

    /// A string written from bytes, as for database columns.
    private static func copied(_ bytes: [UInt8], _ form: JSONWriter.Form = .utf8) -> String {
        var writer = JSONWriter(form: form)
        unsafe writer.value(text: bytes.span.bytes)
        return String(decoding: writer.bytes, as: UTF8.self)
    }

    @Test("Objects and arrays nest, with correctly placed commas")
    func structure() {
        let text = Self.text { writer in
            writer.object { writer in
                writer.field("a", Int64(1))
                writer.key("b")
                writer.array { writer in
                    writer.value(true)
                    writer.object { _ in }
                    writer.array { _ in }
                    writer.value(text: "x")
                }
                writer.field("c", text: nil)
                writer.field("d", false)
            }
        }
        #expect(text == #"{"a":1,"b":[true,{},[],"x"],"d":false}"#)
    }

    @Test(
        "Integers are written exactly",
        arguments: [0, 7, -1, 10, 99, 100, -1_000_000, Int64.max, Int64.min, Int64(Int32.max)])
    func integers(number: Int64) {
        #expect(Self.text { $0.value(number) } == "\(number)")
    }

    @Test("Numbers with a fraction are JSON; those that JSON cannot express are null")
    func fractions() {
        #expect(Self.text { $0.value(12.5) } == "12.5")
        #expect(Self.text { $0.value(3.0) } == "3.0")
        #expect(Self.text { $0.value(Double.nan) } == "null")
    }

    @Test(
        "Texts are escaped as RFC 8259 requires",
        arguments: [
            ("", #""""#), ("plain", #""plain""#), ("\"", #""\"""#), ("\\", #""\\""#), ("a/b", #""a/b""#),
            ("\n\r\t", #""\n\r\t""#), ("\0", #""\u0000""#), ("\u{1F}x", #""\u001fx""#), ("\u{7F}", "\"\u{7F}\""),
            ("ä", #""ä""#), ("é\"😀", #""é\"😀""#), ("\u{2028}", "\"\u{2028}\""),
        ])
    func escaping(text: String, json: String) {
        #expect(Self.text { $0.value(text: text) } == json)
        #expect(Self.copied(Array(text.utf8)) == json)
    }

    @Test(
        "In the form for headers, all characters outside ASCII are escaped",
        arguments: [
            ("ä", #""\u00e4""#), ("漢x", #""\u6f22x""#), ("😀", #""\ud83d\ude00""#), ("\u{FFFF}", #""\uffff""#),
            ("\u{10FFFF}", #""\udbff\udfff""#), ("\u{7F}", #""\u007f""#), ("a\nb", #""a\nb""#), ("'", #""'""#),
        ])
    func asciiOnly(text: String, json: String) {
        #expect(Self.text(.asciiOnly) { $0.value(text: text) } == json)
        #expect(Self.copied(Array(text.utf8), .asciiOnly) == json)
    }

    @Test(
        "Any text survives both forms, and the header form is printable ASCII on one line",
        arguments: 0..<200 as Range<UInt64>)
    func roundTrip(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let text = random.text(maximumCharacters: 40, ampersands: true)
        for form in [JSONWriter.Form.utf8, .asciiOnly] {
            var writer = JSONWriter(form: form)
            writer.object { $0.field("text", text: text) }
            if form == .asciiOnly { #expect(writer.bytes.allSatisfy { (0x20...0x7E).contains($0) }) }
            let parsed = try JSONDecoder().decode([String: String].self, from: Data(writer.bytes))
            #expect(parsed["text"].map { Array($0.utf8) } == Array(text.utf8))
        }
    }

    @Test("Characters that require escaping are found at every position of a text")
    func everyPlace() throws {
        for special in ["\"", "\\", "\0", "\u{1F}", "\n", "é", "!", "#", "[", "]", "\u{7F}"] {
            for place in 0..<20 {
                let text = String(repeating: "~", count: place) + special + String(repeating: " ", count: 19 - place)
                let json = Self.copied(Array(text.utf8))
                #expect(json == Self.text { $0.value(text: text) })
                #expect(try JSONDecoder().decode([String].self, from: Data("[\(json)]".utf8)) == [text])
            }
        }
    }

    @Test("Invalid UTF-8 never produces invalid JSON in the header form")
    func repairsUTF8() throws {
        let bytes: [UInt8] = [0x61, 0xC3, 0x28, 0xFF, 0xED, 0xA0, 0x80]
        let text = Self.copied(bytes, .asciiOnly)
        #expect(text.utf8.allSatisfy { (0x20...0x7E).contains($0) })
        #expect(text.hasPrefix(#""a\ufffd("#))
    }

    @Test("Drained bytes are returned once, and writing continues")
    func draining() {
        var writer = JSONWriter()
        var pieces: [[UInt8]] = []
        writer.beginArray()
        for number in 0..<3 as Range<Int64> {
            writer.value(number)
            writer.drain { pieces.append($0) }
        }
        writer.endArray()
        #expect(String(decoding: pieces.flatMap { $0 } + writer.bytes, as: UTF8.self) == "[0,1,2]")
    }
}
