public import HTTPTransport
import Logging
import Providers
public import Store
public import SyncProtocol
public import Vault

/// Compares what rows say with what the clouds have: objects that are missing or altered, objects to which nothing
/// refers, and whatever else is in the folders.
///
/// One request at a time; its transport keeps the pace. It may run at any time alongside the server, and only repairs
/// change anything.
public struct CloudCheck {
    private static let page = 200

    private let store: MetadataStore
    private let storage: StorageRegistry
    private let transport: Transport
    private let rowLimit: Int
    private let repairs: Bool
    private let ownNames: Set<String>

    /// - Parameters:
    ///   - rowLimit: rows listed for each finding; that there are more is only mentioned.
    ///   - repairs: whether to repair what can be without losing anything.
    ///   - ownNames: names in folders that are neither files' nor foreign.
    public init(
        store: MetadataStore, storage: StorageRegistry, transport: Transport, rowLimit: Int, repairs: Bool,
        ownNames: Set<String>
    ) {
        self.store = store
        self.storage = storage
        self.transport = transport
        self.rowLimit = rowLimit
        self.repairs = repairs
        self.ownNames = ownNames
    }

    /// What a check found, and how much it examined.
    public struct Outcome {
        public var findings: [Finding]
        public var repairs: [FsckReport.Repair]
        /// Files whose objects were examined.
        public var objects: Int
        /// Folders that were examined; `nil` if only files were.
        public var folders: Int?
        /// When it was begun, in an earlier run perhaps.
        public var startedAt: WireDate
    }

    /// Runs the check.
    ///
    /// - Parameters:
    ///   - resumes: whether a check of all folders goes on where an earlier one was interrupted, if there is such a one.
    ///   - progress: called now and then with the number of files and folders so far.
    /// - Throws: ``StoreError``, ``CloudCheckSuperseded``.
    public func run(
        _ scope: CloudScope, resumes: Bool, progress: @escaping (_ files: Int, _ folders: Int) -> Void = { _, _ in }
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
        case .folder(let owner): try examineFolder(of: owner, &check, progress)
        case .group(let group):
            var last: ReferredObject?
            while true {
                let objects = try store.withSession { session in
                    try session.referredObjects(group: group, after: last, limit: Self.page)
                }
                try examineFiles(objects, &check, progress)
                last = objects.last
                if objects.count < Self.page { break }
            }
        case .sample(let size, let owner):
            try examineFiles(try store.withSession { try $0.sampledObjects(size, owner: owner) }, &check, progress)
        }
        return Outcome(
            findings: check.findings.findings(limit: rowLimit), repairs: check.findings.repairs, objects: check.objects,
            folders: scope.listsFolders ? check.folders : nil, startedAt: check.startedAt)
    }

    // MARK: Folders

    private func examineAllFolders(_ check: inout CloudCheckProgress, _ progress: @escaping (Int, Int) -> Void) throws {
        while true {
            let last = check.lastOwner.map { UserID($0) }
            let owners = try store.withSession { try $0.owners(after: last, limit: Self.page) }
            for owner in owners {
                try examineFolder(of: owner, &check, progress)
                check.lastOwner = owner.rawValue
                try store.transaction { try $0.store(check, at: store.now) }
            }
            if owners.count < Self.page { return }
        }
    }

    private func examineFolder(
        of owner: UserID, _ check: inout CloudCheckProgress, _ progress: @escaping (Int, Int) -> Void
    ) throws {
        let (files, folders) = (check.objects, check.folders)
        let found = Recorder(check.findings, limit: rowLimit)
        defer { check.findings = found.findings }
        try guarding(owner, found) {
            guard let (owningUser, look) = try open(owner, found) else { return }
            let strays = StrayObjects(
                store: store, owner: owningUser, repairs: repairs, report: found.note, repaired: found.noteRepair)
            let examination = FolderExamination(
                owner: owningUser, look: look, ownNames: ownNames, report: found.note, stray: strays.handle,
                progress: { progress(files + $0, folders) })
            check.objects += try examination.run()
            check.folders += 1
        }
        progress(check.objects, check.folders)
    }

    // MARK: Files

    /// - Parameter objects: those of one owner one after another, so that each storage is opened once.
    private func examineFiles(
        _ objects: [ReferredObject], _ check: inout CloudCheckProgress, _ progress: @escaping (Int, Int) -> Void
    ) throws {
        let found = Recorder(check.findings, limit: rowLimit)
        defer { check.findings = found.findings }
        var looks: [UserID: ObjectLook] = [:]
        var hopeless: Set<UserID> = []
        for object in objects {
            let owner = object.file.owningUser.userID
            if hopeless.contains(owner) { continue }
            let isExamined = try guarding(owner, found) {
                guard let look = try looks[owner] ?? open(owner, found)?.1 else { throw CloudStorageError.notFound }
                looks = [owner: look]
                try look.examine(object)
            }
            if isExamined { check.objects += 1 } else { hopeless.insert(owner) }
            progress(check.objects, check.folders)
        }
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
            // An owner who has been removed meanwhile has no storage here to be examined.
            guard try store.withSession({ try $0.user(owner) }) != nil else { return false }
            let isRefusal = if case .authorizationRevoked = error { true } else { false }
            found.note(
                isRefusal ? .storageRefused : .storageUnavailable,
                Violation(row: "user \(owner)", detail: error.operatorsWord))
            return false
        }
    }

    /// - Returns: `nil` if there is no such user, or none with storage.
    private func open(_ owner: UserID, _ found: Recorder) throws -> (OwningUser, ObjectLook)? {
        guard let user = try store.withSession({ try $0.user(owner) }),
            let storageType = user.accountType.cloudStorageType
        else { return nil }
        let opened = try storage.storage(
            of: user, transport: transport, deadline: .after(.seconds(60)), logger: Logger.silent)
        let look = ObjectLook(
            store: store, storage: opened, backoff: storage.backoff, repairs: repairs, report: found.note,
            repaired: found.noteRepair)
        return (OwningUser(userID: owner, storageType: storageType), look)
    }
}

/// Collects what the parts of a check find.
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
    /// For library code that logs for server operators: a command does its own reporting.
    static var silent: Logger { Logger(label: "syncctl", factory: { _ in SwiftLogNoOpLogHandler() }) }
}
