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
    /// The server must detect a database outage before phones give up; a lease that takes longer fails.
    private static let leaseTimeout: Duration = .seconds(5)

    static let jobsThreads = 4
    /// One of those threads always remains free for the other services.
    private static let jobsShare = Bulkhead.Limits(calls: jobsThreads - 1, waiting: 1)

    private let configuration: ServerConfiguration
    private let role: ServerRole
    private let logger: Logger
    private let logFile: LogFile
    private let store: MetadataStore
    private let storage: StorageRegistry
    /// The same for moves of contents, whose threads do nothing else: they wait for a provider.
    private let moveStorage: StorageRegistry
    private let push: PushServices
    /// Calls to providers, counted, paced and limited; each request and each job adds its log.
    private let transport: @Sendable () -> Transport
    /// The same for moves of contents, which have separate turns, so that they can send the end of one file while they
    /// read it.
    private let moveTransport: @Sendable () -> Transport
    private let processID: String
    private let changes: ChangeWiring?
    private let signOfLife: SignOfLife
    private let metrics: MetricsWiring

    init(configuration: ServerConfiguration, role: ServerRole, logger: Logger, logFile: LogFile) throws {
        self.configuration = configuration
        self.role = role
        self.logger = logger
        self.logFile = logFile
        let pause: @Sendable (Duration) -> Void = { Pause.sleep($0) }
        let pool = ConnectionPool(
            settings: configuration.database, maximumConnections: configuration.databaseConnections,
            leaseTimeout: Self.leaseTimeout)
        let changes = try configuration.changeSignal.map { try ChangeWiring($0) }
        self.changes = changes
        store = MetadataStore(
            pool: pool, pause: pause, committed: { changed in changes?.streams.note(changed) })
        push = PushServices(configuration, now: { [store] in store.now.secondsSince1970 })
        processID = try RandomBytes.uuidText()
        signOfLife = SignOfLife(
            of: KeyHolder(ownUUID: processID, role: role, keys: try KeyRing(configuration)), store: store)
        let metrics = MetricsWiring(
            directory: configuration.metricsDirectory, role: role, processID: processID, pool: pool, store: store,
            now: { [store] in store.now },
            channels: configuration.changeSignal.map { ChangeChannels(socket: $0.socket) }, logger: logger)
        self.metrics = metrics
        storage = try StorageRegistry(
            configuration, store: store, backoff: Self.backoff(of: role, configuration, pause: pause),
            unreadable: metrics.unreadable)
        moveStorage = try StorageRegistry(
            configuration, store: store, backoff: Backoff(pause: pause), unreadable: metrics.unreadable)
        let senders = CurlSenderPool(routing: Routing(configuration.sandbox))
        let circuits = Circuits(observer: { service, host, isOpen in
            metrics.circuitChanged(service, isOpen: isOpen)
            logger.warning(
                isOpen ? "Provider is suspended: it keeps failing" : "Provider is no longer suspended",
                metadata: .keyed([.providerHost: "\(host)"]))
        })
        let limits = Self.bulkheadLimits(of: role, configuration)
        // A call that waits for its turn occupies a slot, so few calls may wait. In `api`, whose requests are short,
        // none may wait.
        let pacing = Pacing(maximumWaiting: role == .api ? 0 : max(1, limits.calls / 4), pause: pause)
        let pauses: [any TransportDecorator] = role == .api ? [Pauses()] : []
        let makeTransport = { (limits: Bulkhead.Limits) -> @Sendable () -> Transport in
            let decorators: [any TransportDecorator] =
                [metrics.calls] + pauses + [Bulkhead(limits: limits, pause: pause), pacing, circuits]
            return { senders.transport.decorated(by: decorators) }
        }
        transport = makeTransport(limits)
        moveTransport = makeTransport(Self.moveShare(threads: configuration.moveThreads))
    }

    /// Lets each thread read and write at the same time, including on a single server that people entered.
    private static func moveShare(threads: Int) -> Bulkhead.Limits {
        Bulkhead.Limits(calls: max(1, threads) * 8, waiting: max(1, threads))
    }

    /// How threads wait for a provider that requests a pause. A thread of `api` does not wait; its reply says when to
    /// retry. A thread of `jobs` postpones the work. A bounded number of threads of `transfer` wait, because a phone
    /// would have to send a large part again.
    private static func backoff(
        of role: ServerRole, _ configuration: ServerConfiguration, pause: @escaping @Sendable (Duration) -> Void
    ) -> Backoff {
        switch role {
        case .api: Backoff(attempts: 1, places: .of(threads: configuration.apiThreads), pause: pause)
        case .transfer: Backoff(places: .of(threads: configuration.transferThreads), pause: pause)
        case .jobs: Backoff(attempts: 1, places: .of(threads: jobsThreads), pause: pause)
        }
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

    /// Threads that use the database.
    private func workers(
        _ size: WorkerPool.Size, name: String, _ body: @escaping @Sendable (Worker) -> Void
    ) throws -> WorkerPool {
        let (metrics, logger) = (metrics, logger)
        return try WorkerPool(
            size, name: name,
            failed: { error in
                metrics.threadMissing()
                logger.warning(
                    "The system does not create more threads; requests wait",
                    metadata: .keyed([.reason: "\(error)"]))
            },
            { worker in
                ClientLibrary.threadStart()
                body(worker)
                ClientLibrary.threadEnd()
            })
    }

    /// Runs workers until the process is asked to stop. Checks in the database whether the server is closed: before
    /// they start, and then in a separate thread.
    /// - Parameter meanwhile: called periodically in that thread, and once after the workers have ended.
    private func supervise(
        watching maintenance: MaintenanceWatch, meanwhile: @escaping @Sendable (_ isLast: Bool) -> Void = { _ in },
        _ startWorkers: () throws -> WorkerPool
    ) throws {
        var watching: WorkerPool?
        var publishing: WorkerPool?
        defer {
            _ = publishing?.drain(within: .seconds(30))
            _ = watching?.drain(within: .seconds(30))
            meanwhile(true)
        }
        try supervisor.run {
            maintenance.refresh()
            watching = try workers(.fixed(1), name: "maintenance") { worker in
                while !worker.isToEnd {
                    Pause.sleep(MaintenanceWatch.interval)
                    maintenance.refresh()
                    meanwhile(false)
                }
            }
            publishing = try changes.map { changes in
                let publisher = changes.publisher(of: role, store, metrics, logger)
                return try workers(.fixed(1), name: "changes") { worker in
                    publisher.run(while: { !worker.isToEnd }, wait: { changes.bell.wait(upTo: $0) })
                }
            }
            return try startWorkers()
        }
    }

    // MARK: The api and transfer roles

    /// Answers requests until it is asked to stop.
    func respond(as role: ServerRole) throws {
        let threads = role == .transfer ? configuration.transferThreads : configuration.apiThreads
        let slowestPace = configuration.minimumTransferRate.map {
            TransferPace(bytesPerSecond: $0, grace: configuration.transferGraceTime)
        }
        guard let socket = ListeningSocket.inherited() else {
            StandardError.write(
                "syncd: no listening socket: start it from a .socket unit, or with one as standard input")
            throw ServerError.noSocket
        }
        let started = ContinuousClock.now
        let store = store
        let maintenance = MaintenanceWatch(store: store, logger: logger)
        let services = Services(
            store: store, storage: storage, push: push,
            // Requests with the same new token wait without a thread.
            signInCache: SignInCache(
                timeToLive: configuration.signInTokenTimeToLive, maximumWaiting: 0, pause: { Pause.sleep($0) }),
            failedSignIns: FailedSignIns(perMinute: configuration.failedSignInsPerMinute),
            // In ten minutes, a third of the invalid tokens allowed per minute: a lookup costs more than a request.
            strangeServers: StrangeServers(perNetwork: configuration.failedSignInsPerMinute / 3),
            refusalLog: RefusalLog(linesPerMinute: configuration.refusalsLoggedPerMinute),
            settings: Services.Settings(
                serverVersion: ServerRelease.text, minimumIOSClientVersion: configuration.minimumIOSClientVersion,
                maximumUploadBytes: configuration.maximumUploadBytes,
                quotas: configuration.quotas, mimeTypes: configuration.mimeTypes,
                writesWarningFile: configuration.warningFile != nil,
                writesIndexPage: configuration.writesIndexPage, redirectURIs: configuration.redirectURIs,
                replacedVersionSeconds: Int64(configuration.replacedVersionSeconds),
                requiresOldAccountProof: configuration.requiresOldAccountProof,
                switches: SwitchTimes(
                    minimumGrantAgeDays: configuration.minimumGrantAgeDays, undoDays: configuration.undoDays),
                movesContents: configuration.moveThreads > 0,
                allowsDirectTransfers: configuration.allowsDirectTransfers, publicURL: configuration.publicURL),
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
            maintenance: maintenance, refusesDuringMaintenance: role == .api, changeStreams: changes?.streams)
        let router = Router(services: services, observer: metrics.requestObserver, logger: logger)
        let makeTransport = transport
        let metrics = metrics
        let reportOmissions: @Sendable (Bool) -> Void = { router.reportOmissions(isLast: $0) }
        try supervise(watching: maintenance, meanwhile: reportOmissions) {
            try workers(.init(spare: role == .transfer ? 16 : 4, maximum: threads), name: "request") { worker in
                do {
                    let transport = makeTransport()
                    let makeConnection = { () throws(FastCGIError) in
                        try FastCGIConnection(
                            on: socket, worker: worker, slowestPace: slowestPace, transferred: metrics.transferred)
                    }
                    var connection = try makeConnection()
                    while !worker.isToEnd {
                        guard let incoming = connection.next(wakingSignal: Signals.waking) else { continue }
                        try worker.serve { () throws(FastCGIError) in
                            let handling: Router.Handling
                            switch incoming {
                            case .request(let head):
                                handling = router.handle(head, on: connection, transport: transport)
                            case .admission(let head):
                                handling = router.admit(head, on: connection, transport: transport)
                            case .page(let page, let isHostClosed):
                                router.answer(page, on: connection) { try metrics.text(isHostClosed: isHostClosed) }
                                handling = .answered
                            }
                            if handling == .waits {
                                worker.end()
                                connection = try makeConnection()
                            }
                            router.continueParked(onThreadOf: connection)
                        }
                    }
                } catch {
                    router.report(error)
                }
            }
        }
    }

    // MARK: The jobs role

    /// Processes the outbox, and moves contents, until it is asked to stop.
    func work() throws {
        let store = store
        let housekeeper = Housekeeper(
            store: store, stagingLifetimeDays: configuration.stagingLifetimeDays, undoDays: configuration.undoDays,
            now: { store.now }, logger: logger)
        let maintenance = MaintenanceWatch(store: store, logger: logger)
        let readings = ReadingSlots(Self.jobsThreads / 2)
        let manifests =
            configuration.writesManifests
            ? ManifestSettings(
                key: try KeyRing(configuration).current.manifestKey(),
                intervalSeconds: configuration.manifestIntervalSeconds, serverURL: configuration.publicURL,
                observer: metrics.manifestWritten) : nil
        // Each thread has its own lease identity: an expired lease must not look like its own to another thread.
        let loops = try (0..<Self.jobsThreads).map { _ in
            JobsLoop(
                worker: OutboxWorker(
                    store: store, storage: storage, push: push,
                    warningFile: configuration.warningFile.map {
                        OutboxWorker.WarningFile(name: $0.name, contents: Array($0.contents.utf8))
                    }, writesIndexPage: configuration.writesIndexPage, manifests: manifests, readings: readings,
                    leaseOwner: try RandomBytes.uuidText(), now: { store.now }, logger: logger),
                housekeeper: housekeeper,
                manifests: manifests.map {
                    ManifestScan(store: store, intervalSeconds: $0.intervalSeconds, now: { store.now })
                }, makeTransport: transport, maintenance: maintenance, logger: logger)
        }
        let moves = try (0..<configuration.moveThreads).map { _ in
            MoveLoop(
                mover: ContentMover(
                    storage: moveStorage, bytesPerSecond: configuration.moveBytesPerSecond,
                    writesIndexPage: configuration.writesIndexPage, leaseOwner: try RandomBytes.uuidText(),
                    now: { store.now }, makeUUID: { try RandomBytes.uuidText() }, pause: { Pause.sleep($0) },
                    observer: metrics.moved, logger: logger),
                makeTransport: moveTransport, maintenance: maintenance, logger: logger)
        }
        try supervise(watching: maintenance) {
            try workers(.fixed(loops.count + moves.count), name: "jobs") { worker in
                if worker.number < loops.count {
                    loops[worker.number].run(by: worker)
                } else {
                    moves[worker.number - loops.count].run(by: worker)
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
        case .noSocket: "no listening socket was passed"
        case .workersDied: "a worker thread ended unexpectedly"
        case .stillBusy: "requests were still in progress at the end of the shutdown time"
        }
    }
}

/// The parts of a process that signal changes to listeners.
private struct ChangeWiring: Sendable {
    let streams: ChangeStreams
    let bell: Doorbell
    private let settings: ServerConfiguration.ChangeSignal

    /// - Throws: `PosixError`.
    init(_ settings: ServerConfiguration.ChangeSignal) throws {
        let bell = try Doorbell()
        self.settings = settings
        self.bell = bell
        streams = ChangeStreams(ring: { bell.ring() })
    }

    func publisher(
        of role: ServerRole, _ store: MetadataStore, _ metrics: MetricsWiring, _ logger: Logger
    ) -> ChangePublisher {
        ChangePublisher(
            streams: streams, store: store, socket: settings.socket, tellsOthers: settings.hasSeveralHosts,
            relays: role == .jobs, hostName: HostFacts.name, observer: metrics.signalled, logger: logger)
    }
}
