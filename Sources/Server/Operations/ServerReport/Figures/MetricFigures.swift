public import SyncProtocol

/// A report's figures from the counters of one host.
public struct MetricFigures: Equatable, Sendable, Encodable {
    /// The durations of requests in seconds, estimated within the histogram's buckets.
    public struct Latency: Equatable, Sendable, Encodable {
        public var mean: Double
        public var median: Double
        public var percentile95: Double
        public var percentile99: Double
        /// The histogram's highest bound, if one of the three percentiles exceeds it; absent otherwise.
        public var exceeded: Double?
    }

    /// Requests to one endpoint.
    public struct Endpoint: Equatable, Sendable, Encodable {
        /// Its name; `unknown` for all other paths.
        public var endpoint: String
        public var requests: Int
        /// By the reply's status; `other` for unusual ones.
        public var statuses: [String: Int]
        /// Absent if no request has ended.
        public var latency: Latency?
    }

    /// Requests of the server to one service.
    public struct Provider: Equatable, Sendable, Encodable {
        public var provider: String
        public var requests: Int
        /// By outcome: `ok`, `denied`, … as in docs/operations.md.
        public var outcomes: [String: Int]
    }

    /// The start of the counting; absent for servers of earlier releases.
    public var countedSince: WireDate?
    public var serverVersion: String?
    /// Running processes by role.
    public var processes: [String: Int]
    /// The most frequent first.
    public var endpoints: [Endpoint]
    /// The latency of all endpoints together.
    public var latency: Latency?
    /// Errors by code, as in docs/operations.md; absent for servers of earlier releases, which do not count them.
    public var errors: [String: Int]?
    /// The most frequent first; without services that were never called.
    public var providers: [Provider]
    /// Requests that were rejected because their user had reached a quota.
    public var quotaRefusals: [String: Int]
    public var uploadedBytes: Int
    public var downloadedBytes: Int
    /// The time of the last good backup of this host; absent if there is none.
    public var lastBackup: WireDate?

    /// - Parameter scrape: the server's metrics as text; the initializer returns `nil` if they are not from this
    ///   server.
    public init?(scrape: String) {
        let samples = MetricSamples(scrape)
        guard !samples["syncd_build_info"].isEmpty else { return nil }
        func time(_ name: String) -> WireDate? {
            samples.value(name).flatMap { $0 > 0 && $0 < 1e12 ? WireDate(secondsSince1970: Int64($0)) : nil }
        }
        countedSince = time("syncd_counters_start_time_seconds")
        lastBackup = time("syncd_last_backup_timestamp_seconds")
        serverVersion = samples["syncd_build_info"].first?.labels["version"]
        errors = countedSince == nil ? nil : samples.counts("syncd_errors_total", by: "code").filter { $0.value > 0 }
        processes = samples.counts("syncd_processes", by: "role")
        let statuses = Self.table(samples, "syncd_requests_total", by: "endpoint", and: "status")
        var all = DurationHistogram()
        endpoints = statuses.map { endpoint, statuses in
            let histogram = DurationHistogram(samples, "syncd_request_duration_seconds", "endpoint", endpoint)
            all.add(histogram)
            return Endpoint(
                endpoint: endpoint, requests: statuses.values.reduce(0, +), statuses: statuses,
                latency: Latency(histogram))
        }.sorted { ($1.requests, $0.endpoint) < ($0.requests, $1.endpoint) }
        latency = Latency(all)
        providers = Self.table(samples, "syncd_provider_requests_total", by: "provider", and: "outcome").map {
            Provider(provider: $0, requests: $1.values.reduce(0, +), outcomes: $1)
        }.sorted { ($1.requests, $0.provider) < ($0.requests, $1.provider) }
        quotaRefusals = samples.counts("syncd_quota_refusals_total", by: "quota").filter { $0.value > 0 }
        func bytes(_ direction: String) -> Int {
            let sample = samples["syncd_transfer_bytes_total"].first { $0.labels["direction"] == direction }
            return Int(max(sample?.value ?? 0, 0))
        }
        uploadedBytes = bytes("upload")
        downloadedBytes = bytes("download")
    }

    /// Requests of all endpoints by status; ``errors`` contains the causes of failures.
    var statuses: [String: Int] {
        endpoints.reduce(into: [:]) { sums, endpoint in sums.merge(endpoint.statuses, uniquingKeysWith: +) }
    }

    var requests: Int { endpoints.map(\.requests).reduce(0, +) }

    /// Counters by the values of two labels, without zeros.
    private static func table(
        _ samples: MetricSamples, _ name: String, by first: String, and second: String
    ) -> [String: [String: Int]] {
        var table: [String: [String: Int]] = [:]
        for sample in samples[name] {
            let count = MetricSamples.count(sample.value)
            guard count > 0, let row = sample.labels[first], let column = sample.labels[second] else { continue }
            table[row, default: [:]][column, default: 0] += count
        }
        return table
    }
}

extension MetricFigures.Latency {
    /// `nil` without durations.
    init?(_ histogram: DurationHistogram) {
        guard let mean = histogram.mean, let median = histogram.quantile(0.5),
            let percentile95 = histogram.quantile(0.95), let percentile99 = histogram.quantile(0.99)
        else { return nil }
        self.init(
            mean: mean, median: median.seconds, percentile95: percentile95.seconds, percentile99: percentile99.seconds,
            exceeded: percentile99.isExceeded ? percentile99.seconds : nil)
    }
}
