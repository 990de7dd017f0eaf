import Foundation
import MariaDB
import Providers
import SyncProtocol
import Testing

@testable import Configuration

@Suite("Configuration files of SyncServerII")
struct OlderFormatTests {
    private let folder: ConfigurationFolder

    init() throws { folder = try ConfigurationFolder() }

    private func fixture(_ name: String) throws -> String {
        try String(contentsOf: ConfigurationFolder.fixtures.appending(path: name), encoding: .utf8)
    }

    @Test("The nested format is read unchanged")
    func nested() throws {
        let configuration = try folder.read(fixture("Server-nested.json"))

        #expect(configuration.database.address == .tcp(host: "db.example.com", port: 3_306))
        #expect(configuration.database.user == "sync")
        #expect(configuration.database.password == "an older password")
        #expect(configuration.database.database == "SyncServer")
        #expect(configuration.signInTokenTimeToLive == .seconds(600))
        #expect(configuration.accounts[.google]?.value("GoogleServerClientSecret") == "google secret")
        #expect(configuration.accounts[.facebook]?.value("FacebookClientId") == "4567")
        #expect(configuration.accounts[.microsoft]?.value("MicrosoftClientSecret") == "microsoft secret")
        #expect(configuration.accounts[.dropbox] == nil)
        let apple = try #require(configuration.accounts[.appleSignIn])
        #expect(apple.value("appleSignIn.teamId") == "0123456789")
        #expect(apple.value("appleSignIn.redirectURI") == nil)
        #expect(configuration.quotas[.devices] == 10)
        #expect(configuration.warningFile?.name == "Readme.txt")
        #expect(configuration.minimumIOSClientVersion == "0.18.4")
        #expect(configuration.push["awssns"]?.value("awssns.region") == "us-west-2")
        #expect(configuration.sealingKey.value == ConfigurationFolder.sealingKey)
    }

    @Test("The flat format, whose values are all strings, is read unchanged")
    func flat() throws {
        let configuration = try folder.read(fixture("Server-flat.json"))

        #expect(configuration.database.address == .tcp(host: "localhost", port: 3_306))
        #expect(configuration.database.database == "SyncServer")
        #expect(configuration.accounts[.google]?.value("GoogleServerClientSecret") == "google secret")
        #expect(configuration.accounts[.facebook]?.value("FacebookClientSecret") == "facebook secret")
        #expect(configuration.accounts[.dropbox] == nil)
        #expect(configuration.warningFile?.contents == "Please leave the files in this folder alone.\n")
    }

    @Test("Settings that have no meaning here are accepted with a note, and inline secrets with a warning")
    func notes() throws {
        let notes = try folder.read(fixture("Server-flat.json")).notes

        let warnings = notes.filter { $0.kind == .warning }.map(\.description)
        #expect(warnings.count == 3)
        #expect(
            warnings.first == "line 4, column 5: mySQL.password is a secret: move it to a separate file, named by "
                + "database.passwordFile")
        #expect(warnings.contains { $0.contains("GoogleServerSecret is a secret") })
        let rest = notes.filter { $0.kind == .note }.map(\.description)
        #expect(rest.contains { $0.hasPrefix("line 6, column 5: port is a setting of SyncServerII and has no effect") })
        #expect(rest.contains { $0.hasPrefix("line 10, column 5: ssl.selfSigning ") })
        #expect(rest.contains { $0.contains("syncctl import") })
    }

    @Test(
        "Secrets in a file that others may read or write are a problem", arguments: [0o644, 0o604, 0o602, 0o641])
    func readableByOthers(mode: Int) throws {
        let text = try fixture("Server-nested.json")
        let octal = "0" + String(mode, radix: 8)

        let problems = folder.problems(text, mode: mode)

        #expect(problems.count == 6)
        #expect(
            problems.first == "line 5, column 9: db.password is a secret in a file that anyone on this machine can "
                + "read or write (mode \(octal))")
        #expect(folder.problems(text, mode: 0o600).isEmpty)
        for problem in problems { #expect(!problem.contains("an older password") && !problem.contains("aws secret")) }
    }

    @Test("A missing setting is reported by its name in the older format")
    func missing() throws {
        let problems = folder.problems(#"{"mySQL.user": "u", "allowedSignInTypes.Google": "true"}"#)

        #expect(problems.contains("mySQL.host is missing"))
        #expect(problems.contains("mySQL.database is missing"))
        #expect(problems.contains("GoogleServerClientSecretFile is missing"))
    }
}
