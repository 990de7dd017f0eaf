import Foundation
import MariaDB
import Testing

@testable import Configuration

@Suite("Problems of a configuration file")
struct ProblemTests {
    private let folder: ConfigurationFolder

    init() throws { folder = try ConfigurationFolder() }

    /// The smallest file with additional members in its second line.
    private func problems(adding members: String) -> [String] {
        folder.problems(
            ConfigurationFolder.smallest.replacingOccurrences(
                of: "{\n    \"database\"", with: "{\n\(members),\n\"database\""))
    }

    @Test("The smallest file has no problems and no notes")
    func smallest() throws {
        #expect(try folder.read(ConfigurationFolder.smallest).notes.isEmpty)
    }

    @Test("For a missing file, the message states the remedy")
    func missing() {
        let path = FileManager.default.temporaryDirectory.appending(path: "\(UUID().uuidString).json").path

        let problems = #expect(throws: ConfigurationError.self) { try ServerConfiguration(readingFrom: path) }?.problems

        #expect(
            problems?.map(\.sentence) == [
                "there is no such file: create it with syncctl setup, or name another with --config"
            ])
    }

    @Test("All problems are reported at once, in file order, with line and column")
    func everything() {
        let found = folder.problems(
            """
            {
              "databse": {"name": "x"},
              "database": {"socket": 3, "name": "n", "user": "", "prot": 1},
              "allowedSignInTypes": {"google": true, "Google": "yes"},
              "apiThreads": 0,
              "googleClientIds": "one",
              "log": "file",
              "transferThreads": {"a": 1}
            }
            """)

        #expect(
            found == [
                "line 2, column 3: databse is not a setting of this server; did you mean database?",
                "line 3, column 26: database.socket must be a string, in quotation marks",
                "line 3, column 42: database.user must not be empty",
                "line 3, column 54: database.prot is not a setting of this server; did you mean database.port?",
                "line 4, column 26: allowedSignInTypes.google is not a setting of this server; "
                    + "did you mean allowedSignInTypes.Google?",
                "line 4, column 52: allowedSignInTypes.Google must be true or false",
                "line 5, column 17: apiThreads must be a whole number from 1 to 1024",
                "line 6, column 22: googleClientIds must be a list of strings",
                "line 7, column 10: log must be an object",
                "line 8, column 22: transferThreads must be a whole number from 1 to 4096",
                "allowedSignInTypes must include at least one type with storage: Google, Dropbox, Microsoft, WebDAV, S3",
            ])
    }

    @Test(
        "For a misspelt name, a similar name is suggested if one exists",
        arguments: [
            ("maximumUploadByte", "maximumUploadBytes"), ("ApiThreads", "apiThreads"),
            ("googleServerClientID", "GoogleServerClientId"), ("signInTokenTimeTolive", "signInTokenTimeToLive"),
            ("mySQL.hots", "mySQL.host"), ("awsns", "awssns"), ("level", "log.level"),
            ("connectTo", "sandbox.connectTo"),
            ("appleSignIn.keyID", "appleSignIn.keyId"), ("databaseConections", "databaseConnections"),
        ])
    func suggestions(written: String, meant: String) {
        let found = problems(adding: "\"\(written)\": 1")

        #expect(found == ["line 2, column 1: \(written) is not a setting of this server; did you mean \(meant)?"])
    }

    @Test("Of several equally similar names, one that starts like the misspelt name is suggested")
    func begun() {
        #expect(Spelling.suggestion(for: "of", among: ["on", "off"]) == "off")
        #expect(Spelling.suggestion(for: "om", among: ["on", "off"]) == "on")
    }

    @Test("Without a similar name nothing is suggested")
    func farFetched() {
        #expect(
            problems(adding: #""entirelyDifferent": {"a": {"b": 1}}"#)
                == ["line 2, column 1: entirelyDifferent is not a setting of this server"])
    }

    @Test(
        "Contradictory settings are reported",
        arguments: [
            (
                #""database.host": "h""#,
                ["line 2, column 1: database.host and database.socket are mutually exclusive"]
            ),
            (
                #""redirectURIs": ["https://example.com/code", "com.example:/code", "code", "https://a/#b"]"#,
                [
                    "line 2, column 1: redirectURIs: code is not an absolute URI without a fragment, in ASCII",
                    "line 2, column 1: redirectURIs: https://a/#b is not an absolute URI without a fragment, in ASCII",
                ]
            ),
            (
                #""publicURL": "sync.example.com""#,
                [
                    "line 2, column 1: publicURL must be the address of this server as clients use it, such as "
                        + "https://sync.example.com"
                ]
            ),
            (
                #""publicURL": "https://sync.example.com/?a""#,
                [
                    "line 2, column 1: publicURL must be the address of this server as clients use it, such as "
                        + "https://sync.example.com"
                ]
            ),
            (
                #""database.port": 3306"#,
                ["line 2, column 1: database.port and database.socket are mutually exclusive"]
            ),
            (
                #""database.name": "m""#,
                ["line 3, column 40: database.name is given twice; the other one is in line 2, column 1"]
            ),
            (
                #""db": {"database": "m"}"#,
                ["line 3, column 40: database.name means the same as db.database; the other one is in line 2, column 8"]
            ),
            (
                #""GoogleServerClientSecret": "x""#,
                ["line 5, column 36: GoogleServerClientSecret and GoogleServerClientSecretFile are mutually exclusive"]
            ),
            (
                #""sandbox": {"connectTo": "10.0.0.1:443", "caFile": "c"}"#,
                ["line 2, column 13: sandbox.connectTo must be a loopback address with a port, such as 127.0.0.1:8443"]
            ),
            (
                #""apns": {"environment": "test"}"#,
                [
                    "line 2, column 10: apns.environment must be production or sandbox", "apns.teamId is missing",
                    "apns.keyId is missing", "apns.privateKeyFile is missing", "apns.topic is missing",
                ]
            ),
            (
                #""allowedSignInTypes.WebDAV": true, "webdav.oauthTokenEndpoint": "konnect""#,
                [
                    "line 2, column 36: webdav.oauthTokenEndpoint must be a path that begins with a slash, or an https address",
                    "webdav.oauthClientId is missing, but the other OAuth settings require it",
                ]
            ),
            (
                #""allowedSignInTypes.WebDAV": true, "webdav.oauthClientId": "a""#,
                ["line 2, column 36: webdav.oauthClientId has no effect: no server is listed in webdav.servers"]
            ),
            (#""sealing.keyFile": "none""#, ["line 2, column 1: sealing.keyFile names "]),
        ])
    func combinations(members: String, expected: [String]) {
        let found = problems(adding: members)

        #expect(found.count == expected.count, "\(found)")
        for expected in expected { #expect(found.contains { $0.hasPrefix(expected) }, "\(found)") }
    }

    @Test(
        "For invalid JSON, the message gives the position and the probable cause",
        arguments: [
            ("", "line 1, column 1: the file is empty"),
            ("{\n  // the database\n}", "line 2, column 3: JSON does not allow comments"),
            ("{\n  \"a\": 1 # one\n}", "line 2, column 10: JSON does not allow comments"),
            ("{\"a\": 1,\n}", "line 2, column 1: a comma is not allowed before the closing }"),
            ("{\"a\": [1,\n]}", "line 2, column 1: a comma is not allowed before the closing ]"),
            ("{\"a\": 1\n\"b\": 2}", "line 2, column 1: a comma or } is expected here"),
            ("{\"ä\" 1}", "line 1, column 6: a colon is expected after \"ä\""),
            ("{'a': 1}", "line 1, column 2: a name in quotation marks is expected here"),
            ("{\"a\": 'x'}", "line 1, column 7: strings must be in double quotation marks"),
            ("{\"a\": yes}", "line 1, column 7: yes is not a value; strings must be in double quotation marks"),
            ("{\"a\": 01}", "line 1, column 7: 01 is not a number in JSON"),
            ("{\"a\": 5GB}", "line 1, column 7: 5GB is not a number in JSON"),
            ("{\"a\": \"x\n\"}", "line 1, column 7: the string that begins here does not end on its line"),
            ("{\"a\": \"\\q\"}", "line 1, column 8: JSON has no such escape; a backslash is written as \\\\"),
            ("{\"a\": {\"b\": 1}", "line 1, column 15: the object that begins at line 1, column 1 does not end"),
            ("{} {}", "line 1, column 4: there is text after the end of the JSON value"),
            ("[1]", "line 1, column 1: the file must hold one JSON object"),
        ])
    func syntax(text: String, problem: String) {
        #expect(folder.problems(text).first == problem)
    }

    @Test("Invalid UTF-8 is reported")
    func encoding() throws {
        try Data("{\n \"ü".utf8 + [0xFF] + Data("\": 1}".utf8)).write(to: folder.url.appending(path: "latin.json"))

        let error = #expect(throws: ConfigurationError.self) {
            try ServerConfiguration(readingFrom: folder.url.appending(path: "latin.json").path)
        }
        #expect(error?.problems.map(\.place) == [TextPlace(line: 2, column: 4)])
    }

    @Test("A secret file that others can read causes a warning, and no message contains a secret")
    func openSecretFile() throws {
        try folder.write("google", "very secret", mode: 0o644)

        let notes = try folder.read(ConfigurationFolder.smallest).notes

        #expect(notes.map(\.kind) == [.warning])
        #expect(notes.first?.sentence.contains("(mode 0644)") == true)
        #expect(notes.first?.description.contains("very secret") == false)
    }

    @Test("Escapes and numbers written as texts are understood")
    func values() throws {
        let text = ConfigurationFolder.smallest.replacingOccurrences(of: "\"n\"", with: #""\u00e4\uD83D\uDE00\n""#)
            .replacingOccurrences(of: "{\n", with: "{ \"apiThreads\": \"16\", \"maximumUploadBytes\": 1e9,\n")

        let configuration = try folder.read(text)

        #expect(configuration.database.database == "ä😀\n")
        #expect(configuration.apiThreads == 16)
        #expect(configuration.maximumUploadBytes == 1_000_000_000)
    }
}
