public import HTTPTransport
import Posix
public import SyncProtocol

/// The metrics of this process, in a file that every process of the host can add up.
///
/// Any thread may call any method; each performs a few atomic additions, without a lock or a system call.
public final class ServerMetrics: Sendable {
    private let directory: MetricsDirectory
    private let numbers: SharedNumbers
    private let role: Int
    private let version: String
    private let app: String?

    /// Starts counting.
    /// - Parameters:
    ///   - directory: on this host, the same for all its processes; created if missing. Its contents need not survive a
    ///     reboot of the host.
    ///   - processID: a string that no other process ever uses.
    ///   - startedAt: seconds since 1970.
    ///   - version: the server's.
    ///   - app: the name of one of a host's apps, for the label `app`; `nil` for the package's.
    /// - Throws: `PosixError` if the directory cannot be used.
    public init(
        directory: String, role: ProcessRole, processID: String, startedAt: Int64, version: String,
        app: String? = nil
    ) throws {
        self.directory = MetricsDirectory(path: directory, layout: Self.layout)
        self.role = ProcessRole.position(of: role)
        self.version = version
        self.app = app
        numbers = try self.directory.join(role: self.role, processID: processID, start: startedAt)
    }

    // MARK: Requests

    /// A request to a known endpoint begins.
    public func requestBegan(_ endpoint: EndpointName) {
        add(1, .requestsInFlight, role)
        if let direction = TransferDirection(endpoint) {
            add(1, .transfersInFlight, TransferDirection.position(of: direction))
        }
    }

    /// A request is over; pair each call that has an endpoint with one of ``requestBegan(_:)``.
    /// - Parameters:
    ///   - endpoint: `nil` if there is no such path.
    ///   - isStale: whether it named an outdated master version.
    public func requestEnded(_ endpoint: EndpointName?, status: Int, isStale: Bool, took: Duration) {
        let position = endpoint.map { EndpointName.position(of: $0) } ?? EndpointName.allCases.count
        add(1, .requests, position, CountedStatus.position(of: status))
        observe(took, .requestDuration, position)
        guard let endpoint else { return }
        add(.max, .requestsInFlight, role)
        if let direction = TransferDirection(endpoint) {
            add(.max, .transfersInFlight, TransferDirection.position(of: direction))
        }
        if status == 200, let checked = Self.versionedPositions[endpoint] {
            add(1, .versionChecks, checked, VersionOutcome.position(of: isStale ? .stale : .accepted))
        }
    }

    /// A request has committed staged changes.
    public func committed(by endpoint: EndpointName) {
        if let position = Self.committingEndpoints.firstIndex(of: endpoint) { add(1, .commits, position) }
    }

    /// A request ended with an error of this code: one of ``ErrorCode``, `client_gone` or `reply_interrupted`.
    public func failed(with code: String) {
        add(1, .errors, CountedError.positions[code] ?? CountedError.words.count - 1)
    }

    /// A request was rejected because its user has reached a quota.
    public func refused(for quota: Quota) { add(1, .quotaRefusals, Quota.position(of: quota)) }

    /// Tokens without a refresh token were stored for an account with storage.
    public func lackedOfflineAccess() { add(1, .signInsWithoutOfflineAccess, role) }

    /// A sealed record could not be opened.
    public func couldNotOpenRecord() { add(1, .unreadableCredentials, role) }

    public func lackedThread() { add(1, .missingThreads, role) }

    /// Bytes of a file were received from a phone or sent to one.
    public func transferred(_ bytes: Int, _ direction: TransferDirection) {
        add(UInt64(bytes), .transferBytes, TransferDirection.position(of: direction))
    }

    /// The server has tried to move a file.
    /// - Parameter bytes: the bytes of the file, if it was moved.
    public func triedToMove(_ outcome: MoveOutcome, bytes: Int64) {
        add(1, .contentMoves, MoveOutcome.position(of: outcome))
        add(UInt64(clamping: bytes), .movedBytes, 0)
    }

    /// The change in the number of bytes that uploads hold in memory; negative if they hold fewer.
    public func partsGrew(by bytes: Int) {
        add(UInt64(bitPattern: Int64(bytes)), .uploadPartBytes, 0)
    }

    /// Changes were signalled to listeners, or could not be.
    public func signalled(_ outcome: SignalOutcome, _ count: Int) {
        add(UInt64(count), .changeSignals, SignalOutcome.position(of: outcome))
    }

    /// An attempt to write a manifest is over.
    public func triedToWriteManifest(_ outcome: ManifestOutcome) {
        add(1, .manifests, ManifestOutcome.position(of: outcome))
    }

    // MARK: Providers

    /// A request to an external service is over.
    public func called(_ call: ProviderCall, _ outcome: ProviderCall.Outcome, took: Duration) {
        let provider = Self.position(of: call.service)
        let operation = ProviderCall.Operation.position(of: call.operation)
        add(1, .providerRequests, provider, operation, ProviderCall.Outcome.position(of: outcome))
        observe(took, .providerDuration, provider, operation)
    }

    /// This process has stopped or resumed calls to one of a service's hosts.
    public func circuitChanged(_ service: ExternalService, isOpen: Bool) {
        add(isOpen ? 1 : .max, .circuitsOpen, Self.position(of: service))
    }

    // MARK: Database connections

    /// The connection pool's counts so far.
    public struct PoolReading: Sendable {
        public var leased: Int
        public var idle: Int
        public var made: Int
        public var dropped: Int
        public var waits: Int
        public var waited: Duration
        public var timeouts: Int

        public init(
            leased: Int, idle: Int, made: Int, dropped: Int, waits: Int, waited: Duration, timeouts: Int
        ) {
            self.leased = leased
            self.idle = idle
            self.made = made
            self.dropped = dropped
            self.waits = waits
            self.waited = waited
            self.timeouts = timeouts
        }
    }

