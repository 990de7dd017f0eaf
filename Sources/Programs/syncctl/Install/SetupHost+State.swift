import Configuration
import MariaDB
import Operations
import Posix
import Providers
import Store
import SyncProtocol

extension SetupHost {
    /// The results of the last setup: the site and the configuration.
    /// - Throws: ``SetupFailure`` if the configuration has mistakes.
    func lastTime() throws -> LastSetup {
        LastSetup(
            site: text(of: SetupPaths.site).map(SitePresence.init),
            configuration: AtomicFile.exists(place(SetupPaths.configuration))
                ? try described(try presentConfiguration()) : nil)
    }

    /// Examines the current state; changes nothing.
    ///
    /// If a configuration exists, its database overrides the one in the answers.
    /// - Throws: ``SetupFailure``.
    func observe(_ answers: inout SetupAnswers) throws -> HostState {
        var state = HostState()
        if AtomicFile.exists(place(SetupPaths.configuration)) {
            let configuration = try presentConfiguration()
            takeDatabase(of: configuration, into: &answers)
            state.configuration = try described(configuration)
            state.hasUnreadChanges = hasUnreadChanges(configuration)
        }
        state.otherApps = otherApps
        state.trials = Set(try LocalAuthority.all(root: root).filter(\.isToldOf).map(\.host))
        state.hasSecretsFolder = AtomicFile.exists(place(SetupPaths.secrets))
        state.secrets = Set(SecretName.all.filter { AtomicFile.exists(place($0.path)) })
        state.replacedSecrets = replacedSecrets(answers, among: state.secrets)
        state.site = text(of: SetupPaths.site)
        state.isSiteEnabled = AtomicFile.exists(place(SetupPaths.siteLink))
        state.hasSandboxSite = AtomicFile.exists(place(SetupPaths.sandboxSite))
        state.isSandboxSiteEnabled = AtomicFile.exists(place(SetupPaths.sandboxSiteLink))
        state.makesBackups = AtomicFile.exists(place(SetupPaths.backupTimerLink))
        state.http2Form = http2Form
        state.nginxConnections = nginxConnections
        state.hasNchan = hasNchan
        state.passesSignals = SetupPaths.signals.allSatisfy { text(of: $0.path) == $0.text }
        guard let template = text(of: SetupPaths.siteTemplate) else {
            throw SetupFailure("\(place(SetupPaths.siteTemplate)) cannot be read; it belongs to the package syncserver")
        }
        do { state.siteTemplate = try AppText().site(template) } catch { throw SetupFailure("\(error)") }
        state.nginxConfiguration = text(of: SetupPaths.nginxConfiguration) ?? ""
        let files = SiteText.files(of: answers.certificate, host: answers.host)
        state.hasCertificate = AtomicFile.exists(place(files.certificate)) && AtomicFile.exists(place(files.key))
        if answers.certificate == .ownAuthority {
            let authority = LocalAuthority(root: root, host: answers.host)
            state.hasCertificate = authority.hasCertificate
            state.trustsOwnAuthority = authority.isTrustedHere
            state.knowsName = authority.isNameKnown
        } else if state.hasCertificate {
            let outcome = try? ChildProcess.run(
                ["openssl", "x509", "-in", place(files.certificate), "-noout", "-ocsp_uri"])
            state.certificateNamesResponder = outcome?.status == 0 && outcome?.output.contains("://") == true
        }
        if administrator != nil { state.database = try observeDatabase(answers) }
        return state
    }

    /// The database of an app is unknown if its configuration has mistakes.
    var otherApps: [OtherApp] {
        ([.package] + AppFiles.added(root: root)).filter { $0 != .current }.map { app in
            let site = text(of: "/etc/nginx/sites-enabled/\(app.siteName)").map(SitePresence.init)
            let database = try? AppDatabase(of: app, root: root)
            return OtherApp(label: app.label, host: site?.host, database: database)
        }
    }

    /// The limit of each nginx process; `nil` if nginx's configuration does not set it.
    var nginxConnections: Int? { NginxSite.read(folder: place("/etc/nginx")).workerConnections }

    /// Whether nginx's module nchan is installed.
    var hasNchan: Bool { AtomicFile.exists(place(SetupPaths.nchan)) }

    /// The form for this host's nginx, or for the one in the root folder.
    var http2Form: HTTP2Form {
        let inside = root.isEmpty || !AtomicFile.exists(place("/usr/sbin/nginx")) ? [] : ["chroot", root]
        let outcome = try? ChildProcess.run(inside + ["nginx", "-v"], within: Self.patience)
        return HTTP2Form(ofNginx: outcome?.output ?? "")
    }

    private func presentConfiguration() throws -> ServerConfiguration {
        do { return try ServerConfiguration(readingFrom: place(SetupPaths.configuration)) } catch {
            throw SetupFailure(
                "the existing configuration has mistakes; correct them first\n\(error)",
                status: ExitStatus.configuration.rawValue)
        }
    }

