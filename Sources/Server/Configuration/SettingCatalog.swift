import Providers
import SyncProtocol

/// The names of all settings, used to recognise misspelt ones. docs/operations.md explains each; tests verify that
/// the three lists (this one, that one, and the settings that `SettingsReader` reads) agree.
enum SettingCatalog {
    /// Settings whose values are in the file itself.
    static let plain = others.union(Company.signIns.map(\.enablingKey))
        .union(companySettings.filter { !$0.isSecret }.map(\.key))
        .union(NumberSetting.all.map(\.key))
        .union(Quota.allCases.map { "quotas.\($0.rawValue)" })
        .union(ServerRole.allCases.map { "database.roles.\($0.rawValue).user" })

    private static let others: Set<String> = [
        "database.socket", "database.host", "database.port", "database.name", "database.user",
        "publicURL", "redirectURIs",
        "owningUserAccountCreation.initialFileName", "owningUserAccountCreation.initialFileContents",
        "writesIndexPage", "manifests.enabled", "requireOldAccountProof", "directTransfers", "mimeTypes",
        "iOSMinimumClientVersion",
        "sealing.formerKeyFiles", "sealing.nextKeyFile", "metrics.directory",
        "changeSignal.socket", "changeSignal.severalHosts", "log.file", "log.level",
        "sandbox.connectTo", "sandbox.caFile",
    ]

    /// The secrets that may be in the file, or in a file named by the same setting with the suffix `File`, with the
    /// roles that need each. A role starts without the secrets that it does not need.
    ///
    /// A role that signs people in, or renews their tokens, needs the secret of their provider; a role that sends
    /// notifications needs that of the push service.
    static let secretReaders: [String: Set<ServerRole>] = {
        let all = Set(ServerRole.allCases)
        var readers = ["database.password": all, "sealing.key": all]
        for setting in companySettings {
            if case .secret(let roles) = setting.kind { readers[setting.key] = roles }
        }
        for role in ServerRole.allCases { readers["database.roles.\(role.rawValue).password"] = [role] }
        return readers
    }()

    static let secrets = Set(secretReaders.keys)

    /// The settings of the companies' services.
    private static let companySettings = Company.signIns.flatMap(\.settings) + Company.pushes.flatMap(\.settings)

    /// Names that SyncServerII's files use for settings of this server.
    static let olderNames = [
        "db.host": "database.host", "db.user": "database.user", "db.password": "database.password",
        "db.database": "database.name",
        "mySQL.host": "database.host", "mySQL.user": "database.user", "mySQL.password": "database.password",
        "mySQL.database": "database.name",
        "GoogleServerSecret": "GoogleServerClientSecret", "maxNumberDeviceUUIDPerUser": "quotas.devices",
    ]

    /// Settings of SyncServerII that have no effect here, with the reason.
    static let withoutEffect = [
        "port": "nginx listens; its own configuration has the port",
        "ssl.selfSigning": "nginx holds the certificate",
        "loadTestingCloudStorage": "for tests, use the sandbox",
    ]

    /// All names that a file may contain, nested or with dots.
    static let all: Set<String> = plain.union(secrets).union(secrets.map { $0 + "File" }).union(olderNames.keys)
        .union(withoutEffect.keys)

    /// The names of objects that hold settings, such as `database`.
    static let sections: Set<String> = Set(
        all.flatMap { name in
            let parts = name.split(separator: ".")
            return (0..<(parts.count - 1)).map { parts[0...$0].joined(separator: ".") }
        })
}

/// A setting that is a whole number: its key, its range, and the property that holds it. The default is the property's.
struct NumberSetting: Sendable {
    let key: String
    let range: ClosedRange<Int>
    /// The number in a configuration.
    let read: @Sendable (ServerConfiguration) -> Int
    let write: @Sendable (inout ServerConfiguration, Int) -> Void

    private init(
        _ key: String, _ range: ClosedRange<Int>, read: @escaping @Sendable (ServerConfiguration) -> Int,
        write: @escaping @Sendable (inout ServerConfiguration, Int) -> Void
    ) {
        self.key = key
        self.range = range
        self.read = read
        self.write = write
    }

    private init(
        _ key: String, _ range: ClosedRange<Int>, _ property: any WritableKeyPath<ServerConfiguration, Int> & Sendable
    ) {
        self.init(key, range, read: { $0[keyPath: property] }, write: { $0[keyPath: property] = $1 })
    }

    private init(
        _ key: String, seconds range: ClosedRange<Int>,
        _ property: any WritableKeyPath<ServerConfiguration, Duration> & Sendable
    ) {
        self.init(
            key, range, read: { Int($0[keyPath: property].components.seconds) },
            write: { $0[keyPath: property] = .seconds($1) })
    }

    /// All such settings except the quotas, which ``Quota`` lists, in the order of docs/operations.md.
    static let all: [NumberSetting] = [
        .init(
            "maximumUploadBytes", 1...(1 << 42), read: { Int($0.maximumUploadBytes) },
            write: { $0.maximumUploadBytes = Int64($1) }),
        .init("apiThreads", 1...1_024, \.apiThreads),
        .init("transferThreads", 1...4_096, \.transferThreads),
        .init("maximumTransfersPerUser", 1...4_096, \.maximumTransfersPerUser),
        .init("maximumRequestsPerUser", 1...1_024, \.maximumRequestsPerUser),
        .init(
            "minimumTransferRate", 0...1_048_576, read: { $0.minimumTransferRate ?? 0 },
            write: { $0.minimumTransferRate = $1 == 0 ? nil : $1 }),
        .init("transferGraceTime", seconds: 1...600, \.transferGraceTime),
        .init("databaseConnections", 1...256, \.databaseConnections),
        .init("signInTokenTimeToLive", seconds: 0...86_400, \.signInTokenTimeToLive),
        .init("failedSignInsPerMinute", 1...1_000_000, \.failedSignInsPerMinute),
        .init("refusalsLoggedPerMinute", 1...1_000_000, \.refusalsLoggedPerMinute),
        .init("stagingLifetimeDays", 1...3_650, \.stagingLifetimeDays),
        .init("replacedVersionSeconds", 0...86_400, \.replacedVersionSeconds),
        .init("manifests.intervalSeconds", 1...86_400, \.manifestIntervalSeconds),
        .init("accountSwitches.minimumGrantAgeDays", 1...90, \.minimumGrantAgeDays),
        .init("accountSwitches.undoDays", 1...60, \.undoDays),
        .init("moveThreads", 0...64, \.moveThreads),
        .init("moveBytesPerSecond", 65_536...1_073_741_824, \.moveBytesPerSecond),
        .init("backup.keepDays", 1...3_650, \.backups.keepDays),
        .init("backup.keepWeeks", 0...520, \.backups.keepWeeks),
        .init("backup.maximumAgeHours", 1...8_760, \.backups.maximumAgeHours),
    ]
}
