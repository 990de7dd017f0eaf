import Foundation
import Providers
import TestSupport
import Testing

@testable import Operations

@Suite("Decisions of setup")
struct SetupPlanTests {
    private let template: String
    private var answers = SetupAnswers()

    init() throws {
        template = try String(
            contentsOf: PrivateStack.repository.appending(path: "nginx/syncd.conf"), encoding: .utf8)
        answers.host = "sync.example.org"
        answers.makesBackups = true
        answers.settings["GoogleServerClientId"] = .text("1-x")
        answers.settings["GoogleServerClientSecret"] = .secret(.file("/root/google"))
    }

    /// A host on which nothing has been set up.
    private var fresh: HostState {
        var state = HostState()
        state.siteTemplate = template
        state.hasCertificate = true
        state.database = HostState.Database(hasDatabase: false, hasUser: false)
        return state
    }

    private func site(_ answers: SetupAnswers, staples: Bool = false) throws -> String {
        SiteText.adapted(
            try SiteText.complete(template, host: answers.host, certificate: answers.certificate, staples: staples),
            to: .parameter)
    }

    /// The contents of a configuration to which these answers were written.
    private func described(_ answers: SetupAnswers) -> HostState.Configuration {
        var configuration = HostState.Configuration()
        for offer in Company.signIns where answers.has(offer.settings) {
            configuration.enablingKeys.insert(offer.enablingKey)
        }
        for (key, answer) in answers.settings {
            configuration.values[key] = answer
            guard case .secret = answer else { continue }
            configuration.values[key] = .secret(nil)
            configuration.secretFiles[key] = SecretName(ofSetting: key)?.rawValue
        }
        configuration.hasMetrics = true
        configuration.keepsMetrics = true
        configuration.hasSandbox = answers.sandbox != nil
        return configuration
    }

    /// The same host after a successful run of `plan`.
    private func after(_ plan: SetupPlan, of answers: SetupAnswers? = nil, on before: HostState) -> HostState {
        var state = before
        for action in plan.actions {
            switch action {
            case .makeSecretsFolder: state.hasSecretsFolder = true
            case .makeSecret(let name), .copySecret(let name, _): state.secrets.insert(name)
            case .createDatabase: state.database?.hasDatabase = true
            case .createDatabaseUser: state.database?.hasUser = true
            case .createRoleUsers: state.database?.roleUsers = Set(SecretName.ofRoles)
            case .write(SetupPaths.configuration, _): state.configuration = described(answers ?? self.answers)
            case .write(SetupPaths.site, let text): state.site = text
            case .enableSite: state.isSiteEnabled = true
            case .enableSandboxSite: state.isSandboxSiteEnabled = true
            case .startBackups: state.makesBackups = true
            default: break
            }
        }
        return state
    }

    /// Steps that change something, excluding those that only ask, or start what may already run.
    private func changes(_ plan: SetupPlan) -> [SetupPlan.Action] {
        plan.actions.filter { action in
            switch action {
            case .check, .migrate, .reloadNginx, .startUnits, .reloadServer: false
            default: true
            }
        }
    }

