extension SetupPlan.Action {
    /// The action, as text.
    public func sentence(_ answers: SetupAnswers) -> String {
        switch self {
        case .makeSecretsFolder: "create \(SetupPaths.secrets), only for root"
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
