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
        commandName: "syncdir", abstract: "Synchronizes a directory with a sharing group of a SyncServer.",
        discussion: """
            Exit status: 0 success; 1 something failed, or does not exist; 3 many files are missing, and were not \
            deleted for others; 64 the command line is wrong; 69 the server or the account's provider cannot be \
            reached; 75 another process is using the directory or account; 77 not signed in, or not permitted; 78 the \
            configuration is wrong.
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
    @Flag(help: "Print JSON: one object, or one per line while a command continues.")
    var json = false

    @Option(help: ArgumentHelp("The account's name, if there are several.", valueName: "name"))
    var account = "default"

    func validate() throws {
        guard !account.isEmpty, account.allSatisfy({ $0.isASCII && ($0.isLetter || $0.isNumber || "-_".contains($0)) })
        else { throw ValidationError("An account's name consists of letters, digits, - and _.") }
    }
}
