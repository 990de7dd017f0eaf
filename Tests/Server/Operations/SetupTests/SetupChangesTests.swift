import Foundation
import Operations
import TestSupport
import Testing

@Suite("syncctl setup on a configured host")
struct SetupChangesTests {
    private let host: SetupScratchHost
    private static let configuration = "/etc/syncd/syncd.json"
    private static let site = "/etc/nginx/sites-available/syncd.conf"

    init() throws { host = try SetupScratchHost() }

    @Test("Earlier answers are remembered: without options, setup asks for nothing and changes nothing")
    func known() throws {
        #expect(try host.setUp().status == 0)
        let before = try host.everything()

        let unattended = try host.run([])
        let asked = try host.answer([""])

        #expect(unattended.status == 0, "\(unattended.output)")
        #expect(asked.status == 0, "\(asked.output)")
        #expect(asked.output.contains("This is sync.example.org, with: Google."))
        #expect(asked.output.contains("Changes, separated by blanks [nothing]: "))
        #expect(try host.everything() == before)
    }

    @Test("A provider can be added later, and everything else in the file is preserved byte for byte")
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

    @Test("A new secret and a new id replace the former ones, which are kept; others do not change")
    func replacement() throws {
        #expect(try host.setUp(try host.pushOptions()).status == 0)
        try host.put("newer secret of google\n", "/root/google")

        let run = try host.setUp(account: "2-y.apps.googleusercontent.com")

        #expect(run.status == 0, "\(run.output)")
        #expect(run.output.contains("done     store the new secret in /etc/syncd/secrets/google-client-secret\n"))
        #expect(try host.text("/etc/syncd/secrets/google-client-secret") == "newer secret of google\n")
        #expect(try host.text("/etc/syncd/secrets/google-client-secret.previous") == "very secret of google\n")
        #expect(try host.mode("/etc/syncd/secrets/google-client-secret.previous") == 0o600)
        #expect(try host.members()["GoogleServerClientId"] as? String == "2-y.apps.googleusercontent.com")
        #expect((try host.members()["apns"] as? [String: String])?["keyId"] == "KEY4567890")
    }

    @Test("A change that would prevent the server from starting is rejected, and nothing is changed")
    func refused() throws {
        #expect(try host.setUp(try host.pushOptions()).status == 0)
        let before = try host.everything()

        let run = try host.run(["--set", "awssns.region=eu-west-1"])

        #expect(run.status == 78, "\(run.output)")
        #expect(try host.everything() == before)
    }

    @Test("At a terminal a provider is changed by its name, with its current values as defaults")
    func menu() throws {
        #expect(try host.setUp().status == 0)

        let run = try host.answer(["gogle", "google DROPBOX", "", "", "", "dropkey", "a typed secret"])

        #expect(run.status == 0, "\(run.output)")
        #expect(run.output.contains("gogle is not in this list; did you mean Google?"))
        #expect(run.output.contains("the server's OAuth client ID [\(SetupScratchHost.google)]: "))
        #expect(run.output.contains("Its secret (hidden) [the current one]: "))
        #expect(try host.members()["DropboxAppKey"] as? String == "dropkey")
        #expect(try host.text("/etc/syncd/secrets/google-client-secret") == "very secret of google\n")
        #expect(!host.exists("/etc/syncd/secrets/google-client-secret.previous"))
    }

    @Test("At a terminal a wrong answer is explained, and the question is repeated")
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
            "it must be only a name", "none.pem cannot be used", "is not for sync.example.org", "does not belong to",
            "1-x must be an OAuth client ID", "no secret was entered", "no-client must be an OAuth client ID",
            "team must be an ID of ten", "which cannot be used: it must be a P-256 key",
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

