import ArgumentParser
import Foundation
import SyncClient
import SyncDirectory

/// The options of commands on a directory.
struct DirectoryOptions: ParsableArguments {
    @Argument(help: "The directory.", completion: .directory)
    var directory = "."

    @Option(
        help: ArgumentHelp("The group's name or UUID, or the beginning of the UUID; needed once.", valueName: "group"))
    var group: String?

    @Flag(
        help: ArgumentHelp(
            "Delete missing files for everybody, however many they are.",
            discussion: "Else more than a third of the files, if they are at least 20, are not deleted."))
    var allowDeletions = false

    @Flag(name: .shortAndLong, help: "Tell only what is wrong.")
    var quiet = false

    /// Opens the directory for one command, with a display of its transfers.
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
    @Option(help: ArgumentHelp("How many files are sent, or fetched, at the same time.", valueName: "number"))
    var transfers = 4

    func validate() throws {
        guard (1...32).contains(transfers) else { throw ValidationError("--transfers is 1 to 32.") }
    }
}

/// `syncdir sync`.
struct SyncCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sync", abstract: "Makes a directory and its group equal, once.")

    /// Maximum number of rounds; files that change constantly must not keep the command running for ever.
    static let maximumRounds = 1_000

    @OptionGroup var options: CommonOptions
    @OptionGroup var place: DirectoryOptions
    @OptionGroup var transfer: TransferOptions

    func run() async throws {
        var report = RoundReport()
        try await place.withDirectory(options, transfer) { directory in
            for number in 0..<Self.maximumRounds {
                // Waiting for a file to settle asks the server nothing.
                let round: DirectorySynchronizer.Round
                do { round = try await directory.synchronizer.perform(asksServer: number == 0) } catch {
                    // What was done before it failed was done.
                    let unfinished = await directory.synchronizer.unfinishedRound
                    report.add(unfinished)
                    if !options.json, !place.quiet { report.tell(unfinished) }
                    if !options.json { for line in report.problemLines { Output.note(line) } }
                    throw error
                }
                report.add(round)
                if !options.json, !place.quiet { report.tell(round) }
                guard round.hasMore else { break }
                // Gives files that were just written time to settle.
                try await Task.sleep(for: .milliseconds(150))
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
        abstract: "Keeps a directory and its group equal until it is interrupted.",
        discussion: "Prints what it does; with --json an object a line, whose member `event` says what it tells.")

    @OptionGroup var options: CommonOptions
    @OptionGroup var place: DirectoryOptions
    @OptionGroup var transfer: TransferOptions

    @Option(help: ArgumentHelp("How often the server is asked for changes.", valueName: "seconds"))
    var interval = 10.0

    func validate() throws {
        guard (0.1...86_400).contains(interval) else { throw ValidationError("--interval is 0.1 to 86400.") }
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
        abstract: "Tells what of a directory is still to be sent, and which conflicts there were.",
        discussion: "Asks no server, and works beside syncdir watch.")

    @OptionGroup var options: CommonOptions

    @Argument(help: "The directory.", completion: .directory)
    var directory = "."

    func run() async throws {
        let status = try DirectoryStatus(directory)
        Output.write(status, status.text, asJSON: options.json)
    }
}
