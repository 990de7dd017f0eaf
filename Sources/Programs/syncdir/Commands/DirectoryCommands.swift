import ArgumentParser
import Foundation
import SyncClient
import SyncDirectory

/// The options of commands that operate on a directory.
struct DirectoryOptions: ParsableArguments {
    @Argument(help: "The directory.", completion: .directory)
    var directory = "."

    @Option(
        help: ArgumentHelp("The group's name or UUID, or the beginning of its UUID; needed once.", valueName: "group"))
    var group: String?

    @Flag(
        help: ArgumentHelp(
            "Delete missing files for everybody, regardless of their number.",
            discussion: "By default, they are kept if they are at least 20, and more than a third of all files."))
    var allowDeletions = false

    @Flag(name: .shortAndLong, help: "Print only problems.")
    var quiet = false

    /// Opens the directory for one command, and displays its transfers.
    func withDirectory(
        _ options: CommonOptions, _ transfer: TransferOptions, _ body: (OpenDirectory) async throws -> Void
    ) async throws {
        let session = try Session(options)
        let directory = try await OpenDirectory(
            session, path: directory, group: group, maximumTransfers: transfer.transfers,
            allowsDeletions: allowDeletions
        )
        let display = Task {
            guard !quiet, !options.json, Output.isTerminal else { return }
            await TransferDisplay.run(directory)
        }
        do { try await body(directory) } catch {
            display.cancel()
            await directory.close()
            Output.draw("")
            throw error
        }
        display.cancel()
        await directory.close()
        Output.draw("")
    }
}

/// The options of commands that transfer files.
struct TransferOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp("The maximum number of files sent, or fetched, at the same time.", valueName: "number"))
    var transfers = 24

    func validate() throws {
        guard (1...32).contains(transfers) else { throw ValidationError("--transfers must be from 1 to 32.") }
    }
}

/// `syncdir sync`.
struct SyncCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sync", abstract: "Synchronizes a directory with its group once.")

    /// Maximum number of rounds; files that change constantly must not keep the command running forever.
    static let maximumRounds = 1_000

    @OptionGroup var options: CommonOptions
    @OptionGroup var place: DirectoryOptions
    @OptionGroup var transfer: TransferOptions

    func run() async throws {
        var report = RoundReport()
        try await place.withDirectory(options, transfer) { directory in
            for number in 0..<Self.maximumRounds {
                // Rounds that wait for a file to settle need no request.
                let round: DirectorySynchronizer.Round
                do { round = try await directory.synchronizer.perform(asksServer: number == 0) } catch {
                    // Changes completed before the failure are reported.
                    let unfinished = await directory.synchronizer.unfinishedRound
                    report.add(unfinished)
                    if !options.json, !place.quiet { report.tell(unfinished) }
                    if !options.json { for line in report.problemLines { Output.note(line) } }
                    throw error
                }
                report.add(round)
                if !options.json, !place.quiet { report.tell(round) }
                guard round.hasMore else { break }
                if round.shouldPause { try await Task.sleep(for: .milliseconds(150)) }
            }
        }
        Output.write(
            report, place.quiet ? report.problemLines.joined(separator: "\n") : report.summary, asJSON: options.json)
        if let status = report.status { throw ExitCode(status.rawValue) }
    }
}

/// `syncdir watch`.
struct Watch: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Keeps a directory synchronized with its group until interrupted.",
        discussion: "Prints each change; with --json, one object per line, whose member `event` is its type.")

    @OptionGroup var options: CommonOptions
    @OptionGroup var place: DirectoryOptions
    @OptionGroup var transfer: TransferOptions

    @Option(
        help: ArgumentHelp(
            "How often to poll the server for changes, unless it signals them.", valueName: "seconds"))
    var interval = 10.0

    func validate() throws {
        guard (0.1...86_400).contains(interval) else { throw ValidationError("--interval must be from 0.1 to 86400.") }
    }

    func run() async throws {
        try await place.withDirectory(options, transfer) { directory in
            try await WatchLoop(
                directory, interval: .seconds(interval), asJSON: options.json, isQuiet: place.quiet
            ).run()
        }
    }
}

