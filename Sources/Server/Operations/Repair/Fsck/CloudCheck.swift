public import HTTPTransport
import Logging
import Providers
public import Store
public import SyncProtocol
public import Vault

/// Compares the rows with the clouds, to find missing, altered and unreferenced objects, and foreign objects in the
/// folders. It examines several owners' storages in parallel (``CloudCheckTeam``); the transport limits the pace. It
/// abandons a storage that hangs after a while, and then does not wait for other owners at the same server. It can run
/// at any time alongside the server; only repairs change anything.
public struct CloudCheck: Sendable {
    private static let page = 200
    /// The number of owners' storages to examine in parallel.
    private static let width = 4
    /// The time limit for a server's reply, or for the beginning of a long reply.
    private static let replyTime: Duration = .seconds(20)
    /// The number of consecutive requests without a reply after which a server is skipped for a while.
    private static let patience = 3

    private let store: MetadataStore
    private let storage: StorageRegistry
    private let transport: @Sendable () -> Transport
    private let circuits = Circuits(failuresToOpen: patience)
    private let calls = EndableCalls()
    private let rowLimit: Int
    private let repairs: Bool
    private let ownNames: Set<String>
    /// Whether to read all objects instead of only comparing the providers' hashes.
    public var reads = false

    /// - Parameters:
    ///   - transport: called for each owner, by the thread that examines their storage.
    ///   - rowLimit: the number of rows to list for each finding; further rows are only mentioned.
    ///   - repairs: whether to repair what can be repaired without loss.
    ///   - ownNames: names of the server's own objects that are not files.
    public init(
        store: MetadataStore, storage: StorageRegistry, transport: @escaping @Sendable () -> Transport, rowLimit: Int,
        repairs: Bool,
        ownNames: Set<String>
    ) {
        self.store = store
        self.storage = storage
        self.transport = transport
        self.rowLimit = rowLimit
        self.repairs = repairs
        self.ownNames = ownNames
    }

    /// The findings of a check, and the amount that it examined.
    public struct Outcome {
        public var findings: [Finding]
        public var repairs: [FsckReport.Repair]
        /// The number of files whose objects were examined.
        public var objects: Int
        /// The number of folders that were examined; `nil` if only files were.
        public var folders: Int?
        /// When it began, possibly in an earlier run.
        public var startedAt: WireDate
    }

    /// Runs the check.
    ///
    /// - Parameters:
    ///   - resumes: whether to continue an interrupted check of all folders, if there is one.
    ///   - progress: called every few seconds, even while no storage replies.
    /// - Throws: ``StoreError``, ``CloudCheckSuperseded``.
    public func run(
        _ scope: CloudScope, resumes: Bool, progress: (CloudCheckStatus) -> Void = { _ in }
    ) throws -> Outcome {
        var check = try CloudCheckProgress(startingAt: store.now)
        switch scope {
        case .allFolders:
            if resumes, let earlier = try store.withSession({ try $0.interruptedCloudCheck() }) {
                check = earlier
                try check.takeOver()
            }
            try store.transaction { try $0.begin(check, at: store.now) }
            try examineAllFolders(&check, progress)
            try store.transaction { try $0.end(check) }
        case .folder(let owner): try examine([folder(of: owner)], &check, progress)
        case .manifests(let owner):
            let (known, neglected, keys) = try store.snapshot { session in
                (
                    try session.ownersWithManifests(),
                    Dictionary(grouping: try session.neglectedManifests(), by: \.userID),
                    try session.manifestKeys().map(\.key)
                )
            }
            let owners = owner.map { [$0] } ?? Set(known + neglected.keys).sorted { $0.rawValue < $1.rawValue }
            try examine(owners.map { manifests(of: $0, keys, neglected[$0] ?? []) }, &check, progress)
        case .group(let group):
            var last: ReferredObject?
            var hopeless: Set<UserID> = []
            while true {
                let objects = try store.withSession { session in
                    try session.referredObjects(group: group, after: last, limit: Self.page)
                }
                try examineFiles(objects, &check, unless: &hopeless, progress)
                last = objects.last
                if objects.count < Self.page { break }
            }
        case .sample(let size, let owner):
            var hopeless: Set<UserID> = []
            try examineFiles(
                try store.withSession { try $0.sampledObjects(size, owner: owner) }, &check, unless: &hopeless, progress
            )
        }
        return Outcome(
            findings: check.findings.findings(limit: rowLimit), repairs: check.findings.repairs, objects: check.objects,
            folders: scope.listsFolders ? check.folders : nil, startedAt: check.startedAt)
    }

