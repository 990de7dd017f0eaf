import Configuration
import Curl
import FoundationEssentials
import MariaDB
import OpenSSLCrypto
import Operations
import Posix
import Providers
import Store

/// The host that setup works on, or a folder that stands in for its root.
struct SetupHost {
    private static let healthTime: Duration = .seconds(30)
    private static let httpsPort = 443

    /// The prefix of each absolute path; empty for the host itself.
    let root: String
    /// The account that may create databases and accounts; `nil` if these must not be changed.
    let administrator: ConnectionSettings?
    let typedSecrets: [String: Secret]

    func place(_ path: String) -> String { root + path }

    /// Whether units can be started, and nginx reloaded.
    private var isRunning: Bool { root.isEmpty && AtomicFile.exists("/run/systemd/system") }

    /// Does one step.
    /// - Returns: something that a person should know, if anything.
    /// - Throws: ``SetupFailure``; the step's result does not exist then. ``NoRunningSystem`` for steps that need a
    ///   running system.
    func perform(_ action: SetupPlan.Action, _ answers: SetupAnswers) throws -> String? {
        do {
            switch action {
            case .makeSecretsFolder:
                try makeFolder(SetupPaths.configurationFolder)
                try Directory.make(place(SetupPaths.secrets))
            case .makeSecret(let name): try write(Self.randomSecret(name), to: name)
            case .copySecret(let name, let source): try write(try secret(source), to: name)
            case .write(let path, let text):
                try makeFolder(String(path[..<(path.lastIndex(of: "/") ?? path.startIndex)]))
                try AtomicFile.write(Array(text.utf8), to: place(path), permissions: 0o644)
            case .enableSite: try link(SetupPaths.siteLink, to: SetupPaths.siteLinkTarget)
            case .enableSandboxSite: try link(SetupPaths.sandboxSiteLink, to: SetupPaths.sandboxSiteLinkTarget)
            case .createDatabase, .createDatabaseUser, .createRoleUsers: try administer(action, answers)
            case .migrate: return try migrate()
            case .reloadNginx: return try call(["systemctl", "reload-or-restart", "nginx.service"])
            case .startUnits:
                // The generator updates the units from the configuration.
                _ = try call(["systemctl", "daemon-reload"])
                return try call(["systemctl", "enable", "--now", "syncd.target"])
            case .check(let check): return try perform(check, answers)
            }
        } catch let error as PosixError {
            throw SetupFailure("\(error)")
        }
        return nil
    }

    // MARK: Files

    /// Creates a world-readable folder and its parents.
    private func makeFolder(_ path: String) throws {
        guard !path.isEmpty, !AtomicFile.exists(place(path)) else { return }
        try makeFolder(String(path[..<(path.lastIndex(of: "/") ?? path.startIndex)]))
        try Directory.make(place(path))
        try AtomicFile.setPermissions(of: place(path), to: 0o755)
    }

    private func link(_ path: String, to target: String) throws {
        try makeFolder(String(path[..<(path.lastIndex(of: "/") ?? path.startIndex)]))
        try AtomicFile.link(place(path), to: target)
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

    private func secret(_ source: SetupAnswers.SecretSource) throws -> Secret {
        switch source {
        case .wellKnown(let text): return Secret(text)
        case .typed(let name):
            guard let secret = typedSecrets[name], !secret.value.isEmpty else {
                throw SetupFailure("nothing was typed in for \(name)")
            }
            return secret
        case .file(let path, let giver):
            let file = giver.map { "\($0) names \(path), which" } ?? path
            var bytes: [UInt8]
            do { bytes = try TextFile.read(path) } catch { throw SetupFailure("\(file) cannot be read: \(error)") }
            while let last = bytes.last, last == UInt8(ascii: "\n") || last == UInt8(ascii: "\r") { bytes.removeLast() }
            guard !bytes.isEmpty else { throw SetupFailure("\(file) is empty") }
            return Secret(String(decoding: bytes, as: UTF8.self))
        }
    }

    /// Why the server would not start with what `plan` writes; writes nothing.
    func objections(to plan: SetupPlan) -> [String] {
        var text: String?
        var secrets: [String: Secret] = [:]
        var objections: [String] = []
        for action in plan.actions {
            do {
                switch action {
                case .makeSecret(let name): secrets[name.rawValue] = try Self.randomSecret(name)
                case .copySecret(let name, let source): secrets[name.rawValue] = try secret(source)
                case .write(SetupPaths.configuration, let wanted): text = wanted
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
            _ = try ServerConfiguration(proposed: text, at: place(SetupPaths.configuration), secrets: secrets)
            return []
        } catch {
            // Their line numbers refer to a file that does not exist yet.
            return error.problems.map(\.sentence)
        }
    }

    // MARK: Database

    private func administer(_ action: SetupPlan.Action, _ answers: SetupAnswers) throws {
        let statements = DatabaseStatements(answers)
        var sql = statements.createDatabase
        if action == .createDatabaseUser {
            sql = statements.createUser(password: try secret(.file(place(SecretName.databasePassword.path))).value)
        }
        if action == .createRoleUsers {
            sql = statements.createRoleUsers(
                passwords: try SecretName.ofRoles.map { name in
                    (role: name.role ?? "", password: try secret(.file(place(name.path))).value)
                })
        }
        let text = sql
        try withAdministrator { connection throws(MariaDBError) in try connection.executeScript(text) }
    }

    private func configuration() throws -> ServerConfiguration {
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

    private func perform(_ check: SetupPlan.Check, _ answers: SetupAnswers) throws -> String? {
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
        case .health: return try checkHealth(answers)
        }
    }

    /// Polls until a responder answers, using the host's name and this machine's address.
    private func checkHealth(_ answers: SetupAnswers) throws -> String? {
        guard isRunning else { throw NoRunningSystem() }
        CurlLibrary.initialize()
        let deadline = ContinuousClock.now + Self.healthTime
        while true {
            let problem: String
            do throws(CurlError) {
                let response = try health(answers, caFile: nil)
                if response.status == 200 { return nil }
                problem = "status \(response.status)"
            } catch .tls {
                return try checkHealthByOwnCertificate(answers)
            } catch {
                problem = String(reflecting: error)
            }
            guard ContinuousClock.now < deadline else { throw SetupFailure(problem) }
            Pause.sleep(.milliseconds(500))
        }
    }

    /// A certificate that this machine does not trust may still be valid: issued by a private authority.
    private func checkHealthByOwnCertificate(_ answers: SetupAnswers) throws -> String? {
        let file = SiteText.files(of: answers.certificate, host: answers.host).certificate
        let examined = CertificateCheck.examine(NginxSite.Certificate(certificate: file, key: nil), names: [])
        if let fault = examined.first(where: { $0.verdict == .bad }) { throw SetupFailure(fault.finding) }
        let status: Int
        do { status = try health(answers, caFile: file).status } catch {
            throw SetupFailure(
                "the certificate is not for \(answers.host), or of an authority that this machine does not know: "
                    + String(reflecting: error))
        }
        guard status == 200 else { throw SetupFailure("status \(status)") }
        return "it answers, with a certificate that this machine does not trust; phones may not either"
    }

    private func health(_ answers: SetupAnswers, caFile: String?) throws(CurlError) -> Response {
        var handle = try EasyHandle(routing: Routing(connectTo: "127.0.0.1:\(Self.httpsPort)", caFile: caFile))
        return try handle.perform(Request(url: "https://\(answers.host)/HealthCheck"))
    }
}
