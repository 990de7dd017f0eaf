extension SetupPlan.Action {
    /// What it does, for people.
    public func sentence(_ answers: SetupAnswers) -> String {
        switch self {
        case .makeSecretsFolder: "make \(SetupPaths.secrets), for root alone"
        case .makeSecret(let name): "make \(name.path) from random bytes"
        case .copySecret(let name, _): "put the secret into \(name.path)"
        case .replaceSecret(let name, _): "put the new secret into \(name.path)"
        case .changeConfiguration(let changes):
            "set \(changes.map(\.key).joined(separator: ", ")) in \(SetupPaths.configuration)"
        case .obtainCertificate: "get a certificate for \(answers.host) with certbot"
        case .issueCertificate:
            "make a certificate for \(answers.host), of an authority of this host's own in \(SetupPaths.authority(of: answers.host))"
        case .trustAuthority:
            "let programs on this host trust that authority (syncctl authority distrust takes it back)"
        case .makeNameKnown: "let programs on this host find \(answers.host), by a line in /etc/hosts"
        case .forgetTrials(let hosts):
            "let programs on this host no longer trust the authority of the trial of \(hosts.sorted().joined(separator: ", ")), nor find that name by /etc/hosts"
        case .raiseNginxConnections:
            "let each of nginx's processes take \(SetupPlan.leastConnections) connections, in \(SetupPaths.nginxConfiguration)"
        case .reloadServer: "let the server read its configuration again, one process after the other"
        case .createDatabase: "make the database \(answers.databaseName)"
        case .createDatabaseUser:
            "make the database user \(answers.databaseUser), who may do everything in \(answers.databaseName)"
        case .createRoleUsers:
            "make a database user for each role of the server, with the rights that it needs and no others"
        case .write(let path, _): "write \(path)"
        case .enableSite: "link \(SetupPaths.siteLink)"
        case .enableSandboxSite: "link \(SetupPaths.sandboxSiteLink)"
        case .migrate: "bring the tables to what this release needs"
        case .reloadNginx: "let nginx read its configuration again"
        case .startUnits: "start \(SetupPaths.target), now and with the machine"
        case .startBackups: "make a backup now, and one every hour"
        case .check(.configuration): "check \(SetupPaths.configuration)"
        case .check(.database): "check that the server's account gets into the database"
        case .check(.nginx): "check nginx's configuration"
        case .check(.monitoring): "check that \(SetupPaths.metricsURL) answers"
        case .check(.health): "check that https://\(answers.host)/HealthCheck answers"
        }
    }
}
