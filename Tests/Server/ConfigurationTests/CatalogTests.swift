import Foundation
import SyncProtocol
import Testing

@testable import Configuration

@Suite("The catalog of settings")
struct CatalogTests {
    private let operations: String

    init() throws {
        operations = try String(
            contentsOf: ConfigurationFolder.repository.appending(path: "docs/operations.md"), encoding: .utf8)
    }

    /// All names formatted as code in the first column of the tables in section 3 of docs/operations.md.
    private func documented() throws -> Set<String> {
        let begin = try #require(operations.range(of: "\n## 3. Configuration"))
        let end = try #require(operations.range(of: "\n## 4.", range: begin.upperBound..<operations.endIndex))
        var names: Set<String> = []
        for line in operations[begin.upperBound..<end.lowerBound].split(separator: "\n") where line.hasPrefix("| `") {
            let column = line.dropFirst(2).prefix { $0 != "|" }
            for (index, part) in column.split(separator: "`", omittingEmptySubsequences: false).enumerated()
            where index % 2 == 1 {
                names.insert(String(part))
            }
        }
        return names
    }

    @Test("docs/operations.md documents every setting, and no others")
    func documentation() throws {
        let documented = try documented()

        #expect(SettingCatalog.all.subtracting(documented).sorted() == [])
        #expect(documented.subtracting(SettingCatalog.all).sorted() == [])
    }

    /// The row of docs/operations.md that documents a setting.
    private func row(_ key: String) throws -> [String] {
        let line = operations.split(separator: "\n").first { $0.hasPrefix("| `\(key)` |") }
        return try #require(line, "\(key)").split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
    }

    @Test("docs/operations.md gives the default of every number, and the allowed range of threads and connections")
    func numbers() throws {
        let configuration = try ConfigurationFolder().read(ConfigurationFolder.smallest)
        for setting in NumberSetting.all where setting.key != "maximumRequestsPerUser" {
            #expect(try row(setting.key)[1] == Self.written(setting.read(configuration)), "\(setting.key)")
        }
        for setting in NumberSetting.all {
            let column = try row(setting.key)[2].replacing(" seconds", with: "")
            guard column.contains("–") else { continue }
            #expect(column == Self.written(setting.range.lowerBound) + "–" + Self.written(setting.range.upperBound))
        }
        for quota in Quota.allCases {
            let key = "quotas.\(quota.rawValue)"
            #expect(try row(key)[1] == Self.written(try #require(configuration.quotas[quota])), "\(key)")
        }
    }

    /// A number as docs/operations.md writes it.
    private static func written(_ number: Int) -> String {
        var digits = String(number)
        var groups: [String] = []
        while digits.count > 3 {
            groups.insert(String(digits.suffix(3)), at: 0)
            digits.removeLast(3)
        }
        return ([digits] + groups).joined(separator: ",")
    }

    @Test("A slash at the end of the public address is removed, and plain http causes a warning")
    func publicURL() throws {
        let folder = try ConfigurationFolder()
        func reading(_ url: String) throws -> ServerConfiguration {
            let text = ConfigurationFolder.smallest
            let brace = try #require(text.firstIndex(of: "{"))
            return try folder.read("{\"publicURL\": \"\(url)\"," + text[text.index(after: brace)...])
        }
        #expect(try reading("https://sync.example.com/").publicURL == "https://sync.example.com")
        #expect(try reading("https://Example.com:443/sync/").publicURL == "https://example.com/sync")
        let plain = try reading("http://sync.example.com:8080")
        #expect(plain.publicURL == "http://sync.example.com:8080")
        #expect(plain.notes.contains { $0.description.contains("tokens are sent unencrypted") })
        #expect(try folder.read(ConfigurationFolder.smallest).publicURL == nil)
    }

    @Test("Without a list, types that phones produce are accepted; with an empty one, those that every client knows")
    func mimeTypes() throws {
        let folder = try ConfigurationFolder()
        func text(_ list: String) throws -> String {
            let text = ConfigurationFolder.smallest
            let brace = try #require(text.firstIndex(of: "{"))
            return "{\"mimeTypes\": \(list)," + text[text.index(after: brace)...]
        }
        #expect(try folder.read(ConfigurationFolder.smallest).mimeTypes == .standard)
        #expect(try folder.read(text("[]")).mimeTypes == .deployed)
        let types = try folder.read(text(#"["image/heic", "model/x-album"]"#)).mimeTypes
        #expect(types == MIMETypeTable.deployed.adding(["model/x-album", "image/heic"]))
        let problems = folder.problems(try text(#"["image/heic", "HEIC"]"#))
        #expect(problems.contains { $0.contains("HEIC is not a MIME type") })
        #expect(!folder.problems(try text(#"{"image/heic": "heic"}"#)).isEmpty)
    }

    @Test("Every listed setting is read")
    func read() throws {
        let everything = SettingCatalog.plain.map { "\"\($0)\": \"\"" }.joined(separator: ", ")
        let root = try LocatedJSONParser.parse(Array("{\(everything), \"fcm.serviceAccount\": \"\"}".utf8))
        var settings = SettingsReader(
            reader: ConfigurationReader(root), files: SecretFiles(configurationPath: "/nonexistent/x"),
            permissions: 0o600)

        _ = settings.read()

        let ours = SettingCatalog.plain.union(SettingCatalog.secrets).union(SettingCatalog.secrets.map { $0 + "File" })
        #expect(ours.subtracting(settings.reader.asked).sorted() == [])
        #expect(settings.reader.asked.subtracting(ours).sorted() == [])
    }

    @Test("The sample configuration has no problems except the missing secrets")
    func sample() throws {
        let folder = try ConfigurationFolder()
        let sample = try String(
            contentsOf: ConfigurationFolder.repository.appending(path: "etc/syncd.json"), encoding: .utf8)

        let missing = folder.problems(sample)

        #expect(missing.allSatisfy { $0.contains("which cannot be read") }, "\(missing)")
        for name in ["database-password", "google-client-secret", "facebook-client-secret", "dropbox-app-secret"] {
            try folder.write(name, "x", mode: 0o600)
        }
        try folder.write("apple-private-key", "x", mode: 0o600)
        #expect(try folder.read(sample, mode: 0o644).notes.isEmpty)
    }
}
