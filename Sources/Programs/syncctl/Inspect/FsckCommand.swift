import ArgumentParser
import Operations
import Store
import SyncProtocol

/// Checks every rule of the schema.
struct FsckCommand: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "fsck", abstract: "Checks that all that is stored fits together.",
        discussion: """
            Reads one snapshot of the database and changes nothing; the server may go on. With --repair it sets right \
            what can be without losing anything, in the ways that it names with each finding; without it, it only says so.
            """)

    @OptionGroup var options: CommonOptions
    @Flag(
        help: """
            Also asks the clouds whether each file's object is there, with the right size and hash, and whether there are \
            objects that nothing refers to (not with --group).
            """)
    var clouds = false
    @Option(help: "With --clouds: only files in this user's storage, by their number.") var owner: Int64?
    @Option(help: "With --clouds: only files of this group, by its UUID.") var group: String?
    @Flag(help: "Sets right what can be without losing anything.") var repair = false
    @Option(help: "Rows to name for each finding.") var rows = 10

    func validate() throws {
        guard clouds || (owner == nil && group == nil) else {
            throw ValidationError("--owner and --group go with --clouds.")
        }
        guard (1...1_000_000).contains(rows) else { throw ValidationError("--rows must be from 1 to 1000000.") }
    }

    func report() throws -> any Report {
        let installation = try Installation(options)
        let fsck = Fsck(store: installation.store, sealer: try installation.sealer(), rowLimit: rows)
        var report = FsckReport(findings: try fsck.run())
        if repair, report.findings.contains(where: { $0.repair != nil }) {
            progress(report.lines)
            let repairs = try fsck.repair(report.findings, at: installation.now)
            report = FsckReport(findings: try fsck.run(), repairs: repairs)
        }
        if clouds {
            var check = CloudCheck(
                store: installation.store, storage: try installation.storage(), transport: installation.transport(),
                rowLimit: rows)
            let found = try check.run(
                owner: owner.map { UserID($0) }, group: try group.map { try Installation.group($0) }
            ) { count in
                if count.isMultiple(of: 1_000) { progress("\(count) objects checked") }
            }
            report.findings = (report.findings + found.findings).sorted { $1.severity < $0.severity }
            report.objectsChecked = found.objects
        }
        return report
    }
}
