import SyncProtocol

/// The parts of a report that come from the database.
struct DatabaseSections {
    /// The maximum number of rows in a growth table.
    private static let maximumRows = 12

    let figures: DatabaseFigures?
    /// `nil` if they are missing.
    let quotaRefusals: [String: Int]?
    let now: WireDate

    var all: [ReportSection] { [storage, users, groups, files, outbox, quotas] }

    private func section(
        _ id: String, _ title: String, _ remark: String, _ content: (DatabaseFigures) -> ReportSection.Content
    ) -> ReportSection {
        ReportSection(id, title, remark, from: .database, figures.map(content))
    }

    private var storage: ReportSection {
        let remark = "bytes of current files in people's own storage, in total"
        return section("storage", "Storage by provider", remark) { figures in
            guard !figures.storage.isEmpty else { return .nothing("There are no files.") }
            let bars = figures.storage.map { storage in
                BarChart.Bar(
                    storage.storageType.rawValue,
                    "\(Quantity.bytes(storage.bytes)) · \(Quantity.grouped(storage.files)) \(storage.files == 1 ? "file" : "files")",
                    [.init(Double(storage.bytes), .main, Quantity.bytes(storage.bytes))])
            }
            let rows = figures.storage.map { storage -> [ReportTable.Cell] in
                [
                    .words(storage.storageType.rawValue), .measure(Quantity.bytes(storage.bytes)),
                    .count(storage.files), .count(storage.filesOfUnknownSize), .count(storage.deletedFiles),
                ]
            }
            return .figures(
                BarChart(bars), ReportTable(["Storage", "Size", "Files", "Of unknown size", "Deleted"], rows))
        }
    }

    // MARK: Growth

    private var users: ReportSection {
        growth("users", "Users", "by the time of sign-up; removed users are not counted") {
            ($0.users, nil)
        }
    }

    private var groups: ReportSection {
        growth(
            "groups", "Sharing groups", "by the time of creation; the times when groups ended are not recorded"
        ) { ($0.groups, "including ended ones") }
    }

    private var files: ReportSection {
        growth(
            "files", "Files",
            "by the time of the first version's upload; the times of deletions are not recorded"
        ) { ($0.files, "including deleted ones") }
    }

    /// - Parameter curve: the curve, and the meaning of its second line, if it has one.
    private func growth(
        _ id: String, _ noun: String, _ remark: String, _ curve: (DatabaseFigures) -> (GrowthCurve, String?)
    ) -> ReportSection {
        section(id, "\(noun) over time", remark) { figures in
            let (curve, other) = curve(figures)
            guard let last = curve.points.last else { return .nothing("There are none.") }
            var series = [
                StepChart.Series(tone: .main, points: curve.points.map { (Double($0.day), $0.count) })
            ]
            if other != nil {
                series.insert(
                    StepChart.Series(tone: .second, points: curve.points.map { (Double($0.day), $0.madeInAll) }), at: 0)
            }
            let first = curve.points.first ?? last
            let today = max(GrowthCurve.day(of: now), last.day)
            let chart = StepChart(
                series: series, end: Double(today), times: Tick.dates(from: first.day, to: today),
                legend: other.map { [LegendEntry(.main, "existing today"), LegendEntry(.second, $0)] } ?? [],
                description: "From \(GrowthCurve.date(ofDay: first.day)) to today: \(Quantity.grouped(last.count))"
                    + (other.map { ", and \(Quantity.grouped(last.madeInAll)) \($0)" } ?? "") + ".")
            let rows = curve.milestones(limit: Self.maximumRows).map { period, point -> [ReportTable.Cell] in
                [.words(period), .count(point.count)] + (other == nil ? [] : [.count(point.madeInAll)])
            }
            let header = ["Until the end of", "Today"] + (other == nil ? [] : ["Created in total"])
            return .figures(chart, ReportTable(header, rows))
        }
    }

    // MARK: Work and limits

    private var outbox: ReportSection {
        let remark = "the jobs role's pending work in clouds and push services, including uploads in progress"
        return section("outbox", "Outbox", remark) { figures in
            guard !figures.outbox.isEmpty else { return .nothing("Nothing is pending.") }
            let bars = figures.outbox.map { work in
                let failing = min(work.failing, work.rows)
                let due = min(work.due, work.rows - failing)
                let rest = work.rows - failing - due
                return BarChart.Bar(
                    work.kind, Quantity.grouped(work.rows),
                    [
                        .init(Double(rest), .main, "\(Quantity.grouped(rest)) in progress or not due yet"),
                        .init(Double(due), .second, "\(Quantity.grouped(due)) due"),
                        .init(Double(failing), .bad, "\(Quantity.grouped(failing)) failed before"),
                    ])
            }
            let chart = BarChart(
                bars,
                legend: [
                    LegendEntry(.main, "in progress, or not due yet"), LegendEntry(.second, "due"),
                    LegendEntry(.bad, "failed before"),
                ])
            let rows = figures.outbox.map { work -> [ReportTable.Cell] in
                [
                    .words(work.kind), .count(work.rows), .count(work.due), .count(work.leased), .count(work.failing),
                    .measure(Quantity.seconds(work.oldestSeconds)),
                ]
            }
            return .figures(
                chart, ReportTable(["Kind", "Rows", "Due", "Leased", "Failed", "Oldest"], rows))
        }
    }

    private var quotas: ReportSection {
        let remark =
            "the highest usage of each limit by one user, and the number of users who have used "
            + "\(QuotaStanding.nearPercent) percent of it (near) or all of it (full); syncctl users --near-quota "
            + "lists them. Refused: rejected requests that this host has counted"
        return section("quotas", "Quotas", remark) { figures in
            guard !figures.quotas.isEmpty else { return .nothing("This server has no quotas.") }
            let bars = figures.quotas.map { use in
                let percent = QuotaStanding.percent(used: use.highest, limit: use.limit)
                let tone: Tone =
                    percent >= 100 ? .bad : percent >= QuotaStanding.nearPercent ? .warning : .main
                return BarChart.Bar(
                    use.quota, "\(percent) %",
                    [.init(Double(percent), tone, "\(Quantity.grouped(use.highest)) of \(Quantity.grouped(use.limit))")]
                )
            }
            let rows = figures.quotas.map { use -> [ReportTable.Cell] in
                let isBytes = use.quota == Quota.stagedBytes.rawValue
                func cell(_ number: Int) -> ReportTable.Cell {
                    isBytes ? .measure(Quantity.bytes(Int64(number))) : .count(number)
                }
                return [
                    .words(use.quota), cell(use.highest), cell(use.limit), .count(use.usersNear),
                    .count(use.usersAtLimit), quotaRefusals.map { .count($0[use.quota] ?? 0) } ?? .none,
                ]
            }
            let chart = BarChart(
                bars, scale: .linear(maximum: 100),
                legend: [
                    LegendEntry(.main, "below \(QuotaStanding.nearPercent) %"), LegendEntry(.warning, "near"),
                    LegendEntry(.bad, "full"),
                ])
            return .figures(
                chart, ReportTable(["Quota", "Most", "Limit", "Near", "Full", "Refused"], rows))
        }
    }
}
