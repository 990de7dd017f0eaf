import Configuration
import Curl
import FoundationEssentials
import MariaDB
import OpenSSLCrypto
import Operations
import Posix
import Providers
import Store
import SyncProtocol

/// The host that setup works on, or a folder used as its root.
struct SetupHost {
    static let certbot = "/usr/bin/certbot"
    /// Lets the authority try its validation twice.
    private static let certificateTime: Duration = .seconds(300)
    /// For systemd's replies.
    static let patience: Duration = .seconds(10)

    /// The prefix of each absolute path; empty for the host itself.
    let root: String
    /// The account that may create databases and accounts; `nil` if these must not be changed.
    var administrator: ConnectionSettings?
    var secrets = SetupSecrets()
    /// Whether replaced files are kept; `false` for the second replacement in one run.
    var keepsPrevious = true

    func place(_ path: String) -> String { root + path }

    /// Whether units can be started, and nginx reloaded.
    var isRunning: Bool { root.isEmpty && AtomicFile.exists("/run/systemd/system") }

    /// Does one step.
    /// - Returns: a remark for the operator, if there is one.
    /// - Throws: ``SetupFailure``; the step then has no result. ``NoRunningSystem`` for steps that need a running
    ///   system.
    func perform(_ action: SetupPlan.Action, _ answers: SetupAnswers) throws -> String? {
        do {
            switch action {
            case .makeSecretsFolder:
                try Directory.makeParents(of: place(SetupPaths.secrets))
                try Directory.make(place(SetupPaths.secrets))
            case .makeSecret(let name): try write(Self.randomSecret(name), to: name)
            case .copySecret(let name, let source): try write(try secrets.read(source), to: name)
            case .replaceSecret(let name, let source):
                let secret = try secrets.read(source)
                let remark = try keepPrevious(name.path)
                try write(secret, to: name)
                return remark
            case .write(let path, let text):
                try Directory.makeParents(of: place(path))
                let remark = AtomicFile.exists(place(path)) ? try keepPrevious(path) : nil
                try AtomicFile.write(Array(text.utf8), to: place(path), permissions: 0o644)
                return remark
            case .changeConfiguration(let changes):
                let path = try AtomicFile.resolved(place(SetupPaths.configuration))
                let text = try configurationText(with: changes)
                let remark = try keepPrevious(SetupPaths.configuration)
                try AtomicFile.write(Array(text.utf8), to: path, like: path)
                return remark
            case .issueCertificate:
                let isNew = try LocalAuthority(root: root, host: answers.host).issue()
                guard isRunning else { return isNew ? nil : "the authority is unchanged" }
                // The timer replaces the certificate before it expires.
                return try call(["systemctl", "enable", "--now", SetupPaths.authorityTimer])
            case .trustAuthority: try LocalAuthority(root: root, host: answers.host).trust()
            case .makeNameKnown: try LocalAuthority(root: root, host: answers.host).makeNameKnown()
            case .forgetTrials(let hosts):
                for host in hosts.sorted() { try LocalAuthority(root: root, host: host).withdraw() }
            case .raiseNginxConnections(let text):
                let path = place(SetupPaths.nginxConfiguration)
                let remark = try keepPrevious(SetupPaths.nginxConfiguration)
                try AtomicFile.write(Array(text.utf8), to: path, like: path)
                return remark
            case .enableSite: try link(SetupPaths.siteLink, to: SetupPaths.siteLinkTarget)
            case .enableSandboxSite: try link(SetupPaths.sandboxSiteLink, to: SetupPaths.sandboxSiteLinkTarget)
            case .createDatabase, .createDatabaseUser, .createRoleUsers: try administer(action, answers)
            case .migrate: return try migrate()
            case .reloadNginx: return try call(["systemctl", "reload-or-restart", "nginx.service"])
            case .obtainCertificate(let request): return try obtainCertificate(request, host: answers.host)
            case .reloadServer:
                do { return try call(["systemctl", "reload", SetupPaths.service]) } catch let failure as SetupFailure {
                    throw SetupFailure(
                        "\(failure.sentence)\nThe server keeps running as before; journalctl -u \(SetupPaths.service) "
                            + "shows the reason, and \(SetupPaths.previous(SetupPaths.configuration)) is the previous "
                            + "configuration. After the correction: systemctl reload \(SetupPaths.service)")
                }
            case .startUnits:
                // The generator updates the units from the configuration.
                _ = try call(["systemctl", "daemon-reload"])
                return try call(["systemctl", "enable", "--now", SetupPaths.target])
            case .startBackups:
                _ = try call(["systemctl", "enable", "--now", SetupPaths.backupTimer])
                _ = try call(["systemctl", "start", SetupPaths.backupService])
                return
                    "in \(HostedApp.current.backupFolder); you still have to arrange copies on another host, and "
                    + "copies of the secrets"
            case .check(let check): return try perform(check, answers)
            }
        } catch let error as PosixError {
            throw SetupFailure("\(error)")
        }
        return nil
    }

