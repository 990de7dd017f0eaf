import OpenSSLCrypto
import Posix
public import SyncProtocol

/// The state of a server, for operators: from its database, the counters of one host, and that host's certificates.
///
/// It contains no names of people, groups or files.
public struct ServerReport: Report {
    /// A source that is missing from the report.
    public struct Gap: Error, Equatable, Sendable, Encodable {
        public enum Source: String, Equatable, Sendable, Encodable {
            case database
            case metrics
            case certificates
        }

        public var source: Source
        public var reason: String
        /// The advice.
        public var fix: String

        public init(_ source: Source, _ reason: String, fix: String) {
            self.source = source
            self.reason = reason
            self.fix = fix
        }
    }

    /// From this host's clock if the database does not answer.
    public var madeAt: WireDate
    /// The version of the program that created the report.
    public var version: String
    /// Whether calls to providers go to emulated ones.
    public var sandbox: Bool
    /// Absent if the database cannot be used.
    public var database: DatabaseFigures?
    /// Absent if there are no metrics.
    public var metrics: MetricFigures?
    public var certificates: CertificateFigures
    /// The missing sources, with reasons.
    public var gaps: [Gap]

    public init(
        madeAt: WireDate, version: String, sandbox: Bool, database: DatabaseFigures?, metrics: MetricFigures?,
        certificates: CertificateFigures, gaps: [Gap]
    ) {
        self.madeAt = madeAt
        self.version = version
        self.sandbox = sandbox
        self.database = database
        self.metrics = metrics
        self.certificates = certificates
        self.gaps = gaps
    }

    /// Whether nothing is missing.
    public var isGood: Bool { gaps.isEmpty }

    public var lines: [String] {
        var lines = ["SyncServer, \(madeAt.iso8601), syncctl \(version)"]
        if sandbox { lines.append(Self.sandboxNotice) }
        lines += gapLines
        for section in sections {
            lines += ["", section.title.uppercased()]
            switch section.content {
            case .figures(_, let table): lines += table.lines.map { "  \($0)" } + [section.remark].map { "  (\($0))" }
            case .nothing(let sentence): lines.append("  \(sentence)")
            case .missing(let source): lines.append("  MISSING, see above: \(source.words)")
            }
        }
        return lines
    }

    /// The missing sources, as text.
    public var gapLines: [String] {
        gaps.flatMap { ["MISSING: \($0.source.words): \($0.reason)", "          do: \($0.fix)"] }
    }

    static let sandboxNotice = "SANDBOX: no call reaches a real cloud. Never use it for real people."

    /// The page with charts, in UTF-8.
    public var page: [UInt8] { ReportPage(self).bytes }
}

extension ServerReport.Gap.Source {
    /// The source's name, as text.
    var words: String {
        switch self {
        case .database: "the database's figures"
        case .metrics: "the server's metrics"
        case .certificates: "certificates"
        }
    }
}

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

/// A table of numbers with their names.
struct ReportTable {
    enum Cell {
        case words(String)
        case count(Int)
        /// A number with its unit.
        case measure(String)
        /// A missing or unknown value.
        case none

        /// The text for terminals.
        var plain: String {
            switch self {
            case .words(let text), .measure(let text): text
            case .count(let number): "\(number)"
            case .none: ""
            }
        }
    }

    var header: [String]
    var rows: [[Cell]]

    init(_ header: [String], _ rows: [[Cell]]) {
        self.header = header
        self.rows = rows
    }

    /// For terminals.
    var lines: [String] {
        var table = TextTable(header.map { $0.uppercased() })
        for row in rows { table.add(row.map(\.plain)) }
        return table.lines
    }
}

/// The validity of the certificate files that nginx's site names.
public struct CertificateFigures: Equatable, Sendable, Encodable {
    public struct Validity: Equatable, Sendable, Encodable {
        public var path: String
        /// Rounded down; negative after expiry.
        public var daysLeft: Int
    }

    /// By path.
    public var validities: [Validity] = []
    /// Why other files could not be read.
    public var unread: [String] = []

    /// - Parameter paths: paths of PEM files; can contain duplicates.
    public init(paths: [String]) {
        for path in Set(paths).sorted() {
            do {
                let certificate = try Certificate(pem: String(decoding: try TextFile.read(path), as: UTF8.self))
                let days = (Double(certificate.secondsLeft) / 86_400).rounded(.down)
                validities.append(Validity(path: path, daysLeft: Int(days)))
            } catch {
                unread.append("\(path): \(error is CryptoError ? "not in PEM" : "\(error)")")
            }
        }
    }
}
