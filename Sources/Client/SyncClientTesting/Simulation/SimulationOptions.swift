/// What happens in a simulated history.
public struct SimulationOptions: Sendable {
    /// How many devices there are, 1 to 8.
    public var devices: Int
    /// How many things people do, before all faults end and everything settles.
    public var steps: Int
    /// Whether the server has the extensions of its protocol.
    public var hasExtensions: Bool
    /// Whether requests and replies get lost, late, or arrive twice, and the server is closed at times.
    public var hasNetworkFaults: Bool
    /// Whether processes end in the middle.
    public var hasProcessDeaths: Bool
    /// Whether the clients keep their state in SQLite, as real ones do, beside the faster memory.
    public var usesDatabase: Bool
    /// The folder of their databases; nil keeps them in memory.
    public var databaseFolder: String?
    /// How many files people make; then they only change what there is. Nil: no end.
    public var maximumFiles: Int?
    /// Whether people make groups, leave them, are taken out of them, and end their accounts.
    public var hasDepartures = true
    /// Whether the server refuses some contents for good, until the faults end.
    public var hasRefusals = true

    /// The options that belong to a seed: each seed is another history, under other circumstances.
    ///
    /// Four of five histories have a server with all extensions; one of 32 uses SQLite.
    public init(seed: UInt64) {
        var random = SplitMix64(seed: seed ^ 0x5EED)
        devices = 3 + random.below(6)
        steps = 20 + random.below(60)
        hasExtensions = !random.once(in: 5)
        hasNetworkFaults = !random.once(in: 4)
        hasProcessDeaths = !random.once(in: 4)
        usesDatabase = random.once(in: 32)
    }
}

/// How a history went.
public struct SimulationReport: Sendable {
    /// The history.
    public let seed: UInt64
    /// The rules that were broken, as sentences; empty if all is well.
    public internal(set) var violations: [String] = []
    /// What happened, if that was asked for.
    public internal(set) var log: [String] = []
    /// How many events there were.
    public internal(set) var events = 0
    /// How many commits succeeded.
    public internal(set) var commits = 0
    /// How many times an app was asked about a conflict.
    public internal(set) var conflicts = 0
    /// How many file groups were delivered.
    public internal(set) var deliveries = 0
    /// How many processes died.
    public internal(set) var deaths = 0
    /// How many syncs began anew because of another master version.
    public internal(set) var staleReplies = 0
    /// How many files were delivered, or uploads refused, as out of reach.
    public internal(set) var gone = 0
    /// How many uploads were set aside, because the server refused them for good.
    public internal(set) var failedUploads = 0

    init(seed: UInt64) {
        self.seed = seed
    }
}
