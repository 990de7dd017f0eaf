import Foundation
import Logging
import SyncEngine
import SyncProtocol
import SyncServerConnection
import SyncStore
import Synchronization

/// The engine with its store, and the code that performs the engine's actions.
///
/// A change to the state and its transaction are one step under a lock; the resulting actions follow, in the engine's
/// order. Requests, questions and deliveries run in tasks, and report back as events.
final class SyncDriver: Sendable {
    /// The state that the lock protects.
    struct State {
        var machine: SyncStateMachine
        /// Whether the machine holds a change that could not be stored, and must be reloaded.
        var isSpoilt = false
        var isClosed = false
        /// Not nil while the store must not be used.
        var suspension: Suspension?
        /// The requests and delays that the engine waits for.
        var work: [EngineToken: Task<Void, Never>] = [:]
        /// The last of the app's callbacks, which run one after another.
        var lane: Task<Void, Never>?
        var runs = Runs()
        /// The run that the app is requesting at this moment.
        var incoming: Runs.Run?
        var status = SyncStatus.idle
        var sharingGroups: [SharingGroup] = []
        var userID: String?
    }

    let state: Mutex<State>
    let files: LibraryFiles
    let inbox: UploadInbox
    /// Held while entries are taken from the inbox; locked before the state.
    let inboxTurn = Mutex(())
    let environment: SyncEnvironment
    let logger: Logger
    let resolver: ConflictResolver
    let deviceUUID: DeviceUUID

    let database: ClientDatabase
    /// Held until the database is closed, except during a suspension.
    let lock: StoreLock
    private let configuration: SyncStateMachine.Configuration
    private let performer = Mutex<(any RequestPerformer)?>(nil)
    private let delegateBox = Mutex(WeakDelegate())
    let grants: any DeviceGrantStore
    /// The newer grants that the server reported at the last sign-in.
    let newerGrants = Mutex<[AccountIdentity.NewerGrant]>([])
    /// The identity that requests name; changes with the state.
    let identity: Mutex<KnownIdentity>

    let events = Broadcast<SyncEvent>()
    let errors = Broadcast<SyncError>()
    let sharingGroupChanges = Broadcast<[SharingGroup]>()
    let fileChanges = Broadcast<ChangedFiles>()
    let statuses = Broadcast<SyncStatus>()
    let transfers = Broadcast<FileTransfer>()
    let suspensions = Broadcast<Bool>()
    let pushRegistrations = Broadcast<Void>()
    /// Whether the app has registered for push notifications since the instance was created.
    let hasPush = Atomic(false)

    private struct WeakDelegate {
        weak var delegate: (any SyncServerDelegate)?
    }

    /// Opens the store and repairs the last process's interrupted work. Sends no request before ``start(_:)``.
    init(_ configuration: SyncServer.Configuration, _ environment: SyncEnvironment) throws(SyncError) {
        self.environment = environment
        logger = configuration.logger
        resolver = configuration.conflictResolver
        do {
            try FileManager.default.createDirectory(
                at: configuration.storeFolder, withIntermediateDirectories: true)
        } catch { throw SyncError(.storeError) }
        lock = try StoreLock(configuration.storeFolder.appending(path: "lock"))
        files = LibraryFiles(
            folder: configuration.storeFolder.appending(path: "files"), bases: configuration.baseFolders,
            makeName: environment.makeUUID)
        try files.prepare()
        inbox = UploadInbox(storeFolder: configuration.storeFolder)
        grants =
            configuration.deviceGrantStore
            ?? FileDeviceGrantStore(file: configuration.storeFolder.appending(path: "device-grant"))
        do throws(StoreError) {
            database = try ClientDatabase(path: configuration.storeFolder.appending(path: "client.sqlite").path)
            deviceUUID = try Self.device(configuration, database, environment)
            let makeUUID = environment.makeUUID
            let userID = try database.setting(Setting.userID)
            var engine = SyncStateMachine.Configuration(
                deviceUUID: deviceUUID,
                accountStorage: try database.setting(Setting.accountStorage).flatMap(CloudStorageType.init(rawValue:)),
                capabilities: try database.setting(Setting.extensions) == Setting.absent ? .none : .all,
                maximumTransfers: max(1, configuration.maximumTransfers),
                maximumBatchBytes: configuration.maximumBatchBytes,
                makeCommitID: {
                    guard let id = CommitID(makeUUID()) else { preconditionFailure("a UUID is an id of a commit") }
                    return id
                })
            engine.userID = userID.flatMap { Int64($0) }.map { UserID($0) }
            engine.reuploadsForOthers = configuration.reuploadsForOthers
            engine.downloadPolicy = configuration.downloadPolicy
            engine.smallFiles = .unknown
            self.configuration = engine
            var machine = SyncStateMachine(state: try database.load(), configuration: self.configuration)
            let actions = Self.launch(&machine, files, environment)
            try database.write(machine.takeChanges())
            for case .removeFile(let location) in actions { files.remove(location) }
            files.sweep(keeping: machine.state.ownedFiles)
            let groups = machine.sharingGroups
            identity = Mutex(
                KnownIdentity(
                    accountEpoch: machine.account?.epoch,
                    deviceGrant: machine.account == nil ? nil : try? grants.load()))
            let status = SyncStatus.atRest(machine)
            state = Mutex(State(machine: machine, status: status, sharingGroups: groups, userID: userID))
        } catch {
            configuration.logger.error("Could not open the store", metadata: ["error": "\(error)"])
            throw SyncError(.storeError)
        }
    }

