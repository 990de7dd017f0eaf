import Configuration
import HTTPTransport
import Logging
import MariaDB
import Metrics
import Posix
import Store
import SyncProtocol
import SyncService
import Vault

/// Connects the parts of this process to the metrics; without a metrics directory, nothing is counted.
struct MetricsWiring: Sendable {
    /// Receives a number of bytes and their direction.
    typealias TransferObserver = @Sendable (Int, TransferDirection) -> Void

    private let metrics: ServerMetrics?
    private let pool: ConnectionPool
    private let store: MetadataStore
    private let now: @Sendable () -> WireDate
    /// The web server's channels, if it passes signals on to listeners.
    private let channels: ChangeChannels?

    /// An unusable directory is only a warning: missing metrics must not stop the service.
    init(
        directory: String?, role: ServerRole, processID: String, pool: ConnectionPool, store: MetadataStore,
        now: @escaping @Sendable () -> WireDate, channels: ChangeChannels? = nil, logger: Logger
    ) {
        self.channels = channels
        self.pool = pool
        self.store = store
        self.now = now
        guard let directory else {
            metrics = nil
            return
        }
        do {
            metrics = try ServerMetrics(
                directory: directory, role: ProcessRole(role), processID: processID,
                startedAt: WallClock.secondsSince1970(), version: ServerRelease.text,
                app: HostedApp.current.name)
        } catch {
            metrics = nil
            logger.warning("Metrics are disabled: their directory is unusable", metadata: .keyed([.reason: "\(error)"]))
        }
    }

    var requestObserver: RequestObserver? {
        guard let metrics else { return nil }
        return RequestObserver(
            began: { endpoint in metrics.requestBegan(endpoint) },
            ended: { endpoint, status, isStale, took in
                metrics.requestEnded(endpoint, status: status, isStale: isStale, took: took)
            },
            committed: { endpoint in metrics.committed(by: endpoint) },
            failed: { code in metrics.failed(with: code) },
            refused: { quota in metrics.refused(for: quota) },
            lackedOfflineAccess: { metrics.lackedOfflineAccess() })
    }

    /// Counts signals about changes.
    var signalled: @Sendable (ChangePublisher.Outcome, Int) -> Void {
        guard let metrics else { return { _, _ in } }
        return { outcome, count in metrics.signalled(outcome == .published ? .published : .lost, count) }
    }

    var manifestWritten: @Sendable (Bool) -> Void {
        guard let metrics else { return { _ in } }
        return { metrics.triedToWriteManifest($0 ? .written : .failed) }
    }

    var moved: @Sendable (ContentMover.Outcome, Int64) -> Void {
        guard let metrics else { return { _, _ in } }
        return { outcome, bytes in metrics.triedToMove(MoveOutcome(outcome), bytes: bytes) }
    }

    var transferred: TransferObserver? {
        guard let metrics else { return nil }
        return { bytes, direction in metrics.transferred(bytes, direction) }
    }

    /// Receives the number of bytes by which the parts held by uploads have grown.
    var partBytesChanged: @Sendable (Int) -> Void {
        guard let metrics else { return { _ in } }
        return { bytes in metrics.partsGrew(by: bytes) }
    }

    /// Counts a sealed record that cannot be opened.
    var unreadable: @Sendable () -> Void {
        guard let metrics else { return {} }
        return { metrics.couldNotOpenRecord() }
    }

    /// Counts a thread that was needed but that the system did not create.
    func threadMissing() { metrics?.lackedThread() }

    /// Counts the calls to providers.
    var calls: CallMeasurement {
        CallMeasurement { [metrics] call, outcome, took in metrics?.called(call, outcome, took: took) }
    }

    /// Records that the circuit breaker for a provider's host has opened or closed.
    func circuitChanged(_ service: ExternalService, isOpen: Bool) {
        metrics?.circuitChanged(service, isOpen: isOpen)
    }

    /// Copies the connection pool's counters; called periodically.
    func readPool() {
        guard let metrics else { return }
        metrics.read(refusedWrites: store.writes.refusals)
        let statistics = pool.statistics
        metrics.read(
            ServerMetrics.PoolReading(
                leased: statistics.leased, idle: statistics.idle, made: statistics.connectionsMade,
                dropped: statistics.connectionsDropped, waits: statistics.leaseWaits, waited: statistics.leaseWaited,
                timeouts: statistics.leaseTimeouts))
    }

    /// The metrics of all processes on this host, for Prometheus; `nil` if metrics are disabled.
    /// - Parameter isHostClosed: whether the web server itself answers for this host, during maintenance.
    func text(isHostClosed: Bool) throws -> (contentType: String, text: [UInt8])? {
        guard let metrics else { return nil }
        readPool()
        let now = now()
        let reading = try? store.withSession { session in
            BacklogReading(
                try session.backlog(at: now), isClosed: try session.maintenanceNotice() != nil,
                isReadOnly: try session.isReadOnly(), rebuild: try session.rebuildProgress(), at: now)
        }
        func time(_ kind: BackupRecord.Kind) -> Int64? {
            (try? BackupRecord(kind, in: BackupRecord.usualFolder))?.takenAt.secondsSince1970
        }
        let backups = BackupReading(made: time(.made), copied: time(.copied))
        return (
            ServerMetrics.contentType,
            try metrics.exposition(
                reading, backups: backups, isHostClosed: isHostClosed, listeners: try? channels?.listeners())
        )
    }
}

extension ProcessRole {
    fileprivate init(_ role: ServerRole) {
        switch role {
        case .api: self = .api
        case .transfer: self = .transfer
        case .jobs: self = .jobs
        }
    }
}

extension MoveOutcome {
    fileprivate init(_ outcome: ContentMover.Outcome) {
        switch outcome {
        case .moved: self = .moved
        case .superseded: self = .superseded
        case .failed: self = .failed
        case .postponed: self = .postponed
        }
    }
}

extension BacklogReading {
    fileprivate init(_ backlog: Backlog, isClosed: Bool, isReadOnly: Bool, rebuild: RebuildProgress?, at now: WireDate)
    {
        let age: (WireDate?) -> Int = { $0.map { max(0, Int(now.secondsSince1970 - $0.secondsSince1970)) } ?? 0 }
        self.init(
            outbox: OutboxItem.Kind.allCases.map { ($0.rawValue, backlog.outbox[$0.rawValue] ?? 0) }, due: backlog.due,
            longestDueSeconds: age(backlog.firstDue), oldestRetriedSeconds: age(backlog.firstRetried),
            oldestManifestSeconds: age(backlog.firstManifest),
            staged: backlog.staged, oldestStagedSeconds: age(backlog.firstStaged), isClosed: isClosed,
            isReadOnly: isReadOnly,
            rebuild: rebuild.map { progress in
                RebuildReading(
                    groups: RebuildGroup.State.allCases.map { ($0.rawValue, progress.groups[$0.rawValue] ?? 0) }
                        + [("missing", progress.missingGroups)],
                    unreadFolders: progress.unreadFolders)
            })
    }
}
