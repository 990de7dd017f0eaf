import ArgumentParser
import Configuration
import Operations
import Posix

/// Examines a host from its configuration to its certificates.
struct Doctor: ReportingCommand {
    static let configuration = CommandConfiguration(
        abstract: "Examines this host, and says with each finding what users notice, and what to do.",
        discussion: """
            Run it as root: sockets, keys and secrets are not for everybody's eyes. It changes nothing. What cannot be \
            examined is reported, and is no finding. docs/operations.md lists all findings.
            """)

    @OptionGroup var options: CommonOptions
    @Option(help: "The socket of the api responders.", completion: .file()) var apiSocket = "/run/syncd/api.sock"
    @Option(help: "The socket of the transfer responders.", completion: .file())
    var transferSocket = "/run/syncd/transfer.sock"
    @Option(help: "The folder of nginx's configuration.", completion: .directory) var nginx = "/etc/nginx"
    @Option(help: "The server's certificate; else those that nginx names.", completion: .file()) var certificate:
        String?
    @Option(help: "The server's name in DNS; else those that nginx names.") var host: String?
    @Option(
        help: "A PEM file of the authority of nginx's certificate, if only people's devices know it.",
        completion: .file()) var caFile: String?
    @Option(help: "The folder in which backups are noted.", completion: .directory)
    var backups = HostExamination.usualBackupRecords
    @Option(help: "How many seconds the checks may take.") var patience = 20
    @Option(
        name: .customLong("ignore"), help: "A finding, by its code, that you know and accept; may be repeated.",
        transform: Self.code) var ignored: [DiagnosisCode] = []

    private static func code(_ text: String) throws -> DiagnosisCode {
        guard let code = DiagnosisCode(rawValue: text) else {
            let meant = Spelling.suggestion(for: text, among: DiagnosisCode.allCases.map(\.rawValue))
            let hint = meant.map { "did you mean \($0)?" } ?? "docs/operations.md lists them."
            throw ValidationError("\(text) is the code of no finding; \(hint)")
        }
        return code
    }

    func validate() throws {
        guard (1...600).contains(patience) else { throw ValidationError("--patience must be from 1 to 600.") }
    }

    func report() throws -> any Report {
        HostFacts.limitLookups()
        let limit: Duration = .seconds(patience)
        let examination = HostExamination(self, within: limit)
        return DoctorReport(examination.run(), ignoring: ignored)
    }
}