    /// Keys of settings in the store.
    enum Setting {
        static let deviceUUID = "deviceUUID"
        static let userID = "userID"
        static let accountStorage = "accountStorage"
        static let extensions = "serverExtensions"
        static let absent = "absent"
        static let present = "present"
    }

    private static func device(
        _ configuration: SyncServer.Configuration, _ database: ClientDatabase, _ environment: SyncEnvironment
    ) throws(StoreError) -> DeviceUUID {
        if let given = configuration.deviceUUID { return given }
        if let stored = try database.setting(Setting.deviceUUID).flatMap(DeviceUUID.init) { return stored }
        guard let made = DeviceUUID(environment.makeUUID()) else { preconditionFailure("a UUID names a device") }
        try database.set(Setting.deviceUUID, to: made.rawValue)
        return made
    }

    private static func launch(
        _ machine: inout SyncStateMachine, _ files: LibraryFiles, _ environment: SyncEnvironment
    ) -> [EngineAction] {
        let actions = machine.launch(at: WireDate(environment.now()))
        machine.forgetMissingFiles { !files.exists($0) }
        return actions
    }

    /// Starts sending requests.
    func start(_ performer: any RequestPerformer) {
        self.performer.withLock { $0 = performer }
    }

    var delegate: (any SyncServerDelegate)? {
        get { delegateBox.withLock { $0.delegate } }
        set { delegateBox.withLock { $0.delegate = newValue } }
    }

    var now: WireDate { WireDate(environment.now()) }

    // MARK: Changes

    /// Changes the state, stores the change, and starts the resulting actions, all or nothing.
    func change<Value: Sendable>(
        _ body: (inout SyncStateMachine) throws(SyncError) -> (Value, [EngineAction])
    ) throws(SyncError) -> Value {
        try state.withLock { state throws(SyncError) in
            try change(&state, body)
        }
    }

    func change<Value: Sendable>(
        _ state: inout State, _ body: (inout SyncStateMachine) throws(SyncError) -> (Value, [EngineAction])
    ) throws(SyncError) -> Value {
        try requireUsable(state)
        if state.isSpoilt { try reload(&state) }
        let wasSyncing = state.machine.isSyncing
        let (value, actions) = try body(&state.machine)
        let changes = state.machine.takeChanges()
        do {
            try database.write(changes)
        } catch {
            logger.error("Could not write to the store", metadata: ["error": "\(error)"])
            // The machine is ahead of its store. It is reset to the stored state; an active sync ends.
            state.isSpoilt = true
            try? reload(&state)
            let storeError = SyncError(.storeError)
            if wasSyncing { end(&state, with: storeError) }
            throw storeError
        }
        if !changes.account.isEmpty {
            let epoch = state.machine.account?.epoch
            identity.withLock { $0.accountEpoch = epoch }
        }
        perform(actions, &state)
        tellGroups(changes, &state)
        if !changes.directory.isEmpty { fileChanges.send(ChangedFiles(changes)) }
        return value
    }

    /// - Throws: `closed`; `suspended`.
    func requireUsable(_ state: borrowing State) throws(SyncError) {
        guard !state.isClosed else { throw SyncError(.closed) }
        guard state.suspension == nil else { throw SyncError(.suspended) }
    }

    /// Reads the state.
    func read<Value: Sendable>(_ body: (SyncStateMachine) throws(SyncError) -> Value) throws(SyncError) -> Value {
        try state.withLock { state throws(SyncError) in try body(state.machine) }
    }

    /// Handles an event, after the suspension if there is one. Does nothing if the driver is closed.
    func handle(_ event: EngineEvent) {
        state.withLock { handle(event, &$0) }
    }

    func handle(_ event: EngineEvent, _ state: inout State) {
        guard !state.isClosed, !state.isSpoilt else { return }
        guard state.suspension == nil else {
            state.suspension?.events.append(event)
            return
        }
        let date = environment.now()
        try? change(&state) { machine throws(SyncError) in
            let clock = Duration.seconds(date.timeIntervalSince1970)
            return ((), machine.handle(event, at: WireDate(date), clock: clock))
        }
    }

