/// A part of a report: a chart, and its numbers in a table.
struct ReportSection {
    enum Content {
        /// A chart, if there is anything to show, and a table.
        case figures((any Chart)?, ReportTable)
        /// There are no numbers, which is a valid state.
        case nothing(String)
        case missing(ServerReport.Gap.Source)
    }

    /// Letters and hyphens, unique within a report.
    var id: String
    var title: String
    /// What is counted and since when, and what is not counted.
    var remark: String
    var content: Content

    /// - Parameter content: `nil` if its source is missing.
    init(_ id: String, _ title: String, _ remark: String, from source: ServerReport.Gap.Source, _ content: Content?) {
        self.id = id
        self.title = title
        self.remark = remark
        if case .figures(.some(let chart), let table) = content, chart.isEmpty {
            self.content = .figures(nil, table)
        } else {
            self.content = content ?? .missing(source)
        }
    }
}