    @Test("On a fresh host everything is created, in an order that is safe to interrupt")
    func freshHost() throws {
        let plan = try SetupPlan(answers, on: fresh)

        #expect(plan.obstacles.isEmpty)
        #expect(
            plan.actions == [
                .makeSecretsFolder, .makeSecret(.databasePassword), .makeSecret(.sealingKey),
                .copySecret(.google, .file("/root/google")), .createDatabase, .createDatabaseUser,
                .write(path: SetupPaths.configuration, text: ConfigurationText.make(answers)),
                .check(.configuration), .check(.database), .migrate,
                .write(path: SetupPaths.site, text: try site(answers)), .enableSite, .check(.nginx), .reloadNginx,
                .startUnits, .startBackups, .check(.monitoring), .check(.health),
            ])
        #expect(plan.remaining.count == 1)
        #expect(plan.remaining[0].contains("Keep a copy"))
    }

    @Test("A host name, database or accounts of another app are obstacles")
    func otherApps() throws {
        var host = fresh
        host.otherApps = [
            OtherApp(
                label: "notes", host: "notes.example.org",
                database: AppDatabase(address: answers.database, name: "syncserver_notes", owner: "syncd_notes")),
            OtherApp(label: "bare"),
        ]
        #expect(try SetupPlan(answers, on: host).obstacles.isEmpty)

        var same = answers
        (same.host, same.databaseName) = ("Notes.example.org", "syncserver_notes")
        let obstacles = try SetupPlan(same, on: host).obstacles.filter { $0.contains("the app notes") }

        #expect(obstacles.count == 2)
        #expect(obstacles[0].hasPrefix("Notes.example.org is already the name of the app notes"))
        #expect(obstacles[1].hasPrefix("the database syncserver_notes belongs to the app notes"))
    }

    @Test("Trust in a trial's authority ends once nginx has another certificate, or that of another trial")
    func formerTrials() throws {
        var host = fresh
        host.trials = [answers.host, "former.example.org"]
        var trial = answers
        trial.certificate = .ownAuthority
        var waiting = host
        waiting.hasCertificate = false
        waiting.site = try site(trial)

        #expect(try SetupPlan(trial, on: host).actions.contains(.forgetTrials(["former.example.org"])))
        #expect(try SetupPlan(answers, on: host).actions.contains(.forgetTrials(host.trials)))
        // Until the new certificate exists, nginx serves that of the trial.
        #expect(try SetupPlan(answers, on: waiting).actions.contains(.forgetTrials(["former.example.org"])))
    }

    @Test("An operator who wants no backups is reminded how to enable them, until they are enabled")
    func backups() throws {
        var without = answers
        without.makesBackups = false
        var state = fresh
        let advice = "Turn on a backup every hour: systemctl enable --now syncd-backup.timer"

        #expect(try SetupPlan(without, on: state).remaining.contains(advice))
        #expect(try !SetupPlan(answers, on: state).remaining.contains(advice))
        state.makesBackups = true
        #expect(try !SetupPlan(without, on: state).remaining.contains(advice))
        #expect(try !SetupPlan(answers, on: state).actions.contains(.startBackups))
    }

    /// `syncctl setup --changes`.
    @Test("Signals about changes need nginx's module, and are turned on once")
    func signals() throws {
        var host = fresh
        var wanted = answers
        wanted.passesSignals = true
        #expect(try SetupPlan(wanted, on: host).obstacles.contains { $0.contains("apt install libnginx-mod-nchan") })

        host.hasNchan = true
        let plan = try SetupPlan(wanted, on: host)
        #expect(plan.obstacles == [])
        for file in SetupPaths.signals { #expect(plan.actions.contains(.write(path: file.path, text: file.text))) }
        #expect(ConfigurationText.make(wanted).contains(SetupPaths.signalSocket))
        #expect(!ConfigurationText.make(answers).contains("changeSignal"))
        host.passesSignals = true
        #expect(try !SetupPlan(wanted, on: host).actions.contains { "\($0)".contains("syncd-changes") })
    }

    @Test("A low nginx limit is raised if the operator agrees, and otherwise reported", arguments: [768, 4_096])
    func connections(number: Int) throws {
        var host = fresh
        host.nginxConnections = number
        host.nginxConfiguration = "user www-data;\nevents {\n\tworker_connections \(number);\n\t# multi_accept on;\n}\n"
        var agreed = answers
        agreed.raisesNginxConnections = true
        let isFew = number < SetupPlan.leastConnections

        let told = try SetupPlan(answers, on: host)
        let raised = try SetupPlan(agreed, on: host)

        #expect(told.remaining.contains { $0.contains("syncctl setup --nginx-connections") } == isFew)
        let text =
            "worker_rlimit_nofile 8192;\nuser www-data;\nevents {\n\tworker_connections 4096;\n\t# multi_accept on;\n}\n"
        #expect(raised.actions.contains(.raiseNginxConnections(text: text)) == isFew)
        #expect(!raised.remaining.contains { $0.contains("connections") })
        #expect(!told.actions.contains(.raiseNginxConnections(text: text)))
        // Setup does not look for the file that sets the limit.
        host.nginxConfiguration = "include events.conf;\n# worker_connections 768;\n"
        #expect(
            try SetupPlan(agreed, on: host).remaining.contains { $0.contains("worker_rlimit_nofile 8192;") } == isFew)
        #expect(SetupPlan.raisingConnections(in: text) == text)
    }

    @Test(
        "A trial gets its certificate before nginx needs it, and programs here trust it if the operator agrees")
    func trial() throws {
        var answers = answers
        answers.certificate = .ownAuthority
        var state = fresh
        (state.hasCertificate, state.knowsName) = (false, false)
        let first = try SetupPlan(answers, on: state)
        answers.trustsOwnAuthority = true
        let trusting = try SetupPlan(answers, on: state)
        let steps: [SetupPlan.Action] = [.issueCertificate, .trustAuthority, .makeNameKnown]

        #expect(changes(first).filter(steps.contains) == [.issueCertificate])
        #expect(changes(trusting).filter(steps.contains) == steps)
        let site = try #require(trusting.actions.firstIndex(of: .write(path: SetupPaths.site, text: try site(answers))))
        #expect(try #require(trusting.actions.firstIndex(of: .makeNameKnown)) < site)
        #expect(trusting.actions.contains(.check(.health)))
        #expect(trusting.remaining.contains { $0.contains("syncctl authority show") })
        #expect(!trusting.remaining.contains { $0.contains("certbot certonly") })

        state = after(trusting, of: answers, on: state)
        (state.hasCertificate, state.trustsOwnAuthority, state.knowsName) = (true, true, true)
        #expect(changes(try SetupPlan(answers, on: state)) == [])
        #expect(SitePresence(try #require(state.site)).certificate == .ownAuthority)
        // A new certificate may come from a new authority.
        state.hasCertificate = false
        #expect(changes(try SetupPlan(answers, on: state)) == [.issueCertificate, .trustAuthority])
    }

    @Test(
        "Each role gets its own database user, unless the database must not change or a configuration exists"
    )
    func roleUsers() throws {
        var answers = answers
        answers.usesRoleAccounts = true
        let plan = try SetupPlan(answers, on: fresh)
        let passwords = SecretName.ofRoles.map { SetupPlan.Action.makeSecret($0) }
        #expect(passwords.allSatisfy(plan.actions.contains))
        let order = plan.actions.filter { action in
            [.createDatabaseUser, .createRoleUsers, .migrate].contains(action)
        }
        #expect(order == [.createDatabaseUser, .createRoleUsers, .migrate])

        var taken = fresh
        taken.database?.roleUsers = [.jobsDatabasePassword]
        #expect(
            try SetupPlan(answers, on: taken).obstacles.contains {
                $0.contains("syncd_jobs exists") && $0.contains("database-password-jobs")
            })
        var configured = after(try SetupPlan(self.answers, on: fresh), on: fresh)
        configured.database?.hasUser = true
        #expect(changes(try SetupPlan(answers, on: configured)) == [])
        for count in 0...plan.actions.count {
            var part = plan
            part.actions = Array(plan.actions.prefix(count))
            let rest = try SetupPlan(answers, on: after(part, on: fresh))
            #expect(rest.obstacles.isEmpty && changes(part) + changes(rest) == changes(plan), "after \(count)")
        }
    }

    @Test("A second run changes nothing")
    func secondRun() throws {
        let first = try SetupPlan(answers, on: fresh)

        let second = try SetupPlan(answers, on: after(first, on: fresh))

        #expect(changes(second) == [])
        #expect(second.obstacles.isEmpty && second.remaining.isEmpty)
        #expect(second.actions.contains(.check(.health)))
    }

    @Test("Interrupted after any step, a second run completes the rest, and does nothing twice")
    func interrupted() throws {
        let whole = try SetupPlan(answers, on: fresh)
        for count in 0...whole.actions.count {
            var part = whole
            part.actions = Array(whole.actions.prefix(count))

            let rest = try SetupPlan(answers, on: after(part, on: fresh))

            #expect(rest.obstacles.isEmpty, "after \(count): \(rest.obstacles)")
            #expect(changes(part) + changes(rest) == changes(whole), "after \(count)")
        }
    }

    @Test("An administrator's changes to nginx's site are kept, and setup reports what to add by hand")
    func changed() throws {
        var state = after(try SetupPlan(answers, on: fresh), on: fresh)
        state.site?.replace("    include syncd/syncd-locations.conf;", with: "    include mine.conf;")
        var other = answers
        other.host = "new.example.org"

        let plan = try SetupPlan(other, on: state)

        #expect(changes(plan) == [])
        #expect(plan.kept.contains { $0.contains(SetupPaths.site) && $0.contains("stays unchanged") })
        #expect(plan.kept.contains { $0.contains(SetupPaths.configuration) })
        #expect(plan.remaining.contains { $0.contains("server_name new.example.org;") })
        #expect(!plan.actions.contains(.check(.health)))
    }

    @Test("A generated site that nobody has edited follows a change to the host name, once a certificate for it exists")
    func otherHost() throws {
        let before = after(try SetupPlan(answers, on: fresh), on: fresh)
        var other = answers
        other.host = "new.example.org"
        #expect(changes(try SetupPlan(other, on: before)) == [.write(path: SetupPaths.site, text: try site(other))])

        // Until then, nginx serves the former host.
        var state = before
        state.hasCertificate = false
        let first = try SetupPlan(other, on: state)
        let text = SiteText.adding(challengeFor: other.host, to: try #require(before.site))
        #expect(changes(first) == [.write(path: SetupPaths.site, text: text)])
        #expect(text.contains("    server_name sync.example.org;\n\n    ssl_certificate"))
        #expect(text.contains("    server_name new.example.org;\n    server_tokens off;"))
        #expect(!first.actions.contains(.check(.health)))

        state = after(first, on: state)
        #expect(changes(try SetupPlan(other, on: state)) == [])
        state.hasCertificate = true
        #expect(changes(try SetupPlan(other, on: state)) == [.write(path: SetupPaths.site, text: try site(other))])
    }

    @Test("After an nginx upgrade, setup's site takes the new form; for a changed site the administrator is informed")
    func newerNginx() throws {
        var state = after(try SetupPlan(answers, on: fresh), on: fresh)
        state.http2Form = .directive
        let wanted = SiteText.adapted(try site(answers), to: .directive)
        #expect(changes(try SetupPlan(answers, on: state)) == [.write(path: SetupPaths.site, text: wanted)])
        state.site? += "# mine\n"
        let plan = try SetupPlan(answers, on: state)
        #expect(changes(plan) == [])
        #expect(plan.remaining.contains { $0.contains("Add `http2 on;`") })
        state.http2Form = .parameter
        #expect(try !SetupPlan(answers, on: state).remaining.contains { $0.contains("http2") })
    }

    @Test("An unsigned site of an earlier release is replaced; a changed one is not")
    func earlierSite() throws {
        var state = after(try SetupPlan(answers, on: fresh), on: fresh)
        let signed = try #require(state.site)
        state.site = SiteText.unsigned(signed)
        #expect(changes(try SetupPlan(answers, on: state)) == [.write(path: SetupPaths.site, text: signed)])
        state.site = SiteText.earlierInterim(host: answers.host)
        #expect(changes(try SetupPlan(answers, on: state)) == [.write(path: SetupPaths.site, text: signed)])
        state.site = SiteText.unsigned(signed) + "# mine\n"
        #expect(changes(try SetupPlan(answers, on: state)) == [])
    }

    @Test("Only the settings given as answers are changed, and then the server is reloaded")
    func changedSettings() throws {
        var state = after(try SetupPlan(answers, on: fresh), on: fresh)
        var other = answers
        other.settings["GoogleServerClientId"] = .text("2-y")
        other.settings["DropboxAppKey"] = .text("key")
        other.settings["DropboxAppSecret"] = .secret(.file("/root/dropbox"))

        let plan = try SetupPlan(other, on: state)

        #expect(
            changes(plan) == [
                .copySecret(.dropbox, .file("/root/dropbox")),
                .changeConfiguration([
                    SettingChange(key: "GoogleServerClientId", json: "\"2-y\""),
                    SettingChange(key: "DropboxAppKey", json: "\"key\""),
                    SettingChange(key: "DropboxAppSecretFile", json: "\"dropbox-app-secret\""),
                    SettingChange(key: "allowedSignInTypes.Dropbox", json: "true"),
                ]),
            ])
        let order = plan.actions.filter { $0 == .startUnits || $0 == .reloadServer }
        #expect(order == [.startUnits, .reloadServer])

        state.replacedSecrets = [.google]
        let secret = try SetupPlan(answers, on: state)
        #expect(changes(secret) == [.replaceSecret(.google, .file("/root/google"))])
        #expect(secret.actions.contains(.reloadServer))
        #expect(!(try SetupPlan(answers, on: after(plan, on: fresh)).actions.contains(.reloadServer)))
    }

    @Test("After an interruption between a change and the reload, the next run reloads")
    func unreadChanges() throws {
        var state = after(try SetupPlan(answers, on: fresh), on: fresh)
        state.hasUnreadChanges = true

        let plan = try SetupPlan(answers, on: state)

        #expect(changes(plan) == [] && plan.actions.contains(.reloadServer))
    }

    @Test("An earlier release's configuration gets a metrics folder, unless it disables metrics")
    func metrics() throws {
        var state = after(try SetupPlan(answers, on: fresh), on: fresh)
        state.configuration?.hasMetrics = false
        state.configuration?.keepsMetrics = false
        let change = SettingChange(key: "metrics.directory", json: "\"/run/syncd/metrics\"")
        #expect(changes(try SetupPlan(answers, on: state)) == [.changeConfiguration([change])])
        #expect(try SetupPlan(answers, on: state).actions.contains(.check(.monitoring)))

        state.configuration?.hasMetrics = true
        let none = try SetupPlan(answers, on: state)
        #expect(changes(none) == [] && !none.actions.contains(.check(.monitoring)))

        state.configuration?.keepsMetrics = true
        state.site?.replace("include syncd/syncd-metrics.conf;", with: "")
        let apart = try SetupPlan(answers, on: state)
        #expect(!apart.actions.contains(.check(.monitoring)))
        #expect(apart.remaining.contains { $0.contains("add the line `include syncd/syncd-metrics.conf;`") })
    }

    @Test("With the operator's consent certbot obtains the certificate after nginx has been prepared")
    func certbot() throws {
        var state = fresh
        state.hasCertificate = false
        var other = answers
        other.certificateRequest = SetupAnswers.CertificateRequest(mailAddress: "a@example.org")

        let plan = try SetupPlan(other, on: state)

        let order = plan.actions.filter { $0 == .reloadNginx || $0.needsNewPlan }
        #expect(order == [.reloadNginx, .obtainCertificate(.init(mailAddress: "a@example.org"))])
        #expect(!plan.remaining.contains { $0.contains("certbot") })
        state = after(plan, on: state)
        state.hasCertificate = true
        #expect(changes(try SetupPlan(other, on: state)) == [.write(path: SetupPaths.site, text: try site(answers))])
    }

    @Test("Without a certificate nginx is prepared for certbot; with one, the next run serves the site")
    func letsEncrypt() throws {
        var state = fresh
        state.hasCertificate = false

        let first = try SetupPlan(answers, on: state)
        let interim = SiteText.untilThereIsACertificate(host: answers.host)
        #expect(first.actions.contains(.write(path: SetupPaths.site, text: interim)))
        #expect(!first.actions.contains(.check(.health)))
        #expect(first.remaining.contains { $0.contains("certbot certonly --webroot --webroot-path /var/www/html") })

        state = after(first, on: state)
        state.hasCertificate = true
        let second = try SetupPlan(answers, on: state)
        #expect(changes(second) == [.write(path: SetupPaths.site, text: try site(answers))])
        #expect(second.actions.contains(.check(.health)))

        // Unless an administrator has changed the site.
        state.site? += "# mine\n"
        #expect(changes(try SetupPlan(answers, on: state)) == [])
    }

    @Test("A database account with an unknown password is an obstacle")
    func unknownPassword() throws {
        var state = fresh
        state.database?.hasUser = true

        let plan = try SetupPlan(answers, on: state)

        #expect(plan.obstacles.count == 1)
        #expect(plan.obstacles[0].contains("database-password"))
    }

    @Test("A database that setup must not change needs its password in place")
    func existingDatabase() throws {
        var state = fresh
        state.database = nil
        #expect(try SetupPlan(answers, on: state).obstacles.count == 1)

        state.secrets = [.databasePassword]
        let plan = try SetupPlan(answers, on: state)

        #expect(plan.obstacles.isEmpty)
        #expect(!plan.actions.contains(.createDatabase) && !plan.actions.contains(.createDatabaseUser))
    }

    @Test("Without storage, or without the secret for an id, setup does not start")
    func incomplete() throws {
        var other = answers
        other.settings = [:]
        #expect(try SetupPlan(other, on: fresh).obstacles.contains { $0.contains("for storage") })

        other = answers
        other.settings["GoogleServerClientSecret"] = .secret(nil)
        #expect(try SetupPlan(other, on: fresh).obstacles == ["the secret for \(SecretName.google.path) is missing"])
    }

    @Test("Push services and their secrets are added to a new configuration, and to an existing one")
    func push() throws {
        var other = answers
        other.settings["apns.teamId"] = .text("T")
        other.settings["apns.keyId"] = .text("K")
        other.settings["apns.topic"] = .text("com.example.app")
        other.settings["apns.privateKey"] = .secret(.file("/root/p8"))
        other.settings["fcm.serviceAccount"] = .secret(.file("/root/json"))
        other.settings["awssns.accessKeyId"] = .text("A")
        other.settings["awssns.region"] = .text("us-west-2")
        other.settings["awssns.platformApplicationArn"] = .text("arn")
        other.settings["awssns.secretKey"] = .secret(.typed("aws-secret-key"))
        let first = try SetupPlan(other, on: fresh)
        let copied: [SetupPlan.Action] = [
            .copySecret(.fcm, .file("/root/json")), .copySecret(.apns, .file("/root/p8")),
            .copySecret(.sns, .typed("aws-secret-key")),
        ]
        #expect(first.obstacles.isEmpty && first.actions.filter(copied.contains) == copied)

        let second = try SetupPlan(other, on: after(first, of: other, on: fresh))
        #expect(changes(second) == [] && second.remaining.isEmpty)

        // The operator created the configuration without push, and adds push later.
        let later = try SetupPlan(other, on: after(try SetupPlan(answers, on: fresh), on: fresh))
        #expect(later.obstacles.isEmpty && later.actions.filter(copied.contains) == copied)
        guard case .changeConfiguration(let settings)? = changes(later).last else {
            Issue.record("the configuration is not changed: \(changes(later))")
            return
        }
        #expect(settings.contains(SettingChange(key: "apns.teamId", json: "\"T\"")))
        #expect(settings.contains(SettingChange(key: "apns.privateKeyFile", json: "\"apns-private-key\"")))
        #expect(settings.count == 9)

        other.settings["fcm.serviceAccount"] = .secret(nil)
        #expect(
            try SetupPlan(other, on: fresh).obstacles
                == ["the secret for /etc/syncd/secrets/fcm-service-account is missing"])
    }

    @Test("The sandbox is for a new server: a configuration for real providers is an obstacle")
    func sandboxLater() throws {
        var other = answers
        other.useSandbox()

        let plan = try SetupPlan(other, on: after(try SetupPlan(answers, on: fresh), on: fresh))

        #expect(plan.obstacles.contains { $0.contains("is for real providers") })
    }

    @Test("The sandbox adds its apps, its site, and a warning")
    func sandbox() throws {
        var other = answers
        other.useSandbox()
        var state = fresh
        state.hasSandboxSite = true

        let plan = try SetupPlan(other, on: state)

        #expect(plan.obstacles.isEmpty)
        #expect(plan.actions.contains(.enableSandboxSite))
        #expect(plan.actions.contains(.copySecret(.microsoft, .wellKnown("sandbox~microsoft+secret/="))))
        #expect(plan.remaining.contains { $0.contains("SANDBOX") })
    }

    @Test(
        "Names with a special meaning in the syntax of nginx or MariaDB are rejected",
        arguments: [
            "", "192.0.2.1", "https://sync.example.org", "sync.example.org:443", "a b", "a;b", "a{}", "a\"b", "-a.b",
            "a..b", "a.b.", "ä.de", "\(String(repeating: "a", count: 64)).de",
        ])
    func names(name: String) {
        var other = answers
        other.host = name
        #expect(other.problems().count == 1)
        other = answers
        other.databaseName = name + ";"
        #expect(other.problems().count == 1)
        other = answers
        other.certificate = .files(certificate: name, key: "/k")
        #expect(other.problems().count == 1)
    }
}

extension SecretName {
    fileprivate static let google = SecretName(rawValue: "google-client-secret")
    fileprivate static let dropbox = SecretName(rawValue: "dropbox-app-secret")
    fileprivate static let microsoft = SecretName(rawValue: "microsoft-client-secret")
    fileprivate static let apns = SecretName(rawValue: "apns-private-key")
    fileprivate static let fcm = SecretName(rawValue: "fcm-service-account")
    fileprivate static let sns = SecretName(rawValue: "aws-secret-key")
}
