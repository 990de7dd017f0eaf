import Accounts
import CloudStorage
import Curl
import CurlTransport
import Endpoints
import FastCGI
import HTTPTransport
import Jobs
import Logging
import MariaDB
import Metrics
import OpenSSLCrypto
import Posix
import Push
import ServerAssembly
import ServerConfiguration
import Store
import SyncProtocol
import UserStorage

/// Everything that one process is made of, put together once.
struct Server {
    /// A database that is down must be noticed before phones give up; a lease that takes longer is refused.
    private static let leaseTimeout: Duration = .seconds(5)

    private static let jobsThreads = 2

    private let configuration: ServerConfiguration
    private let logger: Logger
    private let logFile: LogFile
    private let store: Store
    private let storage: StorageRegistry
    private let push: PushServices
    private let senders: CurlSenderPool
    private let processID: String
    private let metrics: MetricsWiring

    init(configuration: ServerConfiguration, role: Syncd.Role, logger: Logger, logFile: LogFile) throws {
        self.configuration = configuration
        self.logger = logger
        self.logFile = logFile
        let pause: @Sendable (Duration) -> Void = { Pause.sleep($0) }
        let pool = ConnectionPool(
            settings: configuration.database, maximumConnections: configuration.databaseConnections,
            leaseTimeout: Self.leaseTimeout)
        store = Store(pool: pool, pause: pause)
        storage = try StorageRegistry(configuration, store: store, backoff: Backoff(pause: pause))
        push = PushServices(configuration.push)
        senders = CurlSenderPool(routing: Routing(configuration.sandbox))
        processID = try RandomBytes.uuidText()
        metrics = MetricsWiring(
            directory: configuration.metricsDirectory, role: role, processID: processID, pool: pool, store: store,
            now: Self.now, logger: logger)
    }

    private static let now: @Sendable () -> WireDate = {
        WireDate(secondsSince1970: WallClock.secondsSince1970())
    }

    private var supervisor: Supervisor {
        Supervisor(
            store: store, database: configuration.database, processID: processID, metrics: metrics, logger: logger,
            logFile: logFile)
    }

    // MARK: Roles api and transfer

    /// Answers requests until it is asked to stop.
    func respond(threads: Int) throws {
        guard let socket = ListeningSocket.inherited() else {
            StandardError.write(
                "syncd: no listening socket: start me from a .socket unit, or with one as standard input")
            throw ServerError.noSocket
        }
        let started = ContinuousClock.now
        let services = Services(
            store: store, storage: storage, push: push,
            signInCache: SignInCache(timeToLive: configuration.signInTokenTimeToLive),
            settings: Services.Settings(
                serverVersion: ServerVersion.text, minimumIOSClientVersion: configuration.minimumIOSClientVersion,
                maximumUploadBytes: configuration.maximumUploadBytes,
                maximumDevicesPerUser: configuration.maximumDevicesPerUser, mimeTypes: .standard,
                writesWarningFile: configuration.warningFile != nil),
            partBudget: PartBudget(observer: metrics.partBytesChanged), now: Self.now,
            uptime: { started.duration(to: .now) },
            makeUUID: { try RandomBytes.uuidText() },
            background: { body in
                try WorkerThread(name: "read-ahead") {
                    ClientLibrary.threadStart()
                    body()
                    ClientLibrary.threadEnd()
                }.detach()
            })
        let router = Router(services: services, observer: metrics.requestObserver, logger: logger)
        let senders = senders
        let metrics = metrics
        try supervisor.run {
            try WorkerPool(threads: threads, name: "request") { _, activity, stop in
                do {
                    let transport = metrics.measured(senders.transport)
                    let connection = try FastCGIConnection(
                        on: socket, activity: activity, transferred: metrics.transferred)
                    while !stop.isSet {
                        switch connection.next(wakingSignal: Signals.waking) {
                        case .request(let head): router.handle(head, on: connection, transport: transport)
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

    /// Works off the outbox until it is asked to stop.
    func work() throws {
        let housekeeper = Housekeeper(
            store: store, stagingLifetimeDays: configuration.stagingLifetimeDays, now: Self.now, logger: logger)
        // Each thread leases for itself: a lease that has run out must not look like its own to the other one.
        let loops = try (0..<Self.jobsThreads).map { _ in
            JobsLoop(
                worker: OutboxWorker(
                    store: store, storage: storage, push: push,
                    warningFile: configuration.warningFile.map {
                        OutboxWorker.WarningFile(name: $0.name, contents: Array($0.contents.utf8))
                    }, leaseOwner: try RandomBytes.uuidText(), now: Self.now, logger: logger),
                housekeeper: housekeeper, senders: senders, metrics: metrics, logger: logger)
        }
        try supervisor.run {
            try WorkerPool(threads: loops.count, name: "jobs") { index, activity, stop in
                loops[index].run(activity: activity, until: stop)
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
