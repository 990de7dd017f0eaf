/// The state of a host.
public struct DoctorReport: Report {
    /// Problems first, causes before their consequences; then notes and good results.
    public private(set) var diagnoses: [Diagnosis]
    /// Whether the text for people lists only problems; JSON always contains all diagnoses.
    private var isQuiet = false

    private enum CodingKeys: CodingKey {
        case diagnoses
    }

    /// - Parameters:
    ///   - ignored: findings that the operator accepts; they are reported, but do not count.
    ///   - isQuiet: whether ``lines`` contains only problems.
    public init(_ diagnoses: [Diagnosis], ignoring ignored: [DiagnosisCode] = [], isQuiet: Bool = false) {
        self.isQuiet = isQuiet
        self.diagnoses = diagnoses.map { diagnosis in
            var diagnosis = diagnosis
            diagnosis.ignored = diagnosis.code.map(ignored.contains) ?? false
            diagnosis.fix = diagnosis.fix.map(AppText().named)
            return diagnosis
        }
        let causes = causes
        func rank(_ index: Int) -> Int {
            let diagnosis = self.diagnoses[index]
            switch diagnosis.verdict {
            case .bad where !diagnosis.ignored: return causes[index] == nil ? 0 : 1
            case .warning where !diagnosis.ignored: return causes[index] == nil ? 2 : 3
            case .bad, .warning, .unknown: return 4
            case .good: return 5
            }
        }
        self.diagnoses = self.diagnoses.indices.sorted { (rank($0), $0) < (rank($1), $1) }.map { self.diagnoses[$0] }
    }

    private var findings: [Diagnosis] {
        diagnoses.filter { ($0.verdict == .warning || $0.verdict == .bad) && !$0.ignored }
    }

    public var isGood: Bool { findings.isEmpty }

    public var lines: [String] {
        var lines: [String] = []
        let causes = causes
        for index in diagnoses.indices where causes[index] == nil {
            let diagnosis = diagnoses[index]
            guard !isQuiet || (diagnosis.verdict != .good && !diagnosis.ignored) else { continue }
            lines.append("\(mark(of: diagnosis))\(diagnosis.finding)")
            if let effect = diagnosis.effect, !diagnosis.ignored { lines.append("          users: \(effect)") }
            if let fix = diagnosis.fix { lines.append("          do: \(fix)") }
            // Consequences, and the same finding elsewhere, need no advice.
            for other in diagnoses.indices where causes[other] == index {
                lines.append("          therefore: \(diagnoses[other].finding)")
            }
        }
        var codes: [String] = []
        for code in findings.compactMap({ $0.code?.rawValue }) where !codes.contains(code) { codes.append(code) }
        lines.append(isGood ? "this host is healthy" : "THIS HOST NEEDS ATTENTION: \(codes.joined(separator: ", "))")
        return lines
    }

    private func mark(of diagnosis: Diagnosis) -> String {
        switch diagnosis.verdict {
        case .good: "ok      "
        case .unknown: "?       "
        case .warning: diagnosis.ignored ? "ignored " : "WARNING "
        case .bad: diagnosis.ignored ? "ignored " : "BAD     "
        }
    }

    /// The root cause of each diagnosis that is a consequence of another one.
    private var causes: [Int: Int] {
        var nearest: [Int: Int] = [:]
        for index in diagnoses.indices {
            for other in consequences(of: index) where nearest[other] == nil { nearest[other] = index }
        }
        return nearest.mapValues { cause in
            var first = cause
            // The number of steps is limited, in case two diagnoses explain each other.
            for _ in diagnoses.indices { first = nearest[first] ?? first }
            return first
        }
    }

    /// The diagnoses that this one explains; the first of several equal findings explains the others.
    private func consequences(of index: Int) -> [Int] {
        let cause = diagnoses[index]
        guard let code = cause.code, !cause.ignored else { return [] }
        let alike = diagnoses.indices.filter { diagnoses[$0].code == code && !diagnoses[$0].ignored }
        return diagnoses.indices.filter { other in
            guard other != index, !diagnoses[other].ignored else { return false }
            return cause.explains(diagnoses[other])
                || (alike.count > 3 && alike.first == index && diagnoses[other].code == code)
        }
    }
}