/// `syncdir status`.
struct StatusCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Lists a directory's pending changes and past conflicts.",
        discussion: "Makes no requests, and works while syncdir watch is running.")

    @OptionGroup var options: CommonOptions

    @Argument(help: "The directory.", completion: .directory)
    var directory = "."

    func run() async throws {
        let status = try DirectoryStatus(directory)
        Output.write(status, status.text, asJSON: options.json)
    }
}

/// The output of `syncdir status`.
struct DirectoryStatus: Encodable {
    /// A change that the server does not have.
    struct Pending: Encodable {
        var path: String
        /// `contents`, `path` or `deletion`.
        var what: String
        /// Why the last attempt to send it failed.
        var problem: String?
        /// Whether it is sent only after a person takes action.
        var isBlocked: Bool
    }

    var directory: String
    var group: String
    /// The number of recorded files.
    var files: Int
    /// The changes to send: changes in the directory that are not recorded yet, recorded changes, and those queued in
    /// the library.
    var pending: [Pending]
    /// The number of pending changes that are sent only after a person takes action.
    var blocked: Int
    /// Why nothing can be sent at all; nil if there is no known obstacle.
    var obstacle: String?
    var conflicts: [DirectoryConflict]

    /// - Throws: ``Failure`` if the directory was never synchronized.
    init(_ path: String) throws {
        let state = URL(filePath: path, directoryHint: .isDirectory).appending(path: RelativePath.stateFolder)
        let file = state.appending(path: OpenDirectory.recordName)
        guard FileManager.default.fileExists(atPath: file.path) else {
            throw Failure(.failed, "the directory was never synchronized; use syncdir sync or syncdir watch")
        }
        let store = try RecordStore(path: file.path)
        let root = try DirectoryRoot(path: path)
        let record = try DirectoryRecord(store, ignoresCase: root.ignoresCase)
        directory = URL(filePath: path).standardizedFileURL.path
        group = try store.setting(OpenDirectory.groupSetting) ?? ""
        files = record.count
        obstacle = try record.obstacle
        pending = try Self.pending(root, record, obstacle)
        blocked = pending.count(where: \.isBlocked)
        conflicts = try record.conflicts()
    }

    private struct Found {
        var what: RecordedFile.Pending = []
        var problem: String?
        var isBlocked = false
    }

    private static func pending(
        _ root: DirectoryRoot, _ record: DirectoryRecord, _ obstacle: String?
    ) throws -> [Pending] {
        var found: [String: Found] = [:]
        for row in record.handedOver.values {
            found[record[row.fileUUID]?.path.text ?? row.path.text] = Found(
                what: row.what, problem: row.problem, isBlocked: row.isBlocked)
        }
        for file in record.files(where: { !$0.pending.isEmpty }) {
            found[file.path.text, default: Found()].what.formUnion(file.pending)
        }
        let keeper = DirectoryKeeper(
            root: root, record: record,
            options: DirectoryKeeper.Options(person: "", mimeType: { _ in preconditionFailure("nothing is noted") }))
        let changes = try keeper.unnotedChanges()
        var brake = DeletionBrake()
        let isHeld = brake.holds(changes.count { $0.what == .deletion }, of: record.presentCount, at: Date())
        for change in changes {
            found[change.path.text, default: Found()].what.formUnion(change.what)
            if change.what == .deletion, isHeld {
                found[change.path.text]?.problem = "held back, since many files are missing"
                found[change.path.text]?.isBlocked = true
            }
        }
        return found.sorted { $0.key < $1.key }.compactMap { path, entry in
            guard let relative = RelativePath(path) else { return nil }
            let change = DirectorySynchronizer.Change(path: relative, entry.what)
            return Pending(
                path: change.path, what: change.what, problem: entry.problem ?? obstacle,
                isBlocked: entry.isBlocked || obstacle != nil)
        }
    }

    /// For people.
    var text: String {
        var lines = ["\(directory): group \(group), \(files) files, \(pending.count) changes to send"]
        if blocked > 0 { lines[0] += ", \(blocked) of them blocked" }
        if let obstacle { lines.append("nothing is sent: \(obstacle)") }
        lines += pending.map { change in
            "  \(change.what)  \(Output.printable(change.path))"
                + (change.problem.flatMap { $0 == obstacle ? nil : " (\($0))" } ?? "")
        }
        if !conflicts.isEmpty { lines.append("conflicts:") }
        lines += conflicts.map { "  " + RoundReport.sentence($0) }
        return lines.joined(separator: "\n")
    }
}
