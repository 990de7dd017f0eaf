import Configuration
import Testing

@Suite("The section for sealing keys in the text of a configuration")
struct SealingSectionTests {
    @Test("The section is replaced, and everything else is left as written")
    func replacement() throws {
        let text = """
            {
              "database": {"name": "sync"},
              "sealing": {
                "keyFile": "sealing-key"
              },

              "apiThreads":   4
            }
            """
        var section = try SealingSection(of: text)
        #expect(section.keyFile == "sealing-key")
        section.nextKeyFile = "sealing-key-1"

        let replaced = try section.replacing(in: text)

        #expect(
            replaced == """
                {
                  "database": {"name": "sync"},
                  "sealing": {
                    "keyFile": "sealing-key",
                    "nextKeyFile": "sealing-key-1"
                  },

                  "apiThreads":   4
                }
                """)
        #expect(try SealingSection(of: replaced) == section)
        section.nextKeyFile = nil
        #expect(try section.replacing(in: replaced) == text)
    }

    @Test(
        "The replaced section is read back as intended, regardless of the file's layout",
        arguments: [
            "{}", #"{"apiThreads": 4}"#, "{\n    \"apiThreads\": 4\n}\n",
            #"{"sealing": {"keyFile": "é\"\\/k"}, "x": 1}"#,
            #"{"sealing": null}"#, #"{ "sealing" : { "formerKeyFiles" : [ "a", "b" ], "keyFile" : "/k" } }"#,
            "\u{FEFF}{\"a\": \"}{\", \"sealing\": {}}",
        ])
    func roundTrip(text: String) throws {
        var section = try SealingSection(of: text)
        section.formerKeyFiles.insert(section.keyFile, at: 0)
        section.keyFile = "/etc/syncd/k\"\n\u{1F511}"

        let replaced = try section.replacing(in: text)

        #expect(try SealingSection(of: replaced) == section)
        #expect(replaced.contains("apiThreads") == text.contains("apiThreads"))
    }

    @Test(
        "An inline key, and names with dots, are left for the operator to change",
        arguments: [
            #"{"sealing": {"key": "abc"}}"#, #"{"sealing.keyFile": "k"}"#, #"{"sealing": {"keyFile": 1}}"#, "[]", "{",
        ])
    func unsuitable(text: String) {
        #expect(throws: SealingSection.Unsuitable.self) { try SealingSection(of: text) }
    }
}
