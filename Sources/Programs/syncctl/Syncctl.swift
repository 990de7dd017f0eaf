import ArgumentParser
import Configuration
import Glibc
import Posix

/// The operator's tool.
@main
struct Syncctl: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "syncctl", abstract: "Sets up and looks after a SyncServer.",
        discussion: """
            Exit status: 0 all is well; 1 something is wrong, or does not exist; 64 the command line is wrong; \
            69 the database, a server or a provider cannot be reached; 77 not permitted; 78 the configuration or the schema is \
            not as it must be.
            """,
        version: ServerRelease.text,
        groupedSubcommands: [
            CommandGroup(
                name: "Setting up",
                subcommands: [Setup.self, CheckConfig.self, Migrate.self, GenerateKey.self, Import.self]),
            CommandGroup(
                name: "Looking",
                subcommands: [
                    StatusCommand.self, ReportCommand.self, Users.self, Groups.self, Files.self, Jobs.self,
                    Switches.self,
                ]),
            CommandGroup(name: "Checking", subcommands: [Doctor.self, FsckCommand.self, Try.self]),
            CommandGroup(
                name: "Keeping",
                subcommands: [
                    Maintenance.self, BackupCommand.self, CopyBackup.self, VerifyBackup.self, Restore.self,
                    RotateKeys.self,
                ]),
            CommandGroup(name: "People's rights", subcommands: [ExportUser.self, EraseUser.self]),
            CommandGroup(
                name: "For developers",
                subcommands: [OpenAPI.self, UnitSettingsCommand.self, RemovalStatementsCommand.self]),
        ])

    static func main() {
        // A reader that closes the pipe early, such as head(1), must not kill the process.
        Signals.ignoreBrokenPipes()
        do {
            var command = try parseAsRoot()
            try command.run()
            end(with: ExitCode.success.rawValue)
        } catch {
            guard let failure = CommandFailure(error) else { end(with: error) }
            Output.complain(text: "syncctl: \(failure.message)")
            end(with: failure.status.rawValue)
        }
    }

    /// Ends the process without the exit handlers of libraries: threads of checks that were given up, or that are just ending,
    /// may still use what those free, and the process would die before its result is written (exit(3), OPENSSL_cleanup(3)).
    private static func end(with status: Int32) -> Never {
        Output.flush()
        _exit(status)
    }

    /// Exits like ``ParsableArguments/exit(withError:)``, which does its own writing: help and versions are results,
    /// command-line errors are not.
    private static func end(with error: any Error) -> Never {
        let arguments = CommandLine.arguments.dropFirst()
        let misspelt = MisspeltCommand(in: arguments)
        var status = exitCode(for: error)
        var text = fullMessage(for: error)
        if status == .validationFailure, let misspelt {
            text = misspelt.added(to: text)
        } else if arguments.first == "help", let misspelt {
            // The parser would show the help of what is above it, as if that had been asked for.
            (status, text) = (.validationFailure, misspelt.messageInPlaceOfHelp)
        }
        if !text.isEmpty {
            if status.isSuccess { Output.write(text: text) } else { Output.complain(text: text) }
        }
        end(with: status.rawValue)
    }
}

/// The option that every command on a server takes.
struct ConfigurationFile: ParsableArguments {
    @Option(name: .customLong("config"), help: "The configuration file.", completion: .file(extensions: ["json"]))
    var path = "/etc/syncd/syncd.json"
}
