import ArgumentParser
import ServerConfiguration

/// Says everything that is wrong with a configuration file.
struct CheckConfig: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check-config", abstract: "Says everything that is wrong with a configuration file.")

    @OptionGroup var file: ConfigurationFile

    func run() throws {
        let configuration: ServerConfiguration
        do { configuration = try ServerConfiguration(readingFrom: file.path) } catch {
            print("\(file.path) has \(Self.count(error.problems, "problem")):\n" + Self.list(error.problems))
            Self.show(error.notes)
            throw ExitCode.failure
        }
        Self.show(configuration.notes)
        if let sandbox = configuration.sandbox {
            print("WARNING: sandbox is set: every call to a provider goes to \(sandbox.host):\(sandbox.port).")
            print("         Nothing reaches a real cloud. Never run a server for real people like this.")
        }
        print("\(file.path) is good.")
    }

    private static func show(_ notes: [ConfigurationFinding]) {
        let warnings = notes.filter { $0.kind == .warning }
        let others = notes.filter { $0.kind == .note }
        if !warnings.isEmpty {
            print("\(count(warnings, "warning")), with which the server starts:\n" + list(warnings))
        }
        if !others.isEmpty { print("Good to know:\n" + list(others)) }
    }

    private static func list(_ findings: [ConfigurationFinding]) -> String {
        findings.map { "  - \($0)" }.joined(separator: "\n")
    }

    private static func count(_ findings: [ConfigurationFinding], _ what: String) -> String {
        "\(findings.count) \(what)\(findings.count == 1 ? "" : "s")"
    }
}
