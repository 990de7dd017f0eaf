import Configuration
import Operations

/// Problems of a configuration file, warnings and notes.
struct ConfigurationReport: Report {
    struct Finding: Encodable {
        /// From 1; absent if the finding is about something missing.
        var line: Int?
        var column: Int?
        var sentence: String
    }

    var path: String
    /// Any of these prevents the server from starting.
    var problems: [Finding]
    /// The server starts despite these.
    var warnings: [Finding]
    var notes: [Finding]
    /// Where all calls to providers go; absent on a production server.
    var sandbox: String?
    /// Whether something could not be read for lack of permission.
    let isDenied: Bool

    private enum CodingKeys: CodingKey {
        case path, problems, warnings, notes, sandbox
    }

    /// - Parameter services: the view of the services; `nil` to skip it.
    init(of path: String, seenBy services: ServiceView?) {
        self.path = path
        let notes: [ConfigurationFinding]
        do {
            let configuration = try ServerConfiguration(readingFrom: path)
            problems = []
            isDenied = false
            notes = configuration.notes
            sandbox = configuration.sandbox.map { "\($0.host):\($0.port)" }
        } catch {
            problems = error.problems.map(Finding.init)
            isDenied = error.isDenied
            notes = error.notes
        }
        let known = problems.map(\.sentence)
        problems += services?.problems(besides: known).map { Finding(sentence: $0) } ?? []
        warnings = notes.filter { $0.kind == .warning }.map(Finding.init)
        self.notes = notes.filter { $0.kind == .note }.map(Finding.init)
    }

    var isGood: Bool { problems.isEmpty }

    var lines: [String] {
        var lines: [String] = []
        if !isGood { lines += ["\(path) has \(Self.count(problems, "problem")):"] + problems.map(\.text) }
        if !warnings.isEmpty {
            lines += ["\(Self.count(warnings, "warning")); the server starts anyway:"] + warnings.map(\.text)
        }
        if !notes.isEmpty { lines += ["Good to know:"] + notes.map(\.text) }
        if let sandbox {
            lines += [
                "WARNING: sandbox is set: every call to a provider goes to \(sandbox).",
                "         Nothing reaches a real cloud. Never run a server for real people like this.",
            ]
        }
        if isGood { lines.append("\(path) is good.") }
        return lines
    }

    private static func count(_ findings: [Finding], _ what: String) -> String {
        "\(findings.count) \(what)\(findings.count == 1 ? "" : "s")"
    }
}

extension ConfigurationReport.Finding {
    init(_ finding: ConfigurationFinding) {
        line = finding.place?.line
        column = finding.place?.column
        sentence = finding.sentence
    }

    /// As ``ConfigurationFinding`` writes it, as a list item.
    fileprivate var text: String {
        guard let line, let column else { return "  - \(sentence)" }
        return "  - \(TextPlace(line: line, column: column)): \(sentence)"
    }
}
