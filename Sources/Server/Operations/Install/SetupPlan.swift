import HTTPTransport
import Providers
import Store

/// The actions of setup, in order. Creating the plan changes nothing.
public struct SetupPlan: Sendable, Equatable {
    public enum Action: Sendable, Equatable {
        case makeSecretsFolder
        /// A password or key of random bytes.
        case makeSecret(SecretName)
        case copySecret(SecretName, SetupAnswers.SecretSource)
        /// A copied secret, which replaces another one.
        case replaceSecret(SecretName, SetupAnswers.SecretSource)
        case createDatabase
        /// With all privileges in the database and none elsewhere.
        case createDatabaseUser
        /// Accounts for the roles, which get their privileges with the tables.
        case createRoleUsers
        case write(path: String, text: String)
        /// The rest of the configuration stays unchanged.
        case changeConfiguration([SettingChange])
        /// A certificate from this host's own authority, which is created if missing.
        case issueCertificate
        case trustAuthority
        /// Lets the host's name resolve to the loopback address on this host.
        case makeNameKnown
        /// Removes the authorities and names of former trials from this host.
        case forgetTrials(Set<String>)
        /// The text of `nginx.conf` with more connections.
        case raiseNginxConnections(text: String)
        case enableSite
        case enableSandboxSite
        case migrate
        /// nginx reloads its configuration, if it accepts it.
        case reloadNginx
        /// With certbot. The further steps need a new plan.
        case obtainCertificate(SetupAnswers.CertificateRequest)
        case startUnits
        /// One now, and one every hour.
        case startBackups
        /// The running processes reload the configuration after another check.
        case reloadServer
        case check(Check)
    }

    public enum Check: Sendable, Equatable {
        case configuration
        case database
        case nginx
        /// The page for this host's monitoring.
        case monitoring
        /// HealthCheck, over HTTPS and by the host's name.
        case health
    }

    public var actions: [Action] = []
    /// What already exists and stays unchanged, as sentences.
    public var kept: [String] = []
    /// The steps that only a person can do, as sentences.
    public var remaining: [String] = []
    /// Why setup cannot continue; it then does nothing.
    public var obstacles: [String] = []

    public init() {}
}

extension SetupPlan {
    /// Plans the actions. Existing files are kept, because the operator may have changed them; but a site unchanged
    /// since setup wrote it follows the answers, and so do the settings and secrets that the answers contain.
    public init(_ answers: SetupAnswers, on host: HostState) throws(SiteText.UnknownTemplate) {
        self.init()
        obstacles = answers.problems()
        planBeside(host.otherApps, answers)
        if answers.passesSignals, !host.hasNchan {
            obstacles.append(
                "signals about changes need nginx's module nchan: apt install libnginx-mod-nchan, or leave out --changes"
            )
        }
        planSecrets(answers, host)
        planDatabase(answers, host)
        planConfiguration(answers, host)
        actions += [.check(.configuration), .check(.database), .migrate]
        let site = try planSite(answers, host)
        actions.append(.startUnits)
        // Running processes are also outdated if setup was interrupted before its reload, or if an operator forgot to
        // reload.
        if host.configuration != nil, host.hasUnreadChanges || actions.contains(where: \.needsReload) {
            actions.append(.reloadServer)
        }
        if host.makesBackups {
            kept.append("a backup is made every hour")
        } else if answers.makesBackups {
            actions.append(.startBackups)
        } else {
            remaining.append("Turn on a backup every hour: systemctl enable --now \(SetupPaths.backupTimer)")
        }
        planChecks(answers, host, site: site)
        planCertificate(answers, host)
        if actions.contains(.makeSecret(.sealingKey)) {
            remaining.append(
                "Keep a copy of \(SecretName.sealingKey.path) on another machine: without it, all stored tokens are "
                    + "lost, and all owners have to sign in again.")
        }
        if answers.sandbox != nil || host.configuration?.hasSandbox == true {
            remaining.append(
                "This server uses the SANDBOX and reaches no real cloud. Before real people use it: remove sandbox "
                    + "from \(SetupPaths.configuration), and set the ids and secrets of your own apps.")
        }
    }

