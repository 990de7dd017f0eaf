import SyncEngine
import SyncProtocol
import SyncStore

/// One history of some devices and a server, with every kind of fault, at times chosen by a seed.
///
/// There are no real waits, and the seed is the only source of randomness: the same seed produces the same history on
/// every machine. At the end the faults stop, and all devices must reach the same state, without having lost, torn or
/// hidden anything.
public final class Simulation {
    /// A planned event.
    enum Event {
        case step
        case arrive(Request)
        case reply(Request, ModelServer.Answer)
        case tell(device: Int, process: Int, EngineEvent)
        case answer(device: Int, process: Int, EngineToken, ContentDownloadConflict)
        case answerDeletions(device: Int, process: Int, EngineToken, [DownloadDeletionConflict])
        case relaunch(device: Int)
        case arriveAccount(AccountCall)
        case accountReply(AccountCall, ModelAccountReply)
    }

    /// A request in transit.
    struct Request {
        let device: Int
        let process: Int
        let token: EngineToken
        let request: ServerRequest
        let contents: String?
        /// The account and the epoch of the request.
        var signIn: ModelSignIn?
        /// Whether it is sent for the second time.
        var isRepeated = false
        /// The delay of its reply after it was carried out; nil if the reply is lost.
        let replyDelay: Double?
        /// The failure that a closed or broken server returns; nil for none.
        let failure: RequestFailure?
        /// The number of restorations of the server before the request was sent.
        let restorations: Int
    }

    let options: SimulationOptions
    var random: SplitMix64
    var queue = EventQueue<Event>()
    let server: ModelServer
    var devices: [SimulatedDevice] = []
    var groups: [SharingGroupUUID] = []
    var report: SimulationReport
    var time: Double = 1_700_000_000
    var isSettling = false
    var remainingSteps: Int
    /// Contents that owners wrote to a file directly in the cloud, without the server.
    var changedInCloud: [FileUUID: Set<String>] = [:]
    let logs: Bool
    var numbers = 0
    /// Devices without a network.
    var offline: Set<Int> = []
    /// The apps' answers to conflicts; nil: the seed decides.
    var answers: StoryAnswers?
    /// The number of files that people have created.
    var madeFiles = 0
    /// The last backup of the server's groups; nil before the first one.
    var backup: [SharingGroupUUID: ModelGroup]?
    /// The time until which the server is closed because it was restored.
    var closedUntil: Double = 0
    /// The number of accounts that users have had.
    var madeAccounts = 0
    let commitIDs: CommitIDSource

    init(seed: UInt64, options: SimulationOptions, logs: Bool) {
        self.options = options
        self.logs = logs
        random = SplitMix64(seed: seed)
        server = ModelServer(capabilities: options.hasExtensions ? .all : .none)
        server.refusalOfContents = { _, contents, _ in Self.refusal(of: contents) }
        if options.hasExtensions {
            server.smallFileLimits = SmallFileLimits(maximumFiles: 3, maximumFileBytes: 8, maximumBodyBytes: 1 << 20)
        }
        report = SimulationReport(seed: seed)
        remainingSteps = options.steps
        commitIDs = CommitIDSource()
    }

    /// Runs the history of a seed.
    /// - Parameters:
    ///   - seed: Determines everything.
    ///   - options: The circumstances; by default those of the seed.
    ///   - logs: Whether the report includes a log of events.
    public static func run(
        seed: UInt64, options: SimulationOptions? = nil, logs: Bool = false
    ) -> SimulationReport {
        let simulation = Simulation(seed: seed, options: options ?? SimulationOptions(seed: seed), logs: logs)
        do {
            try simulation.setUp()
            try simulation.play()
            try simulation.settle()
            try simulation.check()
        } catch {
            simulation.violation("the store failed: \(error)")
        }
        return simulation.report
    }

    var now: WireDate { WireDate(secondsSince1970: Int64(time)) }

    func log(_ text: @autoclosure () -> String) {
        if logs { report.log.append("\(Int((time - 1_700_000_000) * 1000)) \(text())") }
    }

    func violation(_ text: String) {
        // One broken rule breaks others; the first ones are the most informative.
        if report.violations.count < 20 { report.violations.append(text) }
        log("VIOLATION \(text)")
    }

    /// A new UUID, the same in each run.
    func makeUUID() -> String {
        numbers += 1
        let digits = String(numbers)
        return "00000000-0000-4000-8000-" + String(repeating: "0", count: 12 - digits.count) + digits
    }

    // MARK: Course

    private func medium(_ index: Int) -> SimulatedStore.Medium {
        guard options.usesDatabase else { return .none }
        return options.databaseFolder.map { .file("\($0)/\(index).sqlite") } ?? .memory
    }

    func setUp() throws {
        var userCount = 2 + random.below(max(1, options.devices - 1))
        // Most users who switch should have other devices.
        if options.hasAccountSwitches { userCount = min(userCount, 3) }
        for index in 0..<options.devices {
            guard let uuid = DeviceUUID(makeUUID()) else { preconditionFailure("makeUUID makes UUIDs") }
            // Some users have several devices.
            let user = UserID(Int64(index < userCount ? index + 1 : random.below(userCount) + 1))
            server.users.insert(user)
            devices.append(
                try SimulatedDevice(index: index, caller: ModelCaller(user: user, device: uuid), medium(index)))
        }
        for _ in 0..<(1 + random.below(3)) {
            guard let group = SharingGroupUUID(makeUUID()) else { continue }
            groups.append(group)
            server.addGroup(group, name: "g", admin: UserID(1))
            for user in server.users.sorted() where user != UserID(1) && !random.once(in: 6) {
                server.groups[group]?.members[user] =
                    random.once(in: 8) && !options.hasRestorations ? .read : random.once(in: 3) ? .admin : .write
            }
        }
        if options.hasAccountSwitches { setUpAccounts() }
        for device in devices { try launch(device) }
        for device in devices { try sync(device, nil) }
        if options.hasDownloadsOnDemand { try setUpOnDemand() }
        queue.plan(.step, at: time + 5)
    }

