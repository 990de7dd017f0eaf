import SyncProtocol

/// The parts of a report that come from the database.
struct DatabaseSections {
    /// Rows of a table of growth.
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
        let remark = "bytes of current files in people's own storage, for all of them together"
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
        growth("users", "Users", "by when they signed up; the database knows nothing of users who have been removed") {
            ($0.users, nil)
        }
    }

    private var groups: ReportSection {
        growth(
            "groups", "Sharing groups", "by when they were made; when a group ended is not known, only that it has"
        ) { ($0.groups, "ended since included") }
    }

    private var files: ReportSection {
        growth(
            "files", "Files",
            "by when their first version was uploaded; when a file was deleted is not known, only that it is"
        ) { ($0.files, "deleted since included") }
    }

    /// - Parameter curve: and what its other line shows, if it differs.
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
                legend: other.map { [LegendEntry(.main, "there today"), LegendEntry(.second, $0)] } ?? [],
                description: "From \(GrowthCurve.date(ofDay: first.day)) to today: \(Quantity.grouped(last.count))"
                    + (other.map { ", and \(Quantity.grouped(last.madeInAll)) with those \($0)" } ?? "") + ".")
            let rows = curve.milestones(limit: Self.maximumRows).map { period, point -> [ReportTable.Cell] in
                [.words(period), .count(point.count)] + (other == nil ? [] : [.count(point.madeInAll)])
            }
            let header = ["Until the end of", "There today"] + (other == nil ? [] : ["Made in all"])
            return .figures(chart, ReportTable(header, rows))
        }
    }

    // MARK: Work and limits

    private var outbox: ReportSection {
        let remark = "what the jobs role still has to do in clouds and push services, uploads in progress included"
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
                        .init(Double(failing), .bad, "\(Quantity.grouped(failing)) that failed before"),
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
            "the most that one user has used of each limit, and how many users have used \(QuotaStanding.nearPercent) percent "
            + "of it (near) or all of it (full): syncctl users --near-quota lists them. Refused: requests, as far as this host has "
            + "counted them"
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
