import Foundation
import MariaDB
import Store
import TestSupport
import Testing

@testable import Operations

@Suite("Several apps on a host")
struct AppTests {
    private static let repository = PrivateStack.repository
    private let notes: HostedApp
    private let text: AppText

    init() throws {
        notes = try #require(HostedApp("notes"))
        text = AppText(notes)
    }

    private static func file(_ path: String) throws -> String {
        try String(contentsOf: repository.appending(path: path), encoding: .utf8)
    }

    private static func names(_ folder: String) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: repository.appending(path: folder).path).sorted()
    }

    /// The package's units, users, folders and log rotation.
    private static func unitFiles() throws -> [String] {
        ["common.conf", "loaded.conf"].map { "systemd/syncd-@.service.d/\($0)" } + ["etc/syncserver.logrotate"]
            + (try names("systemd")).filter { $0.hasPrefix("syncd") && !$0.hasSuffix(".d") }.map { "systemd/\($0)" }
    }

    // MARK: Names

    @Test("A name is lower-case letters and digits", arguments: ["a", "notes", "app2", "abcdefghijklmnop", "default"])
    func goodNames(name: String) { #expect(HostedApp(name) != nil) }

    @Test(
        "Other names are rejected with an error that states the rule",
        arguments: [
            "", "Notes", "2nd", "my-app", "my_app", "a/b", "../etc", "a b", "ä", "abcdefghijklmnopq", "a;b", "a%i",
            "a@1",
            "a\n",
        ])
    func badNames(name: String) {
        #expect(HostedApp(name) == nil)
        let rule = "an app's name must have 1 to 16 lowercase letters and digits"
        #expect(HostedApp.objection(to: name)?.hasPrefix(rule) == true)
    }

    @Test("No app may share a name with a resource of the package's app")
    func reservedNames() throws {
        // A text with such a word would look as if it already contained the app's name.
        let names = try Self.unitFiles()
        let texts = try names + names.map(Self.file)
        let taken = Set(texts.flatMap { $0.matches(of: /syncd[-\/]([a-z0-9]+)/).map { String($0.1) } })

        #expect(
            taken.isSuperset(of: ["api", "transfer", "jobs", "backup", "authority", "secrets", "maintenance", "syncd"]))
        for name in taken where name != HostedApp.packageName { #expect(HostedApp(name) == nil, "\(name)") }
    }

    @Test("The package's app keeps its names, and each other app has its own")
    func places() {
        let package = HostedApp.package
        #expect(HostedApp("default") == package)
        #expect(package.unit("-api@1.service") == "syncd-api@1.service" && package.unit(".target") == "syncd.target")
        #expect(package.configurationFolder == "/etc/syncd" && package.runtimeFolder == "/run/syncd")
        #expect(package.backupRecordFolder == "/var/lib/syncd/backup" && package.backupFolder == "/var/backups/syncd")
        #expect((package.databaseName, package.databaseUser) == ("syncserver", "syncd"))
        #expect((package.siteName, package.command) == ("syncd.conf", "syncctl"))

        #expect(
            notes.unit("-api@1.service") == "syncd-notes-api@1.service" && notes.unit(".target") == "syncd-notes.target"
        )
        #expect(notes.configurationFolder == "/etc/syncd/notes" && notes.runtimeFolder == "/run/syncd/notes")
        #expect(notes.backupRecordFolder == "/var/lib/syncd-notes/backup")
        #expect(notes.backupFolder == "/var/backups/syncd-notes" && notes.logFolder == "/var/log/syncd-notes")
        #expect((notes.databaseName, notes.databaseUser) == ("syncserver_notes", "syncd_notes"))
        // It sorts after the package's file in byte order, the order in which nginx reads them.
        #expect(Array(package.siteName.utf8).lexicographicallyPrecedes(Array(notes.siteName.utf8)))
        #expect(notes.command == "syncctl --app notes")
    }

    @Test(
        "A command for an invalid app is rejected, wherever the option appears",
        arguments: [
            (["--app", "My-App", "status"], 64, "lowercase letters and digits"),
            (["status", "--app=api"], 64, "cannot be called api"), (["status", "--app"], 64, "Missing value"),
            (["apps", "create", "a/b"], 64, "lowercase letters and digits"),
            (["apps", "remove", "default"], 64, "apt installs and removes it"),
            (["status", "--app", "nobodyhasit"], 1, "this host has no app nobodyhasit"),
            (["--app", "nobodyhasit", "status", "--help"], 0, "EXAMPLES:"),
            (["--app", "nobodyhasit", "check-config", "--config", "/nonexistent"], 78, "is now “config check”"),
            (["--app", "default", "status", "--config", "/nonexistent"], 78, "there is no such file"),
        ] as [([String], Int32, String)])
    func command(arguments: [String], status: Int32, sentence: String) throws {
        let run = try Command(SetupScratchHost.program.path, arguments)

        #expect(run.status == status && run.output.contains(sentence), "\(run.output)")
    }

    // MARK: Texts

    @Test(
        "Names of the package's app are replaced with the app's, once",
        arguments: [
            ("systemctl reload syncd", "systemctl reload syncd-notes"),
            ("systemctl status syncd.target 'syncd-*'", "systemctl status syncd-notes.target 'syncd-notes-*'"),
            (
                "ExecStart=/usr/bin/syncd --role api --config /etc/syncd/syncd.json",
                "ExecStart=/usr/bin/syncd --role api --config /etc/syncd/notes/syncd.json"
            ),
            ("ListenStream=/run/syncd/api.sock", "ListenStream=/run/syncd/notes/api.sock"),
            ("RuntimeDirectory=syncd/metrics", "RuntimeDirectory=syncd/notes/metrics"),
            ("LogsDirectory=syncd", "LogsDirectory=syncd-notes"), ("User=syncd-backup", "User=syncd-notes-backup"),
            ("Slice=syncd-default.slice", "Slice=syncd-notes.slice"), ("man:syncd(8) man:syncctl(8)", nil),
            (
                "ExecStart=/usr/bin/syncctl backup make --into /var/backups/syncd --record /var/lib/syncd/backup",
                "ExecStart=/usr/bin/syncctl --app notes backup make --into /var/backups/syncd-notes --record /var/lib/syncd-notes/backup"
            ),
            ("ExecPaths=/usr/bin/syncctl /usr/lib", nil),
            (
                "ExecReload=+/usr/lib/syncserver/reload %n",
                "ExecReload=+/usr/lib/syncserver/reload --app notes %n"
            ),
            ("ln -s ../sites-available/syncd.conf", "ln -s ../sites-available/syncd_notes.conf"),
            ("syncctl maintenance off", "syncctl --app notes maintenance off"), ("apt install syncserver", nil),
            ("mariadb -e 'ALTER USER syncd_jobs@localhost'", nil), ("/usr/share/syncdir", nil),
        ] as [(String, String?)])
    func named(before: String, after: String?) {
        #expect(text.named(before) == after ?? before)
        #expect(text.named(text.named(before)) == after ?? before)
        #expect(AppText(.package).named(before) == before)
    }

    @Test("An app shares no units, users, folders or logs with the package's app")
    func unitTexts() throws {
        let files = try Self.unitFiles()
        #expect(files.count >= 15)
        for name in files {
            let rendered = text.unit(try Self.file(name))
            for line in rendered.split(separator: "\n") where !line.hasPrefix("#") {
                var rest = String(line)
                for mine in ["syncd-notes", "syncd/notes", "/usr/bin/syncd", "syncd.json", "syncd(8)"] {
                    rest = rest.replacing(mine, with: "")
                }
                #expect(!rest.contains("syncd"), "\(name): \(line)")
            }
        }
    }

    @Test("An app has one instance of each role, knows its name, and does nothing when the package is removed")
    func units() throws {
        let target = text.unit(try Self.file("systemd/syncd.target"))
        #expect(target.contains("\nWants=syncd-notes-api@1.service\nWants=syncd-notes-transfer@1.service\n"))
        #expect(target.contains("[Unit]\nConditionFileIsExecutable=/usr/bin/syncd\nDescription=SyncServer notes\n"))
        let common = text.roles(try Self.file("systemd/syncd-@.service.d/common.conf"))
        #expect(common.contains("[Service]\nEnvironment=SYNCD_APP=notes\nUser=syncd-notes\nGroup=syncd-notes\n"))
        #expect(common.contains("LoadCredential=secret:/etc/syncd/notes/secrets\n"))
    }

    @Test("In an app's nginx files, upstreams and zones belong to the app, and variables are shared by all apps")
    func nginxTexts() throws {
        for name in AppFiles.ownSnippets {
            let original = try Self.file("nginx/\(name)")
            let rendered = text.nginx(original)
            for line in rendered.split(separator: "\n") {
                let code = line.prefix { $0 != "#" }
                let names = code.matches(of: /(?:^|[^$@<\w])(syncd_\w+)/).map { String($0.1) }
                #expect(names.allSatisfy { $0.hasPrefix("syncd_notes_") }, "\(name): \(line)")
            }
            #expect(!rendered.contains("$syncd_notes"))
            #expect(AppText(.package).nginx(original) == original)
        }
        let others = try Self.names("nginx").filter { $0.hasPrefix("syncd-") && !AppFiles.ownSnippets.contains($0) }
        // Monitoring pages are on one server.
        for name in others where !name.hasPrefix("syncd-metrics") {
            let code = try Self.file("nginx/\(name)").split(separator: "\n").map { $0.prefix { $0 != "#" } }.joined(
                separator: "\n")
            let names = code.matches(of: /(?:^|[^$@<\w])(syncd_\w+)/)
            #expect(names.isEmpty, "\(name) is the same for all apps")
        }
    }

    @Test("No app's upstream or zone has the name of one of the package's")
    func nginxNames() throws {
        var names: Set<String> = []
        for file in try Self.names("nginx") where file.hasPrefix("syncd") {
            // Line by line: in a whole file, the search takes a minute.
            for line in try Self.file("nginx/\(file)").split(separator: "\n") {
                names.formUnion(line.matches(of: /(?:^|[^$@<\w])syncd_(\w+)/).map { String($0.1) })
            }
        }
        #expect(names.isSuperset(of: ["api", "transfer", "requests", "transfers_of_token", "tls"]))
        for name in names {
            for other in names where name.hasSuffix("_" + other) {
                #expect(HostedApp(String(name.dropLast(other.count + 1))) == nil, "\(name)")
            }
        }
    }

    @Test("The one monitoring server has the pages of all apps")
    func monitoring() throws {
        let original = try Self.file("nginx/syncd-metrics.conf")
        let page = text.monitoringPage(original)

        #expect(page.contains("location ~ ^/(?<syncd_page>metrics|live|ready)/notes$ {"))
        #expect(
            page.hasPrefix("    set $syncd_notes_host_closed")
                && page.contains("if (-f /var/lib/syncd-notes/maintenance/reply.json) {"))
        #expect(page.contains("fastcgi_pass unix:/run/syncd/notes/api.sock;") && page.hasSuffix("    }\n"))
        #expect(original.contains("\n    include syncd/apps/*.conf;\n"))
    }

    /// `syncctl --app notes setup --changes`.
    @Test("Each app has its own channels and publisher for signals about changes")
    func signals() throws {
        let files = SetupPaths.signals(of: notes)
        #expect(
            files.map(\.path) == [
                "/etc/nginx/syncd-changes/syncd_notes_http.conf", "/etc/nginx/syncd-changes/syncd_notes_locations.conf",
            ])
        #expect(
            files.map(\.text) == [
                "include syncd/notes/syncd-changes-http.conf;\n", "include syncd/notes/syncd-changes.conf;\n",
            ])
        for (file, included) in [("syncd-zones.conf", "http"), ("syncd-locations.conf", "locations")] {
            let rendered = text.nginx(try Self.file("nginx/\(file)"))
            #expect(rendered.contains("\ninclude syncd-changes/syncd_notes_\(included).con[f];\n"))
        }
        let publisher = text.nginx(try Self.file("nginx/syncd-changes-http.conf"))
        #expect(publisher.contains("listen unix:/run/syncd/notes/changes/publish.sock;"))
        for snippet in [publisher, text.nginx(try Self.file("nginx/syncd-changes.conf"))] {
            let groups = snippet.matches(of: /nchan_channel_group (\w+);/).map { String($0.1) }
            #expect(!groups.isEmpty && groups.allSatisfy { $0 == "syncd_notes_changes" })
        }
        let folders = text.named(try Self.file("systemd/syncd.tmpfiles"))
        #expect(folders.contains("d /run/syncd/notes/changes 0750 root syncd-notes -\n"))
    }

    @Test("On a host with several apps, the requests of each are limited")
    func share() throws {
        let zones = text.nginx(try Self.file("nginx/syncd-zones.conf"))

        #expect(zones.contains("limit_req_zone $syncd_share zone=syncd_notes_share:32k "))
        #expect(text.nginx(try Self.file("nginx/syncd-locations.conf")).contains("limit_req zone=syncd_notes_share "))
        #expect(try Self.file("nginx/syncd-http.conf").contains("\n    include syncd/apps/*.share;\n"))
    }

    @Test("The site of an app names its own files, sockets and logs, and nothing that nginx allows only once")
    func site() throws {
        let template = try text.site(try Self.file("nginx/syncd.conf"))
        let site = try SiteText.complete(
            template, host: "notes.example.org", certificate: .letsEncrypt, staples: false)

        for part in [
            "include syncd/notes/syncd-zones.conf;", "upstream syncd_notes_api {",
            "server unix:/run/syncd/notes/transfer.sock;", "include syncd/notes/syncd-locations.conf;",
            "access_log /var/log/nginx/syncd-notes.access.log syncd if=$syncd_logged;",
            "set $syncd_maintenance_folder /var/lib/syncd-notes/maintenance;", "include syncd/notes/syncd-tls.conf;",
        ] {
            #expect(site.contains(part), "\(part)")
        }
        for part in ["syncd-http.conf", "syncd-version.conf", "syncd-metrics.conf;"] { #expect(!site.contains(part)) }
        #expect(SitePresence(site).host == "notes.example.org")
        #expect(throws: SiteText.UnknownTemplate.self) { try text.site("server {}") }
    }

    // MARK: Sites

    /// The site of the app on an otherwise empty host.
    private func hostWithSite(
        _ certificate: SetupAnswers.Certificate
    ) throws -> (scratch: ScratchFolder, path: URL, site: String) {
        let scratch = try ScratchFolder("app-site")
        let site = try SiteText.complete(
            text.site(try Self.file("nginx/syncd.conf")), host: "notes.example.org", certificate: certificate,
            staples: false)
        let path = scratch.url.appending(path: "etc/nginx/sites-available/syncd_notes.conf")
        try FileManager.default.createDirectory(
            at: path.deletingLastPathComponent(), withIntermediateDirectories: true)
        try Data(site.utf8).write(to: path)
        return (scratch, path, site)
    }

    @Test("The site of an app also gets the form that the installed nginx requires")
    func refreshedSite() throws {
        let (scratch, path, site) = try hostWithSite(.letsEncrypt)
        let refresh = ["--app", "notes", "refresh-site", "--root", scratch.url.path]
        let forms: [HTTP2Form] = [.directive, .parameter]

        let results = try forms.map { form in
            try Data(SiteText.adapted(site, to: form).utf8).write(to: path)
            let run = try Command(SetupScratchHost.program.path, refresh)
            #expect(run.status == 0, "\(run.output)")
            return (told: run.output, site: try String(contentsOf: path, encoding: .utf8))
        }

        let form = try #require(SiteText.form(of: results[0].site))
        #expect(results[0].site == results[1].site && results[0].site == SiteText.adapted(site, to: form))
        let told = results.map(\.told).filter { !$0.isEmpty }
        #expect(told.count == 1)
        #expect(told.first?.contains("/etc/nginx/sites-available/syncd_notes.conf now has the form") == true)
    }

    @Test("The certificate of an app's trial is in the app's folder, and the app's timer renews it")
    func trial() throws {
        let folder = "/var/lib/syncd-notes/authority/notes.example.org"
        let (scratch, _, _) = try hostWithSite(
            .files(certificate: "\(folder)/server.pem", key: "\(folder)/server.key"))
        let renew = text.named("syncctl authority renew").split(separator: " ").dropFirst().map(String.init)

        let run = try Command(SetupScratchHost.program.path, renew + ["--root", scratch.url.path])

        #expect(run.status == 0, "\(run.output)")
        let place = scratch.url.path + folder
        let verified = try Command("openssl", ["verify", "-CAfile", "\(place)/root.pem", "\(place)/server.pem"])
        #expect(verified.status == 0, "\(verified.output)")
        #expect(
            text.unit(try Self.file("systemd/syncd-authority.service")).contains(
                "\nConditionPathExists=/var/lib/syncd-notes/authority\n"))
    }

    // MARK: Databases

    private static let local = SetupAnswers.DatabaseAddress.socket("/run/mysqld/mysqld.sock")

    @Test(
        "Conflicting names of two apps on one database server are reported",
        arguments: [
            (AppDatabase(address: local, name: "b", owner: "b", roles: ["b_api"]), []),
            (AppDatabase(address: local, name: "a", owner: "b"), ["the database a"]),
            (AppDatabase(address: .socket("/tmp/other"), name: "b", owner: "a"), ["the database user a"]),
            (
                AppDatabase(address: .tcp(host: "localhost", port: 3_306), name: "a", owner: "a_api"),
                ["the database a", "the database user a_api"]
            ),
            (AppDatabase(address: .tcp(host: "db.example", port: 3_306), name: "a", owner: "a"), []),
            (AppDatabase(address: local, name: "b", owner: "root"), []),
        ])
    func commonDatabase(other: AppDatabase, common: [String]) {
        let own = AppDatabase(address: Self.local, name: "a", owner: "a", roles: ["a_api", "root"])

        #expect(own.common(with: other) == common)
        #expect(other.common(with: own) == common)
    }

    // MARK: Files

    /// A host with the files that the package installs.
    private func host() throws -> ScratchFolder {
        let scratch = try ScratchFolder("apps")
        func put(_ source: String, _ place: String) throws {
            let file = scratch.url.appending(path: place)
            try FileManager.default.createDirectory(
                at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
            try FileManager.default.copyItem(at: Self.repository.appending(path: source), to: file)
        }
        for name in try Self.names("systemd") where name.hasPrefix("syncd") && !name.hasSuffix(".d") {
            guard !name.hasSuffix(".sysusers"), !name.hasSuffix(".tmpfiles") else { continue }
            try put("systemd/\(name)", "lib/systemd/system/\(name)")
        }
        for name in ["common.conf", "loaded.conf"] {
            try put("systemd/syncd-@.service.d/\(name)", "lib/systemd/system/syncd-@.service.d/\(name)")
        }
        for kind in ["sysusers", "tmpfiles"] { try put("systemd/syncd.\(kind)", "usr/lib/\(kind).d/syncd.conf") }
        try put("etc/syncserver.logrotate", "usr/share/syncserver/logrotate")
        for name in try Self.names("nginx") where name.hasPrefix("syncd-") {
            try put("nginx/\(name)", "usr/share/syncserver/nginx/snippets/\(name)")
        }
        return scratch
    }

    @Test("An app's files follow the package's, except files changed by an administrator, and are deleted with it")
    func files() throws {
        let scratch = try host()
        let root = scratch.url.path
        func read(_ path: String) throws -> String { try String(contentsOfFile: root + path, encoding: .utf8) }
        func append(_ line: String, to path: String) throws {
            try Data((try read(path) + line).utf8).write(to: URL(filePath: root + path))
        }
        func all() throws -> Set<String> { Set(try FileManager.default.subpathsOfDirectory(atPath: root)) }
        let before = try all()
        let files = AppFiles(of: notes, root: root)

        #expect(AppFiles.added(root: root).isEmpty && !files.isInstalled)
        let first = try files.write()
        #expect(first.written.count > 20 && first.kept.isEmpty)
        #expect(try files.write() == AppFiles.Outcome())
        #expect(AppFiles.added(root: root) == [notes] && files.isInstalled)
        #expect(
            try AppFiles(of: try #require(HostedApp("other")), root: root).write().written.count == first.written.count)
        #expect(AppFiles.added(root: root).map(\.label) == ["notes", "other"])

        // The next release, and an administrator's limit.
        let snippet = "/etc/nginx/syncd/notes/syncd-locations.conf"
        try append("# mine\n", to: snippet)
        try append("# the next release\n", to: "/lib/systemd/system/syncd-jobs@.service")
        try append("# the next release\n", to: "/usr/share/syncserver/nginx/snippets/syncd-locations.conf")
        let second = try files.write()
        #expect(second.written == ["/etc/systemd/system/syncd-notes-jobs@.service"])
        #expect(second.kept == [snippet])
        #expect(try read(snippet).hasSuffix("# mine\n"))

        try files.remove()
        #expect(AppFiles.added(root: root).map(\.label) == ["other"])
        try AppFiles(of: try #require(HostedApp("other")), root: root).remove()
        let folders = [
            "etc", "etc/logrotate.d", "etc/nginx", "etc/nginx/syncd", "etc/nginx/syncd/apps", "etc/systemd",
            "etc/systemd/system",
            "etc/sysusers.d", "etc/tmpfiles.d",
        ]
        #expect(try all() == before.union(folders))
    }

    @Test(
        "nginx accepts the sites of ten apps, with or without the package's site, and signals about changes",
        arguments: [true, false], [true, false])
    func nginxItself(isSetUp: Bool, passesSignals: Bool) throws {
        let scratch = try host()
        let root = scratch.url.path
        let pair = root + "/pair.pem"
        let made = try Command(
            "openssl",
            [
                "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "9",
                "-subj",
                "/CN=a.example", "-keyout", root + "/key.pem", "-out", pair,
            ])
        #expect(made.status == 0)
        let apps =
            try (isSetUp ? [HostedApp.package] : []) + (0..<10).map { try #require(HostedApp("abcdefghijklmno\($0)")) }
        let form = HTTP2Form(ofNginx: try Command("nginx", ["-v"]).output)
        var configuration = passesSignals ? "load_module \(SetupPaths.nchan);\n" : ""
        configuration += "pid \(root)/pid;\nerror_log stderr;\nevents {}\nhttp {\naccess_log off;\n"
        if !isSetUp { configuration += SiteText.withoutHost }
        for app in apps {
            _ = try AppFiles(of: app, root: root).write()
            for file in SetupPaths.signals(of: app) where passesSignals {
                let place = URL(filePath: root + file.path)
                try FileManager.default.createDirectory(
                    at: place.deletingLastPathComponent(), withIntermediateDirectories: true)
                try Data(file.text.utf8).write(to: place)
            }
            let site = try SiteText.complete(
                AppText(app).site(try Self.file("nginx/syncd.conf")), host: "\(app.label).example",
                certificate: .files(certificate: pair, key: root + "/key.pem"), staples: false)
            configuration += SiteText.adapted(site, to: form).replacing("/var/log/nginx", with: root).replacing(
                "listen 443", with: "listen 127.0.0.1:7443"
            )
            .replacing("listen [::]:443", with: "listen [::1]:7443").replacing(
                "listen 80", with: "listen 127.0.0.1:7080"
            )
            .replacing("listen [::]:80", with: "listen [::1]:7080")
        }
        let folder = root + "/etc/nginx"
        for name in try Self.names("nginx") where name.hasPrefix("syncd-") {
            try FileManager.default.copyItem(
                atPath: Self.repository.appending(path: "nginx/\(name)").path, toPath: "\(folder)/syncd/\(name)")
        }
        // nginx creates the sockets of publishers even to check its configuration.
        for app in apps {
            let own = app.name.map { "\($0)/" } ?? ""
            let publisher = URL(filePath: "\(folder)/syncd/\(own)syncd-changes-http.conf")
            let text = try String(contentsOf: publisher, encoding: .utf8)
            try Data(text.replacing("unix:\(app.runtimeFolder)/changes/", with: "unix:\(root)/\(app.label)-").utf8)
                .write(
                    to: publisher)
        }
        for kind in ["client_body", "fastcgi", "proxy", "scgi", "uwsgi"] {
            configuration += "\(kind)_temp_path \(root)/\(kind);\n"
        }
        try Data((configuration + "}\n").utf8).write(to: URL(filePath: folder + "/nginx.conf"))

        let nginx = try Command("nginx", ["-q", "-t", "-e", "stderr", "-c", folder + "/nginx.conf", "-p", folder])

        // nginx reports this warning for any of our sites; it concerns the time of a reload.
        let complaints = nginx.output.split(separator: "\n").filter {
            !$0.contains("optimal variables_hash") && !$0.contains("of shared memory for nchan")
        }
        #expect(nginx.status == 0 && complaints.isEmpty, "\(nginx.output)")
    }
}
