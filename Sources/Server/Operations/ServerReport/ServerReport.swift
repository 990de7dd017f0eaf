public import SyncProtocol

/// How a server is doing, for whoever runs it: from its database, the counters of one host, and that host's certificates.
///
/// It contains no name of a person, a group or a file.
public struct ServerReport: Report {
    /// Something that the report should be about, and is not.
    public struct Gap: Error, Equatable, Sendable, Encodable {
        public enum Source: String, Equatable, Sendable, Encodable {
            case database
            case metrics
            case certificates
        }

        public var source: Source
        public var reason: String
        /// What to do.
        public var fix: String

        public init(_ source: Source, _ reason: String, fix: String) {
            self.source = source
            self.reason = reason
            self.fix = fix
        }
    }

    /// By this host's clock if the database does not answer.
    public var madeAt: WireDate
    /// Of the program that made the report.
    public var version: String
    /// Whether calls to providers go to emulated ones.
    public var sandbox: Bool
    /// Absent if the database cannot be used.
    public var database: DatabaseFigures?
    /// Absent if there are no metrics.
    public var metrics: MetricFigures?
    public var certificates: CertificateFigures
    /// What is missing, and why.
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

    /// What is missing, for people.
    public var gapLines: [String] {
        gaps.flatMap { ["MISSING: \($0.source.words): \($0.reason)", "          do: \($0.fix)"] }
    }

    static let sandboxNotice = "SANDBOX: no call reaches a real cloud. Never for real people."

    /// The page with pictures, in UTF-8.
    public var page: [UInt8] { ReportPage(self).bytes }
}

extension ServerReport.Gap.Source {
    /// For people.
    var words: String {
        switch self {
        case .database: "what the database says"
        case .metrics: "what the server has counted"
        case .certificates: "certificates"
        }
    }
}
