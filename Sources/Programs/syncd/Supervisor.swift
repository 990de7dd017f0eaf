import Configuration
import HTTPTransport
import Logging
import MariaDB
import OpenSSLCrypto
import Posix
import Store
import SyncProtocol

/// The main thread's work while workers run: checks the schema, sends watchdog keep-alives, announces the keys of this
/// process, shuts down gracefully.
struct Supervisor {
    /// A request that moves no byte for this many watchdog intervals marks the process as stuck: 300 s with the units'
    /// `WatchdogSec=60`.
    private static let patienceInSigns = 10
    /// How long requests in progress may take after the process was asked to stop. The service manager's limit is
    /// shorter: TimeoutStopSec of each role's unit determines how long to wait for an upload in progress.
    private static let drainLimit: Duration = .seconds(3_600)
    private static let tick: Duration = .milliseconds(500)
    /// The status that reports that this process can serve; systemd/reload waits for it.
    private static let serving = "Ready"

    let store: MetadataStore
    let database: ConnectionSettings
    let processID: String
    let signOfLife: SignOfLife
    let metrics: MetricsWiring
    let logger: Logger
    let logFile: LogFile

    /// Runs until the process is asked to stop and its requests are finished.
    /// - Throws: ``MigrationError`` if the schema does not match this release; ``ServerError``.
    func run(_ startWorkers: () throws -> WorkerPool) throws {
        let manager = ServiceManager()
        var schema = SchemaCheck(store: store, database: database, processID: processID, logger: logger)
        var signOfLife = signOfLife
        try schema.tryOnce()
        let pool = try startWorkers()
        // A program that waited for the start finds the row in the database.
        if schema.isDone { signOfLife.giveIfDue() }
        manager.ready(schema.isDone ? Self.serving : "Waiting for the database")
        logger.notice("Ready", metadata: .keyed([.version: "\(ServerRelease.text)"]))
        var nextSign = ContinuousClock.now
        while true {
            switch Signals.wait(upTo: Self.tick) {
            case .stop:
                manager.stopping()
                logger.notice("Stopping")
                // Requests still in progress may seal tokens.
                let isIdle = pool.drain(within: Self.drainLimit) { if schema.isDone { signOfLife.giveIfDue() } }
                guard isIdle else { throw ServerError.stillBusy }
                signOfLife.end()
                logger.notice("Stopped")
                return
            case .reopenLogs: logFile.reopen()
            case .none: break
            }
            metrics.readPool()
            pool.review()
            if !schema.isDone {
                try schema.tryOnce()
                if schema.isDone { manager.report(Self.serving) }
            }
            if schema.isDone { signOfLife.giveIfDue() }
            guard !pool.hasLostWorkers else { throw ServerError.workersDied }
            if let interval = manager.watchdogInterval, nextSign <= .now {
                // Only the return of the check matters, not its result: a database outage is no reason to restart.
                do { try store.check() } catch {}
                if pool.longestTimeWithoutProgress < interval * Self.patienceInSigns { manager.aliveNow() }
                nextSign = .now + interval
            }
        }
    }
}

/// Opens the store as soon as the database is available and has the right schema.
struct SchemaCheck {
    let store: MetadataStore
    let database: ConnectionSettings
    let processID: String
    let logger: Logger
    private(set) var isDone = false
    private var hasComplained = false

    init(store: MetadataStore, database: ConnectionSettings, processID: String, logger: Logger) {
        self.store = store
        self.database = database
        self.processID = processID
        self.logger = logger
    }

    /// - Throws: ``MigrationError`` if the schema version differs, which waiting cannot fix.
    mutating func tryOnce() throws {
        guard !isDone else { return }
        do {
            var runner = try MigrationRunner(database, leaseOwner: processID)
            try runner.verify()
            store.open()
            isDone = true
            if hasComplained { logger.notice("The database is available") }
        } catch let error as StoreError {
            if !hasComplained { complain(of: error) }
            hasComplained = true
        } catch let error as MigrationError {
            logger.error("The schema is unusable", metadata: .keyed([.reason: "\(error)"]))
            throw error
        }
    }

    /// An unreachable database will become available again; if it denies access, an operator must change an account or
    /// the configuration.
    private func complain(of error: StoreError) {
        let reason = Logger.Metadata.keyed([.reason: "\(String(reflecting: error))"])
        switch error {
        case .denied, .defect: logger.error("Waiting for the database, which refuses this server", metadata: reason)
        default: logger.warning("Waiting for the database", metadata: reason)
        }
    }
}

/// Announces to the other hosts, in a row of the database, that this process runs and which sealing keys it has, so
/// that `syncctl keys rotate` does not remove a key that it needs.
struct SignOfLife {
    private let holder: KeyHolder
    private let store: MetadataStore
    private var next = ContinuousClock.now

    /// - Parameter holder: this process.
    init(of holder: KeyHolder, store: MetadataStore) {
        self.holder = holder
        self.store = store
    }

    /// Renews the row if it is time. Retries at the next interval if the database rejects the change: a process without
    /// a renewal for two minutes counts as ended.
    mutating func giveIfDue() {
        guard next <= .now else { return }
        next = .now + .seconds(KeyHolder.renewalSeconds)
        // An ordinary change, which also shows whether the database accepts any.
        try? store.repeatedStatement { try $0.renew(holder, at: store.now) }
    }

    /// Removes the row because the process ends.
    func end() {
        try? store.withSession { try $0.removeKeyHolder(holder.processUUID) }
    }
}

extension KeyHolder {
    /// This process.
    init(ownUUID: String, role: ServerRole, keys: KeyRing) {
        self.init(
            processUUID: ownUUID, hostName: HostFacts.name, role: role, processID: HostFacts.processID,
            sealingKey: keys.current.name, openingKeys: keys.openingNames)
    }
}
