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

/// The numbers of a scrape in the text format of Prometheus (version 0.0.4:
/// https://prometheus.io/docs/instrumenting/exposition_formats/).
struct MetricSamples {
    struct Sample: Equatable {
        var labels: [String: String]
        var value: Double
    }

    /// Further lines are ignored. This server has some thousands.
    private static let maximumLines = 100_000
    /// The bytes of a million disks; no metric has larger values.
    private static let maximumValue = 1e18
    /// `maximumLines` such values can be added without overflow. A million requests per second take four months to
    /// reach it.
    private static let maximumCount = 1e13

    private var families: [String: [Sample]] = [:]

    /// Reads a scrape; skips malformed lines, and values that are not numbers or are out of range.
    init(_ text: String) {
        for line in text.split(separator: "\n").prefix(Self.maximumLines) where !line.hasPrefix("#") {
            guard let (name, sample) = Self.read(line) else { continue }
            families[name, default: []].append(sample)
        }
    }

    /// The samples of a name, in the order of the scrape.
    subscript(name: String) -> [Sample] { families[name] ?? [] }

    /// The only sample of a name, or `nil`.
    func value(_ name: String) -> Double? { self[name].first?.value }

    /// The sum of the samples by one label's value, as whole numbers.
    func counts(_ name: String, by label: String) -> [String: Int] {
        var sums: [String: Int] = [:]
        for sample in self[name] {
            sums[sample.labels[label] ?? "", default: 0] += Self.count(sample.value)
        }
        return sums
    }

    /// A counter's value as a whole number; 0 for values that cannot be a counter's.
    static func count(_ value: Double) -> Int { (0...maximumCount).contains(value) ? Int(value.rounded()) : 0 }

    /// A name, optional labels in braces, a value, and an optional time.
    private static func read(_ line: Substring) -> (name: String, sample: Sample)? {
        let name = line.prefix { $0 != "{" && $0 != " " }
        var rest = line[name.endIndex...]
        var labels: [String: String] = [:]
        if rest.first == "{" {
            rest.removeFirst()
            while let character = rest.first, character != "}" {
                guard let label = readLabel(&rest) else { return nil }
                labels[label.name] = label.value
                if rest.first == "," { rest.removeFirst() }
            }
            guard rest.first == "}" else { return nil }
            rest.removeFirst()
        }
        guard !name.isEmpty, let value = rest.split(separator: " ").first.flatMap({ Double($0) }),
            value.magnitude <= Self.maximumValue
        else { return nil }
        return (String(name), Sample(labels: labels, value: value))
    }

    /// `name="value"`, in which a backslash escapes itself, quotes and line feeds.
    private static func readLabel(_ rest: inout Substring) -> (name: String, value: String)? {
        let name = rest.prefix { $0 != "=" && $0 != "}" }
        rest = rest[name.endIndex...]
        guard rest.hasPrefix("=\"") else { return nil }
        rest.removeFirst(2)
        var value = ""
        while let character = rest.popFirst() {
            switch character {
            case "\"": return (String(name), value)
            case "\\":
                guard let escaped = rest.popFirst() else { return nil }
                value.append(escaped == "n" ? "\n" : escaped)
            default: value.append(character)
            }
        }
        return nil
    }
}

/// Durations counted in buckets, as in a Prometheus histogram.
struct DurationHistogram: Equatable {
    /// An estimate of a quantile.
    struct Quantile: Equatable, Sendable {
        var seconds: Double
        /// Whether the quantile is longer than that, because it is above the highest bound.
        var isExceeded: Bool
    }

    /// Upper bounds in seconds, ascending, each with the number of durations up to it. The last bound is infinite.
    private(set) var buckets: [(bound: Double, count: Double)] = []
    /// The sum of all durations, in seconds.
    private(set) var sum = 0.0

    static func == (left: Self, right: Self) -> Bool {
        left.sum == right.sum && left.buckets.elementsEqual(right.buckets, by: ==)
    }

    /// - Parameters:
    ///   - name: the metric's name, without `_bucket`.
    ///   - label: the label that selects the histogram by its value.
    init(_ samples: MetricSamples, _ name: String, _ label: String, _ value: String) {
        for sample in samples[name + "_bucket"] where sample.labels[label] == value {
            guard let bound = sample.labels["le"].flatMap({ $0 == "+Inf" ? .infinity : Double($0) }), bound > 0 else {
                continue
            }
            buckets.append((bound, sample.value))
        }
        buckets.sort { $0.bound < $1.bound }
        sum = samples[name + "_sum"].first { $0.labels[label] == value }?.value ?? 0
    }

    /// No durations.
    init() {}

    var count: Int { buckets.last.map { MetricSamples.count($0.count) } ?? 0 }

    /// In seconds; `nil` without durations.
    var mean: Double? { count > 0 ? sum / Double(count) : nil }

    /// Adds the durations of another histogram with the same bounds.
    mutating func add(_ other: DurationHistogram) {
        if buckets.isEmpty { buckets = other.buckets.map { ($0.bound, 0) } }
        guard buckets.count == other.buckets.count else { return }
        for index in buckets.indices { buckets[index].count += other.buckets[index].count }
        sum += other.sum
    }

    /// The duration that this share of all durations does not exceed, estimated like Prometheus's `histogram_quantile`:
    /// durations are assumed to be evenly distributed within a bucket. `nil` without durations.
    /// - Parameter share: above 0, at most 1.
    func quantile(_ share: Double) -> Quantile? {
        guard let total = buckets.last?.count, total > 0 else { return nil }
        let rank = share * total
        var below = (bound: 0.0, count: 0.0)
        for bucket in buckets {
            guard bucket.count < rank else {
                guard bucket.bound.isFinite else { return Quantile(seconds: below.bound, isExceeded: true) }
                let part = bucket.count > below.count ? (rank - below.count) / (bucket.count - below.count) : 1
                return Quantile(seconds: below.bound + (bucket.bound - below.bound) * part, isExceeded: false)
            }
            below = bucket
        }
        return Quantile(seconds: below.bound, isExceeded: true)
    }
}
