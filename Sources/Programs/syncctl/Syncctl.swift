import ArgumentParser
import Configuration
import FoundationEssentials
import Glibc
import Operations
import Posix
import Store

/// The operator's tool.
@main
struct Syncctl: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "syncctl", abstract: "Sets up and manages a SyncServer.",
        discussion: """
            Commands consist of a noun and a verb, such as users list or backup make; setup, migrate, import, status, \
            report, doctor, fsck and try work on the server as a whole.

            Exit status: 0 success; 1 a problem was found, or something does not exist; 64 the command line is wrong; \
            69 the database, a server or a provider cannot be reached; 77 not permitted; 78 the configuration or the \
            schema is not valid.
            """,
        version: ServerRelease.text,
        groupedSubcommands: [
            CommandGroup(
                name: "Setting up",
                subcommands: [
                    Setup.self, Apps.self, AuthorityCommand.self, Config.self, Keys.self, Migrate.self, Import.self,
                ]),
            CommandGroup(
                name: "Looking",
                subcommands: [
                    StatusCommand.self, ReportCommand.self, Users.self, Groups.self, Files.self, Jobs.self,
                    Switches.self,
                ]),
            CommandGroup(name: "Checking", subcommands: [Doctor.self, FsckCommand.self, Try.self]),
            CommandGroup(
                name: "Keeping",
                subcommands: [Maintenance.self, Backups.self, Rebuild.self]),
            CommandGroup(
                name: "For developers",
                subcommands: [
                    OpenAPI.self, UnitSettingsCommand.self, RemovalStatementsCommand.self, RefreshSiteCommand.self,
                ]),
        ])

    @OptionGroup var app: AppChoice

    static func main() {
        // A reader that closes the pipe early, such as head(1), must not kill the process.
        Signals.ignoreBrokenPipes()
        OpenFiles.raiseLimit()
        var arguments = Array(CommandLine.arguments.dropFirst())
        do {
            try AppChoice.take(from: &arguments)
            if let former = FormerCommand(in: arguments) {
                // A program that reads JSON expects nothing else there.
                if !wantsJSON { Output.complain([former.notice]) }
                arguments = former.arguments
            }
            var command = try parseAsRoot(arguments)
            try AppChoice.requireApp(for: command)
            try command.run()
            end(with: ExitCode.success.rawValue)
        } catch {
            guard let failure = CommandFailure(error) else { end(with: error, arguments) }
            if wantsJSON {
                Output.complain(FailureReport(failure))
            } else {
                Output.complain(text: "syncctl: \(failure.message)")
            }
            end(with: failure.status.rawValue)
        }
    }

    /// Whether results and errors are for programs, even if the command line is wrong.
    private static var wantsJSON: Bool { CommandLine.arguments.contains("--json") }

    /// Ends the process without the exit handlers of libraries: threads of abandoned or just ending checks may still
    /// use what these handlers free, and the process could crash before its result is written (exit(3),
    /// OPENSSL_cleanup(3)).
    private static func end(with status: Int32) -> Never {
        Output.flush()
        _exit(status)
    }

    /// Exits like ``ParsableArguments/exit(withError:)``, which would write by itself: help and versions are results,
    /// command-line errors are not.
    private static func end(with error: any Error, _ arguments: [String]) -> Never {
        let misspelt = MisspeltCommand(in: arguments)
        var status = exitCode(for: error)
        var text = fullMessage(for: error)
        if status == .validationFailure, let misspelt {
            text = misspelt.added(to: text)
        } else if arguments.first == "help", let misspelt {
            // The parser would show the parent's help, as if that had been requested.
            (status, text) = (.validationFailure, misspelt.messageInPlaceOfHelp)
        }
        if !text.isEmpty {
            if status.isSuccess {
                Output.write(text: text + CommandExamples.text(for: arguments))
            } else if wantsJSON {
                Output.complain(FailureReport(status.rawValue, text))
            } else {
                Output.complain(text: text)
            }
        }
        end(with: status.rawValue)
    }
}