    @Test("The host's name is changed with a certificate for the new name; the former site is kept")
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
        #expect(run.output.contains("the previous file is /etc/syncd/syncd.conf.previous"))
        #expect(try host.text(Self.site).contains("server_name new.example.org;"))
        #expect(try !host.text(Self.site).contains("server_name sync.example.org;"))
        #expect(try host.text("/etc/syncd/syncd.conf.previous") == before)
        #expect(try host.run([]).output.contains("kept     \(Self.site) exists\n"))
    }

    @Test("The public address follows the host's name, unless the operator gives another one")
    func publicURL() throws {
        #expect(try host.setUp().status == 0)
        #expect(try host.members()["publicURL"] as? String == "https://sync.example.org")
        try host.makeCertificate("/etc/ssl/new.pem", key: "/etc/ssl/new.key", for: "new.example.org")
        let renamed = try host.run(
            ["--host", "new.example.org", "--certificate", "/etc/ssl/new.pem", "--key", "/etc/ssl/new.key"])
        #expect(renamed.status == 0, "\(renamed.output)")
        #expect(try host.members()["publicURL"] as? String == "https://new.example.org")

        let named = try host.run(["--public-url", "https://www.example.com/sync/"])
        #expect(named.output.contains("set publicURL in /etc/syncd/syncd.json"), "\(named.output)")
        #expect(try host.members()["publicURL"] as? String == "https://www.example.com/sync")
        try host.makeCertificate("/etc/ssl/third.pem", key: "/etc/ssl/third.key", for: "third.example.org")
        let third = [
            "--host", "third.example.org", "--certificate", "/etc/ssl/third.pem", "--key", "/etc/ssl/third.key",
        ]
        #expect(try host.run(third).status == 0)
        #expect(try host.members()["publicURL"] as? String == "https://www.example.com/sync")

        let wrong = try host.run(["--public-url", "www.example.com"])
        #expect(wrong.status != 0 && wrong.output.contains("https://sync.example.com"), "\(wrong.output)")
    }

    @Test(
        "A trial's authority signs only for its host; only root reads its keys, and its trust can be withdrawn"
    )
    func trial() throws {
        let folder = "/var/lib/syncd/authority/trial.example.org"
        let trusted = "/usr/local/share/ca-certificates/syncserver-trial.example.org.crt"
        let before = "127.0.0.1 localhost\n"
        try host.put(before, "/etc/hosts")
        let options = [
            "--host", "trial.example.org", "--trial", "--trust-on-this-host", "--google-client-id",
            SetupScratchHost.google,
            "--google-client-secret-file", host.path("/root/google"),
        ]

        let run = try host.run(options)

        #expect(run.status == 0, "\(run.output)")
        #expect(try host.text(Self.site).contains("ssl_certificate \(folder)/server.pem;"))
        #expect(try host.mode("\(folder)/root.key") == 0o600 && host.mode("\(folder)/server.key") == 0o600)
        #expect(!host.exists("\(folder)/work"))
        let (root, own) = (host.path("\(folder)/root.pem"), host.path("\(folder)/server.pem"))
        let judged = try Command(
            "openssl", ["verify", "-x509_strict", "-CAfile", root, "-verify_hostname", "trial.example.org", own])
        #expect(judged.status == 0, "\(judged.output)")
        #expect(try host.text(trusted) == host.text("\(folder)/root.pem"))
        #expect(try host.text("/etc/hosts") == before + "127.0.0.1 trial.example.org  # SyncServer's trial\n")

        // A certificate for another name, signed with the key, is worthless.
        try host.put("basicConstraints=CA:FALSE\nsubjectAltName=DNS:example.org\n", "/root/other.cnf")
        let request = host.path("/root/other.csr")
        let key = [
            "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout",
            host.path("/root/other.key"),
        ]
        #expect(try Command("openssl", ["req", "-new", "-subj", "/CN=example.org", "-out", request] + key).status == 0)
        let forged = host.path("/root/other.pem")
        let signed = try Command(
            "openssl",
            [
                "x509", "-req", "-in", request, "-CA", root, "-CAkey", host.path("\(folder)/root.key"), "-set_serial",
                "1",
                "-extfile", host.path("/root/other.cnf"), "-out", forged,
            ])
        #expect(signed.status == 0, "\(signed.output)")
        let refused = try Command("openssl", ["verify", "-CAfile", root, forged])
        #expect(refused.status != 0 && refused.output.contains("permitted subtree violation"), "\(refused.output)")

        let files = try host.everything()
        #expect(try host.run([]).output.contains("kept     the certificate from this host's own authority exists"))
        let authority = { (verb: String) in
            try Command(SetupScratchHost.program.path, ["authority", verb, "--root", host.root.path])
        }
        #expect(try authority("renew").status == 0)
        #expect(try host.everything() == files)
        let shown = try authority("show")
        #expect(shown.status == 0 && shown.output.contains("Certificate Trust Settings"), "\(shown.output)")

        #expect(try authority("distrust").status == 0)
        #expect(!host.exists(trusted))
        #expect(try host.text("/etc/hosts") == before)
        #expect(try authority("trust").status == 0)
        #expect(host.exists(trusted))

        // Setup ends the trial, including trust that was set up by other means.
        try host.makeCertificate("/etc/ssl/own.pem", key: "/etc/ssl/own.key", for: "trial.example.org")
        let over = try host.run(["--certificate", "/etc/ssl/own.pem", "--key", "/etc/ssl/own.key"])
        #expect(over.status == 0 && !host.exists(trusted), "\(over.output)")
        #expect(try host.text("/etc/hosts") == before)
        try host.put(try host.text("\(folder)/root.pem"), trusted)
        #expect(try authority("distrust").status == 0)
        #expect(!host.exists(trusted))
    }

    @Test("With a copied configuration of another app, setup does nothing")
    func copiedConfiguration() throws {
        #expect(try host.setUp().status == 0)
        try host.put(try host.text("/etc/syncd/syncd.json"), "/etc/syncd/notes/syncd.json")
        try host.put(
            try host.text(Self.site).replacing("_requests", with: "_notes_requests"),
            "/etc/nginx/sites-enabled/syncd_notes.conf")
        let files = try host.everything()

        let run = try host.run([])

        #expect(run.status == 1)
        for thing in ["database", "database user"] {
            #expect(run.output.contains("the \(thing) \(host.databaseName) belongs to the app notes"), "\(run.output)")
        }
        #expect(run.output.contains("\(SetupScratchHost.name) is already the name of the app notes"), "\(run.output)")
        #expect(try host.everything() == files)
    }

    @Test("The certificate of a trial is replaced before it expires, and its authority is kept")
    func renewal() throws {
        let folder = "/var/lib/syncd/authority/trial.example.org"
        let options = [
            "--host", "trial.example.org", "--trial", "--google-client-id", SetupScratchHost.google,
            "--google-client-secret-file", host.path("/root/google"),
        ]
        #expect(try host.run(options).status == 0)
        #expect(!host.exists("/usr/local/share/ca-certificates/syncserver-trial.example.org.crt"))
        let root = try host.text("\(folder)/root.pem")
        let (own, request) = (host.path("\(folder)/server.pem"), host.path("/root/server.csr"))
        let asked = try Command(
            "openssl",
            [
                "req", "-new", "-key", host.path("\(folder)/server.key"), "-subj", "/CN=trial.example.org", "-out",
                request,
            ])
        #expect(asked.status == 0, "\(asked.output)")
        let shorter = try Command(
            "openssl",
            [
                "x509", "-req", "-in", request, "-CA", host.path("\(folder)/root.pem"), "-CAkey",
                host.path("\(folder)/root.key"), "-days", "59", "-set_serial", "2", "-out", own,
            ])
        #expect(shorter.status == 0, "\(shorter.output)")

        let renewed = try Command(SetupScratchHost.program.path, ["authority", "renew", "--root", host.root.path])

        #expect(renewed.status == 0, "\(renewed.output)")
        #expect(try host.text("\(folder)/root.pem") == root)
        let long = try Command("openssl", ["x509", "-in", own, "-noout", "-checkend", "\(396 * 86_400)"])
        #expect(long.status == 0, "\(long.output)")
        try host.makeCertificate("/etc/ssl/third.pem", key: "/etc/ssl/third.key", for: "trial.example.org")
        #expect(try host.run(["--certificate", "/etc/ssl/third.pem", "--key", "/etc/ssl/third.key"]).status == 0)
        // The trial is over: the timer has nothing to do, and there is no authority to show.
        let over = try Command(SetupScratchHost.program.path, ["authority", "renew", "--root", host.root.path])
        #expect(over.status == 0 && over.output == "", "\(over.output)")
        let nothing = try Command(SetupScratchHost.program.path, ["authority", "show", "--root", host.root.path])
        #expect(
            nothing.status == 1 && nothing.output.contains("syncctl setup --trial creates one"), "\(nothing.output)")
    }

    @Test(
        "refresh-site converts setup's site to the form of the installed nginx, but not a site changed by hand"
    )
    func refreshedSite() throws {
        #expect(try host.setUp().status == 0)
        let usual = try host.text(Self.site)
        let refresh = ["refresh-site", "--root", host.root.path]
        #expect(try Command(SetupScratchHost.program.path, refresh).output == "")
        let present = try #require(SiteText.form(of: usual))
        let other = SiteText.adapted(usual, to: present == .directive ? .parameter : .directive)

        try host.put(other, Self.site)
        let refreshed = try Command(SetupScratchHost.program.path, refresh)
        let result = try host.text(Self.site)
        try host.put(other + "# mine\n", Self.site)
        let advised = try Command(SetupScratchHost.program.path, refresh)

        #expect(refreshed.status == 0 && refreshed.output.contains("now has the form that the installed nginx expects"))
        #expect(result == usual)
        #expect(advised.status == 0 && advised.output.contains("was changed by an administrator"), "\(advised.output)")
        #expect(try host.text(Self.site) == other + "# mine\n")
    }

    @Test("Load balancers that send the PROXY protocol can be listed, are remembered, and can be removed")
    func balancers() throws {
        #expect(try host.setUp().status == 0)
        let usual = try host.text(Self.site)

        let run = try host.run(["--proxy-protocol-from", "192.0.2.0/24", "--proxy-protocol-from", "10.1.0.7"])

        #expect(run.status == 0, "\(run.output)")
        let behind = try host.text(Self.site)
        #expect(behind.contains(/\n {4}listen 443 ssl( http2)? proxy_protocol;\n/))
        #expect(behind.contains("    set_real_ip_from 192.0.2.0/24;\n    set_real_ip_from 10.1.0.7;\n"))
        #expect(try host.run([]).output.contains("kept     \(Self.site) exists\n"))
        #expect(try host.text(Self.site) == behind)
        for wrong in ["balancer", "10.0.0.7; evil", "10.0.0.0/8x"] {
            let refused = try host.run(["--proxy-protocol-from", wrong])
            #expect(
                refused.status != 0 && refused.output.contains("give a load balancer's address or network"),
                "\(refused.output)")
        }
        #expect(try host.run(["--proxy-protocol-from", "none"]).status == 0)
        #expect(try host.text(Self.site) == usual)
    }

    @Test("A site changed by an administrator is kept, and setup reports what to add")
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

    @Test("An earlier release's configuration gets a metrics folder, unless it contains `null`")
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