    private func described(_ configuration: ServerConfiguration) throws -> HostState.Configuration {
        let edit: ConfigurationEdit
        do {
            edit = try ConfigurationEdit(
                of: String(decoding: try TextFile.read(place(SetupPaths.configuration)), as: UTF8.self))
        } catch {
            throw SetupFailure("\(SetupPaths.configuration): \(error)", status: ExitStatus.configuration.rawValue)
        }
        var described = HostState.Configuration()
        let services =
            Company.signIns.compactMap { offer in
                configuration.accounts[offer.accountType].map { (offer.settings, $0) }
            } + Company.pushes.compactMap { offer in configuration.push[offer.section].map { (offer.settings, $0) } }
        for (settings, values) in services {
            for setting in settings where setting.question != nil {
                described.values[setting.key] = SetupAnswers.Answer(setting, of: values)
            }
        }
        for setting in Company.signIns.flatMap(\.settings) + Company.pushes.flatMap(\.settings) where setting.isSecret {
            described.secretFiles[setting.key] = edit.string(setting.key + "File")
        }
        described.enablingKeys = Set(
            Company.signIns.filter { configuration.accounts[$0.accountType] != nil }.map(\.enablingKey))
        described.hasMetrics = edit.has("metrics") || edit.has("metrics.directory")
        described.keepsMetrics = configuration.metricsDirectory != nil
        described.publicURL = configuration.publicURL
        described.hasChangeSignal = configuration.changeSignal != nil
        described.hasSandbox = configuration.sandbox != nil
        return described
    }

    private func hasUnreadChanges(_ configuration: ServerConfiguration) -> Bool {
        guard isRunning else { return false }
        let files = configuration.filesReadAtStart(from: SetupPaths.configuration)
        return !LoadedFilesCheck.outdated(files, within: Self.patience).units.isEmpty
    }

    /// The existing secrets that differ from those in the answers.
    private func replacedSecrets(_ answers: SetupAnswers, among present: Set<SecretName>) -> Set<SecretName> {
        var replaced: Set<SecretName> = []
        for (key, answer) in answers.settings {
            guard case .secret(let source?) = answer, let name = SecretName(ofSetting: key), present.contains(name),
                let wanted = try? secrets.read(source), let bytes = try? TextFile.read(place(name.path))
            else { continue }
            if SetupSecrets.text(bytes) != SetupSecrets.text(Array(wanted.value.utf8)) { replaced.insert(name) }
        }
        return replaced
    }

    private func takeDatabase(of configuration: ServerConfiguration, into answers: inout SetupAnswers) {
        switch configuration.database.address {
        case .unixSocket(let path): answers.database = .socket(path)
        case .tcp(let host, let port): answers.database = .tcp(host: host, port: Int(port))
        }
        answers.databaseName = configuration.database.database ?? ""
        answers.databaseUser = configuration.database.user
    }

    private func observeDatabase(_ answers: SetupAnswers) throws -> HostState.Database {
        let host = if case .socket = answers.database { "localhost" } else { "%" }
        return try withAdministrator { connection throws(MariaDBError) in
            var databases: Int64 = 0
            var users: Int64 = 0
            try connection.query(
                "SELECT COUNT(*) FROM information_schema.schemata WHERE schema_name = ?", [.text(answers.databaseName)]
            ) { row throws(MariaDBError) in databases = try row.int(0) }
            try connection.query(
                "SELECT COUNT(*) FROM mysql.user WHERE user = ? AND host = ?",
                [.text(answers.databaseUser), .text(host)]
            ) { row throws(MariaDBError) in users = try row.int(0) }
            var roleUsers: Set<SecretName> = []
            for name in SecretName.ofRoles {
                try connection.query(
                    "SELECT COUNT(*) FROM mysql.user WHERE user = ? AND host = ?",
                    [.text(answers.databaseUser(ofRole: name.role ?? "")), .text(host)]
                ) { row throws(MariaDBError) in if try row.int(0) > 0 { roleUsers.insert(name) } }
            }
            return HostState.Database(hasDatabase: databases > 0, hasUser: users > 0, roleUsers: roleUsers)
        }
    }

    /// Runs statements as the account that may create databases and accounts.
    func withAdministrator<Value>(
        _ body: (inout Connection) throws(MariaDBError) -> Value
    ) throws -> Value {
        guard let administrator else { throw SetupFailure("the database must not be changed") }
        do {
            var connection = try Connection(administrator)
            return try body(&connection)
        } catch {
            throw SetupFailure(
                "the database cannot be used as \(administrator.user): \(Self.detail(of: error))")
        }
    }

    /// The database's own message, which never quotes a password.
    static func detail(of error: MariaDBError) -> String {
        switch error {
        case .unavailable(let code, let message), .accessDenied(let code, let message): "\(message) (\(code))"
        default: error.description
        }
    }

    func text(of path: String) -> String? {
        (try? TextFile.read(place(path))).map { String(decoding: $0, as: UTF8.self) }
    }
}
