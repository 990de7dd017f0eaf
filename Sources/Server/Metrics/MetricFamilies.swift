import HTTPTransport
import Providers
import SyncProtocol

extension ServerMetrics {
    /// The families stored in files, in the order of the file. docs/operations.md lists them for operators.
    enum Family: Int, CaseIterable {
        case requests
        case errors
        case requestDuration
        case requestsInFlight
        case versionChecks
        case commits
        case quotaRefusals
        case transfersInFlight
        case transferBytes
        case uploadPartBytes
        case providerRequests
        case providerDuration
        case circuitsOpen
        case connectionsLeased
        case connectionsIdle
        case connectionsMade
        case connectionsDropped
        case leaseWaits
        case leaseWaited
        case leaseTimeouts
        case signInsWithoutOfflineAccess
        case unreadableCredentials
        case missingThreads
        case refusedWrites
        case contentMoves
        case movedBytes
        case changeSignals
        case manifests

        var metric: MetricFamily {
            let role = MetricFamily.Label("role", ProcessRole.self)
            let direction = MetricFamily.Label("direction", TransferDirection.self)
            let endpoint = MetricFamily.Label("endpoint", EndpointName.allCases.map(\.rawValue) + ["unknown"])
            let provider = MetricFamily.Label("provider", Company.services.map(\.name))
            let operation = MetricFamily.Label("operation", ProviderCall.Operation.self)
            let seconds = MetricFamily.Kind.histogram(bounds: ServerMetrics.bounds)
            return switch self {
            case .requests:
                MetricFamily(
                    "syncd_requests_total", .counter,
                    "Requests by endpoint and by the status of the reply; 499 if the phone hung up.",
                    [endpoint, MetricFamily.Label("status", CountedStatus.words)])
            case .errors:
                MetricFamily(
                    "syncd_errors_total", .counter,
                    "Error replies by their code; client_gone and reply_interrupted if there was no complete reply.",
                    [MetricFamily.Label("code", CountedError.words)])
            case .requestDuration:
                MetricFamily(
                    "syncd_request_duration_seconds", seconds,
                    "Time from a request's first line to the end of its reply, including waits for the phone.",
                    [endpoint], divisor: 1_000_000)
            case .requestsInFlight:
                MetricFamily("syncd_requests_in_flight", .gauge, "Requests in progress.", [role])
            case .versionChecks:
                MetricFamily(
                    "syncd_master_version_checks_total", .counter,
                    "Requests that name a master version, by whether it was the current one (accepted) or not (stale).",
                    [
                        MetricFamily.Label("endpoint", ServerMetrics.versionedEndpoints.map(\.rawValue)),
                        MetricFamily.Label("outcome", VersionOutcome.self),
                    ])
            case .commits:
                MetricFamily(
                    "syncd_commits_total", .counter,
                    "Commits of staged changes by endpoint: DoneUploads, or that of the last member of a batch.",
                    [MetricFamily.Label("endpoint", ServerMetrics.committingEndpoints.map(\.rawValue))])
            case .quotaRefusals:
                MetricFamily(
                    "syncd_quota_refusals_total", .counter,
                    "Requests rejected because their user has reached a quota.",
                    [MetricFamily.Label("quota", Quota.self)])
            case .transfersInFlight:
                MetricFamily(
                    "syncd_transfers_in_flight", .gauge, "Uploads and downloads in progress.", [direction])
            case .transferBytes:
                MetricFamily(
                    "syncd_transfer_bytes_total", .counter,
                    "Bytes of files received from phones and sent to them, including unfinished transfers.",
                    [direction])
            case .uploadPartBytes:
                MetricFamily(
                    "syncd_upload_part_bytes", .gauge,
                    "Bytes of files that uploads hold in memory: received, but not yet acknowledged by providers."
                )
            case .providerRequests:
                MetricFamily(
                    "syncd_provider_requests_total", .counter,
                    "Requests to storage, sign-in and push services, by operation and outcome.",
                    [provider, operation, MetricFamily.Label("outcome", ProviderCall.Outcome.self)])
            case .providerDuration:
                MetricFamily(
                    "syncd_provider_request_duration_seconds", seconds,
                    "Time from a request to a service to the end of its reply.", [provider, operation],
                    divisor: 1_000_000)
            case .circuitsOpen:
                MetricFamily(
                    "syncd_provider_circuits_open", .gauge,
                    "Hosts of a provider that processes currently do not call, because they kept failing.",
                    [provider])
            case .connectionsLeased:
                MetricFamily("syncd_database_connections_leased", .gauge, "Database connections in use.", [role])
            case .connectionsIdle:
                MetricFamily("syncd_database_connections_idle", .gauge, "Database connections kept for use.", [role])
            case .connectionsMade:
                MetricFamily("syncd_database_connections_made_total", .counter, "Database connections opened.", [role])
            case .connectionsDropped:
                MetricFamily(
                    "syncd_database_connections_dropped_total", .counter,
                    "Database connections that broke or were found dead.", [role])
            case .leaseWaits:
                MetricFamily(
                    "syncd_database_lease_waits_total", .counter,
                    "Transactions that had to wait for a database connection.", [role])
            case .leaseWaited:
                MetricFamily(
                    "syncd_database_lease_wait_seconds_total", .counter,
                    "Time that transactions waited for a database connection.", [role], divisor: 1_000_000)
            case .leaseTimeouts:
                MetricFamily(
                    "syncd_database_lease_timeouts_total", .counter,
                    "Transactions that timed out waiting for a database connection.", [role])
            case .signInsWithoutOfflineAccess:
                MetricFamily(
                    "syncd_sign_ins_without_offline_access_total", .counter,
                    "Sign-ins with an account with storage that provided no refresh token.", [role])
            case .unreadableCredentials:
                MetricFamily(
                    "syncd_unreadable_credentials_total", .counter,
                    "Times that a sealed record could not be opened and was treated as absent: see syncctl fsck.",
                    [role])
            case .missingThreads:
                MetricFamily(
                    "syncd_missing_threads_total", .counter,
                    "Times that the system could not create a thread.", [role])
            case .refusedWrites:
                MetricFamily(
                    "syncd_refused_writes_total", .counter,
                    "Changes that the database refused although it answers: it is read-only, or out of space.", [role])
            case .contentMoves:
                MetricFamily(
                    "syncd_content_moves_total", .counter,
                    "Files that the server had to move after account switches, by outcome.",
                    [MetricFamily.Label("outcome", MoveOutcome.self)])
            case .movedBytes:
                MetricFamily("syncd_moved_bytes_total", .counter, "Bytes of the files that the server has moved.")
            case .changeSignals:
                MetricFamily(
                    "syncd_change_signals_total", .counter,
                    "Changed groups and users whose listeners received a signal (published) or did not (lost).",
                    [MetricFamily.Label("outcome", SignalOutcome.self)])
            case .manifests:
                MetricFamily(
                    "syncd_manifests_total", .counter, "Attempts to write the manifest of a group, by outcome.",
                    [MetricFamily.Label("outcome", ManifestOutcome.self)])
            }
        }
    }

