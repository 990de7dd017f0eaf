import HTTPTransport
import Providers

/// What setup does, in order. Creating the plan changes nothing.
public struct SetupPlan: Sendable, Equatable {
    public enum Action: Sendable, Equatable {
        case makeSecretsFolder
        /// A password or key of random bytes.
        case makeSecret(SecretName)
        case copySecret(SecretName, SetupAnswers.SecretSource)
        /// As it is copied, in place of another one.
        case replaceSecret(SecretName, SetupAnswers.SecretSource)
        case createDatabase
        /// With all privileges in the database, and none elsewhere.
        case createDatabaseUser
        /// Accounts for the roles, which get their privileges with the tables.
        case createRoleUsers
        case write(path: String, text: String)
        /// All else in the configuration stays as it is written.
        case changeConfiguration([SettingChange])
        /// A certificate of this host's own authority, which is made if it is missing.
        case issueCertificate
        case trustAuthority
        /// Lets programs on this host find the host's name, at the loopback address.
        case makeNameKnown
        /// Programs on this host neither trust the authorities of former trials any more, nor find those names.
        case forgetTrials(Set<String>)
        /// The text of `nginx.conf` with more connections.
        case raiseNginxConnections(text: String)
        case enableSite
        case enableSandboxSite
        case migrate
        /// nginx reloads its configuration, if it accepts it.
        case reloadNginx
        /// With certbot. Afterwards there is more to do: a new plan says what.
        case obtainCertificate(SetupAnswers.CertificateRequest)
        case startUnits
        /// Every hour, and one now.
        case startBackups
        /// The running processes read the configuration again, after another check.
        case reloadServer
        case check(Check)
    }

    public enum Check: Sendable, Equatable {
        case configuration
        case database
        case nginx
        /// What this host's own monitoring asks.
        case monitoring
        /// HealthCheck, over HTTPS and by the host's name.
        case health
    }

    public var actions: [Action] = []
    /// What existed already and is left unchanged, as sentences.
    public var kept: [String] = []
    /// What only a person can do, as sentences.
    public var remaining: [String] = []
    /// Why setup cannot continue; nothing is done then.
    public var obstacles: [String] = []

    public init() {}
}

extension SetupPlan {
    /// Decides what is to be done. What exists already is kept, since the operator may have changed it; but a site that is
    /// still as setup wrote it follows the answers, and so do the settings and secrets that the answers are about.
    public init(_ answers: SetupAnswers, on host: HostState) throws(SiteText.UnknownTemplate) {
        self.init()
        obstacles = answers.problems()
        planBeside(host.otherApps, answers)
        planSecrets(answers, host)
        planDatabase(answers, host)
        planConfiguration(answers, host)
        actions += [.check(.configuration), .check(.database), .migrate]
        let site = try planSite(answers, host)
        actions.append(.startUnits)
        // What runs is also behind if setup was interrupted before its reload, or somebody forgot theirs.
        if host.configuration != nil, host.hasUnreadChanges || actions.contains(where: \.needsReload) {
            actions.append(.reloadServer)
        }
        if host.makesBackups {
            kept.append("a backup is made every hour")
        } else if answers.makesBackups {
            actions.append(.startBackups)
        } else {
            remaining.append("Have a backup made every hour: systemctl enable --now \(SetupPaths.backupTimer)")
        }
        planChecks(answers, host, site: site)
        planCertificate(answers, host)
        if actions.contains(.makeSecret(.sealingKey)) {
            remaining.append(
                "Keep a copy of \(SecretName.sealingKey.path) on another machine: without it all stored tokens are "
                    + "lost, and all owners have to sign in again.")
        }
        if answers.sandbox != nil || host.configuration?.hasSandbox == true {
            remaining.append(
                "This server uses the SANDBOX and reaches no real cloud. For real people: remove sandbox from "
                    + "\(SetupPaths.configuration), and put in the ids and secrets of your own apps.")
        }
    }

    /// Apps share neither a name nor a database: nginx would serve one of them only, and the removal of one would delete the other's.
    private mutating func planBeside(_ others: [OtherApp], _ answers: SetupAnswers) {
        if let objection = OtherApp.objection(toHost: answers.host, among: others) {
            obstacles.append("\(answers.host) \(objection): choose another one with --host")
        }
        let own = AppDatabase(answers)
        for other in others {
            for thing in other.database.map(own.common) ?? [] {
                obstacles.append(
                    "\(thing) is that of the app \(other.label): each app needs its own, with --database-name and --database-user, "
                        + "or in \(SetupPaths.configuration)")
            }
        }
    }

    private mutating func planSecrets(_ answers: SetupAnswers, _ host: HostState) {
        if !host.hasSecretsFolder { actions.append(.makeSecretsFolder) }
        for name in [SecretName.databasePassword, .sealingKey] {
            if host.secrets.contains(name) {
                kept.append("\(name.path) is there")
            } else if name == .databasePassword, host.database?.hasUser == true {
                obstacles.append(
                    "the database user \(answers.databaseUser) exists, and its password is not in \(name.path): put it "
                        + "there (mode 0600), or drop the user")
            } else if name == .databasePassword, host.database == nil {
                obstacles.append("put the password of the database user into \(name.path) (mode 0600) first")
            } else {
                actions.append(.makeSecret(name))
            }
        }
        planRoleSecrets(answers, host)
        for setting in Company.signIns.flatMap(\.settings) + Company.pushes.flatMap(\.settings) {
            guard case .secret(let source)? = answers.settings[setting.key], let name = SecretName(setting) else {
                continue
            }
            if let source, host.replacedSecrets.contains(name) {
                actions.append(.replaceSecret(name, source))
            } else if host.secrets.contains(name) {
                kept.append("\(name.path) is there")
            } else if let source {
                actions.append(.copySecret(name, source))
            } else if host.configuration?.values[setting.key] == nil {
                obstacles.append("the secret for \(name.path) is missing")
            }
        }
    }