    // MARK: Folders

    private func examineAllFolders(
        _ check: inout CloudCheckProgress, _ progress: (CloudCheckStatus) -> Void
    ) throws {
        let runUUID = check.runUUID
        while true {
            let last = check.lastOwner.map { UserID($0) }
            let owners = try store.withSession { try $0.owners(after: last, limit: Self.page) }
            try examine(
                owners.map { folder(of: $0) }, &check,
                { status in
                    guard try store.withSession({ try $0.cloudCheckInProgress() }) == runUUID else {
                        throw CloudCheckSuperseded()
                    }
                    progress(status)
                },
                added: { check in try store.transaction { try $0.store(check, at: store.now) } })
            if owners.count < Self.page { return }
        }
    }

    private func folder(of owner: UserID) -> CloudCheckTask {
        CloudCheckTask(owner: owner) { progress in
            let found = Recorder(CloudFindings(), limit: rowLimit)
            var outcome = CloudCheckTask.Outcome()
            outcome.isComplete = try guarding(owner, found) {
                guard let (owningUser, look) = try open(owner, found) else { return }
                let strays = StrayObjects(
                    store: store, owner: owningUser, repairs: repairs, report: found.note, repaired: found.noteRepair)
                let examination = FolderExamination(
                    owner: owningUser, look: look, ownNames: ownNames, report: found.note, stray: strays.handle,
                    progress: progress)
                outcome.objects = try examination.run()
                outcome.folders = 1
            }
            outcome.findings = found.findings
            return outcome
        }
    }

    private func manifests(
        of owner: UserID, _ keys: [[UInt8]], _ neglected: [StoreSession.NeglectedManifest]
    ) -> CloudCheckTask {
        CloudCheckTask(owner: owner) { _ in
            let found = Recorder(CloudFindings(), limit: rowLimit)
            var outcome = CloudCheckTask.Outcome()
            outcome.isComplete = try guarding(owner, found) {
                guard let (owningUser, look) = try open(owner, found) else { return }
                let comparison = ManifestComparison(
                    owner: owningUser, look: look, keys: keys, neglected: neglected)
                outcome.objects = try comparison.run()
            }
            outcome.findings = found.findings
            return outcome
        }
    }

    // MARK: Files

    /// - Parameters:
    ///   - objects: the objects, grouped by owner, so that each storage is opened once.
    ///   - hopeless: owners whose storages could not be examined; they are skipped.
    private func examineFiles(
        _ objects: [ReferredObject], _ check: inout CloudCheckProgress, unless hopeless: inout Set<UserID>,
        _ progress: (CloudCheckStatus) -> Void
    ) throws {
        var tasks: [(owner: UserID, objects: [ReferredObject])] = []
        for object in objects {
            let owner = object.file.owningUser.userID
            if hopeless.contains(owner) { continue }
            if tasks.last?.owner != owner { tasks.append((owner, [])) }
            tasks[tasks.count - 1].objects.append(object)
        }
        let lost = try examine(tasks.map { files($0.objects, of: $0.owner) }, &check, progress)
        hopeless.formUnion(lost)
    }

    private func files(_ objects: [ReferredObject], of owner: UserID) -> CloudCheckTask {
        CloudCheckTask(owner: owner) { progress in
            let found = Recorder(CloudFindings(), limit: rowLimit)
            var outcome = CloudCheckTask.Outcome()
            outcome.isComplete = try guarding(owner, found) {
                guard let look = try open(owner, found)?.1 else { throw CloudStorageError.notFound }
                for object in objects {
                    try look.examine(object)
                    outcome.objects += 1
                    progress(outcome.objects)
                }
            }
            outcome.findings = found.findings
            return outcome
        }
    }

