import Providers

/// What setup does, in order. Creating the plan changes nothing.
public struct SetupPlan: Sendable, Equatable {
    public enum Action: Sendable, Equatable {
        case makeSecretsFolder
        /// A password or key of random bytes.
        case makeSecret(SecretName)
        case copySecret(SecretName, SetupAnswers.SecretSource)
        case createDatabase
        /// With all privileges in the database, and none elsewhere.
        case createDatabaseUser
        /// Accounts for the roles, which get their privileges with the tables.
        case createRoleUsers
        case write(path: String, text: String)
        case enableSite
        case enableSandboxSite
        case migrate
        /// nginx reloads its configuration, if it accepts it.
        case reloadNginx
        case startUnits
        case check(Check)
    }

    public enum Check: Sendable, Equatable {
        case configuration
        case database
        case nginx
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
    /// The fewest connections of an nginx process that suit a server on the open Internet; Debian's have 768.
    public static let leastConnections = 4_096

    /// Decides what is to be done. Whatever exists already is kept, since the operator may have changed it.
    public init(_ answers: SetupAnswers, on host: HostState) throws(SiteText.UnknownTemplate) {
        self.init()
        obstacles = answers.problems()
        planSecrets(answers, host)
        planDatabase(answers, host)
        planConfiguration(answers, host)
        actions += [.check(.configuration), .check(.database), .migrate]
        try planSite(answers, host)
        actions.append(.startUnits)
        if host.hasCertificate { actions.append(.check(.health)) }
        if actions.contains(.makeSecret(.sealingKey)) {
            remaining.append(
                "Keep a copy of \(SecretName.sealingKey.path) on another machine: without it all stored tokens are "
                    + "lost, and all owners have to sign in again.")
        }
        if answers.sandbox != nil {
            remaining.append(
                "This server uses the SANDBOX and reaches no real cloud. For real people: remove sandbox from "
                    + "\(SetupPaths.configuration), and put in the ids and secrets of your own apps.")
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
        // No push service is added to an existing configuration, and so no secret of one.
        let wanted =
            Company.signIns.flatMap(\.settings) + (host.hasConfiguration ? [] : Company.pushes.flatMap(\.settings))
        for setting in wanted {
            guard case .secret(let source)? = answers.settings[setting.key], let name = SecretName(setting) else {
                continue
            }
            if host.secrets.contains(name) {
                kept.append("\(name.path) is there")
            } else if let source {
                actions.append(.copySecret(name, source))
            } else if !host.hasConfiguration {
                obstacles.append("the secret for \(name.path) is missing")
            }
        }
    }

    /// Accounts of roles are created only with a new configuration: an existing one may lack them for a reason.
    private func makesRoleUsers(_ answers: SetupAnswers, _ host: HostState) -> Bool {
        answers.usesRoleAccounts && !host.hasConfiguration && host.database != nil
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
        guard !host.hasConfiguration else {
            kept.append("\(SetupPaths.configuration) is there")
            for offer in Company.pushes
            where answers.has(offer.settings) && !host.configuredPush.contains(offer.section) {
                let files = offer.settings.compactMap(SecretName.init).map(\.path).joined(separator: ", ")
                remaining.append(
                    "For push, put the secret into \(files) (mode 0600), add this to \(SetupPaths.configuration), and "
                        + "`systemctl reload syncd`:\n\(ConfigurationText.push(offer, answers))")
            }
            return
        }
        if !answers.hasStorage {
            let names = Company.all.filter { $0.signIn?.makeStorage != nil }.map(\.name)
            obstacles.append(
                "at least one of \(names.dropLast().joined(separator: ", ")) and \(names.last ?? "") is needed, for storage"
            )
        }
        actions.append(.write(path: SetupPaths.configuration, text: ConfigurationText.make(answers)))
    }

    private mutating func planSite(_ answers: SetupAnswers, _ host: HostState) throws(SiteText.UnknownTemplate) {
        let interim = SiteText.untilThereIsACertificate(host: answers.host)
        var wanted = interim
        if host.hasCertificate {
            wanted = try SiteText.complete(
                host.siteTemplate, host: answers.host, certificate: answers.certificate,
                staples: host.certificateNamesResponder)
        }
        if host.site == nil || host.site == interim && wanted != interim {
            actions.append(.write(path: SetupPaths.site, text: wanted))
        } else if host.site == wanted {
            kept.append("\(SetupPaths.site) is there")
        } else {
            kept.append("\(SetupPaths.site) is there and differs from what these answers would give: it is left alone")
        }
        if !host.isSiteEnabled { actions.append(.enableSite) }
        if answers.sandbox != nil, !host.isSandboxSiteEnabled {
            if host.hasSandboxSite {
                actions.append(.enableSandboxSite)
            } else {
                remaining.append("Install the sandbox (apt install syncsandbox), and run this setup again.")
            }
        }
        actions += [.check(.nginx), .reloadNginx]
        if let connections = host.nginxConnections, connections < Self.leastConnections {
            remaining.append(
                """
                Each of nginx's processes takes \(connections) connections: whoever opens as many keeps everybody out. \
                Before people use this server:
                  sed -i 's/worker_connections .*;/worker_connections \(Self.leastConnections);/' /etc/nginx/nginx.conf
                  sed -i '1i worker_rlimit_nofile \(2 * Self.leastConnections);' /etc/nginx/nginx.conf
                  nginx -t && systemctl reload nginx
                """)
        }
        guard !host.hasCertificate else { return }
        let files = SiteText.files(of: answers.certificate, host: answers.host)
        switch answers.certificate {
        case .letsEncrypt:
            remaining.append(
                """
                Get a certificate (apt install certbot), and then run this setup again:
                  certbot certonly --webroot --webroot-path \(SetupPaths.webroot) --domain \(answers.host) \
                --deploy-hook 'systemctl reload nginx'
                """)
        case .files:
            remaining.append(
                "Put the certificate into \(files.certificate) and its key into \(files.key), and run this setup again."
            )
        }
    }
}