/// The app that a command works on, on a host with several apps; before or after the command's name.
struct AppChoice: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The app, on a host with several (syncctl apps); by default the one that \(HostedApp.variable) names, or "
                + "the package's app.",
            valueName: "name"))
    var app: String?

    /// Removes the option from a command line, at any position: the parser accepts it at only one place.
    static func take(from arguments: inout [String]) throws {
        let end = arguments.firstIndex(of: "--") ?? arguments.endIndex
        var name = ProcessInfo.processInfo.environment[HostedApp.variable] ?? ""
        if let place = arguments[..<end].firstIndex(where: { $0 == "--app" || $0.hasPrefix("--app=") }) {
            let hasValue = arguments[place] == "--app"
            guard !hasValue || place + 1 < end else { throw ValidationError("Missing value for '--app <name>'") }
            name = hasValue ? arguments[place + 1] : String(arguments[place].dropFirst("--app=".count))
            arguments.removeSubrange(place...(hasValue ? place + 1 : place))
            guard !name.isEmpty else { throw ValidationError("--app: \(HostedApp.objection(to: name) ?? "")") }
        }
        guard !name.isEmpty else { return }
        guard let app = HostedApp(name) else {
            throw ValidationError("--app: \(HostedApp.objection(to: name) ?? name)")
        }
        HostedApp.choose(app)
    }

    /// - Throws: ``CommandFailure`` if the command needs an app that this host does not have.
    static func requireApp(for command: any ParsableCommand) throws {
        let app = HostedApp.current
        let makesApps = command is Setup || command is Apps.List || command is Apps.Create || command is Apps.Remove
        guard app.name != nil, !makesApps, !AppFiles.added().contains(app) else { return }
        // Help, and commands that read another configuration or another host's files, need none of the app's files.
        let elsewhere = CommandLine.arguments.dropFirst().contains { argument in
            ["help", "--help", "-h"].contains(argument) || ["--config", "--root"].contains { argument.hasPrefix($0) }
        }
        guard !elsewhere else { return }
        let others = AppFiles.added().map(\.label)
        let list = others.isEmpty ? "" : "; there are: \(([HostedApp.packageName] + others).joined(separator: ", "))"
        throw CommandFailure(
            .foundSomething,
            "this host has no app \(app.label)\(list); syncctl apps create \(app.label) adds it")
    }
}

/// The option of every command that works on a server.
struct ConfigurationFile: ParsableArguments {
    @Option(
        name: .customLong("config"), help: ArgumentHelp("The configuration file.", valueName: "file"),
        completion: .file(extensions: ["json"]))
    var path = SetupPaths.configuration
}

/// The options of every command that works on a server.
struct CommonOptions: ParsableArguments {
    @OptionGroup var file: ConfigurationFile
    @Flag(name: .customLong("json"), help: "Prints a JSON object for programs; the handbook lists its fields.")
    var isJSON = false
}

/// Which part of a list to return.
struct PageOptions: ParsableArguments {
    static let maximumLimit = 10_000

    @Option(help: ArgumentHelp("The maximum number to list.", valueName: "count")) var limit = 50

    func validate() throws {
        guard (1...Self.maximumLimit).contains(limit) else {
            throw ValidationError("--limit must be from 1 to \(Self.maximumLimit).")
        }
    }
}

/// A command whose result is a report, for people or as JSON.
protocol ReportingCommand: ParsableCommand {
    var options: CommonOptions { get }
    func report() throws -> any Report
}

extension ReportingCommand {
    func run() throws { try tell(report()) }

    /// Writes the report.
    /// - Throws: `ExitCode` if the report contains a problem.
    func tell(_ report: any Report) throws {
        try Output.write(report, asJSON: options.isJSON)
        if !report.isGood { throw ExitCode(ExitStatus.foundSomething.rawValue) }
    }

    /// Reports progress, unless the output is JSON.
    func progress(_ lines: String...) { progress(lines) }

    /// Reports progress, unless the output is JSON.
    func progress(_ lines: [String]) {
        if !options.isJSON { Output.complain(lines) }
    }
}
