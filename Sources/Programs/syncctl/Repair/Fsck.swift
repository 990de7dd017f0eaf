import ArgumentParser
import Configuration
import HTTPTransport
import Operations
import Posix
import Store
import SyncProtocol

/// Checks every rule of the schema, and the clouds.
struct FsckCommand: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "fsck", abstract: "Checks that the stored data is consistent.",
        discussion: """
            Reads one snapshot of the database and changes nothing; the server may keep running. Each finding that can \
            be repaired without loss says how; --repair applies these repairs.
            """)

    @OptionGroup var options: CommonOptions
    @Flag(
        help: """
            Also compares the owners' folders in the clouds with the database, to find missing, altered and \
            unreferenced objects.
            """)
    var clouds = false
    @Flag(help: "Compares the manifests in the owners' folders with the database.")
    var manifests = false
    @Option(help: ArgumentHelp("With --clouds: only the folder of the user with this number.", valueName: "number"))
    var owner: Int64?
    @Option(
        help: ArgumentHelp("With --clouds: only the objects of the group with this UUID.", valueName: "uuid"))
    var group: String?
    @Option(
        help: ArgumentHelp(
            "With --clouds: only the objects of randomly chosen files, as a number or a percentage.",
            valueName: "count|percent%"))
    var sample: String?
    @Flag(help: "With --clouds: continues an interrupted check of all folders, or begins one.")
    var resume = false
    @Option(
        help: ArgumentHelp(
            "With --clouds: requests to providers per second, at most four at a time.", valueName: "requests"))
    var pace =
        10
    @Flag(help: "With --clouds: reads all objects, to find changes that the storage does not report.")
    var read = false
    @Flag(help: "Repairs what can be repaired without loss.") var repair = false
    @Option(help: ArgumentHelp("The number of rows to list for each finding.", valueName: "count")) var rows = 10

    func validate() throws {
        guard !clouds || !manifests else { throw ValidationError("--manifests excludes --clouds.") }
        guard clouds || (owner == nil && group == nil && sample == nil && !resume && !read) else {
            throw ValidationError("--owner, --group, --sample, --read and --resume require --clouds.")
        }
        guard group == nil || (owner == nil && sample == nil) else {
            throw ValidationError("--group excludes --owner and --sample.")
        }
        guard !resume || (owner == nil && group == nil && sample == nil) else {
            throw ValidationError("--resume excludes --owner, --group and --sample.")
        }
        guard sample.map({ SampleSize($0) != nil }) ?? true else {
            throw ValidationError("--sample must be from 1 to \(SampleSize.maximumFiles), or from 1% to 100%.")
        }
        guard (1...1_000).contains(pace) else { throw ValidationError("--pace must be from 1 to 1000.") }
        guard (1...1_000_000).contains(rows) else { throw ValidationError("--rows must be from 1 to 1000000.") }
    }

    func report() throws -> any Report {
        let installation = try Installation(options)
        let scope = clouds ? try scope(in: installation) : manifests ? .manifests(of: nil) : nil
        let fsck = Fsck(store: installation.store, sealer: try installation.sealer(), rowLimit: rows)
        var report = FsckReport(findings: try fsck.run())
        if repair, report.findings.contains(where: { $0.repair != nil }) {
            progress(report.lines)
            let repairs = try fsck.repair(report.findings, at: installation.now)
            report = FsckReport(findings: try fsck.run(), repairs: repairs)
        }
        if let scope { try checkClouds(scope, of: installation, into: &report) }
        return report
    }

    private func checkClouds(
        _ scope: CloudScope, of installation: Installation, into report: inout FsckReport
    ) throws {
        let pace = SteadyPace(callsPerSecond: pace, pause: { Pause.sleep($0) })
        var check = CloudCheck(
            store: installation.store, storage: try installation.storage(),
            transport: { [senders = installation.senders()] in senders.transport.decorated(by: pace) }, rowLimit: rows,
            repairs: repair,
            ownNames: Set([installation.configuration.warningFile?.name].compactMap(\.self)))
        check.reads = read
        let outcome = try check.run(scope, resumes: resume) { progress($0.text) }
        report.findings = (report.findings + outcome.findings).sorted { $1.severity < $0.severity }
        report.repairs += outcome.repairs
        report.objectsChecked = outcome.objects
        report.foldersChecked = outcome.folders
    }

    /// - Throws: ``CommandFailure`` for a user or a group that does not exist; the check would otherwise report no
    ///   problems.
    private func scope(in installation: Installation) throws -> CloudScope {
        let (now, quotas) = (installation.now, installation.configuration.quotas)
        if let group {
            let uuid = try Installation.group(group)
            guard try installation.store.snapshot({ try $0.groupDetails(uuid, at: now) }) != nil else {
                throw CommandFailure(.foundSomething, "there is no group \(group)")
            }
            return .group(uuid)
        }
        let owner = owner.map { UserID($0) }
        if let owner, try installation.store.snapshot({ try $0.userDetails(owner, quotas, at: now) }) == nil {
            throw CommandFailure(.foundSomething, "there is no user \(owner)")
        }
        if let size = sample.flatMap(SampleSize.init) { return .sample(size, owner: owner) }
        return owner.map { .folder(of: $0) } ?? .allFolders
    }
}
