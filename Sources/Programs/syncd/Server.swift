import Configuration
import Curl
import FastCGI
import HTTPTransport
import Logging
import MariaDB
import Metrics
import OpenSSLCrypto
import Posix
import Providers
import Store
import SyncProtocol
import SyncService
import Vault

/// All components of one process, assembled once.
struct Server {
    /// A database outage must be detected before phones give up; a lease that takes longer fails.
    private static let leaseTimeout: Duration = .seconds(5)

    private static let jobsThreads = 4
    /// One of those threads always remains free for the other services.
    private static let jobsShare = Bulkhead.Limits(calls: jobsThreads - 1, waiting: 1)

    private let configuration: ServerConfiguration
    private let logger: Logger
    private let logFile: LogFile
    private let store: MetadataStore
    private let storage: StorageRegistry
    private let push: PushServices
    /// Calls to providers, counted, paced and limited; each request and each job adds its log.
    private let transport: @Sendable () -> Transport
    /// The same for moves of contents, which take none of the jobs' turns: the end of one file may be sent while it is read.
    private let moveTransport: @Sendable () -> Transport
    private let processID: String
    private let signOfLife: SignOfLife
    private let metrics: MetricsWiring

    init(configuration: ServerConfiguration, role: ServerRole, logger: Logger, logFile: LogFile) throws {
        self.configuration = configuration
        self.logger = logger
        self.logFile = logFile
        let pause: @Sendable (Duration) -> Void = { Pause.sleep($0) }
        let pool = ConnectionPool(
            settings: configuration.database, maximumConnections: configuration.databaseConnections,
            leaseTimeout: Self.leaseTimeout)
        store = MetadataStore(pool: pool, pause: pause)
        push = PushServices(configuration, now: { [store] in store.now.secondsSince1970 })
        processID = try RandomBytes.uuidText()
        signOfLife = SignOfLife(
            of: KeyHolder(ownUUID: processID, role: role, keys: try KeyRing(configuration)), store: store)
        let metrics = MetricsWiring(
            directory: configuration.metricsDirectory, role: role, processID: processID, pool: pool, store: store,
            now: { [store] in store.now }, logger: logger)
        self.metrics = metrics
        storage = try StorageRegistry(
            configuration, store: store, backoff: Backoff(pause: pause), unreadable: metrics.unreadable)
        let senders = CurlSenderPool(routing: Routing(configuration.sandbox))
        let circuits = Circuits(observer: { service, host, isOpen in
            metrics.circuitChanged(service, isOpen: isOpen)
            logger.warning(
                isOpen ? "Provider is not asked for a while: it keeps failing" : "Provider is asked again",
                metadata: .keyed([.providerHost: "\(host)"]))
        })
        let limits = Self.bulkheadLimits(of: role, configuration)
        // Whoever waits for a turn occupies a slot, so only a few may.
        let pacing = Pacing(maximumWaiting: max(1, limits.calls / 4), pause: pause)
        let makeTransport = { (limits: Bulkhead.Limits) -> @Sendable () -> Transport in
            let decorators: [any TransportDecorator] = [
                metrics.calls, Bulkhead(limits: limits, pause: pause), pacing, circuits,
            ]
            return { senders.transport.decorated(by: decorators) }
        }
        transport = makeTransport(limits)
        moveTransport = makeTransport(Self.moveShare(threads: configuration.moveThreads))
    }

    /// Room for each thread to read and write at once, also on one server of those that people name.
    private static func moveShare(threads: Int) -> Bulkhead.Limits {
        Bulkhead.Limits(calls: max(1, threads) * 8, waiting: max(1, threads))
    }

    private static func bulkheadLimits(
        of role: ServerRole, _ configuration: ServerConfiguration
    ) -> Bulkhead.Limits {
        switch role {
        case .api: .ofShortRequests(threads: configuration.apiThreads)
        case .transfer: .ofTransfers(threads: configuration.transferThreads)
        case .jobs: jobsShare
        }
    }

    private var supervisor: Supervisor {
        Supervisor(
            store: store, database: configuration.database, processID: processID, signOfLife: signOfLife,
            metrics: metrics, logger: logger, logFile: logFile)
    }

    /// Runs workers until the process is asked to stop. Before they start, and then in a thread of its own, the database is
    /// asked whether the server is closed.
    private func supervise(watching maintenance: MaintenanceWatch, _ startWorkers: () throws -> WorkerPool) throws {
        var watching: WorkerPool?
        defer { _ = watching?.drain(within: .seconds(30)) }
        try supervisor.run {
            maintenance.refresh()
            watching = try WorkerPool(threads: 1, name: "maintenance") { _, _, stop in
                while !stop.isSet {
                    Pause.sleep(MaintenanceWatch.interval)
                    maintenance.refresh()
                }
            }
            return try startWorkers()
        }
    }

    // MARK: Roles api and transfer