    /// Adopts what another process has written to the store.
    func readAgain(_ state: inout State) throws(SyncError) {
        let wasSyncing = state.machine.isSyncing
        state.isSpoilt = true
        defer { if wasSyncing { end(&state, with: SyncError(.storeInUse)) } }
        do { state.userID = try database.setting(Setting.userID) } catch { throw SyncError(.storeError) }
        try reload(&state)
        let account = state.machine.account
        identity.withLock {
            $0 = KnownIdentity(accountEpoch: account?.epoch, deviceGrant: account == nil ? nil : try? grants.load())
        }
        publishGroups(&state)
        setStatus(.atRest(state.machine), &state)
    }

    private func reload(_ state: inout State) throws(SyncError) {
        do throws(StoreError) {
            var configuration = configuration
            configuration.userID = state.userID.flatMap { Int64($0) }.map { UserID($0) }
            configuration.accountStorage = try database.setting(Setting.accountStorage).flatMap(
                CloudStorageType.init(rawValue:))
            let isOlder = try database.setting(Setting.extensions) == Setting.absent
            configuration.capabilities = isOlder ? .none : .all
            var machine = SyncStateMachine(state: try database.load(), configuration: configuration)
            let actions = Self.launch(&machine, files, environment)
            try database.write(machine.takeChanges())
            for case .removeFile(let location) in actions { files.remove(location) }
            machine.countTokens(after: state.machine)
            state.machine = machine
            state.isSpoilt = false
        } catch { throw SyncError(.storeError) }
    }

    /// Ends the active sync from outside the engine.
    private func end(_ state: inout State, with error: SyncError) {
        for task in state.work.values { task.cancel() }
        report(error, &state)
        setStatus(.idle, &state)
        for run in state.runs.endAll() { resume(run, with: .failure(error), &state) }
    }

    private func tellGroups(_ changes: StateChanges, _ state: inout State) {
        let concernsMembership = changes.items.contains { change in
            guard case .put(let item) = change else { return true }
            return item.kind == .groupRemoveUser
        }
        guard !changes.groups.isEmpty || (concernsMembership && !changes.items.isEmpty) else { return }
        publishGroups(&state)
    }

    private func publishGroups(_ state: inout State) {
        let groups = state.machine.sharingGroups
        guard groups != state.sharingGroups else { return }
        state.sharingGroups = groups
        sharingGroupChanges.send(groups)
    }

    func files(inSharingGroup group: SharingGroupUUID) -> [SyncAttributes] {
        state.withLock { state in
            state.machine.state.directory.rows { $0.sharingGroupUUID == group && !$0.deletedLocally }.map(\.attributes)
        }
    }

    // MARK: Settings

    /// Stores the capabilities that the server has reported.
    func use(_ extensions: ServerExtensions) {
        guard extensions != .unknown else { return }
        state.withLock { state in
            guard state.suspension == nil else { return }
            state.machine.use(extensions == .absent ? .none : .all)
            try? database.set(Setting.extensions, to: extensions == .absent ? Setting.absent : Setting.present)
        }
    }

    // MARK: Reports

    func report(_ error: SyncError, _ state: inout State) {
        logger.info("Error", metadata: ["error": "\(error)"])
        errors.send(error)
    }

    func setStatus(_ status: SyncStatus, _ state: inout State) {
        guard state.status != status else { return }
        state.status = status
        statuses.send(status)
    }

    /// Enqueues a callback to the app after all earlier ones.
    func enqueue(_ state: inout State, _ body: @escaping @Sendable () async -> Void) {
        let last = state.lane
        state.lane = Task {
            await last?.value
            await body()
        }
    }

    /// Starts a task that the engine waits for.
    func begin(
        _ token: EngineToken, _ state: inout State, _ body: @escaping @Sendable (any RequestPerformer) async -> Void
    ) {
        guard let performer = performer.withLock({ $0 }) else { return }
        state.work[token] = Task {
            await body(performer)
            self.state.withLock { $0.work[token] = nil }
        }
    }

    /// Ends all work. The engine resumes from the current state in the next process.
    func close() async {
        let (work, lane) = state.withLock { state in
            let work = Array(state.work.values)
            guard !state.isClosed else { return (work, state.lane) }
            state.isClosed = true
            for task in work { task.cancel() }
            for run in state.runs.endAll() { run.continuation?.resume(throwing: SyncError(.closed)) }
            return (work, state.lane)
        }
        finishStreams()
        for task in work { await task.value }
        await lane?.value
        lock.release()
    }

    /// Like ``close()`` without waiting, for an instance that is released without being closed.
    func abandon() {
        state.withLock { state in
            guard !state.isClosed else { return }
            state.isClosed = true
            for task in state.work.values { task.cancel() }
            for run in state.runs.endAll() { run.continuation?.resume(throwing: SyncError(.closed)) }
        }
        finishStreams()
        lock.release()
    }

    private func finishStreams() {
        events.finish()
        errors.finish()
        sharingGroupChanges.finish()
        fileChanges.finish()
        statuses.finish()
        transfers.finish()
        suspensions.finish()
        pushRegistrations.finish()
    }
}
