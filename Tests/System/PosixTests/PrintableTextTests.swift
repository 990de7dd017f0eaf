import Foundation
import Posix
import Testing

@Suite("Text for terminals")
struct PrintableTextTests {
    @Test(
        "Characters that control the terminal, reverse a line or are invisible are escaped",
        arguments: [
            ("\u{1b}[2J\u{1b}]0;title\u{7}", #"\u{1b}[2J\u{1b}]0;title\u{7}"#),
            ("two\nlines\r\nthree\ttabs", #"two\u{a}lines\u{d}\u{a}three\u{9}tabs"#),
            ("\u{0}\u{7f}\u{80}\u{9b}31m\u{85}", #"\u{0}\u{7f}\u{80}\u{9b}31m\u{85}"#),
            ("\u{202e}gpj.exe\u{2066}\u{200f}\u{61c}", #"\u{202e}gpj.exe\u{2066}\u{200f}\u{61c}"#),
            ("a\u{200b}b\u{feff}c\u{ad}d\u{2028}e\u{2029}", #"a\u{200b}b\u{feff}c\u{ad}d\u{2028}e\u{2029}"#),
            ("\u{e0041}\u{3164}\u{115f}", #"\u{e0041}\u{3164}\u{115f}"#),
        ])
    func escapes(text: String, expected: String) {
        #expect(PrintableText.escaping(text) == expected)
        #expect(PrintableText.escaping(expected) == expected)
    }

    @Test(
        "Names in all languages are unchanged",
        arguments: [
            "Alice “A.” Example", "Zoë Ångström", "Владимир", "愛 리사", "עדה", "عمر", "❤️🚀", "e\u{301}", #"back\slash"#,
        ])
    func printable(text: String) {
        #expect(PrintableText.escaping(text) == text)
        #expect(PrintableText.json("\"\(text)\"") == "\"\(text)\"")
    }

    @Test("The number of lines is unchanged")
    func lines() {
        #expect(PrintableText.lines(["one\nor two", "", "three"]) == "one\\u{a}or two\n\nthree")
    }

    @Test("JSON keeps its meaning, even beyond the Basic Multilingual Plane")
    func json() throws {
        let value = ["name": "\u{1b}[31m\u{7f}\u{9b}\n\u{202e}\u{e0041}é"]
        let json = String(decoding: try JSONEncoder().encode(value), as: UTF8.self)

        let escaped = PrintableText.json(json)

        #expect(escaped.unicodeScalars.allSatisfy { $0.isASCII && $0.value >= 0x20 && $0.value < 0x7F || $0 == "é" })
        #expect(escaped.contains(#"\udb40\udc41"#))
        #expect(try JSONDecoder().decode([String: String].self, from: Data(escaped.utf8)) == value)
        #expect(PrintableText.json("{\n  \"\u{9b}\": 1\n}\n") == "{\n  \"\\u009b\": 1\n}\n")
    }
}
