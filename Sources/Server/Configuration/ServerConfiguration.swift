public import MariaDB
import Posix
public import Providers
public import SyncProtocol

/// The server's configuration, read from its JSON file at start; immutable afterwards. docs/operations.md explains each
/// key, and a test compares its defaults with these.
public struct ServerConfiguration: Sendable {
    public struct WarningFile: Sendable {
        public var name: String
        public var contents: String
    }

    /// The web server that passes signals on to listeners.
    public struct ChangeSignal: Sendable, Equatable {
        /// The Unix socket of its publisher.
        public var socket: String
        /// Whether other hosts share the database and have listeners that must learn of this host's commits.
        public var hasSeveralHosts: Bool
    }

    /// Redirects every call to a provider to the sandbox.
    public struct Sandbox: Sendable {
        public var host: String
        public var port: Int
        public var caFile: String
    }

    public struct Log: Sendable {
        /// `nil` for standard error.
        public var file: String?
        public var level: String
    }

    /// A host's backups of the database, and how old the last one may be.
    public struct Backups: Sendable {
        /// The number of days for which each day's last backup is kept.
        public var keepDays = 14
        /// The number of weeks for which each week's last backup is kept.
        public var keepWeeks = 8
        /// The age at which the last good backup is too old.
        public var maximumAgeHours = 36

        public init() {}
    }

    /// The connection, with the account of the role for which the file was read if it has one; otherwise with the
    /// owner's.
    public var database: ConnectionSettings
    /// The separate accounts of roles; empty if the file was read for a role.
    public var roleAccounts: [ServerRole: ConnectionSettings] = [:]
    /// The secrets in files, by the setting that names each, including those that the role does not need.
    public var secretFiles: [SecretFile] = []
    /// In base64.
    public var sealingKey: Secret
    /// Former sealing keys, in base64; records sealed with them can still be opened.
    public var formerSealingKeys: [Secret]
    /// The next sealing key, in base64; records sealed with it can already be opened. `nil` except during a key
    /// rotation, or if a role could not read it.
    public var nextSealingKey: Secret?
    /// The account types with which people may sign in, with the values of their settings.
    public var accounts: [AccountType: SettingValues]
    /// The address by which clients reach the server, without a trailing slash; `nil` if nginx reports the address they
    /// used.
    public var publicURL: String?
    /// Redirect URIs, apart from those on loopback, that may accompany authorization codes.
    public var redirectURIs: Set<String> = []
    /// The push services in use, by the sections of the file, with the values of their settings.
    public var push: [String: SettingValues]
    public var warningFile: WarningFile?
    /// Whether each owner's folder has a page that shows its contents.
    public var writesIndexPage = false
    /// Whether each owner's folder has a manifest of each group in which they have files.
    public var writesManifests = true
    /// The shortest time from a manifest to the next one of the same group in the same folder.
    public var manifestIntervalSeconds = 60
    /// Whether an account switch requires credentials of the account to be left.
    public var requiresOldAccountProof = false
    /// The minimum age of a device's grant to begin an account switch, unless the account was proved.
    public var minimumGrantAgeDays = 7
    /// How long an account switch can be undone.
    public var undoDays = 14
    /// Whether clients may request to exchange bytes directly with owners' storages.
    public var allowsDirectTransfers = false
    /// The types of files that may be uploaded.
    public var mimeTypes = MIMETypeTable.standard
    /// The maximum size of a file.
    public var maximumUploadBytes: Int64 = 5 << 30
    /// Threads of an `api` process.
    public var apiThreads = 16
    /// Threads of a `transfer` process.
    public var transferThreads = 1_024
    /// The maximum number of simultaneous uploads and downloads of one user in a `transfer` process.
    public var maximumTransfersPerUser = 32
    /// The maximum number of concurrent requests from one user in an `api` process; others wait. Half of ``apiThreads``
    /// unless set.
    public var maximumRequestsPerUser: Int {
        get { givenRequestsPerUser ?? max(1, apiThreads / 2) }
        set { givenRequestsPerUser = newValue }
    }
    private var givenRequestsPerUser: Int?
    /// In bytes per second; `nil` if transfers may be arbitrarily slow.
    public var minimumTransferRate: Int? = 4_096
    /// How long a transfer may stall at its beginning.
    public var transferGraceTime: Duration = .seconds(30)
    /// Connections of one process; its threads share them, leased one transaction at a time.
    public var databaseConnections = 8
    /// How long a successful sign-in is cached.
    public var signInTokenTimeToLive: Duration = .seconds(300)
    /// How many tokens from one address (IPv6: one /64 network) providers may reject per minute, for each process.
    public var failedSignInsPerMinute = 60
    /// The maximum number of rejected requests from one network that a process logs individually.
    public var refusalsLoggedPerMinute = 60
    /// What each user may have and do.
    public var quotas = Quotas.standard
    public var minimumIOSClientVersion: String?
    /// Number of days without a commit after which staged changes are withdrawn.
    public var stagingLifetimeDays = 7
    /// How long the objects of replaced versions and deleted files are kept in their owners' storage.
    public var replacedVersionSeconds = 3_600
    /// Threads of a `jobs` process that move contents after account switches, one file each; 0 if the server moves
    /// none.
    public var moveThreads = 1
    /// The maximum rate at which each of them reads.
    public var moveBytesPerSecond = 4 << 20
    public var backups = Backups()
    public var sandbox: Sandbox?
    /// The directory for the metrics of this host's processes; `nil` to count nothing.
    public var metricsDirectory: String?
    /// How clients learn of changes immediately; `nil` if they must poll.
    public var changeSignal: ChangeSignal?
    public var log: Log
    /// The secrets in the file itself, by their settings.
    public var inlineSecrets: [String] = []
    /// Findings about a file with which the server starts: warnings, then notes.
    public var notes: [ConfigurationFinding] = []

