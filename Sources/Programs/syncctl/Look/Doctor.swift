import ArgumentParser
import Configuration
import Operations
import Posix

/// Examines a host from its configuration to its certificates.
struct Doctor: ReportingCommand {
    static let configuration = CommandConfiguration(
        abstract: "Examines this host, and reports for each finding what users notice and what to do.",
        discussion: """
            Run it as root, because it reads sockets, keys and secrets. It changes nothing except its own record of \
            the database's folders. Checks that cannot run are reported, but do not count as findings. Problems come \
            first, and causes before their consequences. /usr/share/doc/syncserver/operations.md lists all findings.
            """)

    @OptionGroup var options: CommonOptions
    @Option(help: ArgumentHelp("The socket of the api responders.", valueName: "socket"), completion: .file())
    var apiSocket = SetupPaths.apiSocket
    @Option(help: ArgumentHelp("The socket of the transfer responders.", valueName: "socket"), completion: .file())
    var transferSocket = SetupPaths.transferSocket
    @Option(help: ArgumentHelp("The folder of nginx's configuration.", valueName: "folder"), completion: .directory)
    var nginx = "/etc/nginx"
    @Option(
        help: ArgumentHelp("The server's certificate; by default those that nginx names.", valueName: "file"),
        completion: .file()) var certificate: String?
    @Option(
        help: ArgumentHelp(
            "The server's DNS name; by default those that nginx names.", valueName: "name")) var host: String?
    @Option(
        help: ArgumentHelp(
            "A PEM file of the authority of nginx's certificate, if only users' devices trust it.", valueName: "file"),
        completion: .file()) var caFile: String?
    @Option(
        help: ArgumentHelp(
            "The folder in which backups are recorded.", valueName: "folder"), completion: .directory)
    var backups = HostExamination.usualBackupRecords
    @OptionGroup var maintenance: HostMaintenanceFolder
    @Option(help: ArgumentHelp("The URL of the metrics.", valueName: "url")) var metrics =
        SetupPaths.metricsURL
    @Option(
        help: ArgumentHelp("The folder in which the database's folders are recorded.", valueName: "folder"),
        completion: .directory) var notes = DatabaseFolders.standardNotes
    @Option(help: ArgumentHelp("The time limit for all checks together.", valueName: "seconds")) var patience = 10
    @Option(
        name: .customLong("ignore"),
        help: ArgumentHelp("The code of a finding that you accept; can be repeated.", valueName: "finding"),
        transform: Self.code) var ignored: [DiagnosisCode] = []

    private static func code(_ text: String) throws -> DiagnosisCode {
        guard let code = DiagnosisCode(rawValue: text) else {
            let meant = Spelling.suggestion(for: text, among: DiagnosisCode.allCases.map(\.rawValue))
            let hint = meant.map { "did you mean \($0)?" } ?? "/usr/share/doc/syncserver/operations.md lists them."
            throw ValidationError("\(text) is not the code of a finding; \(hint)")
        }
        return code
    }

    @Flag(name: .shortAndLong, help: "Report only problems.") var quiet = false

    func validate() throws {
        guard (1...600).contains(patience) else { throw ValidationError("--patience must be from 1 to 600.") }
    }

    func report() throws -> any Report {
        HostFacts.limitLookups()
        let limit: Duration = .seconds(patience)
        let examination = HostExamination(self, within: limit)
        return DoctorReport(examination.run(), ignoring: ignored, isQuiet: quiet)
    }
}
