import Foundation
import MariaDB
import OpenSSLCrypto
import TestSupport
import Testing

@Suite("syncctl setup")
struct SetupCommandTests {
    private let host: SetupScratchHost

    init() throws { host = try SetupScratchHost() }

    @Test("A host is set up; others can read nothing, and no command line contains a secret")
    func fresh() throws {
        let run = try host.setUp()

        #expect(run.status == 0, "\(run.output)")
        #expect(try host.mode("/etc/syncd") == 0o755)
        #expect(try host.mode("/etc/syncd/secrets") == 0o700)
        for secret in ["database-password", "sealing-key", "google-client-secret"] {
            let path = "/etc/syncd/secrets/" + secret
            #expect(try host.mode(path) == 0o600)
            let value = try host.text(path).trimmingCharacters(in: .newlines)
            #expect(!value.isEmpty && !run.output.contains(value))
        }
        #expect(try host.text("/etc/syncd/secrets/google-client-secret") == "very secret of google\n")
        #expect(try host.mode("/etc/syncd/syncd.json") == 0o644)
        #expect(try host.text("/etc/nginx/sites-available/syncd.conf").contains("server_name sync.example.org;"))
        #expect(
            try FileManager.default.destinationOfSymbolicLink(
                atPath: host.root.appending(path: "/etc/nginx/sites-enabled/syncd.conf").path)
                == "../sites-available/syncd.conf")
        #expect(run.output.contains("applied initial"))
        #expect(run.output.contains("skipped  start syncd.target"))
        #expect(run.output.contains("Keep a copy of /etc/syncd/secrets/sealing-key"))
        let check = try Command(
            SetupScratchHost.program.path,
            ["config", "check", "--config", host.root.appending(path: "/etc/syncd/syncd.json").path])
        #expect(check.status == 0 && !check.output.contains("warning"), "\(check.output)")
    }

    @Test("The server's account may do everything in its database, and nothing elsewhere")
    func rights() throws {
        #expect(try host.setUp().status == 0)
        var settings = host.database.settings(database: host.databaseName)
        settings.user = host.databaseName
        settings.password = try host.text("/etc/syncd/secrets/database-password").trimmingCharacters(in: .newlines)
        var connection = try Connection(settings)

        try connection.executeScript("CREATE TABLE t (a INT); DROP TABLE t")
        #expect(throws: MariaDBError.self) { try connection.executeScript("SELECT 1 FROM mysql.user") }
        #expect(throws: MariaDBError.self) { try connection.executeScript("CREATE DATABASE \(host.databaseName)x") }
    }

    @Test("Each role's account has exactly its privileges; doctor reports differences, and migrate repairs them")
    func roleAccounts() throws {
        #expect(try host.setUp().status == 0)
        let configuration = ["--config", host.root.appending(path: "/etc/syncd/syncd.json").path]
        var settings = host.database.settings(database: host.databaseName)
        settings.user = host.databaseName + "_jobs"
        settings.password = try host.text("/etc/syncd/secrets/database-password-jobs").trimmingCharacters(in: .newlines)
        var jobs = try Connection(settings)
        var administrator = try Connection(host.database.settings(database: host.databaseName))
        let doctor = { try Command(SetupScratchHost.program.path, ["doctor"] + configuration).output }

        try jobs.executeScript("DELETE FROM invitations")
        #expect(throws: MariaDBError.self) { try jobs.executeScript("UPDATE invitations SET permission = 'admin'") }
        for role in ["api", "transfer", "jobs"] {
            #expect(
                try doctor().contains("\(host.databaseName)_\(role)@localhost may do what its role needs, and no more"))
        }

        try administrator.executeScript(
            "REVOKE DELETE ON invitations FROM \(host.databaseName)_jobs@localhost; GRANT UPDATE ON invitations TO \(host.databaseName)_jobs@localhost"
        )
        #expect(try doctor().contains("\(host.databaseName)_jobs@localhost lacks rights: DELETE on invitations"))
        let check = try Command(SetupScratchHost.program.path, ["migrate", "--check"] + configuration)
        #expect(check.status == 78 && check.output.contains("DELETE on invitations"), "\(check.output)")
        let migrated = try Command(SetupScratchHost.program.path, ["migrate"] + configuration)
        #expect(migrated.output.contains("\(host.databaseName)_jobs@localhost has the rights"), "\(migrated.output)")
        #expect(try Command(SetupScratchHost.program.path, ["migrate", "--check"] + configuration).status == 0)
        #expect(!(try doctor().contains("UPDATE on invitations")))
        try administrator.executeScript(
            "GRANT SELECT ON `\(host.databaseName)`.* TO \(host.databaseName)_jobs@localhost")
        #expect(try doctor().contains("may do more than the role jobs needs: SELECT on the database"))
    }

    @Test("A second run changes nothing, not even an administrator's changes")
    func again() throws {
        #expect(try host.setUp().status == 0)
        var configuration = try host.text("/etc/syncd/syncd.json")
        configuration.replace("\"sealing\"", with: "\"apiThreads\": 16,\n  \"sealing\"")
        try host.put(configuration, "/etc/syncd/syncd.json")
        try host.put("# mine\n", "/etc/nginx/sites-available/syncd.conf")
        try FileManager.default.setAttributes(
            [.posixPermissions: 0o640], ofItemAtPath: host.path("/etc/syncd/syncd.json"))
        let before = try host.everything()

        let run = try host.setUp()
        // Nor with fewer answers: the answers in the configuration count.
        let shorter = try Command(
            SetupScratchHost.program.path,
            [
                "setup", "--unattended", "--root", host.root.path, "--host", "sync.example.org",
                "--database-socket", host.database.socketPath,
            ])

        #expect(run.status == 0, "\(run.output)")
        #expect(shorter.status == 0, "\(shorter.output)")
        #expect(try host.everything() == before)
        #expect(run.output.contains("the tables are up to date"))
    }

    @Test("Push is set up with keys that only root can read, and the next run keeps them")
    func push() throws {
        let options = try host.pushOptions()

        let run = try host.setUp(options)

        #expect(run.status == 0, "\(run.output)")
        let sources = [
            "apns-private-key": "apns.p8", "fcm-service-account": "fcm.json", "aws-secret-key": "aws",
        ]
        for (secret, source) in sources {
            #expect(run.output.contains("done     store the secret in /etc/syncd/secrets/\(secret)\n"))
            #expect(try host.mode("/etc/syncd/secrets/" + secret) == 0o600)
            #expect(
                try host.text("/etc/syncd/secrets/" + secret).trimmingCharacters(in: .newlines)
                    == host.text("/root/" + source).trimmingCharacters(in: .newlines))
        }
        let check = try Command(
            SetupScratchHost.program.path,
            ["config", "check", "--config", host.root.appending(path: "/etc/syncd/syncd.json").path])
        #expect(check.status == 0 && !check.output.contains("warning"), "\(check.output)")

        let before = try host.everything()
        let second = try host.setUp(options)
        #expect(second.status == 0 && !second.output.contains("For push"), "\(second.output)")
        #expect(try host.everything().filter { !$0.hasPrefix("root/") } == before.filter { !$0.hasPrefix("root/") })
    }

    @Test(
        "Values that the server could not use are rejected with the option and the reason, before anything is written",
        arguments: [
            ("apns.p8", "junk", "--apns-private-key-file", "cannot be used: it must be a P-256 key"),
            ("fcm.json", "{}", "--fcm-service-account-file", "cannot be used: it must be JSON with project_id"),
            ("aws", "", "--sns-secret-key-file", "/root/aws, which is empty"),
        ])
    func unusable(file: String, contents: String, option: String, reason: String) throws {
        let options = try host.pushOptions()
        try host.put(contents, "/root/" + file)
        let before = try host.everything()

        let run = try host.setUp(options)
        let dry = try host.setUp(options + ["--dry-run"])

        #expect(run.status == 64 && run.output.contains(reason), "\(run.output)")
        #expect(run.output.contains("  - \(option)"))
        #expect(dry.status == 64 && !run.output.contains("junk"))
        #expect(try host.everything() == before)
        #expect(throws: MariaDBError.self) { try host.atDatabase("USE \(host.databaseName)") }
    }

    @Test("All wrong answers are reported at once, each with its option")
    func wrongAnswers() throws {
        try host.makeCertificate("/etc/ssl/other.pem", key: "/etc/ssl/other.key", for: "other.example.org")
        try host.makeCertificate("/etc/ssl/new.pem", key: "/etc/ssl/old.key", for: "sync.example.org")
        try host.makeExpiredCertificate("/etc/ssl/old.pem", like: "/etc/ssl/new.pem", key: "/etc/ssl/old.key")
        var options = try host.pushOptions()
        options[options.count - 1] = "arn:aws:sns:eu-west-1:123456789012:app/APNS/MyApp"
        let before = try host.everything()
        let run = try host.run(
            options + [
                "--host", "https://sync.example.org/", "--google-client-id", "1-x", "--dropbox-app-key", "Key!",
                "--set", "MicrosoftClientId=5", "--facebook-app-id", "app", "--apple-client-id", "com.example.app",
                "--apple-team-id", "T", "--apple-key-id", "KEY4567890",
                "--apple-private-key-file", host.path("/root/aws"), "--google-client-secret-file",
                host.path("/root/none"),
                "--certificate", "/etc/ssl/other.pem", "--key", "/etc/ssl/old.key",
            ])

        #expect(run.status == 64)
        for (option, reason) in [
            ("--host", "must be only a name, without https://, port and path"),
            ("--google-client-id", "1-x must be an OAuth client ID ending in .apps.googleusercontent.com"),
            ("--google-client-secret-file", "which cannot be read"), ("--dropbox-app-key", "Key! must be an app key"),
            ("--set MicrosoftClientId", "5 must be an application (client) ID"),
            ("--facebook-app-id", "app must be an app ID of digits"), ("--apple-team-id", "T must be an ID of ten"),
            ("--apple-private-key-file", "cannot be used: it must be a P-256 key"),
            ("--certificate, --key", "old.key does not belong to"),
            ("--sns-platform-application-arn", "is in region eu-west-1"),
        ] {
            let line = run.output.split(separator: "\n").first { $0.contains("- \(option)") && $0.contains(reason) }
            #expect(line != nil, "\(option): \(run.output)")
        }
        for (certificate, key, reason) in [
            ("/etc/ssl/other.pem", "/etc/ssl/other.key", "is not for sync.example.org"),
            ("/etc/ssl/old.pem", "/etc/ssl/old.key", "has expired"),
            ("/etc/ssl/none.pem", "/etc/ssl/old.key", "cannot be used"),
            ("/etc/ssl/sync.pem", "/etc/ssl/sync.pem", "cannot be used"),
        ] {
            let refused = try host.setUp(["--certificate", certificate, "--key", key])
            #expect(refused.status == 64 && refused.output.contains(reason), "\(refused.output)")
        }
        #expect(try host.everything() == before)
    }

    @Test("An invalid configuration as a whole is rejected before anything is written")
    func wrongConfiguration() throws {
        let before = try host.everything()

        let run = try host.setUp(["--set", "appleSignIn.clientId=com.example.app"])
        let missing = try host.setUp(["--set", "appleSignIn.privateKey=\(host.path("/root/google"))"])

        #expect(run.status == 1 && run.output.contains("apple-private-key is missing"), "\(run.output)")
        #expect(missing.status == 64, "\(missing.output)")
        _ = try host.pushOptions()
        let incomplete = try host.setUp(["--set", "appleSignIn.privateKey=\(host.path("/root/apns.p8"))"])
        #expect(incomplete.status == 78 && incomplete.output.contains("appleSignIn.teamId is missing"))
        #expect(try host.everything().filter { !$0.hasPrefix("root") } == before.filter { !$0.hasPrefix("root") })
    }

    @Test("A dry run reports what would be done, and changes nothing")
    func dryRun() throws {
        let before = try host.everything()

        let run = try host.setUp(["--dry-run"])

        #expect(run.status == 0, "\(run.output)")
        #expect(run.output.contains("would    create the database \(host.databaseName)\n"))
        #expect(run.output.contains("would    write /etc/syncd/syncd.json\n"))
        #expect(try host.everything() == before)
        #expect(throws: MariaDBError.self) { try host.atDatabase("USE \(host.databaseName)") }
    }

    @Test("JSON output lists what was done, kept and skipped, and what remains")
    func json() throws {
        let run = try host.setUp(["--json"])

        let report = try #require(
            try JSONSerialization.jsonObject(with: Data(run.output.utf8)) as? [String: Any], "\(run.output)")
        let steps = try #require(report["steps"] as? [[String: String]])
        #expect(Set(steps.compactMap { $0["outcome"] }) == ["done", "skipped"])
        #expect(steps.contains { $0["step"] == "write /etc/syncd/syncd.json" })
        #expect((report["remaining"] as? [String])?.count == 3)
    }

    @Test("A failing step is named, and the next run continues from there")
    func failure() throws {
        // A link with the name of a required folder already exists.
        try host.put("no folder", "/etc/nginx/sites-enabled")

        let run = try host.setUp()

        #expect(run.status == 1)
        #expect(run.output.contains("FAILED   link /etc/nginx/sites-enabled/syncd.conf"), "\(run.output)")
        try FileManager.default.removeItem(at: host.root.appending(path: "/etc/nginx/sites-enabled"))
        let password = try host.text("/etc/syncd/secrets/database-password")
        let second = try host.setUp()
        #expect(second.status == 0, "\(second.output)")
        #expect(try host.text("/etc/syncd/secrets/database-password") == password)
    }

    @Test("Without a certificate the run explains how to obtain one, and the next run uses it")
    func letsEncrypt() throws {
        let arguments = [
            "setup", "--unattended", "--root", host.root.path, "--host", "sync.example.org", "--database-socket",
            host.database.socketPath, "--database-name", host.databaseName, "--database-user", host.databaseName,
            "--google-client-id", SetupScratchHost.google,
            "--google-client-secret-file", host.root.appending(path: "/root/google").path,
        ]
        let first = try Command(SetupScratchHost.program.path, arguments)
        #expect(first.status == 0, "\(first.output)")
        #expect(first.output.contains("certbot certonly --webroot"))
        #expect(try !host.text("/etc/nginx/sites-available/syncd.conf").contains("443"))

        try host.put("certificate", "/etc/letsencrypt/live/sync.example.org/fullchain.pem")
        try host.put("key", "/etc/letsencrypt/live/sync.example.org/privkey.pem")
        let second = try Command(SetupScratchHost.program.path, arguments)
        #expect(second.status == 0, "\(second.output)")
        #expect(try host.text("/etc/nginx/sites-available/syncd.conf").contains("listen 443 ssl"))
    }

    @Test("Obstacles are reported before anything is changed")
    func obstacles() throws {
        let before = try host.everything()

        let unknown = try host.setUp(["--database-admin-user", "nobody"])
        let nothing = try host.setUp([], account: nil)
        try host.atDatabase("CREATE USER \(host.databaseName)@localhost")
        let user = try host.setUp()

        #expect(unknown.status == 1 && unknown.output.contains("cannot be used as nobody"), "\(unknown.output)")
        #expect(nothing.status == 1 && nothing.output.contains("for storage"), "\(nothing.output)")
        #expect(user.status == 1 && user.output.contains("its password is not in"), "\(user.output)")
        #expect(try host.everything() == before)
    }

    @Test("The sandbox needs no answers")
    func sandbox() throws {
        try host.put("server {}", "/etc/nginx/sites-available/syncsandbox.conf")

        let run = try host.setUp(["--sandbox"], account: nil)

        #expect(run.status == 0, "\(run.output)")
        #expect(run.output.contains("SANDBOX"))
        #expect(try host.text("/etc/syncd/syncd.json").contains("\"connectTo\": \"127.0.0.1:9443\""))
        #expect(try host.text("/etc/syncd/secrets/dropbox-app-secret") == "sandbox-dropbox-secret\n")
    }

    @Test("Any setting of a provider may be given by its key, and a secret as a file")
    func settings() throws {
        let run = try host.setUp(
            [
                "--set", "GoogleServerClientId=2-y.apps.googleusercontent.com",
                "--set", "googleClientIds=1-a.apps.googleusercontent.com 1-b.apps.googleusercontent.com",
                "--set", "GoogleServerClientSecret=\(host.root.appending(path: "/root/google").path)",
            ], account: nil)

        #expect(run.status == 0, "\(run.output)")
        #expect(try host.text("/etc/syncd/secrets/google-client-secret") == "very secret of google\n")
        let configuration = try JSONSerialization.jsonObject(with: Data(host.text("/etc/syncd/syncd.json").utf8))
        let members = try #require(configuration as? [String: Any])
        #expect(members["GoogleServerClientId"] as? String == "2-y.apps.googleusercontent.com")
        #expect(
            members["googleClientIds"] as? [String] == [
                "1-a.apps.googleusercontent.com", "1-b.apps.googleusercontent.com",
            ])

    }

    @Test("At a terminal setup asks only for missing answers, and does not show secrets")
    func questions() throws {
        _ = try host.pushOptions()

        let run = try host.answer([
            "sync.example.org", "/etc/ssl/sync.pem", "/etc/ssl/private/sync.key", "", "dropkey", "a typed secret", "",
            "123", "another secret", "", "", "", "", "TEAM567890", "KEY4567890", host.path("/root/apns.p8"),
            "com.example.app", "AKIAIOSFODNN7EXAMPLE", "a third secret", "us-west-2",
            "arn:aws:sns:us-west-2:123456789012:app/APNS/MyApp",
        ])

        #expect(run.status == 0, "\(run.output)")
        #expect(run.output.contains("phones will reach this server (e.g. sync.example.com): "))
        #expect(
            run.output.contains(
                "or letsencrypt for one from Let's Encrypt, or trial for one from this host's own authority "
                    + "[letsencrypt]: "))
        #expect(run.output.contains("dropkey") && !run.output.contains("a typed secret"))
        #expect(!run.output.contains("a third secret"))
        #expect(try host.text("/etc/syncd/secrets/aws-secret-key") == "a third secret\n")
        #expect(try host.text("/etc/syncd/syncd.json").contains("\"topic\": \"com.example.app\""))
        #expect(try host.text("/etc/syncd/secrets/dropbox-app-secret") == "a typed secret\n")
        #expect(try host.text("/etc/syncd/secrets/facebook-client-secret") == "another secret\n")
        #expect(try host.text("/etc/syncd/syncd.json").contains("\"DropboxAppKey\": \"dropkey\""))
    }

    @Test("Contradictory options, or questions without a terminal, are usage errors")
    func usage() throws {
        #expect(try host.setUp(["--sandbox"]).status == 64)
        #expect(try host.setUp(["--sandbox"] + host.pushOptions(), account: nil).status == 64)
        #expect(try host.setUp(["--sandbox", "--google-app-client-id", "1"], account: nil).status == 64)
        let incomplete = try host.setUp(["--apns-key-id", "K"])
        #expect(incomplete.status == 64)
        #expect(incomplete.output.contains("--apns-team-id, --apns-key-id and --apns-topic must be given together."))
        #expect(try host.setUp(["--sns-secret-key-file", "/root/aws"]).status == 64)
        #expect(try host.setUp(["--set", "FacebookClientID=1"]).status == 64)
        #expect(try host.setUp(["--sandbox", "--set", "FacebookClientId=1"], account: nil).status == 64)
        #expect(try Command(SetupScratchHost.program.path, ["setup", "--root", host.root.path]).status == 64)
        #expect(
            try Command(SetupScratchHost.program.path, ["setup", "--root", host.root.path, "--certificate", "/c"])
                .status == 64)
        let help = try Command(SetupScratchHost.program.path, ["setup", "--help"])
        for option in ["--host", "--certificate", "--sandbox", "--existing-database", "--unattended", "--dry-run"] {
            #expect(help.output.contains(option))
        }
        let services = /\n  --((google|dropbox|microsoft|facebook|apple|fcm|apns|sns)-[a-z-]+) </
        #expect(
            help.output.matches(of: services).map { String($0.1) } == [
                "google-client-id", "google-client-secret-file", "google-app-client-id", "dropbox-app-key",
                "dropbox-app-secret-file", "microsoft-client-id", "microsoft-client-secret-file", "facebook-app-id",
                "facebook-app-secret-file", "apple-client-id", "apple-team-id", "apple-key-id",
                "apple-private-key-file", "fcm-service-account-file", "apns-team-id", "apns-key-id",
                "apns-private-key-file", "apns-topic", "sns-access-key-id", "sns-secret-key-file", "sns-region",
                "sns-platform-application-arn",
            ])
    }
}
