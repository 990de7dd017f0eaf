import Foundation
import TestSupport
import Testing

@Suite("syncctl setup, on a host that is set up")
struct SetupChangesTests {
    private let host: SetupScratchHost
    private static let configuration = "/etc/syncd/syncd.json"
    private static let site = "/etc/nginx/sites-available/syncd.conf"

    init() throws { host = try SetupScratchHost() }

    @Test("Answers of last time are known: without any option, nothing is asked for and nothing changed")
    func known() throws {
        #expect(try host.setUp().status == 0)
        let before = try host.everything()

        let unattended = try host.run([])
        let asked = try host.answer([""])

        #expect(unattended.status == 0, "\(unattended.output)")
        #expect(asked.status == 0, "\(asked.output)")
        #expect(asked.output.contains("This is sync.example.org, with: Google."))
        #expect(asked.output.contains("What is to be changed, with blanks between [nothing]: "))
        #expect(try host.everything() == before)
    }

    @Test("A provider is added later, and all else in the file stays byte for byte as it was")
    func addition() throws {
        #expect(try host.setUp().status == 0)
        let text = try host.text(Self.configuration).replacing(
            "\"sealing\"", with: "\"apiThreads\" :16,\n\n  \"sealing\"")
        try host.put(text, Self.configuration)
        try FileManager.default.setAttributes([.posixPermissions: 0o640], ofItemAtPath: host.path(Self.configuration))
        try host.put("a secret of dropbox\n", "/root/dropbox")

        let run = try host.run([
            "--dropbox-app-key", "dropkey", "--dropbox-app-secret-file", host.path("/root/dropbox"),
        ])

        #expect(run.status == 0, "\(run.output)")
        #expect(run.output.contains("set DropboxAppKey, DropboxAppSecretFile, allowedSignInTypes.Dropbox in"))
        #expect(try host.text("/etc/syncd/secrets/dropbox-app-secret") == "a secret of dropbox\n")
        let changed = try host.text(Self.configuration)
        let end = #""directory": "/run/syncd/metrics"\#n  }"#
        #expect(
            changed
                == text.replacing("\"Dropbox\": false", with: "\"Dropbox\": true")
                .replacing(
                    end,
                    with: end
                        + ",\n  \"DropboxAppKey\": \"dropkey\",\n  \"DropboxAppSecretFile\": \"dropbox-app-secret\""))
        #expect(try host.mode(Self.configuration) == 0o640)
        #expect(try host.text(Self.configuration + ".previous") == text)
        #expect(try host.checkConfiguration().status == 0)
        let before = try host.everything()
        #expect(try host.run(["--dropbox-app-key", "dropkey"]).status == 0)
        #expect(try host.everything() == before)
    }

    @Test("A new secret and a new id replace the former ones, which are kept; others stay")
    func replacement() throws {
        #expect(try host.setUp(try host.pushOptions()).status == 0)
        try host.put("newer secret of google\n", "/root/google")

        let run = try host.setUp(account: "2-y.apps.googleusercontent.com")

        #expect(run.status == 0, "\(run.output)")
        #expect(run.output.contains("done     put the new secret into /etc/syncd/secrets/google-client-secret\n"))
        #expect(try host.text("/etc/syncd/secrets/google-client-secret") == "newer secret of google\n")
        #expect(try host.text("/etc/syncd/secrets/google-client-secret.previous") == "very secret of google\n")
        #expect(try host.mode("/etc/syncd/secrets/google-client-secret.previous") == 0o600)
        #expect(try host.members()["GoogleServerClientId"] as? String == "2-y.apps.googleusercontent.com")
        #expect((try host.members()["apns"] as? [String: String])?["keyId"] == "KEY4567890")
    }

    @Test("A change that the server would not start with is refused, and nothing is changed")
    func refused() throws {
        #expect(try host.setUp(try host.pushOptions()).status == 0)
        let before = try host.everything()

        let run = try host.run(["--set", "awssns.region=eu-west-1"])

        #expect(run.status == 78, "\(run.output)")
        #expect(try host.everything() == before)
    }

    @Test("At a terminal a provider is changed by its name, with what it has as defaults")
    func menu() throws {
        #expect(try host.setUp().status == 0)

        let run = try host.answer(["gogle", "google DROPBOX", "", "", "", "dropkey", "a typed secret"])

        #expect(run.status == 0, "\(run.output)")
        #expect(run.output.contains("gogle is none of these; did you mean Google?"))
        #expect(run.output.contains("the server's OAuth client id [\(SetupScratchHost.google)]: "))
        #expect(run.output.contains("Its secret (is not shown) [the present one]: "))
        #expect(try host.members()["DropboxAppKey"] as? String == "dropkey")
        #expect(try host.text("/etc/syncd/secrets/google-client-secret") == "very secret of google\n")
        #expect(!host.exists("/etc/syncd/secrets/google-client-secret.previous"))
    }

    @Test("At a terminal a wrong answer is asked for again, with what is wrong")
    func again() throws {
        try host.makeCertificate("/etc/ssl/other.pem", key: "/etc/ssl/other.key", for: "other.example.org")
        try host.put("junk", "/root/p8")
        _ = try host.pushOptions()

        let run = try host.answer([
            "https://sync.example.org", "sync.example.org", "/etc/ssl/none.pem", "/etc/ssl/other.pem",
            "/etc/ssl/sync.pem",
            "/etc/ssl/other.key", "/etc/ssl/private/sync.key",
            "1-x", SetupScratchHost.google, "", "a secret", "no-client", "", "", "", "", "com.example.app", "team",
            "TEAM567890",
            "KEY4567890", host.path("/root/p8"), host.path("/root/apns.p8"), "", "file:///", "", "", "", "",
        ])

        #expect(run.status == 0, "\(run.output)")
        for sentence in [
            "it must be a name alone", "none.pem cannot be used", "is not for sync.example.org", "does not belong to",
            "1-x must be an OAuth client id", "nothing was typed in", "no-client must be an OAuth client id",
            "team must be an id of ten", "which cannot be used: it must be a P-256 key",
            "must be the http or https address",
        ] { #expect(run.output.contains(sentence), "\(sentence): \(run.output)") }
        #expect((try host.members()["appleSignIn"] as? [String: String])?["teamId"] == "TEAM567890")
    }

    @Test("If the input ends before all answers are given, nothing is changed")
    func unanswered() throws {
        let before = try host.everything()

        let run = try host.answer(["sync.example.org"])

        #expect(run.status == 1 && run.output.contains("the input ended before all questions were answered"))
        #expect(try host.everything() == before)
    }

    @Test("The host's name is changed with a certificate for the new one; the site of before is kept")
    func otherHost() throws {
        #expect(try host.setUp().status == 0)
        let before = try host.text(Self.site)
        let foreign = try host.run(["--host", "new.example.org"])
        #expect(
            foreign.status == 64 && foreign.output.contains("sync.pem is not for new.example.org"), "\(foreign.output)")
        #expect(try host.text(Self.site) == before)
        try host.makeCertificate("/etc/ssl/new.pem", key: "/etc/ssl/new.key", for: "new.example.org")

        let run = try host.run(
            ["--host", "new.example.org", "--certificate", "/etc/ssl/new.pem", "--key", "/etc/ssl/new.key"])

        #expect(run.status == 0, "\(run.output)")
        #expect(run.output.contains("the file as it was is in /etc/syncd/syncd.conf.previous"))
        #expect(try host.text(Self.site).contains("server_name new.example.org;"))
        #expect(try !host.text(Self.site).contains("server_name sync.example.org;"))
        #expect(try host.text("/etc/syncd/syncd.conf.previous") == before)
        #expect(try host.run([]).output.contains("kept     \(Self.site) is there\n"))
    }

    @Test("A site that an administrator has changed is left alone, and what to put in is said")
    func changedSite() throws {
        #expect(try host.setUp().status == 0)
        let site = try host.text(Self.site) + "# mine\n"
        try host.put(site, Self.site)
        try host.makeCertificate("/etc/ssl/new.pem", key: "/etc/ssl/new.key", for: "new.example.org")

        let run = try host.run(
            ["--host", "new.example.org", "--certificate", "/etc/ssl/new.pem", "--key", "/etc/ssl/new.key"])

        #expect(run.status == 0, "\(run.output)")
        #expect(try host.text(Self.site) == site)
        #expect(run.output.contains("was changed by an administrator"))
        #expect(run.output.contains("ssl_certificate /etc/ssl/new.pem;"))
    }

    @Test("A configuration of an earlier release gets a place for metrics; `null` keeps it without")
    func metrics() throws {
        #expect(try host.setUp().status == 0)
        let text = try host.text(Self.configuration)
        let section = ",\n  \"metrics\": {\n    \"directory\": \"/run/syncd/metrics\"\n  }"
        try host.put(text.replacing(section, with: ""), Self.configuration)

        let run = try host.run([])

        #expect(run.output.contains("done     set metrics.directory in /etc/syncd/syncd.json\n"), "\(run.output)")
        #expect((try host.members()["metrics"] as? [String: String])?["directory"] == "/run/syncd/metrics")
        let none = text.replacing(section, with: ",\n  \"metrics\": null")
        try host.put(none, Self.configuration)
        #expect(try host.run([]).status == 0)
        #expect(try host.text(Self.configuration) == none)
    }

    @Test("Ids and secrets are taken from a predecessor's Server.json, unless an option gives others")
    func predecessor() throws {
        let older: [String: Any] = [
            "mySQL.host": "db", "mySQL.user": "u", "mySQL.password": "p", "mySQL.database": "d", "port": 8080,
            "allowedSignInTypes": ["Google": true, "Dropbox": true, "Facebook": false],
            "GoogleServerClientId": SetupScratchHost.google, "GoogleServerClientSecret": "older secret of google",
            "DropboxAppKey": "olderkey", "DropboxAppSecret": "older secret of dropbox", "FacebookClientId": "1",
        ]
        try host.put(
            String(decoding: try JSONSerialization.data(withJSONObject: older), as: UTF8.self), "/root/Server.json")
        try host.put("newer secret of dropbox", "/root/dropbox")

        let run = try host.setUp(
            [
                "--older", host.path("/root/Server.json"), "--dropbox-app-key", "newerkey", "--dropbox-app-secret-file",
                host.path("/root/dropbox"),
            ], account: nil)

        #expect(run.status == 0, "\(run.output)")
        #expect(try host.text("/etc/syncd/secrets/google-client-secret") == "older secret of google\n")
        #expect(try host.text("/etc/syncd/secrets/dropbox-app-secret") == "newer secret of dropbox\n")
        #expect(try host.members()["GoogleServerClientId"] as? String == SetupScratchHost.google)
        #expect(try host.members()["DropboxAppKey"] as? String == "newerkey")
        #expect(try host.members()["FacebookClientId"] == nil)
        #expect((try host.members()["database"] as? [String: Any])?["name"] as? String == host.databaseName)
        #expect(!run.output.contains("older secret"))
        let wrong = try host.setUp(["--older", host.path("/root/dropbox")])
        #expect(wrong.status == 64 && wrong.output.contains("--older"), "\(wrong.output)")
    }
}
