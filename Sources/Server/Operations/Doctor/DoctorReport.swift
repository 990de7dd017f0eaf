/// The state of a host.
public struct DoctorReport: Report {
    public var diagnoses: [Diagnosis]

    /// - Parameter ignored: what the operator knows and accepts; it is reported, and does not count.
    public init(_ diagnoses: [Diagnosis], ignoring ignored: [DiagnosisCode] = []) {
        self.diagnoses = diagnoses.map { diagnosis in
            var diagnosis = diagnosis
            diagnosis.ignored = diagnosis.code.map(ignored.contains) ?? false
            return diagnosis
        }
    }

    private var findings: [Diagnosis] {
        diagnoses.filter { ($0.verdict == .warning || $0.verdict == .bad) && !$0.ignored }
    }

    public var isGood: Bool { findings.isEmpty }

    public var lines: [String] {
        var lines: [String] = []
        for diagnosis in diagnoses {
            let mark =
                switch diagnosis.verdict {
                case .good: "ok      "
                case .unknown: "?       "
                case .warning: diagnosis.ignored ? "ignored " : "WARNING "
                case .bad: diagnosis.ignored ? "ignored " : "BAD     "
                }
            lines.append("\(mark)\(diagnosis.finding)")
            if let effect = diagnosis.effect, !diagnosis.ignored { lines.append("          users: \(effect)") }
            if let fix = diagnosis.fix { lines.append("          do: \(fix)") }
        }
        let codes = findings.compactMap { $0.code?.rawValue }
        lines.append(
            isGood ? "this host is well" : "THIS HOST NEEDS SOMEBODY: \(Set(codes).sorted().joined(separator: ", "))")
        return lines
    }
}
