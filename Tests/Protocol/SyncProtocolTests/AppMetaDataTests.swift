import Foundation
import SyncProtocol
import Testing

@Suite("App metadata")
struct AppMetaDataTests {
    @Test(
        "An object with version and contents is accepted in any notation",
        arguments: [
            (#"{"version":0,"contents":"x"}"#, 0, "x"), (#"{"contents":"x","version":3}"#, 3, "x"),
            (#" { "version" : "12" , "contents" : "" } "#, 12, ""),
            (#"{"version":1,"contents":"{\"a\":\"b\\\/c\"}"}"#, 1, #"{"a":"b\/c"}"#),
            (#"{"version":1,"contents":"\/\b\f\n\r\t\"\\"}"#, 1, "/\u{8}\u{C}\n\r\t\"\\"),
            (#"{"version":1,"contents":"\u00e4\uD83D\uDE00\ufffd"}"#, 1, "ä😀\u{FFFD}"),
            (#"{"version":1,"contents":"a\u0000b"}"#, 1, "a\0b"),
            (#"{"version":1,"contents":"ä漢😀"}"#, 1, "ä漢😀"),
            (#"{"more":[1,-2.5e+3,{"x":null}],"version":1,"other":true,"contents":"x","z":{}}"#, 1, "x"),
            (#"{"version":2147483647,"contents":"x"}"#, Int32.max, "x"),
        ] as [(String, Int32, String)])
    func wellFormed(json: String, version: Int32, contents: String) throws {
        let metadata = try AppMetaData(jsonText: json)
        #expect(metadata.version == AppMetaDataVersion(version))
        #expect(Array(metadata.contents.utf8) == Array(contents.utf8))
    }

    @Test(
        "Anything else is an error, never treated as absent",
        arguments: [
            "", " ", "null", "5", "\"x\"", "[]", "{}", "foobar", #"{"version":0}"#, #"{"contents":"x"}"#,
            #"{"version":0,"contents":"x""#, #"{"version":0,"contents":"x"}x"#, #"{"version":0,"contents":"x"}{}"#,
            #"{"version":0,"contents":5}"#, #"{"version":0,"contents":null}"#, #"{"version":null,"contents":"x"}"#,
            #"{"version":-1,"contents":"x"}"#, #"{"version":1.0,"contents":"x"}"#, #"{"version":1e0,"contents":"x"}"#,
            #"{"version":2147483648,"contents":"x"}"#, #"{"version":"","contents":"x"}"#,
            #"{"version":" 1","contents":"x"}"#, #"{"version":01,"contents":"x"}"#,
            #"{"version":0,"version":1,"contents":"x"}"#, #"{"version":0,"contents":"x","contents":"y"}"#,
            #"{"version":0,"contents":"\uD83D"}"#, #"{"version":0,"contents":"\uD83Dx"}"#,
            #"{"version":0,"contents":"\uDE00"}"#, #"{"version":0,"contents":"\uD83D\u0041"}"#,
            #"{"version":0,"contents":"\x"}"#, #"{"version":0,"contents":"\u12G4"}"#,
            #"{"version":0,"contents":"\u12"}"#,
            "{\"version\":0,\"contents\":\"a\nb\"}", #"{version:0,contents:"x"}"#, #"{"version":0,"contents":"x",}"#,
            #"{'version':0,'contents':'x'}"#, #"{"version":0,"contents":"x","o":[1,]}"#,
            #"{"version":0,"contents":"x","o":tru}"#, #"{"version":0,"contents":"x","o":.5}"#,
        ])
    func malformed(json: String) {
        #expect(throws: RequestError.malformed(.appMetaData, expected: .appMetaData)) {
            try AppMetaData(jsonText: json)
        }
    }

    @Test("Deep nesting is rejected, and does not exhaust the stack")
    func deepNesting() {
        let deep = String(repeating: "[", count: 60_000)
        #expect(throws: RequestError.self) {
            try AppMetaData(jsonText: #"{"version":0,"contents":"x","o":"# + deep)
        }
    }

    @Test("Contents are limited by the database column")
    func storedSize() throws {
        let largest = String(repeating: "a", count: 65_535)
        #expect(try AppMetaData(jsonText: #"{"version":0,"contents":"\#(largest)"}"#).contents == largest)
        #expect(throws: RequestError.tooLarge(.appMetaData, maximumBytes: 65_535)) {
            try AppMetaData(jsonText: #"{"version":0,"contents":"\#(largest)a"}"#)
        }
    }

    @Test("Contents are limited by the header that returns them")
    func escapedSize() throws {
        let escape = #"\u0001"#
        let largest = String(repeating: escape, count: 40_000)
        #expect(try AppMetaData(jsonText: #"{"version":0,"contents":"\#(largest)"}"#).contents.utf8.count == 40_000)
        #expect(throws: RequestError.tooLarge(.appMetaData, maximumBytes: 240_000)) {
            try AppMetaData(jsonText: #"{"version":0,"contents":"\#(largest)\#(escape)"}"#)
        }
    }

    @Test("Any contents round-trip", arguments: 0..<100 as Range<UInt64>)
    func roundTrip(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let metadata = AppMetaData(
            version: AppMetaDataVersion(.random(in: 0...Int32.max, using: &random)),
            contents: random.text(maximumCharacters: 60, ampersands: true))
        let parsed = try AppMetaData(jsonText: metadata.jsonText)
        #expect(parsed.version == metadata.version)
        #expect(Array(parsed.contents.utf8) == Array(metadata.contents.utf8))
    }

    /// The result of Foundation's decoder for a text.
    private struct ReadByFoundation: Decodable {
        var version: Int32
        var contents: String

        private enum Member: CodingKey { case version, contents }

        init(from decoder: any Decoder) throws {
            let members = try decoder.container(keyedBy: Member.self)
            contents = try members.decode(String.self, forKey: .contents)
            if let number = try? members.decode(Int32.self, forKey: .version) {
                version = number
            } else {
                let text = try members.decode(String.self, forKey: .version)
                guard let number = Int32(text) else {
                    throw DecodingError.dataCorruptedError(forKey: .version, in: members, debugDescription: text)
                }
                version = number
            }
        }
    }

    @Test("For all accepted texts, Foundation's decoder gives the same result", arguments: 0..<2_000 as Range<UInt64>)
    func sameAsFoundation(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        var text = Array(
            #"{"version":12,"contents":"ä\u00e4\uD83D\uDE00\n\"}","more":[1,-2.5e+3,{"x":null}],"z":"9"}"#.utf8)
        let pieces = [
            "", "\"", "\\", "{", "}", "[", "]", ",", ":", "0", "1", "-", ".", "e", " ", "\n", "u", "contents", "null",
        ]
        for _ in 0..<Int.random(in: 1...3, using: &random) {
            let start = Int.random(in: 0...text.count, using: &random)
            let end = min(text.count, start + Int.random(in: 0...2, using: &random))
            text.replaceSubrange(start..<end, with: pieces.randomElement(using: &random)?.utf8.map(\.self) ?? [])
        }
        // Bytes that are not UTF-8 have already been rejected.
        guard let json = String(validating: text, as: UTF8.self) else { return }

        guard let taken = try? AppMetaData(jsonText: json) else { return }

        let read = try JSONDecoder().decode(ReadByFoundation.self, from: Data(json.utf8))
        #expect(AppMetaDataVersion(read.version) == taken.version, "\(json)")
        #expect(Array(read.contents.utf8) == Array(taken.contents.utf8), "\(json)")
    }
}