    /// Runs tasks in parallel, and adds their findings in the order of the tasks.
    /// - Parameter added: called after each task.
    /// - Returns: the owners whose storages could not be examined.
    @discardableResult
    private func examine(
        _ tasks: [CloudCheckTask], _ check: inout CloudCheckProgress, _ progress: (CloudCheckStatus) throws -> Void,
        added: (CloudCheckProgress) throws -> Void = { _ in }
    ) throws -> Set<UserID> {
        var lost: Set<UserID> = []
        let team = CloudCheckTeam(tasks, calls: calls, folders: check.folders, objects: check.objects)
        try team.run(width: Self.width, progress: progress) { task, outcome in
            check.findings.add(outcome.findings, limit: rowLimit)
            check.objects += outcome.objects
            check.folders += outcome.folders
            check.lastOwner = task.owner.rawValue
            if !outcome.isComplete { lost.insert(task.owner) }
            try added(check)
        }
        return lost
    }

    // MARK: Storages

    /// Runs `body` and reports a storage that could not be examined.
    /// - Returns: whether it could.
    @discardableResult
    private func guarding(_ owner: UserID, _ found: Recorder, _ body: () throws -> Void) throws -> Bool {
        do {
            try body()
            return true
        } catch let error as CloudStorageError {
            // An owner who has been removed meanwhile has no storage to examine.
            guard try store.withSession({ try $0.user(owner) }) != nil else { return false }
            let isRefusal = if case .authorizationRevoked = error { true } else { false }
            found.note(
                isRefusal ? .storageRefused : .storageUnavailable,
                Violation(row: "user \(owner)", detail: error.operatorsWord))
            return false
        }
    }

    /// - Returns: `nil` if there is no such user, or the user has no storage.
    private func open(_ owner: UserID, _ found: Recorder) throws -> (OwningUser, ObjectLook)? {
        guard let user = try store.withSession({ try $0.user(owner) }),
            let storageType = user.accountType.cloudStorageType
        else { return nil }
        let transport = transport().replyingWithin(Self.replyTime).decorated(by: circuits).decorated(by: calls)
        let opened = try storage.storage(
            of: user, transport: transport, deadline: .after(.seconds(60)), logger: Logger.silent)
        let look = ObjectLook(
            store: store, storage: opened, backoff: storage.backoff, repairs: repairs, report: found.note,
            repaired: found.noteRepair, reads: reads)
        return (OwningUser(userID: owner, storageType: storageType), look)
    }
}

/// Collects the findings of a check's parts.
private final class Recorder {
    private(set) var findings: CloudFindings
    private let limit: Int

    init(_ findings: CloudFindings, limit: Int) {
        self.findings = findings
        self.limit = limit
    }

    func note(_ problem: CloudProblem, _ violation: Violation) {
        findings.note(problem, violation, limit: limit)
    }

    func noteRepair(_ problem: CloudProblem) { findings.noteRepair(problem) }
}

extension Logger {
    /// For library code that logs for server operators: a command reports by itself.
    static var silent: Logger { Logger(label: "syncctl", factory: { _ in SwiftLogNoOpLogHandler() }) }
}

/// The scope of a check of the clouds.
public enum CloudScope: Sendable {
    /// Every owner's folder, in the order of their numbers.
    case allFolders
    case folder(of: UserID)
    /// The objects of one group's files.
    case group(SharingGroupUUID)
    /// Only the manifests, of all owners or of one.
    case manifests(of: UserID?)
    /// Randomly chosen files, of all owners or of one.
    case sample(SampleSize, owner: UserID?)

    /// Whether folders are listed, which also finds unreferenced objects.
    var listsFolders: Bool {
        switch self {
        case .allFolders, .folder: true
        case .group, .sample, .manifests: false
        }
    }
}

/// The size of a random sample of files.
public enum SampleSize: Equatable, Sendable {
    case files(Int)
    /// A percentage of all files with objects.
    case percent(Int)

    /// The limit for the files of one sample, which are held in memory.
    public static let maximumFiles = 100_000

    /// Parses `200` or `5%`; `nil` for other texts, and above ``maximumFiles`` or 100 percent.
    public init?(_ text: String) {
        let digits = text.hasSuffix("%") ? text.dropLast() : Substring(text)
        guard (1...9).contains(digits.utf8.count), let number = Int(digits), number > 0 else { return nil }
        if text.hasSuffix("%") {
            guard number <= 100 else { return nil }
            self = .percent(number)
        } else {
            guard number <= Self.maximumFiles else { return nil }
            self = .files(number)
        }
    }

    /// The number out of `total` files, rounded up.
    func count(of total: Int) -> Int {
        switch self {
        case .files(let count): min(count, total)
        case .percent(let percent): min(Self.maximumFiles, (total * percent + 99) / 100)
        }
    }
}
