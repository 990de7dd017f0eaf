public import MariaDB
import Posix
public import Providers
public import SyncProtocol

/// What the server reads from its JSON file at start; immutable afterwards. docs/operations.md explains each key, and a
/// test compares its defaults with these.
public struct ServerConfiguration: Sendable {
    public struct WarningFile: Sendable {
        public var name: String
        public var contents: String
    }

    /// Sends every call to a provider to the sandbox instead.
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

    /// The backups that a host makes of the database, and how old the last one may be.
    public struct Backups: Sendable {
        /// Of how many days the last backup is kept.
        public var keepDays = 14
        /// Of how many weeks.
        public var keepWeeks = 8
        /// The age of the last good backup from which on it is too old.
        public var maximumAgeHours = 36

        public init() {}
    }

    /// With the account of the role for which the file was read, if it has one of its own, else with the owner's.
    public var database: ConnectionSettings
    /// The accounts of roles that have one of their own; empty if the file was read for a role.
    public var roleAccounts: [ServerRole: ConnectionSettings] = [:]
    /// The secrets that are in files, by the setting that names each; including those that the role does not need.
    public var secretFiles: [SecretFile] = []
    /// In base64.
    public var sealingKey: Secret
    /// Former sealing keys, in base64: what they sealed can still be opened.
    public var formerSealingKeys: [Secret]
    /// The sealing key that is to come, in base64: what it sealed can be opened already. `nil` except while keys are being
    /// rotated, or if a role could not read it.
    public var nextSealingKey: Secret?
    /// The accounts with which people may sign in, with the values of their settings.
    public var accounts: [AccountType: SettingValues]
    /// The address by which clients reach the server, without a slash at its end; `nil` if nginx is to say what they used.
    public var publicURL: String?
    /// Redirect URIs, apart from those on loopback, that may come along with authorization codes.
    public var redirectURIs: Set<String> = []
    /// The push services in use, by the sections of the file, with the values of their settings.
    public var push: [String: SettingValues]
    public var warningFile: WarningFile?
    /// Whether each owner's folder has a page that shows what is in it.
    public var writesIndexPage = false
    /// Whether an account switch requires credentials of the account that is to be left.
    public var requiresOldAccountProof = false
    /// How old a device's grant must be to begin a switch of accounts, unless the account was proved.
    public var minimumGrantAgeDays = 7
    /// For how long a switch of accounts can be undone.
    public var undoDays = 14
    /// Whether clients that want it exchange bytes with owners' storages themselves.
    public var allowsDirectTransfers = false
    /// The largest file.
    public var maximumUploadBytes: Int64 = 5 << 30
    /// Threads of an `api` process.
    public var apiThreads = 16
    /// Threads of a `transfer` process.
    public var transferThreads = 1_024
    /// Uploads and downloads of one user that a `transfer` process has in progress at once.
    public var maximumTransfersPerUser = 32
    /// Requests of one user that an `api` process has in progress at once; others wait. Half of ``apiThreads`` unless set.
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
    /// Refused requests of one network, per process, that are logged one by one.
    public var refusalsLoggedPerMinute = 60
    /// What each user may have and do.
    public var quotas = Quotas.standard
    public var minimumIOSClientVersion: String?
    /// Number of days without a commit after which staged changes are withdrawn.
    public var stagingLifetimeDays = 7
    /// For how long the objects of replaced versions and deleted files stay in their owners' storage.
    public var replacedVersionSeconds = 3_600
    /// Threads of a `jobs` process that move contents after switches of accounts, one file each; 0 if the server moves none.
    public var moveThreads = 1
    /// How fast each of them reads at most.
    public var moveBytesPerSecond = 4 << 20
    public var backups = Backups()
    public var sandbox: Sandbox?
    /// Where the processes of this host keep their metrics; `nil` if nothing is counted.
    public var metricsDirectory: String?
    public var log: Log
    /// The secrets that are in the file itself, by their settings.
    public var inlineSecrets: [String] = []
    /// What an operator should know about the file, although the server starts with it: warnings, then notes.
    public var notes: [ConfigurationFinding] = []

    /// Why the file cannot be read, and what to do about it.
    private static func problem(onReading error: PosixError) -> String {
        if error.isAbsence { return "there is no such file: syncctl setup makes it, --config names another one" }
        return error.isDenial
            ? "the file cannot be read: \(error); root can read it" : "the file cannot be read: \(error)"
    }

    /// Reads the file at `path` and the secrets that it names.
    /// - Parameter role: reads only the secrets that it needs, and uses its database account; `nil`: all secrets, for
    ///   the operator, who has the owner's account.
    /// - Throws: ``ConfigurationError`` with everything that is wrong.
    public init(readingFrom path: String, for role: ServerRole? = nil) throws(ConfigurationError) {
        try self.init(fileAt: path, SecretFiles(configurationPath: path), for: role)
    }

    /// Reads the file at `path` as a role's service would under systemd, which passes on to it the files in the folder
    /// `secrets` beside the configuration, and no others.
    /// - Throws: ``ConfigurationError`` with everything that is wrong.
    public init(rehearsing role: ServerRole, with path: String) throws(ConfigurationError) {
        try self.init(fileAt: path, SecretFiles(rehearsingServicesOf: path), for: role)
    }

    /// Reads the file at `path` for a program that needs the database, as its owner, and no other secret, so that no other
    /// has to be there. Without the sealing key stored tokens cannot be opened.
    /// - Throws: ``ConfigurationError`` with everything that is wrong.
    public init(readingForDatabaseAlone path: String) throws(ConfigurationError) {
        try self.init(fileAt: path, SecretFiles(configurationPath: path), for: nil, secrets: ["database.password"])
    }

    /// Reads a text that is to become the file at `path`, to check beforehand whether the server would start with it.
    /// - Parameter secrets: the contents of files that the text names and that are still to be written; others exist
    ///   already.
    /// - Throws: ``ConfigurationError`` with everything that is wrong.
    public init(proposed text: String, at path: String, secrets: [String: Secret]) throws(ConfigurationError) {
        try self.init(
            Array(text.utf8), at: path, 0o600, SecretFiles(configurationPath: path, coming: secrets), for: nil)
    }

    /// Reads a text that is to become the file at `path`, and none of the secrets that it names: ``secretFiles`` lists them.
    /// - Throws: ``ConfigurationError`` with everything that is wrong.
    public init(proposed text: String, withoutSecretsAt path: String) throws(ConfigurationError) {
        try self.init(
            Array(text.utf8), at: path, 0o600, SecretFiles(configurationPath: path), for: nil, secrets: [])
    }

    /// The path of the file that a configuration names, as the operator's programs find it; where it should be, if it
    /// does not exist.
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

    /// What has no default; everything else has one.
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
