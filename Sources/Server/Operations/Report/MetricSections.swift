import SyncProtocol

/// The parts of a report that come from the counters of one host.
struct MetricSections {
    /// The maximum number of bars in a chart; tables show all rows.
    static let maximumBars = 12

    let figures: MetricFigures?
    let now: WireDate

    var all: [ReportSection] { [requests, errors, latencies, providers] }

    /// The host and the period of the counts.
    private var period: String {
        figures?.countedSince.map { "this host since \($0.iso8601)" } ?? "this host, since its start or later"
    }

    private func section(
        _ id: String, _ title: String, _ remark: String, _ content: (MetricFigures) -> ReportSection.Content
    ) -> ReportSection {
        ReportSection(id, title, remark, from: .metrics, figures.map(content))
    }

    private var requests: ReportSection {
        section("requests", "Requests", "\(period); replies by nginx itself are only in its log") { figures in
            guard !figures.endpoints.isEmpty else { return .nothing("There were no requests.") }
            let bars = figures.endpoints.prefix(Self.maximumBars).map { endpoint in
                let statuses = StatusCounts(endpoint.statuses)
                return BarChart.Bar(
                    endpoint.endpoint, Quantity.grouped(endpoint.requests),
                    [
                        .init(Double(statuses.good), .main, "\(Quantity.grouped(statuses.good)) answered"),
                        .init(Double(statuses.refused), .warning, "\(Quantity.grouped(statuses.refused)) rejected"),
                        .init(Double(statuses.failed), .bad, "\(Quantity.grouped(statuses.failed)) failed"),
                    ])
            }
            let chart = BarChart(
                bars,
                legend: [
                    LegendEntry(.main, "answered"), LegendEntry(.warning, "rejected (4xx)"),
                    LegendEntry(.bad, "failed (5xx)"),
                ])
            let rows = figures.endpoints.map { endpoint -> [ReportTable.Cell] in
                let statuses = StatusCounts(endpoint.statuses)
                return [
                    .words(endpoint.endpoint), .count(endpoint.requests), .count(statuses.refused),
                    .count(statuses.failed),
                ]
            }
            return .figures(chart, ReportTable(["Endpoint", "Requests", "Refused", "Failed"], rows))
        }
    }

    private var errors: ReportSection {
        let remark =
            "\(period); error replies by the codes of the protocol. client_gone and reply_interrupted: the phone got "
            + "no complete reply. Requests that nginx itself rejects are only in its log"
        return section("errors", "Errors by code", remark) { figures in
            guard let counted = figures.errors else {
                return .nothing("The server's release is too old to count them.")
            }
            let errors = counted.sorted { ($1.value, $0.key) < ($0.value, $1.key) }
            guard !errors.isEmpty else { return .nothing("There were no errors.") }
            let bars = errors.prefix(Self.maximumBars).map { name, count in
                let isFailure = ErrorCode(rawValue: name).map { $0.status >= 500 } ?? false
                let figure = Quantity.grouped(count)
                return BarChart.Bar(name, figure, [.init(Double(count), isFailure ? .bad : .warning, figure)])
            }
            let rows = errors.map { name, count -> [ReportTable.Cell] in
                let code = ErrorCode(rawValue: name)
                return [
                    .words(name), .count(count), code.map { .measure("\($0.status)") } ?? .none,
                    code.map { .words($0.sentence) } ?? .none,
                ]
            }
            let chart = BarChart(
                bars, legend: [LegendEntry(.warning, "rejected (4xx)"), LegendEntry(.bad, "failed (5xx)")])
            return .figures(chart, ReportTable(["Code", "Errors", "Status", "Means"], rows))
        }
    }

    // MARK: Latencies

