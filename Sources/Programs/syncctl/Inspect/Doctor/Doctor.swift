import ArgumentParser
import Configuration
import Operations
import Posix

/// Examines a host from its configuration to its certificates.
struct Doctor: ReportingCommand {
    static let configuration = CommandConfiguration(
        abstract: "Examines this host, and says with each finding what users notice, and what to do.",
        discussion: """
            Run it as root: sockets, keys and secrets are not for everybody's eyes. It changes nothing but its own note of \
            where the database keeps its files. What cannot be examined is reported, and is no finding. What is wrong comes \
            first, and causes before what follows from them. /usr/share/doc/syncserver/operations.md lists all findings.
            """)

    @OptionGroup var options: CommonOptions
    @Option(help: ArgumentHelp("The socket of the api responders.", valueName: "socket"), completion: .file())
    var apiSocket = SetupPaths.apiSocket
    @Option(help: ArgumentHelp("The socket of the transfer responders.", valueName: "socket"), completion: .file())
    var transferSocket = SetupPaths.transferSocket
    @Option(help: ArgumentHelp("The folder of nginx's configuration.", valueName: "folder"), completion: .directory)
    var nginx = "/etc/nginx"
    @Option(
        help: ArgumentHelp("The server's certificate; else those that nginx names.", valueName: "file"),
        completion: .file()) var certificate: String?
    @Option(help: ArgumentHelp("The server's name in DNS; else those that nginx names.", valueName: "name")) var host:
        String?
    @Option(
        help: ArgumentHelp(
            "A PEM file of the authority of nginx's certificate, if only people's devices know it.", valueName: "file"),
        completion: .file()) var caFile: String?
    @Option(help: ArgumentHelp("The folder in which backups are noted.", valueName: "folder"), completion: .directory)
    var backups = HostExamination.usualBackupRecords
    @OptionGroup var maintenance: HostMaintenanceFolder
    @Option(help: ArgumentHelp("The page of the metrics.", valueName: "url")) var metrics =
        SetupPaths.metricsURL
    @Option(
        help: ArgumentHelp("Where it is noted in which folders the database keeps its files.", valueName: "folder"),
        completion: .directory) var notes = DatabaseFolders.standardNotes
    @Option(help: ArgumentHelp("How long all checks together may take.", valueName: "seconds")) var patience = 10
    @Option(
        name: .customLong("ignore"),
        help: ArgumentHelp("A finding, by its code, that you know and accept; may be repeated.", valueName: "finding"),
        transform: Self.code) var ignored: [DiagnosisCode] = []

    private static func code(_ text: String) throws -> DiagnosisCode {
        guard let code = DiagnosisCode(rawValue: text) else {
            let meant = Spelling.suggestion(for: text, among: DiagnosisCode.allCases.map(\.rawValue))
            let hint = meant.map { "did you mean \($0)?" } ?? "/usr/share/doc/syncserver/operations.md lists them."
            throw ValidationError("\(text) is the code of no finding; \(hint)")
        }
        return code
    }

    @Flag(name: .shortAndLong, help: "Tell only what is wrong.") var quiet = false

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