    /// Accounts of roles are created only with a new configuration: an existing one may lack them for a reason.
    private func makesRoleUsers(_ answers: SetupAnswers, _ host: HostState) -> Bool {
        answers.usesRoleAccounts && host.configuration == nil && host.database != nil
    }

    private mutating func planRoleSecrets(_ answers: SetupAnswers, _ host: HostState) {
        guard makesRoleUsers(answers, host) else { return }
        for name in SecretName.ofRoles {
            if host.secrets.contains(name) {
                kept.append("\(name.path) is there")
            } else if host.database?.roleUsers.contains(name) == true {
                obstacles.append(
                    "the database user \(answers.databaseUser(ofRole: name.role ?? "")) exists, and its password is not in "
                        + "\(name.path): put it there (mode 0600), or drop the user")
            } else {
                actions.append(.makeSecret(name))
            }
        }
    }

    private mutating func planDatabase(_ answers: SetupAnswers, _ host: HostState) {
        guard let database = host.database else {
            kept.append("database and user are left as they are")
            return
        }
        if database.hasDatabase {
            kept.append("the database \(answers.databaseName) is there")
        } else {
            actions.append(.createDatabase)
        }
        if database.hasUser {
            kept.append("the database user \(answers.databaseUser) is there, with the rights that it has")
        } else {
            actions.append(.createDatabaseUser)
        }
        guard makesRoleUsers(answers, host) else { return }
        if database.roleUsers.isSuperset(of: SecretName.ofRoles) {
            kept.append("the database users of the roles are there")
        } else {
            actions.append(.createRoleUsers)
        }
    }

    private mutating func planConfiguration(_ answers: SetupAnswers, _ host: HostState) {
        if let present = host.configuration {
            return planChanges(answers, present, formerHost: host.site.flatMap { SitePresence($0).host })
        }
        if !answers.hasStorage {
            let names = Company.all.filter { $0.signIn?.makeStorage != nil }.map(\.name)
            obstacles.append(
                "at least one of \(names.dropLast().joined(separator: ", ")) and \(names.last ?? "") is needed, for storage"
            )
        }
        actions.append(.write(path: SetupPaths.configuration, text: ConfigurationText.make(answers)))
    }

    /// What the answers change in a configuration that is there: the settings that they are about, and no others.
    private mutating func planChanges(
        _ answers: SetupAnswers, _ present: HostState.Configuration, formerHost: String?
    ) {
        if answers.sandbox != nil, !present.hasSandbox {
            obstacles.append(
                "\(SetupPaths.configuration) is for real providers; --sandbox is for a server that is set up anew")
            return
        }
        var changes: [SettingChange] = []
        for offer in Company.signIns where answers.has(offer.settings) {
            changes += offer.settings.compactMap { Self.change($0, answers, present) }
            if !present.enablingKeys.contains(offer.enablingKey) {
                changes.append(SettingChange(key: offer.enablingKey, json: "true"))
            }
        }
        for offer in Company.pushes where answers.has(offer.settings) {
            changes += offer.settings.compactMap { Self.change($0, answers, present) }
        }
        if let publicURL = Self.newPublicURL(answers, present, formerHost: formerHost) {
            changes.append(ConfigurationText.change(publicURL: publicURL))
        }
        if !present.hasMetrics { changes.append(ConfigurationText.metricsChange) }
        if changes.isEmpty {
            kept.append("\(SetupPaths.configuration) is there")
        } else {
            actions.append(.changeConfiguration(changes))
        }
    }

    /// The public address to put into the configuration: the operator's, or that of another host if it was that of the former
    /// one; `nil` if it stays as it is.
    private static func newPublicURL(
        _ answers: SetupAnswers, _ present: HostState.Configuration, formerHost: String?
    ) -> String? {
        var wanted = answers.publicURL.flatMap { ServerAddress($0) }.map { $0.origin + $0.path.dropLast() }
        if wanted == nil, let formerHost, present.publicURL == SetupAnswers.usualURL(ofHost: formerHost) {
            wanted = SetupAnswers.usualURL(ofHost: answers.host)
        }
        return wanted == present.publicURL ? nil : wanted
    }

    /// `nil` if the configuration says what the answers say.
    private static func change(
        _ setting: Setting, _ answers: SetupAnswers, _ present: HostState.Configuration
    ) -> SettingChange? {
        guard let answer = answers.settings[setting.key] else { return nil }
        if case .secret(let source) = answer {
            // Without a new one, the configuration may have its own way of naming it.
            if source == nil, present.values[setting.key] != nil { return nil }
            if present.secretFiles[setting.key] == SecretName(setting)?.rawValue { return nil }
        } else if present.values[setting.key] == answer {
            return nil
        }
        return ConfigurationText.change(setting, to: answer)
    }
}

extension SetupPlan.Action {
    /// Whether there is more to do afterwards than can be known before.
    public var needsNewPlan: Bool { if case .obtainCertificate = self { true } else { false } }

    /// Whether running processes have to read what it changes.
    fileprivate var needsReload: Bool {
        switch self {
        case .changeConfiguration, .copySecret, .replaceSecret: true
        default: false
        }
    }
}
