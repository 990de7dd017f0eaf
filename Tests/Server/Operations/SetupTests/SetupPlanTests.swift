import Foundation
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
        try SiteText.complete(template, host: answers.host, certificate: answers.certificate, staples: staples)
    }

    /// The same host after `plan`, if all of it went well.
    private func after(_ plan: SetupPlan, on before: HostState) -> HostState {
        var state = before
        for action in plan.actions {
            switch action {
            case .makeSecretsFolder: state.hasSecretsFolder = true
            case .makeSecret(let name), .copySecret(let name, _): state.secrets.insert(name)
            case .createDatabase: state.database?.hasDatabase = true
            case .createDatabaseUser: state.database?.hasUser = true
            case .createRoleUsers: state.database?.roleUsers = Set(SecretName.ofRoles)
            case .write(SetupPaths.configuration, _): state.hasConfiguration = true
            case .write(SetupPaths.site, let text): state.site = text
            case .enableSite: state.isSiteEnabled = true
            case .enableSandboxSite: state.isSandboxSiteEnabled = true
            default: break
            }
        }
        return state
    }

    /// Steps that change something, and not only ask or start what may run already.
    private func changes(_ plan: SetupPlan) -> [SetupPlan.Action] {
        plan.actions.filter { action in
            switch action {
            case .check, .migrate, .reloadNginx, .startUnits: false
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
                .startUnits, .check(.health),
            ])
        #expect(plan.remaining.count == 1)
        #expect(plan.remaining[0].contains("Keep a copy"))
    }

    @Test("For an nginx with few connections, the operator is told once what to change", arguments: [768, 4_096])
    func connections(number: Int) throws {
        var host = fresh
        host.nginxConnections = number

        let plan = try SetupPlan(answers, on: host)

        let isFew = number < SetupPlan.leastConnections
        #expect(plan.remaining.contains { $0.contains("worker_rlimit_nofile 8192;") } == isFew)
    }

    @Test(
        "Each role gets a database user of its own, unless the database is to be left alone, or there is a configuration"
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

    @Test("Changes by an administrator are kept")
    func changed() throws {
        var state = after(try SetupPlan(answers, on: fresh), on: fresh)
        state.site? += "# mine\n"
        var other = answers
        other.settings["GoogleServerClientId"] = .text("2-y")

        let plan = try SetupPlan(other, on: state)

        #expect(changes(plan) == [])
        #expect(plan.kept.contains { $0.contains(SetupPaths.site) && $0.contains("left alone") })
        #expect(plan.kept.contains { $0.contains(SetupPaths.configuration) })
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

        // Unless somebody has made it their own.
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

    @Test("Push services and their secrets go into a new configuration, but not into one that is there")
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

        var state = after(first, on: fresh)
        state.configuredPush = ["apns", "fcm", "awssns"]
        let second = try SetupPlan(other, on: state)
        #expect(changes(second) == [] && second.remaining.isEmpty)

        // Somebody has made the configuration without push, and tells of it later.
        state = after(try SetupPlan(answers, on: fresh), on: fresh)
        let later = try SetupPlan(other, on: state)
        #expect(changes(later) == [] && later.obstacles.isEmpty && later.remaining.count == 3)
        #expect(later.remaining[1].contains("/etc/syncd/secrets/apns-private-key (mode 0600)"))
        #expect(later.remaining[1].contains("  \"apns\": {\n    \"teamId\": \"T\""))

        other.settings["fcm.serviceAccount"] = .secret(nil)
        #expect(
            try SetupPlan(other, on: fresh).obstacles
                == ["the secret for /etc/syncd/secrets/fcm-service-account is missing"])
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
        "Names that would mean something else in nginx's or MariaDB's language are refused",
        arguments: [
            "", "a b", "a;b", "a{}", "a\"b", "-a.b", "a..b", "a.b.", "ä.de", "\(String(repeating: "a", count: 64)).de",
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
    fileprivate static let microsoft = SecretName(rawValue: "microsoft-client-secret")
    fileprivate static let apns = SecretName(rawValue: "apns-private-key")
    fileprivate static let fcm = SecretName(rawValue: "fcm-service-account")
    fileprivate static let sns = SecretName(rawValue: "aws-secret-key")
}
