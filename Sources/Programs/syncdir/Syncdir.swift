import ArgumentParser
import Foundation

#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// Keeps a directory in sync with a sharing group.
@main
struct Syncdir: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "syncdir", abstract: "Keeps a directory and a sharing group of a SyncServer equal.",
        discussion: """
            Exit status: 0 all is done; 1 something went wrong, or does not exist; 3 many files are missing, and were not \
            deleted for the others; 64 the command line is wrong; 69 the \
            server or the account's provider cannot be reached; 75 another process is at it; 77 not signed in, or not \
            permitted; 78 the configuration is wrong.
            """,
        version: "1.0.0",
        groupedSubcommands: [
            CommandGroup(name: "Accounts", subcommands: [SignIn.self, SignOut.self, SwitchAccount.self]),
            CommandGroup(
                name: "Groups", subcommands: [CreateGroup.self, Invite.self, Join.self, Groups.self]),
            CommandGroup(name: "Directories", subcommands: [SyncCommand.self, Watch.self, StatusCommand.self]),
        ])

    static func main() async {
        _ = signal(SIGPIPE, SIG_IGN)
        do {
            var command = try parseAsRoot()
            if var command = command as? any AsyncParsableCommand {
                try await command.run()
            } else {
                try command.run()
            }
        } catch {
            guard let failure = Failure(error) else { exit(withError: error) }
            Output.complain(failure, asJSON: CommandLine.arguments.contains("--json"))
            _Exit(failure.status.rawValue)
        }
    }
}

/// The options common to all commands.
struct CommonOptions: ParsableArguments {
    @Flag(help: "Print JSON: one object, or one a line where a command goes on.")
    var json = false

    @Option(help: ArgumentHelp("Which of several accounts.", valueName: "name"))
    var account = "default"

    func validate() throws {
        guard !account.isEmpty, account.allSatisfy({ $0.isASCII && ($0.isLetter || $0.isNumber || "-_".contains($0)) })
        else { throw ValidationError("An account's name has letters, digits, - and _.") }
    }
}
