import SyncProtocol

/// A key figure at the top of the page.
struct ReportTile {
    var name: String
    var figure: String
    var remark: String?
    /// Whether it needs attention.
    var isBad = false

    static func all(of report: ServerReport) -> [ReportTile] {
        database(report) + metrics(report) + certificates(report)
    }

    private static func database(_ report: ServerReport) -> [ReportTile] {
        guard let counts = report.database?.counts else {
            return [ReportTile(name: "Database", figure: "MISSING", isBad: true)]
        }
        let outbox = counts.outbox
        return [
            ReportTile(name: "Users", figure: Quantity.grouped(counts.users.values.reduce(0, +))),
            ReportTile(
                name: "Groups", figure: Quantity.grouped(counts.groups),
                remark: "and \(Quantity.grouped(counts.deletedGroups)) ended ones"),
            ReportTile(
                name: "Files", figure: Quantity.grouped(counts.files), remark: Quantity.bytes(counts.fileBytes)),
            ReportTile(
                name: "Due work", figure: Quantity.grouped(outbox.due),
                remark: outbox.longestDueSeconds > 0
                    ? "the oldest for \(Quantity.seconds(outbox.longestDueSeconds))" : nil,
                isBad: outbox.longestDueSeconds > 600),
            ReportTile(
                name: "Database", figure: Quantity.bytes(counts.databaseBytes),
                remark: "MariaDB \(counts.databaseVersion.prefix { $0 != "-" })"),
        ]
    }

    private static func metrics(_ report: ServerReport) -> [ReportTile] {
        guard let metrics = report.metrics else {
            return [ReportTile(name: "Requests", figure: "MISSING", isBad: true)]
        }
        let statuses = StatusCounts(metrics.statuses)
        let backupAge = metrics.lastBackup.map { report.madeAt.secondsSince1970 - $0.secondsSince1970 }
        return [
            ReportTile(
                name: "Requests", figure: Quantity.grouped(metrics.requests),
                remark: metrics.latency.map { "median \(Quantity.duration($0.median))" }),
            ReportTile(
                name: "Failed requests", figure: Quantity.grouped(statuses.failed),
                remark: share(statuses.failed, of: metrics.requests), isBad: statuses.failed * 100 > metrics.requests),
            ReportTile(
                name: "Uploaded", figure: Quantity.bytes(Int64(metrics.uploadedBytes)),
                remark: "downloaded \(Quantity.bytes(Int64(metrics.downloadedBytes)))"),
            ReportTile(
                name: "Last backup", figure: backupAge.map { Quantity.seconds(max(0, $0)) } ?? "none",
                remark: backupAge == nil ? "on this host" : "ago"),
        ]
    }

    private static func certificates(_ report: ServerReport) -> [ReportTile] {
        guard let days = report.certificates.validities.map(\.daysLeft).min() else {
            return [ReportTile(name: "Certificate", figure: "MISSING", isBad: true)]
        }
        return [
            ReportTile(
                name: "Certificate", figure: days < 0 ? "EXPIRED" : Quantity.of(days, "day"),
                remark: days < 0 ? nil : "left", isBad: days < CertificateCheck.warningDays)
        ]
    }

    /// Rounded to a hundredth of a percent, but never to zero.
    private static func share(_ part: Int, of whole: Int) -> String? {
        guard part > 0, whole > 0 else { return nil }
        let hundredths = Int((Double(part) / Double(whole) * 10_000).rounded())
        guard hundredths > 0 else { return "less than 0.01 %" }
        let fraction = String(hundredths % 100)
        return "\(hundredths / 100).\(fraction.count < 2 ? "0" : "")\(fraction) %"
    }
}