    func play() throws {
        while let (time, event) = queue.next() {
            self.time = time
            try happen(event)
        }
    }

    /// Runs everything that is planned, and everything that follows from it.
    func runUntilQuiet() throws {
        var events = 0
        while let (time, event) = queue.next() {
            self.time = time
            try happen(event)
            events += 1
            if events > 200_000 {
                violation("the clients never come to rest")
                return
            }
        }
    }

    private func happen(_ event: Event) throws {
        report.events += 1
        switch event {
        case .step:
            try step()
            remainingSteps -= 1
            if remainingSteps > 0 { queue.plan(.step, at: time + Double(random.below(8_000)) / 1000) }
        case .arrive(let request): arrive(request)
        case .reply(let request, let answer): try receive(answer, to: request)
        case .arriveAccount(let call): arrive(call)
        case .accountReply(let call, let reply): try receive(reply, to: call)
        case .tell(let index, let process, let event):
            try tell(devices[index], process, event)
        case .answer(let index, let process, let token, let conflict):
            try answer(devices[index], process, token, conflict)
        case .answerDeletions(let index, let process, let token, let conflicts):
            try answer(devices[index], process, token, conflicts)
        case .relaunch(let index): try launch(devices[index])
        }
    }
}

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
    /// Whether some groups' files are downloaded on demand, until the faults end.
    public var hasDownloadsOnDemand = false

    /// The options of a seed: each seed is a different history, under different circumstances.
    ///
    /// Four of five histories have a server with all extensions. In every second one of these, users switch accounts;
    /// in every fourth, the server is restored from backups, and nobody leaves. In every second history, every
    /// fourth with switches, devices download some groups' files on demand. One in 32 histories uses SQLite.
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
        hasDownloadsOnDemand = random.once(in: hasAccountSwitches ? 4 : 2)
        if hasDownloadsOnDemand { steps *= 2 }
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
    /// The number of requests with several small files.
    public internal(set) var requestsWithSmallFiles = 0
    /// The number of files that were delivered as out of reach.
    public internal(set) var gone = 0
    /// The number of changes that were set aside because the server does not accept them.
    public internal(set) var failedUploads = 0
    /// The number of times that a change began to wait for storage or for permission.
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
    /// The number of requests for contents in groups whose files are downloaded on demand.
    public internal(set) var requestedFiles = 0
    /// The number of evicted files.
    public internal(set) var evictedFiles = 0

    init(seed: UInt64) {
        self.seed = seed
    }
}

/// Planned events, ordered by time; simultaneous events in the order of planning.
struct EventQueue<Event> {
    private struct Entry {
        let time: Double
        let number: Int
        let event: Event

        func precedes(_ other: Entry) -> Bool {
            time != other.time ? time < other.time : number < other.number
        }
    }

    // A binary heap.
    private var entries: [Entry] = []
    private var planned = 0

    var isEmpty: Bool { entries.isEmpty }

    mutating func plan(_ event: Event, at time: Double) {
        planned += 1
        entries.append(Entry(time: time, number: planned, event: event))
        var index = entries.count - 1
        while index > 0, entries[index].precedes(entries[(index - 1) / 2]) {
            entries.swapAt(index, (index - 1) / 2)
            index = (index - 1) / 2
        }
    }

    mutating func next() -> (time: Double, event: Event)? {
        guard let first = entries.first else { return nil }
        let last = entries.removeLast()
        if !entries.isEmpty {
            entries[0] = last
            sink()
        }
        return (first.time, first.event)
    }

    private mutating func sink() {
        var index = 0
        while true {
            var least = index
            for child in [2 * index + 1, 2 * index + 2] where child < entries.count {
                if entries[child].precedes(entries[least]) { least = child }
            }
            if least == index { return }
            entries.swapAt(index, least)
            index = least
        }
    }
}

/// A random number generator that produces the same numbers for the same seed, on every platform.
///
/// SplitMix64 by Sebastiano Vigna, https://prng.di.unimi.it/splitmix64.c
struct SplitMix64: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) {
        state = seed
    }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var bits = state
        bits = (bits ^ (bits >> 30)) &* 0xBF58_476D_1CE4_E5B9
        bits = (bits ^ (bits >> 27)) &* 0x94D0_49BB_1331_11EB
        return bits ^ (bits >> 31)
    }

    /// True with a probability of 1 in `count`.
    mutating func once(in count: Int) -> Bool {
        below(count) == 0
    }

    /// A number from 0 up to, not including, `bound`.
    mutating func below(_ bound: Int) -> Int {
        Int(next() % UInt64(bound))
    }

    /// One of the elements, or nil.
    mutating func pick<Element>(_ elements: [Element]) -> Element? {
        elements.isEmpty ? nil : elements[below(elements.count)]
    }
}
