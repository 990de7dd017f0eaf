import Testing
import UntrustedInput

@Suite("Untrusted input")
struct UntrustedInputTests {
    private struct Anything: Decodable {
        init(from decoder: any Decoder) throws {}
    }

    @Test("Nesting is limited, and brackets in strings do not count")
    func depth() throws {
        func nested(_ depth: Int, _ open: String, _ close: String) -> [UInt8] {
            Array((String(repeating: open, count: depth) + "1" + String(repeating: close, count: depth)).utf8)
        }
        let deepest = UntrustedJSON.maximumDepth
        _ = try UntrustedJSON.decode(Anything.self, from: nested(deepest, "[", "]"))
        for depth in [deepest + 1, 200, 5_000, 1_000_000] {
            #expect(throws: UntrustedJSON.Refusal.tooDeep) {
                try UntrustedJSON.decode(Anything.self, from: nested(depth, "[", "]"))
            }
            #expect(throws: UntrustedJSON.Refusal.tooDeep) {
                try UntrustedJSON.decode(Anything.self, from: nested(depth, "{\"a\":", "}"))
            }
        }
        let text = "{\"a\": \"\\\"" + String(repeating: "[{", count: 1_000) + "\\\\\"}"
        _ = try UntrustedJSON.decode(Anything.self, from: Array(text.utf8))
    }

    private struct Count: Decodable, PlausibilityChecked, Equatable {
        var number: Int
        var isPlausible: Bool { number >= 0 }
    }

    @Test("Readable but implausible values are rejected")
    func plausibility() throws {
        #expect(try UntrustedJSON.decode(Count.self, from: Array(#"{"number": 0}"#.utf8)) == Count(number: 0))
        #expect(throws: UntrustedJSON.Refusal.implausible) {
            try UntrustedJSON.decode(Count.self, from: Array(#"{"number": -1}"#.utf8))
        }
    }

    @Test(
        "No number causes a trap",
        arguments: [
            (0.9, 0), (-0.9, 0), (1e18, 1_000_000_000_000_000_000), (1e21, Int64.max), (-1e19, .min), (.infinity, .max),
            (-.infinity, .min), (.nan, 0), (0x1p63, .max), (-0x1p63, .min),
        ] as [(Double, Int64)])
    func numbers(number: Double, expected: Int64) {
        #expect(Int64(saturating: number) == expected)
        #expect((Duration.zero...(.seconds(315_360_000))).contains(.untrusted(seconds: number)))
    }

    @Test("Differences saturate")
    func differences() {
        #expect(Int64.min.subtractingSaturated(1) == .min)
        #expect(Int64.max.subtractingSaturated(-1) == .max)
        #expect(Int64(5).subtractingSaturated(7) == -2)
    }

    @Test("Identifiers are visible ASCII of a bounded length")
    func identifiers() {
        #expect("id:a!~".isIdentifier(upTo: 6))
        for text in ["", "1234567", "a b", "a\r\n", "é", "\u{7F}"] { #expect(!text.isIdentifier(upTo: 6), "\(text)") }
    }

    @Test("Names are truncated to the column's length, between Unicode scalars")
    func names() {
        let families = String(repeating: "👨‍👩‍👧‍👦", count: 100)
        #expect(families.limited(toScalars: 255).unicodeScalars.count == 255)
        #expect("é".limited(toScalars: 1) == "é")
        #expect("Ann".limited(toScalars: 255) == "Ann")
    }
}
