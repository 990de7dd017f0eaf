/// The circumstances of a simulated history.
public struct SimulationOptions: Sendable {
    /// The number of devices, 1 to 8.
    public var devices: Int
    /// The number of actions that people perform before all faults end and everything settles.
    public var steps: Int
    /// Whether the server has the extensions of its protocol.
    public var hasExtensions: Bool
    /// Whether requests and replies are lost, late, or duplicated, and the server is sometimes closed.
    public var hasNetworkFaults: Bool
    /// Whether processes end at arbitrary points.
    public var hasProcessDeaths: Bool
    /// Whether the clients keep their state in SQLite, as real clients do, in addition to memory.
    public var usesDatabase: Bool
    /// The folder of their databases; nil keeps them in memory.
    public var databaseFolder: String?
    /// The maximum number of files that people create; after that they only change existing ones. Nil: no limit.
    public var maximumFiles: Int?
    /// Whether people create groups, leave them, are removed from them, and delete their accounts.
    public var hasDepartures = true
    /// Whether server and storages refuse some contents, until the faults end.
    public var hasRefusals = true
    /// Whether people withdraw changes.
    public var hasWithdrawals = true
    /// Whether the server is restored from backups.
    public var hasRestorations = false
    /// Whether users switch to other accounts.
    public var hasAccountSwitches = false

    /// The options of a seed: each seed is a different history, under different circumstances.
    ///
    /// Four of five histories have a server with all extensions. In every second one of these, users switch accounts;
    /// in every fourth, the server is restored from backups, and nobody leaves. One in 32 histories uses SQLite.
    public init(seed: UInt64) {
        var random = SplitMix64(seed: seed ^ 0x5EED)
        devices = 3 + random.below(6)
        steps = 20 + random.below(60)
        hasExtensions = !random.once(in: 5)
        hasNetworkFaults = !random.once(in: 4)
        hasProcessDeaths = !random.once(in: 4)
        usesDatabase = random.once(in: 32)
        hasAccountSwitches = hasExtensions && random.once(in: 2)
        // A switch takes several actions of one person.
        if hasAccountSwitches { steps *= 2 }
        hasRestorations = hasExtensions && !hasAccountSwitches && random.once(in: 2)
        if hasRestorations { hasDepartures = false }
    }
}

/// The result of a history.
public struct SimulationReport: Sendable {
    /// The seed of the history.
    public let seed: UInt64
    /// The rules that were broken, as sentences; empty if there were none.
    public internal(set) var violations: [String] = []
    /// The log of events, if requested.
    public internal(set) var log: [String] = []
    /// The number of events.
    public internal(set) var events = 0
    /// The number of successful commits.
    public internal(set) var commits = 0
    /// The number of times that an app was asked about a conflict.
    public internal(set) var conflicts = 0
    /// The number of delivered file groups.
    public internal(set) var deliveries = 0
    /// The number of processes that died.
    public internal(set) var deaths = 0
    /// The number of syncs that restarted because of a stale master version.
    public internal(set) var staleReplies = 0
    /// The number of files that were delivered as out of reach.
    public internal(set) var gone = 0
    /// The number of changes that were set aside because the server does not accept them.
    public internal(set) var failedUploads = 0
    /// The number of times that a change began to wait for a storage or a permission.
    public internal(set) var waits = 0
    /// The number of withdrawals.
    public internal(set) var withdrawals = 0
    /// The number of times that the server was restored from a backup.
    public internal(set) var restorations = 0
    /// The number of files that were restored.
    public internal(set) var restoredFiles = 0
    /// The number of confirmed switches of accounts.
    public internal(set) var switches = 0
    /// The number of files that were uploaded again.
    public internal(set) var reuploads = 0

    init(seed: UInt64) {
        self.seed = seed
    }
}