    // MARK: Files

    private func link(_ path: String, to target: String) throws {
        try Directory.makeParents(of: place(path))
        try AtomicFile.link(place(path), to: target)
    }

    /// Copies a file that is about to be replaced, with its owner and permissions.
    /// - Returns: a remark that names the copy.
    private func keepPrevious(_ path: String) throws -> String? {
        guard keepsPrevious else { return nil }
        let previous = SetupPaths.previous(path)
        try AtomicFile.write(try TextFile.read(place(path)), to: place(previous), like: place(path))
        return "the previous file is \(previous)"
    }

    /// The configuration's text with changes; writes nothing.
    private func configurationText(with changes: [SettingChange]) throws -> String {
        do {
            var edit = try ConfigurationEdit(
                of: String(decoding: try TextFile.read(place(SetupPaths.configuration)), as: UTF8.self))
            for change in changes { try edit.set(change.key, toJSON: change.json) }
            return edit.text
        } catch let unsuitable as ConfigurationEdit.Unsuitable {
            throw SetupFailure("\(SetupPaths.configuration): \(unsuitable)", status: ExitStatus.configuration.rawValue)
        }
    }

    /// Removes the links that these steps have created.
    func undoLinks(among actions: [SetupPlan.Action]) {
        if actions.contains(.enableSite) { try? Directory.removeFile(place(SetupPaths.siteLink)) }
        if actions.contains(.enableSandboxSite) { try? Directory.removeFile(place(SetupPaths.sandboxSiteLink)) }
    }

    private func write(_ secret: Secret, to name: SecretName) throws {
        try AtomicFile.write(Array((secret.value + "\n").utf8), to: place(name.path), permissions: 0o600)
    }

    private static func randomSecret(_ name: SecretName) throws -> Secret {
        let bytes = try RandomBytes.generate(count: SealingKey.byteCount)
        return Secret(name == .sealingKey ? Data(bytes).base64EncodedString() : bytes.hexLowercase)
    }

    /// Why the server would not start with what `plan` writes; writes nothing.
    func objections(to plan: SetupPlan) -> [String] {
        var text: String?
        var coming: [String: Secret] = [:]
        var objections: [String] = []
        for action in plan.actions {
            do {
                switch action {
                case .makeSecret(let name): coming[name.rawValue] = try Self.randomSecret(name)
                case .copySecret(let name, let source), .replaceSecret(let name, let source):
                    coming[name.rawValue] = try secrets.read(source)
                case .write(SetupPaths.configuration, let wanted): text = wanted
                case .changeConfiguration(let changes): text = try configurationText(with: changes)
                default: break
                }
            } catch let failure as SetupFailure {
                objections.append(failure.sentence)
            } catch {
                objections.append("\(error)")
            }
        }
        guard objections.isEmpty, let text else { return objections }
        do throws(ConfigurationError) {
            _ = try ServerConfiguration(proposed: text, at: place(SetupPaths.configuration), secrets: coming)
            return []
        } catch {
            // Line numbers would refer to a file that does not exist yet.
            return error.problems.map(\.sentence)
        }
    }

    // MARK: Database

    private func administer(_ action: SetupPlan.Action, _ answers: SetupAnswers) throws {
        let statements = DatabaseStatements(answers)
        var sql = statements.createDatabase
        if action == .createDatabaseUser {
            sql = statements.createOwner(
                password: try secrets.read(.file(place(SecretName.databasePassword.path))).value)
        }
        if action == .createRoleUsers {
            sql = statements.createRoles(
                try SecretName.ofRoles.map { name in
                    DatabaseStatements.Account(
                        user: answers.databaseUser(ofRole: name.role ?? ""),
                        password: try secrets.read(.file(place(name.path))).value)
                })
        }
        let text = sql
        try withAdministrator { connection throws(MariaDBError) in try connection.executeScript(text) }
    }

    func configuration() throws -> ServerConfiguration {
        do { return try ServerConfiguration(readingFrom: place(SetupPaths.configuration)) } catch {
            throw SetupFailure("\(error)")
        }
    }

    private func migrate() throws -> String {
        do {
            let configuration = try configuration()
            var runner = try MigrationRunner(configuration.database, leaseOwner: try RandomBytes.uuidText())
            let applied = try runner.migrate()
            try runner.verify()
            _ = try RoleAccounts.settle(configuration)
            return applied.isEmpty ? "the tables are up to date" : "applied \(applied.joined(separator: ", "))"
        } catch let error as MigrationError {
            throw SetupFailure("\(error)")
        } catch let error as StoreError {
            throw SetupFailure("\(error)")
        }
    }

    // MARK: Programs

    private func call(_ arguments: [String]) throws -> String? {
        guard isRunning else { throw NoRunningSystem() }
        let outcome = try ChildProcess.run(arguments)
        guard outcome.status == 0 else {
            throw SetupFailure("\(arguments.joined(separator: " ")) failed: \(outcome.output)")
        }
        return nil
    }

