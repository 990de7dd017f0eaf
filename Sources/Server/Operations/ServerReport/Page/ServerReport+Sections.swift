extension ServerReport {
    /// All sections in their order; a section whose source is missing is marked.
    var sections: [ReportSection] {
        let fromDatabase = DatabaseSections(figures: database, quotaRefusals: metrics?.quotaRefusals, now: madeAt)
        return MetricSections(figures: metrics, now: madeAt).all + fromDatabase.all + [certificateSection]
    }

    private var certificateSection: ReportSection {
        let remark =
            "days until the certificate files of nginx's site on this host expire; they should be renewed at least "
            + "\(CertificateCheck.warningDays) days before"
        let validities = certificates.validities
        let bars = validities.map { validity in
            let tone: Tone =
                validity.daysLeft < 0 ? .bad : validity.daysLeft < CertificateCheck.warningDays ? .warning : .main
            let days = validity.daysLeft < 0 ? "EXPIRED" : Quantity.of(validity.daysLeft, "day")
            // A certificate's folder has the host's name; an expired certificate is shown as a short bar in its colour.
            let name = validity.path.split(separator: "/").suffix(2).joined(separator: "/")
            return BarChart.Bar(name, days, [.init(max(0.1, Double(validity.daysLeft)), tone, days)])
        }
        let maximum = max(90, validities.map(\.daysLeft).max() ?? 0)
        let table = ReportTable(
            ["Certificate", "Days left"], validities.map { [.words($0.path), .count($0.daysLeft)] })
        return ReportSection(
            "certificates", "Certificate days left", remark, from: .certificates,
            validities.isEmpty ? nil : .figures(BarChart(bars, scale: .linear(maximum: Double(maximum))), table))
    }
}