    /// Why the file cannot be read, and how to fix that.
    private static func problem(onReading error: PosixError) -> String {
        if error.isAbsence {
            return "there is no such file: create it with syncctl setup, or name another with --config"
        }
        return error.isDenial
            ? "the file cannot be read: \(error); root can read it" : "the file cannot be read: \(error)"
    }

    /// Reads the file at `path` and the secrets that it names.
    /// - Parameter role: reads only the secrets that this role needs, and uses its database account; `nil` reads all
    ///   secrets and uses the owner's account, for the operator.
    /// - Throws: ``ConfigurationError`` with everything that is wrong.
    public init(readingFrom path: String, for role: ServerRole? = nil) throws(ConfigurationError) {
        try self.init(fileAt: path, SecretFiles(configurationPath: path), for: role)
    }

    /// Reads the file at `path` as a role's service would under systemd, which passes on to it the files in the folder
    /// `secrets` next to the configuration, and no others.
    /// - Throws: ``ConfigurationError`` with everything that is wrong.
    public init(rehearsing role: ServerRole, with path: String) throws(ConfigurationError) {
        try self.init(fileAt: path, SecretFiles(rehearsingServicesOf: path), for: role)
    }

    /// Reads the file at `path` for a program that needs only the database, as its owner; no other secret need exist.
    /// Without the sealing key, stored tokens cannot be opened.
    /// - Throws: ``ConfigurationError`` with everything that is wrong.
    public init(readingForDatabaseAlone path: String) throws(ConfigurationError) {
        try self.init(fileAt: path, SecretFiles(configurationPath: path), for: nil, secrets: ["database.password"])
    }

    /// Reads a proposed text of the file at `path`, to check whether the server would start with it.
    /// - Parameter secrets: the contents of files named by the text that are not yet written; others already exist.
    /// - Throws: ``ConfigurationError`` with everything that is wrong.
    public init(proposed text: String, at path: String, secrets: [String: Secret]) throws(ConfigurationError) {
        try self.init(
            Array(text.utf8), at: path, 0o600, SecretFiles(configurationPath: path, coming: secrets), for: nil)
    }

    /// Reads a proposed text of the file at `path` without the secrets that it names, which ``secretFiles`` lists.
    /// - Throws: ``ConfigurationError`` with everything that is wrong.
    public init(proposed text: String, withoutSecretsAt path: String) throws(ConfigurationError) {
        try self.init(
            Array(text.utf8), at: path, 0o600, SecretFiles(configurationPath: path), for: nil, secrets: [])
    }

    /// The path of a file that a configuration names, as the operator's programs find it; the expected path if it does
    /// not exist.
    public static func path(ofSecret name: String, beside configurationPath: String) -> String {
        SecretFiles(configurationPath: configurationPath).path(name)
    }

    private init(
        fileAt path: String, _ files: SecretFiles, for role: ServerRole?, secrets: Set<String>? = nil
    ) throws(ConfigurationError) {
        let bytes: [UInt8]
        do { bytes = try TextFile.read(path) } catch {
            let problem = ConfigurationFinding(kind: .problem, sentence: Self.problem(onReading: error))
            throw ConfigurationError(path: path, problems: [problem], isDenied: error.isDenial)
        }
        // An unknown mode is treated as the worst.
        let permissions = (try? TextFile.permissions(of: path)) ?? 0o777
        try self.init(bytes, at: path, permissions, files, for: role, secrets: secrets)
    }

    private init(
        _ bytes: [UInt8], at path: String, _ permissions: UInt32, _ files: SecretFiles, for role: ServerRole?,
        secrets: Set<String>? = nil
    ) throws(ConfigurationError) {
        let root: LocatedJSON
        do { root = try LocatedJSONParser.parse(bytes) } catch {
            throw ConfigurationError(
                path: path,
                problems: [ConfigurationFinding(kind: .problem, place: error.place, sentence: error.sentence)])
        }
        var settings = SettingsReader(
            reader: ConfigurationReader(root), files: files, permissions: permissions, role: role,
            onlySecrets: secrets)
        var result = settings.read()
        result.notes = settings.reader.notes
        result.secretFiles = settings.secretFiles
        result.inlineSecrets = settings.inlineSecrets
        guard settings.reader.problems.isEmpty else {
            throw ConfigurationError(
                path: path, problems: settings.reader.problems, notes: result.notes, isDenied: settings.isDenied)
        }
        self = result
    }

    /// Sets the properties without a default.
    init(
        database: ConnectionSettings, sealingKey: Secret, formerSealingKeys: [Secret],
        accounts: [AccountType: SettingValues], push: [String: SettingValues], log: Log
    ) {
        self.database = database
        self.sealingKey = sealingKey
        self.formerSealingKeys = formerSealingKeys
        self.accounts = accounts
        self.push = push
        self.log = log
    }
}

extension ServerConfiguration {
    /// The files that services read when they start: the configuration at `path`, and the secrets that it names, where
    /// systemd finds them.
    public func filesReadAtStart(from path: String) -> [String] {
        let folder = SecretFiles.folder(of: path) + "/secrets/"
        return [path] + secretFiles.map { $0.name.hasPrefix("/") ? $0.name : folder + $0.name }
    }
}
