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