    /// Records the connection pool's counts.
    public func read(_ pool: PoolReading) {
        set(pool.leased, .connectionsLeased, role)
        set(pool.idle, .connectionsIdle, role)
        set(pool.made, .connectionsMade, role)
        set(pool.dropped, .connectionsDropped, role)
        set(pool.waits, .leaseWaits, role)
        set(Int(pool.waited.microseconds), .leaseWaited, role)
        set(pool.timeouts, .leaseTimeouts, role)
    }

    /// Records how many of this process's changes the database has refused.
    public func read(refusedWrites: Int) { set(refusedWrites, .refusedWrites, role) }

    // MARK: Scrape

    /// The text for Prometheus: all processes of the host together, and the current values from the database.
    /// - Parameters:
    ///   - backlog: `nil` if the database does not answer.
    ///   - listeners: the clients that wait for signals on this host's web server; `nil` if it publishes none.
    /// - Throws: `PosixError` if the directory cannot be read.
    public func exposition(
        _ backlog: BacklogReading?, backups: BackupReading = BackupReading(made: nil, copied: nil),
        isHostClosed: Bool = false, listeners: Int? = nil
    ) throws -> [UInt8] {
        let sum = try directory.sum()
        var exposition = Exposition(common: app.map { "app=\"\($0)\"" } ?? "")
        exposition.addGauge(
            "syncd_build_info", "The version of the server that answered this scrape; always 1.",
            [(labels: "version=\"\(version)\"", value: 1)])
        exposition.add(sum.processes)
        exposition.addGauge(
            "syncd_counters_start_time_seconds", "When this host's counters started, in seconds since 1970.",
            [(labels: "", value: Double(sum.start))])
        for (index, family) in Self.layout.families.enumerated() {
            let base = Self.layout.bases[index]
            let end = index + 1 < Self.layout.bases.count ? Self.layout.bases[index + 1] : Self.layout.count
            exposition.add(family, sum.values[base..<end])
        }
        if let listeners {
            exposition.addGauge(
                "syncd_change_listeners", "Clients that wait for signals about changes, at this host's web server.",
                [(labels: "", value: Double(listeners))])
        }
        exposition.add(backlog, isHostClosed: isHostClosed)
        exposition.add(backups)
        return Array(exposition.text.utf8)
    }

    /// The content type of ``exposition(_:)``.
    public static let contentType = Exposition.contentType

    // MARK: Numbers

    private func add(_ value: UInt64, _ family: Family, _ first: Int, _ second: Int = 0, _ third: Int = 0) {
        numbers.add(value, at: MetricsDirectory.headCount + Self.layout.index(family.rawValue, first, second, third))
    }

    private func set(_ value: Int, _ family: Family, _ position: Int) {
        numbers.set(
            UInt64(clamping: value),
            at: MetricsDirectory.headCount + Self.layout.index(family.rawValue, position, 0, 0))
    }

    private func observe(_ duration: Duration, _ family: Family, _ first: Int, _ second: Int = 0) {
        let base = MetricsDirectory.headCount + Self.layout.index(family.rawValue, first, second, 0)
        let microseconds = UInt64(clamping: duration.microseconds)
        let bounds = Self.boundsInMicroseconds
        numbers.add(1, at: base + (bounds.firstIndex { microseconds <= $0 } ?? bounds.count))
        numbers.add(microseconds, at: base + bounds.count + 1)
    }
}

extension Duration {
    /// In whole microseconds.
    fileprivate var microseconds: Int64 {
        components.seconds * 1_000_000 + components.attoseconds / 1_000_000_000_000
    }
}

extension TransferDirection {
    /// `nil` if an endpoint does not transfer a file's bytes.
    fileprivate init?(_ endpoint: EndpointName) {
        switch endpoint {
        case .uploadFile, .uploadSmallFiles: self = .upload
        case .downloadFile: self = .download
        default: return nil
        }
    }
}

/// The role of a process.
public enum ProcessRole: String, Sendable, CaseIterable {
    case api
    case transfer
    case jobs
}

/// The direction of a file's bytes, from a phone's point of view.
public enum TransferDirection: String, Sendable, CaseIterable {
    case upload
    case download
}

/// The outcome of a request that names a master version.
enum VersionOutcome: String, Sendable, CaseIterable {
    /// The version was current, or the request named none.
    case accepted
    /// Somebody else was faster; nothing was done.
    case stale
}

/// The outcome for a file that the server was to move to its owner's new account.
public enum MoveOutcome: String, Sendable, CaseIterable {
    case moved
    /// Somebody else was faster.
    case superseded
    /// The phones must upload it.
    case failed
    case postponed
}

/// What became of signals about changes.
public enum SignalOutcome: String, Sendable, CaseIterable {
    case published
    case lost
}

/// The outcome of an attempt to write a manifest.
public enum ManifestOutcome: String, Sendable, CaseIterable {
    case written
    case failed
}

/// The codes that errors are counted under.
enum CountedError {
    /// The protocol's codes, the log's codes for requests that end without a reply, and one for all others.
    static let words = ErrorCode.allCases.map(\.rawValue) + ["client_gone", "reply_interrupted", "other"]
    static let positions = Dictionary(uniqueKeysWithValues: words.enumerated().map { ($1, $0) })
}

/// The statuses that requests are counted under; any other is `other`.
enum CountedStatus {
    static let all = [
        200, 304, 400, 401, 403, 404, 405, 409, 410, 411, 413, 414, 422, 429, 499, 500, 502, 503, 504, 507,
    ]
    static let words = all.map(String.init) + ["other"]

    /// The position among ``words``.
    static func position(of status: Int) -> Int { all.firstIndex(of: status) ?? all.count }
}