    static let layout = MetricsLayout(Family.allCases.map(\.metric))

    /// A service's position among the values of the label `provider`.
    static func position(of service: ExternalService) -> Int {
        guard let position = Company.services.firstIndex(of: service) else {
            preconditionFailure("\(service) is not a service of any company")
        }
        return position
    }

    /// Endpoints whose requests name a master version.
    static let versionedEndpoints: [EndpointName] = [
        .uploadFile, .uploadSmallFiles, .uploadAppMetaData, .uploadDeletion, .doneUploads, .downloadFile,
        .downloadAppMetaData, .updateSharingGroup, .removeSharingGroup, .removeUserFromSharingGroup,
        .updateSharingGroupMember, .removeSharingGroupMember,
    ]
    static let versionedPositions = Dictionary(
        uniqueKeysWithValues: versionedEndpoints.enumerated().map { ($1, $0) })

    /// Endpoints that commit: the first on request, the others with the last member of a batch.
    static let committingEndpoints: [EndpointName] = [
        .doneUploads, .uploadFile, .uploadSmallFiles, .uploadAppMetaData, .uploadDeletion,
    ]

    /// Upper bounds of the buckets, in seconds, from a cached HealthCheck to a gigabyte over a mobile connection.
    static let bounds: [Double] = [
        0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300,
    ]
    static let boundsInMicroseconds = bounds.map { UInt64($0 * 1e6) }
}

extension CaseIterable where Self: Hashable {
    /// A value's position among all of them.
    static func position(of value: Self) -> Int {
        guard let position = allCases.firstIndex(of: value) else { preconditionFailure("allCases contains every case") }
        return allCases.distance(from: allCases.startIndex, to: position)
    }
}

/// A metric with all its labels' values, which a scrape shows under one HELP and TYPE line.
///
/// Values come only from the server's own enums, so the number of series is known at build time. They are never
/// identifiers, paths or names chosen by people.
struct MetricFamily: Sendable {
    enum Kind: Equatable, Sendable {
        /// Never decreases; the sum still includes the counts of processes that have ended.
        case counter
        /// Rises and falls; counts for living processes only.
        case gauge
        /// Durations, in seconds, with these upper bounds.
        case histogram(bounds: [Double])

        /// The type name in the exposition format.
        var word: String {
            switch self {
            case .counter: "counter"
            case .gauge: "gauge"
            case .histogram: "histogram"
            }
        }
    }

    struct Label: Sendable {
        var name: String
        var values: [String]

        init(_ name: String, _ values: [String]) {
            self.name = name
            self.values = values
        }

        /// All values of an enum.
        init<Value: CaseIterable & RawRepresentable<String>>(_ name: String, _: Value.Type) {
            self.init(name, Value.allCases.map(\.rawValue))
        }
    }

    var name: String
    var help: String
    var kind: Kind
    var labels: [Label]
    /// The number of stored units in one unit of the metric; durations are stored in microseconds.
    var divisor: Double

    init(_ name: String, _ kind: Kind, _ help: String, _ labels: [Label] = [], divisor: Double = 1) {
        self.name = name
        self.help = help
        self.kind = kind
        self.labels = labels
        self.divisor = divisor
    }

    /// The number of stored numbers for one combination of label values.
    var width: Int {
        switch kind {
        case .counter, .gauge: 1
        // A bucket for each bound, one for everything above, and the sum.
        case .histogram(let bounds): bounds.count + 2
        }
    }

    /// Every combination of label values, as the text between the braces; the last label's value changes fastest.
    var combinations: [String] {
        labels.reduce([""]) { texts, label in
            texts.flatMap { text in
                label.values.map { (text.isEmpty ? "" : text + ",") + "\(label.name)=\"\($0)\"" }
            }
        }
    }
}