    private var latencies: ReportSection {
        let remark =
            "\(period); from a request's first line to the end of its reply, including waits for the phone. Estimated "
            + "from a histogram: 95 of 100 requests are no slower than the 95th percentile"
        return section("latencies", "Latencies", remark) { figures in
            guard let all = figures.latency else { return .nothing("There were no requests.") }
            let rows =
                [(name: "all endpoints", requests: figures.requests, latency: all)]
                + figures.endpoints.compactMap { endpoint in
                    endpoint.latency.map { (name: endpoint.endpoint, requests: endpoint.requests, latency: $0) }
                }
            let bars = rows.prefix(Self.maximumBars).map { row in
                let (median, high, highest) = Self.texts(row.latency)
                return BarChart.Bar(
                    row.name, "\(median) · \(high) · \(highest)",
                    [
                        .init(row.latency.percentile99, .third, "99th percentile \(highest)"),
                        .init(row.latency.percentile95, .second, "95th percentile \(high)"),
                        .init(row.latency.median, .main, "median \(median)"),
                    ])
            }
            let ticks = [0.001, 0.01, 0.1, 1, 10, 100].map { Tick(value: $0, label: Quantity.duration($0)) }
            let chart = BarChart(
                bars, .overlaid, scale: .logarithmic(minimum: 0.000_5, maximum: 300, ticks: ticks),
                legend: [
                    LegendEntry(.main, "median"), LegendEntry(.second, "95th percentile"),
                    LegendEntry(.third, "99th percentile"),
                ])
            let table = rows.map { row -> [ReportTable.Cell] in
                let (median, high, highest) = Self.texts(row.latency)
                return [
                    .words(row.name), .measure(Quantity.duration(row.latency.mean)), .measure(median), .measure(high),
                    .measure(highest),
                ]
            }
            return .figures(chart, ReportTable(["Endpoint", "Mean", "Median", "95 %", "99 %"], table))
        }
    }

    private static func texts(_ latency: MetricFigures.Latency) -> (median: String, high: String, highest: String) {
        func text(_ seconds: Double) -> String {
            (seconds == latency.exceeded ? "> " : "") + Quantity.duration(seconds)
        }
        return (text(latency.median), text(latency.percentile95), text(latency.percentile99))
    }

    // MARK: Providers

    private var providers: ReportSection {
        section("providers", "Calls to providers", "\(period); sign-in, storage and push services") { figures in
            guard !figures.providers.isEmpty else { return .nothing("No provider was called.") }
            let bars = figures.providers.map { provider in
                let good = provider.outcomes["ok"] ?? 0
                let failed = Self.failures.reduce(0) { $0 + (provider.outcomes[$1] ?? 0) }
                let refused = provider.requests - good - failed
                return BarChart.Bar(
                    provider.provider, Quantity.grouped(provider.requests),
                    [
                        .init(Double(good), .main, "\(Quantity.grouped(good)) succeeded"),
                        .init(Double(refused), .warning, "\(Quantity.grouped(refused)) refused"),
                        .init(Double(failed), .bad, "\(Quantity.grouped(failed)) failed"),
                    ])
            }
            let chart = BarChart(
                bars,
                legend: [
                    LegendEntry(.main, "succeeded"), LegendEntry(.warning, "refused"), LegendEntry(.bad, "failed"),
                ])
            let rows = figures.providers.map { provider -> [ReportTable.Cell] in
                let outcomes = provider.outcomes.sorted { ($1.value, $0.key) < ($0.value, $1.key) }
                return [
                    .words(provider.provider), .count(provider.requests),
                    .words(outcomes.map { "\($0.key) \($0.value)" }.joined(separator: ", ")),
                ]
            }
            return .figures(chart, ReportTable(["Service", "Calls", "Outcomes"], rows))
        }
    }

    /// Outcomes caused by the provider or the network; the others are regular replies.
    private static let failures = ["rate_limited", "full", "failed", "unreachable", "timeout", "withheld", "aborted"]
}

/// Replies by the class of their status (RFC 9110, section 15).
struct StatusCounts {
    /// Below 400.
    private(set) var good = 0
    /// 4xx and unusual statuses.
    private(set) var refused = 0
    /// 5xx.
    private(set) var failed = 0

    init(_ statuses: [String: Int]) {
        for (status, count) in statuses {
            if Self.isFailure(status) {
                failed += count
            } else if Self.isError(status) {
                refused += count
            } else {
                good += count
            }
        }
    }

    static func isError(_ status: String) -> Bool { Int(status).map { $0 >= 400 } ?? true }

    static func isFailure(_ status: String) -> Bool { Int(status).map { $0 >= 500 } ?? false }
}
