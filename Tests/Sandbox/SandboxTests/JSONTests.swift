import Testing

@testable import Sandbox

@Suite("The sandbox's JSON")
struct JSONTests {
    private func parse(_ text: String) -> JSONValue? { try? JSONValue(parsing: Array(text.utf8)) }

    @Test(
        "Numbers are integers where that is exact, otherwise doubles",
        arguments: [
            ("9007199254740993", .int(9_007_199_254_740_993)), ("9223372036854775807", .int(.max)),
            ("-9223372036854775808", .int(.min)), ("9223372036854775808", .double(9_223_372_036_854_775_808)),
            ("0", .int(0)), ("1", .int(1)), ("1.0", .int(1)), ("1e3", .int(1_000)), ("1.5", .double(1.5)),
            ("1e300", .double(1e300)),
        ] as [(String, JSONValue)])
    func numbers(text: String, expected: JSONValue) { #expect(parse(text) == expected) }

    @Test(
        "A text may be any single value, surrounded by white space",
        arguments: [
            ("null", .null), ("true", true), (" \t\r\n\"a\"\n", "a"), ("[]", []), ("{}", [:]),
            (#""\ud83d\ude00\u0000\/""#, "😀\0/"), (#"[",]", "\",}", [1] , 2]"#, [",]", "\",}", [1], 2]),
            (#"{"b": null, "a": [0, false]}"#, ["a": [0, false], "b": .null]),
        ] as [(String, JSONValue)])
    func values(text: String, expected: JSONValue) { #expect(parse(text) == expected) }

    @Test(
        "Text that is not strict JSON is rejected",
        arguments: [
            "", " ", "1 2", "[1,]", "[1 , ]", #"{"a":1,}"#, "01", "1.", ".5", "+1", "-", "NaN", "1e400", "'a'", "nul",
            "// no\n1", #""\ud800""#, #""\udc00""#, #""\x""#, "\"a\nb\"", "\u{FEFF}1", "1\0", "1\0\0\0", "{1:2}", "[",
            "\"",
        ])
    func broken(text: String) { #expect(parse(text) == nil) }

    @Test("Bytes that are not UTF-8 are rejected")
    func encoding() {
        #expect(throws: DecodingError.self) { try JSONValue(parsing: [0x22, 0xFF, 0x22]) }
    }

    @Test("64 levels are accepted, 65 and 100,000 are rejected", arguments: [("[", "]"), (#"{"a":"#, "}")])
    func depth(open: String, close: String) {
        func nested(_ levels: Int) -> String {
            String(repeating: open, count: levels) + (open == "[" ? "" : "1") + String(repeating: close, count: levels)
        }
        #expect(parse(nested(64)) != nil)
        #expect(parse(nested(65)) == nil)
        #expect(parse(nested(100_000)) == nil)
    }

    @Test("Members are written in the given order, and sorted by name when read")
    func order() {
        let value: JSONValue = ["b": 1, "a": [2], "c": "\u{2028}"]
        #expect(value.text() == #"{"b":1,"a":[2],"c":"\u2028"}"#)
        #expect(parse(value.text())?.text() == #"{"a":[2],"b":1,"c":"\u2028"}"#)
    }
}