    /// Answers requests until it is asked to stop.
    func respond(as role: ServerRole) throws {
        let threads = role == .transfer ? configuration.transferThreads : configuration.apiThreads
        let slowestPace = configuration.minimumTransferRate.map {
            TransferPace(bytesPerSecond: $0, grace: configuration.transferGraceTime)
        }
        guard let socket = ListeningSocket.inherited() else {
            StandardError.write(
                "syncd: no listening socket: start me from a .socket unit, or with one as standard input")
            throw ServerError.noSocket
        }
        let started = ContinuousClock.now
        let store = store
        let maintenance = MaintenanceWatch(store: store, logger: logger)
        let services = Services(
            store: store, storage: storage, push: push,
            signInCache: SignInCache(timeToLive: configuration.signInTokenTimeToLive, pause: { Pause.sleep($0) }),
            failedSignIns: FailedSignIns(perMinute: configuration.failedSignInsPerMinute),
            settings: Services.Settings(
                serverVersion: ServerRelease.text, minimumIOSClientVersion: configuration.minimumIOSClientVersion,
                maximumUploadBytes: configuration.maximumUploadBytes,
                quotas: configuration.quotas, mimeTypes: .standard,
                writesWarningFile: configuration.warningFile != nil,
                writesIndexPage: configuration.writesIndexPage, redirectURIs: configuration.redirectURIs,
                replacedVersionSeconds: Int64(configuration.replacedVersionSeconds),
                requiresOldAccountProof: configuration.requiresOldAccountProof,
                movesContents: configuration.moveThreads > 0,
                allowsDirectTransfers: configuration.allowsDirectTransfers),
            partBudget: PartBudget(observer: metrics.partBytesChanged), now: { store.now },
            uptime: { started.duration(to: .now) },
            makeUUID: { try RandomBytes.uuidText() },
            background: { body in
                try WorkerThread(name: "background") {
                    ClientLibrary.threadStart()
                    body()
                    ClientLibrary.threadEnd()
                }.detach()
            },
            signInTickets: SignInTickets(keys: try KeyRing(configuration)),
            requestTurns: role == .api ? RequestTurns(maximumPerUser: configuration.maximumRequestsPerUser) : nil,
            transferLimit: role == .transfer
                ? TransferLimit(threads: threads, maximumPerUser: configuration.maximumTransfersPerUser) : nil,
            maintenance: maintenance, refusesDuringMaintenance: role == .api)
        let router = Router(services: services, observer: metrics.requestObserver, logger: logger)
        let makeTransport = transport
        let metrics = metrics
        try supervise(watching: maintenance) {
            try WorkerPool(threads: threads, name: "request") { _, activity, stop in
                do {
                    let transport = makeTransport()
                    let makeConnection = { () throws(FastCGIError) in
                        try FastCGIConnection(
                            on: socket, activity: activity, slowestPace: slowestPace, transferred: metrics.transferred)
                    }
                    var connection = try makeConnection()
                    while !stop.isSet {
                        switch connection.next(wakingSignal: Signals.waking) {
                        case .request(let head):
                            guard router.handle(head, on: connection, transport: transport) == .waits else { continue }
                            activity.end()
                            connection = try makeConnection()
                        case .admission(let head): router.admit(head, on: connection, transport: transport)
                        case .page(let page): router.answer(page, on: connection, metrics: metrics.text)
                        case nil: continue
                        }
                    }
                } catch {
                    router.report(error)
                }
            }
        }
    }

    // MARK: Role jobs

    /// Processes the outbox, and moves contents, until it is asked to stop.
    func work() throws {
        let store = store
        let housekeeper = Housekeeper(
            store: store, stagingLifetimeDays: configuration.stagingLifetimeDays, now: { store.now }, logger: logger)
        let maintenance = MaintenanceWatch(store: store, logger: logger)
        let readings = ReadingSlots(Self.jobsThreads / 2)
        // Each thread has its own lease identity: an expired lease must not look like its own to another thread.
        let loops = try (0..<Self.jobsThreads).map { _ in
            JobsLoop(
                worker: OutboxWorker(
                    store: store, storage: storage, push: push,
                    warningFile: configuration.warningFile.map {
                        OutboxWorker.WarningFile(name: $0.name, contents: Array($0.contents.utf8))
                    }, writesIndexPage: configuration.writesIndexPage, readings: readings,
                    leaseOwner: try RandomBytes.uuidText(), now: { store.now }, logger: logger),
                housekeeper: housekeeper, makeTransport: transport, maintenance: maintenance, logger: logger)
        }
        let moves = try (0..<configuration.moveThreads).map { _ in
            MoveLoop(
                mover: ContentMover(
                    storage: storage, bytesPerSecond: configuration.moveBytesPerSecond,
                    writesIndexPage: configuration.writesIndexPage, leaseOwner: try RandomBytes.uuidText(),
                    now: { store.now }, makeUUID: { try RandomBytes.uuidText() }, pause: { Pause.sleep($0) },
                    observer: metrics.moved, logger: logger),
                makeTransport: moveTransport, maintenance: maintenance, logger: logger)
        }
        try supervise(watching: maintenance) {
            try WorkerPool(threads: loops.count + moves.count, name: "jobs") { index, activity, stop in
                if index < loops.count {
                    loops[index].run(activity: activity, until: stop)
                } else {
                    moves[index - loops.count].run(activity: activity, until: stop)
                }
            }
        }
    }
}

/// Why a process cannot do its work.
enum ServerError: Error, CustomStringConvertible {
    case noSocket
    case workersDied
    case stillBusy

    var description: String {
        switch self {
        case .noSocket: "there is no listening socket"
        case .workersDied: "a worker thread ended by itself"
        case .stillBusy: "requests were still in progress when the time to stop was over"
        }
    }
}
