/// The result of one check on a host.
public struct Diagnosis: Encodable, Equatable, Sendable {
    public enum Verdict: String, Encodable, Equatable, Sendable {
        case good
        /// Could not be checked, which may be fine.
        case unknown
        /// Works, but somebody should investigate.
        case warning
        /// Does not work.
        case bad
    }

    /// Stable: `configuration`, `database`, `schema`, `rights`, `apiSocket`, `transferSocket`, `jobs`, `uploadLimit`,
    /// `clock`, `disk`, `certificate`, `dns`, `registration`.
    public var check: String
    public var verdict: Verdict
    /// One sentence.
    public var finding: String
    /// What to do; absent if nothing is.
    public var fix: String?

    public init(_ check: String, _ verdict: Verdict, _ finding: String, fix: String? = nil) {
        self.check = check
        self.verdict = verdict
        self.finding = finding
        self.fix = fix
    }
}

/// The state of a host.
public struct DoctorReport: Report {
    public var diagnoses: [Diagnosis]

    public init(_ diagnoses: [Diagnosis]) {
        self.diagnoses = diagnoses
    }

    public var isGood: Bool { diagnoses.allSatisfy { $0.verdict == .good || $0.verdict == .unknown } }

    public var lines: [String] {
        var lines: [String] = []
        for diagnosis in diagnoses {
            let mark =
                switch diagnosis.verdict {
                case .good: "ok      "
                case .unknown: "?       "
                case .warning: "WARNING "
                case .bad: "BAD     "
                }
            lines.append("\(mark)\(diagnosis.finding)")
            if let fix = diagnosis.fix { lines.append("          do: \(fix)") }
        }
        lines.append(isGood ? "this host is well" : "THIS HOST NEEDS SOMEBODY")
        return lines
    }
}
