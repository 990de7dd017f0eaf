import ArgumentParser
import Foundation
import SyncClient
import SyncDirectory

/// The options of commands on a directory.
struct DirectoryOptions: ParsableArguments {
    @Argument(help: "The directory.", completion: .directory)
    var directory = "."

    @Option(help: ArgumentHelp("The group's name or UUID; needed once.", valueName: "group"))
    var group: String?
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
        let directory = try await OpenDirectory(
            try Session(options), path: place.directory, group: place.group, maximumTransfers: transfer.transfers)
        let display = Task { await TransferDisplay.run(directory) }
        defer { display.cancel() }
        var report = RoundReport()
        do {
            for _ in 0..<Self.maximumRounds {
                let round = try await directory.synchronizer.perform()
                report.add(round)
                if !options.json { report.tell(round) }
                guard round.hasMore else { break }
                // Gives files that were just written time to settle.
                try await Task.sleep(for: .milliseconds(150))
            }
        } catch {
            await directory.close()
            throw error
        }
        let refused = await directory.synchronizer.refused
        report.problems = refused + report.problems.filter { !refused.contains($0) }
        await directory.close()
        Output.write(report, report.summary, asJSON: options.json)
        if !report.problems.isEmpty { throw ExitCode(ExitStatus.failed.rawValue) }
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
        let directory = try await OpenDirectory(
            try Session(options), path: place.directory, group: place.group, maximumTransfers: transfer.transfers)
        let display = Task { await TransferDisplay.run(directory) }
        defer { display.cancel() }
        let loop = WatchLoop(directory, interval: .seconds(interval), asJSON: options.json)
        do { try await loop.run() } catch {
            await directory.close()
            throw error
        }
        await directory.close()
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