    /// Apps must share neither a name nor a database: nginx would serve only one of them, and the removal of one would
    /// delete the other's data.
    private mutating func planBeside(_ others: [OtherApp], _ answers: SetupAnswers) {
        if let objection = OtherApp.objection(toHost: answers.host, among: others) {
            obstacles.append("\(answers.host) \(objection): choose another one with --host")
        }
        let own = AppDatabase(answers)
        for other in others {
            for thing in other.database.map(own.common) ?? [] {
                obstacles.append(
                    "\(thing) belongs to the app \(other.label): each app needs its own, with --database-name and "
                        + "--database-user, or in \(SetupPaths.configuration)")
            }
        }
    }

    private mutating func planSecrets(_ answers: SetupAnswers, _ host: HostState) {
        if !host.hasSecretsFolder { actions.append(.makeSecretsFolder) }
        for name in [SecretName.databasePassword, .sealingKey] {
            if host.secrets.contains(name) {
                kept.append("\(name.path) exists")
            } else if name == .databasePassword, host.database?.hasUser == true {
                obstacles.append(
                    "the database user \(answers.databaseUser) exists, but its password is not in \(name.path): store "
                        + "it there (mode 0600), or drop the user")
            } else if name == .databasePassword, host.database == nil {
                obstacles.append("first store the database user's password in \(name.path) (mode 0600)")
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
                kept.append("\(name.path) exists")
            } else if let source {
                actions.append(.copySecret(name, source))
            } else if host.configuration?.values[setting.key] == nil {
                obstacles.append("the secret for \(name.path) is missing")
            }
        }
    }

    /// Role accounts are created only with a new configuration: an existing one may omit them for a reason.
    private func makesRoleUsers(_ answers: SetupAnswers, _ host: HostState) -> Bool {
        answers.usesRoleAccounts && host.configuration == nil && host.database != nil
    }

    private mutating func planRoleSecrets(_ answers: SetupAnswers, _ host: HostState) {
        guard makesRoleUsers(answers, host) else { return }
        for name in SecretName.ofRoles {
            if host.secrets.contains(name) {
                kept.append("\(name.path) exists")
            } else if host.database?.roleUsers.contains(name) == true {
                obstacles.append(
                    "the database user \(answers.databaseUser(ofRole: name.role ?? "")) exists, but its password is "
                        + "not in \(name.path): store it there (mode 0600), or drop the user")
            } else {
                actions.append(.makeSecret(name))
            }
        }
    }

    private mutating func planDatabase(_ answers: SetupAnswers, _ host: HostState) {
        guard let database = host.database else {
            kept.append("database and user stay unchanged")
            return
        }
        if database.hasDatabase {
            kept.append("the database \(answers.databaseName) exists")
        } else {
            actions.append(.createDatabase)
        }
        if database.hasUser {
            kept.append("the database user \(answers.databaseUser) exists; its rights stay unchanged")
        } else {
            actions.append(.createDatabaseUser)
        }
        guard makesRoleUsers(answers, host) else { return }
        if database.roleUsers.isSuperset(of: SecretName.ofRoles) {
            kept.append("the database users of the roles exist")
        } else {
            actions.append(.createRoleUsers)
        }
    }

    private mutating func planConfiguration(_ answers: SetupAnswers, _ host: HostState) {
        if let present = host.configuration {
            return planChanges(answers, present, formerHost: host.site.flatMap { SitePresence($0).host })
        }
        if !answers.hasStorage {
            let names = Company.all.filter { $0.signIn?.storage != nil }.map(\.name)
            obstacles.append(
                "at least one of \(names.dropLast().joined(separator: ", ")) and \(names.last ?? "") is required, for "
                    + "storage"
            )
        }
        actions.append(.write(path: SetupPaths.configuration, text: ConfigurationText.make(answers)))
    }

