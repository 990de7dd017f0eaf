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