    private func obtainCertificate(_ request: SetupAnswers.CertificateRequest, host: String) throws -> String? {
        guard isRunning else { throw NoRunningSystem() }
        guard AtomicFile.exists(Self.certbot) else { throw SetupFailure("there is no certbot: apt install certbot") }
        var arguments = [
            Self.certbot, "certonly", "--non-interactive", "--agree-tos", "--webroot", "--webroot-path",
            SetupPaths.webroot, "--domain", host, "--deploy-hook", "systemctl reload nginx",
        ]
        if let mailAddress = request.mailAddress {
            arguments += ["--email", mailAddress]
        } else {
            arguments.append("--register-unsafely-without-email")
        }
        if let directory = request.directory { arguments += ["--server", directory] }
        let outcome = try ChildProcess.run(arguments, within: Self.certificateTime)
        guard outcome.status == 0 else {
            throw SetupFailure("certbot ended with status \(outcome.status):\n\(outcome.output)")
        }
        return "certbot renews it automatically, and then reloads nginx"
    }
}

extension SetupHost {
    private static let healthTime: Duration = .seconds(30)
    private static let httpsPort = 443
    /// The port for this host's own checks behind a load balancer, from the site's template.
    private static let ownPort = 9181

    func perform(_ check: SetupPlan.Check, _ answers: SetupAnswers) throws -> String? {
        switch check {
        case .configuration:
            let notes = try configuration().notes
            return notes.isEmpty ? nil : notes.map(\.description).joined(separator: "\n")
        case .database:
            let settings = try configuration().database
            do {
                var connection = try Connection(settings)
                try connection.execute("DO 1")
            } catch {
                throw SetupFailure("\(settings): \(Self.detail(of: error))")
            }
            return nil
        case .nginx:
            guard root.isEmpty else { throw NoRunningSystem() }
            let outcome = try ChildProcess.run(["nginx", "-t", "-q"])
            guard outcome.status == 0 else { throw SetupFailure(outcome.output) }
            return outcome.output.isEmpty ? nil : outcome.output
        case .monitoring: return try checkMonitoring()
        case .health: return try checkHealth(answers)
        }
    }

    /// Polls until the metrics page of all processes answers.
    private func checkMonitoring() throws -> String? {
        guard isRunning else { throw NoRunningSystem() }
        CurlLibrary.initialize()
        try poll {
            do throws(CurlError) {
                var handle = try EasyHandle(allowsPlainHTTP: true)
                return Self.problem(try handle.perform(Request(url: SetupPaths.metricsURL)))
            } catch {
                return String(reflecting: error)
            }
        }
        return nil
    }

    /// Polls until a responder answers, using the host's name and this machine's address.
    private func checkHealth(_ answers: SetupAnswers) throws -> String? {
        guard isRunning else { throw NoRunningSystem() }
        CurlLibrary.initialize()
        var isTrusted = true
        try poll {
            do throws(CurlError) { return Self.problem(try health(answers, caFile: nil)) } catch .tls {
                isTrusted = false
                return nil
            } catch {
                return String(reflecting: error)
            }
        }
        return isTrusted ? nil : try checkHealthByOwnCertificate(answers)
    }

    /// Repeats `ask` until it returns no problem.
    private func poll(_ ask: () -> String?) throws(SetupFailure) {
        let deadline = ContinuousClock.now + Self.healthTime
        while let problem = ask() {
            guard ContinuousClock.now < deadline else { throw SetupFailure(problem) }
            Pause.sleep(.milliseconds(500))
        }
    }

    private static func problem(_ response: Response) -> String? {
        response.status == 200 ? nil : "status \(response.status)"
    }

    /// A certificate that this host does not trust may still be valid: a private authority may have issued it.
    private func checkHealthByOwnCertificate(_ answers: SetupAnswers) throws -> String? {
        let file = SiteText.files(of: answers.certificate, host: answers.host).certificate
        let examined = CertificateCheck.examine(NginxSite.Certificate(certificate: file, key: nil), names: [])
        if let fault = examined.first(where: { $0.verdict == .bad }) { throw SetupFailure(fault.finding) }
        let status: Int
        do { status = try health(answers, caFile: file).status } catch {
            throw SetupFailure(
                "the certificate is not for \(answers.host), or from an authority that this host does not trust: "
                    + String(reflecting: error))
        }
        guard status == 200 else { throw SetupFailure("status \(status)") }
        return "it answers with a certificate that this host does not trust; phones may not trust it either"
    }

    private func health(_ answers: SetupAnswers, caFile: String?) throws(CurlError) -> Response {
        // On the other port, nginx then expects the PROXY protocol.
        let port = answers.balancers?.isEmpty == false ? Self.ownPort : Self.httpsPort
        var handle = try EasyHandle(routing: Routing(connectTo: "127.0.0.1:\(port)", caFile: caFile))
        return try handle.perform(Request(url: "https://\(answers.host)/HealthCheck"))
    }
}