    /// The answers' changes to an existing configuration: only the settings that they contain.
    private mutating func planChanges(
        _ answers: SetupAnswers, _ present: HostState.Configuration, formerHost: String?
    ) {
        if answers.sandbox != nil, !present.hasSandbox {
            obstacles.append(
                "\(SetupPaths.configuration) is for real providers; --sandbox is only for a new server")
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
        if answers.passesSignals, !present.hasChangeSignal { changes.append(ConfigurationText.signalChange) }
        if changes.isEmpty {
            kept.append("\(SetupPaths.configuration) exists")
        } else {
            actions.append(.changeConfiguration(changes))
        }
    }

    /// The new public address for the configuration: the operator's, or the new host's if the old one was the former
    /// host's; `nil` if it stays unchanged.
    private static func newPublicURL(
        _ answers: SetupAnswers, _ present: HostState.Configuration, formerHost: String?
    ) -> String? {
        var wanted = answers.publicURL.flatMap { ServerAddress($0) }.map { $0.origin + $0.path.dropLast() }
        if wanted == nil, let formerHost, present.publicURL == SetupAnswers.usualURL(ofHost: formerHost) {
            wanted = SetupAnswers.usualURL(ofHost: answers.host)
        }
        return wanted == present.publicURL ? nil : wanted
    }

    /// `nil` if the configuration already matches the answers.
    private static func change(
        _ setting: Setting, _ answers: SetupAnswers, _ present: HostState.Configuration
    ) -> SettingChange? {
        guard let answer = answers.settings[setting.key] else { return nil }
        if case .secret(let source) = answer {
            // Without a new secret, the configuration may name the existing one in its own way.
            if source == nil, present.values[setting.key] != nil { return nil }
            if present.secretFiles[setting.key] == SecretName(setting)?.rawValue { return nil }
        } else if present.values[setting.key] == answer {
            return nil
        }
        return ConfigurationText.change(setting, to: answer)
    }
}

extension SetupPlan.Action {
    /// Whether further steps can only be planned afterwards.
    public var needsNewPlan: Bool { if case .obtainCertificate = self { true } else { false } }

    /// Whether running processes must reload its changes.
    fileprivate var needsReload: Bool {
        switch self {
        case .changeConfiguration, .copySecret, .replaceSecret: true
        default: false
        }
    }
}

extension SetupPlan.Action {
    /// The action, as text.
    public func sentence(_ answers: SetupAnswers) -> String {
        switch self {
        case .makeSecretsFolder: "create \(SetupPaths.secrets), accessible only to root"
        case .makeSecret(let name): "create \(name.path) from random bytes"
        case .copySecret(let name, _): "store the secret in \(name.path)"
        case .replaceSecret(let name, _): "store the new secret in \(name.path)"
        case .changeConfiguration(let changes):
            "set \(changes.map(\.key).joined(separator: ", ")) in \(SetupPaths.configuration)"
        case .obtainCertificate: "obtain a certificate for \(answers.host) with certbot"
        case .issueCertificate:
            "issue a certificate for \(answers.host), from this host's own authority in "
                + "\(SetupPaths.authority(of: answers.host))"
        case .trustAuthority:
            "make programs on this host trust that authority (syncctl authority distrust undoes it)"
        case .makeNameKnown: "let programs on this host resolve \(answers.host), with a line in /etc/hosts"
        case .forgetTrials(let hosts):
            "remove the trial authority of \(hosts.sorted().joined(separator: ", ")) from this host's trusted "
                + "authorities, and the name from /etc/hosts"
        case .raiseNginxConnections:
            "let each nginx process accept \(SetupPlan.leastConnections) connections, in "
                + "\(SetupPaths.nginxConfiguration)"
        case .reloadServer: "reload the server's configuration, one process after the other"
        case .createDatabase: "create the database \(answers.databaseName)"
        case .createDatabaseUser:
            "create the database user \(answers.databaseUser), with all rights in \(answers.databaseName)"
        case .createRoleUsers:
            "create a database user for each role of the server, with only the rights that it needs"
        case .write(let path, _): "write \(path)"
        case .enableSite: "link \(SetupPaths.siteLink)"
        case .enableSandboxSite: "link \(SetupPaths.sandboxSiteLink)"
        case .migrate: "update the tables for this release"
        case .reloadNginx: "reload nginx's configuration"
        case .startUnits: "start \(SetupPaths.target), now and at each boot"
        case .startBackups: "make a backup now, and one every hour"
        case .check(.configuration): "check \(SetupPaths.configuration)"
        case .check(.database): "check that the server's account can log in to the database"
        case .check(.nginx): "check nginx's configuration"
        case .check(.monitoring): "check that \(SetupPaths.metricsURL) answers"
        case .check(.health): "check that https://\(answers.host)/HealthCheck answers"
        }
    }
}

/// A setting of an existing configuration, and its new value.
public struct SettingChange: Sendable, Equatable {
    /// Its name in the file; a dot separates an object and its member.
    public var key: String
    /// The value as JSON, on one line; never a secret.
    public var json: String
}
