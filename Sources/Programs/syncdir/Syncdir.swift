import ArgumentParser
import Foundation
import SyncAccounts
import SyncClient
import SyncDirectory
import SyncErrorSentences

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
            CommandGroup(name: "Without a server", subcommands: [ReadManifest.self]),
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

/// The exit statuses, with the values of sysexits.h where it defines one: an interface, documented in docs/syncdir.md.
enum ExitStatus: Int32, Codable {
    /// Something went wrong, or does not exist.
    case failed = 1
    /// Too many files are missing for a command to delete them for everybody by default.
    case deletionsHeld = 3
    /// The command line is wrong.
    case commandLine = 64
    /// The server, or the account's provider, cannot be reached.
    case unavailable = 69
    /// Another process is using the directory or the account.
    case busy = 75
    /// Nobody is signed in, or something is not allowed.
    case noPermission = 77
    /// The configuration is wrong.
    case configuration = 78
}

/// A failure that a person can read.
struct Failure: Error {
    var status: ExitStatus
    var message: String

    init(_ status: ExitStatus, _ message: String) {
        self.status = status
        self.message = message
    }

    /// The failure to report for an error; nil for errors of the command line itself.
    init?(_ error: any Error) {
        switch error {
        case let error as Failure: self = error
        case let error as SyncError: self.init(error)
        case let error as SignInError: self.init(error)
        case let error as DiskError: self.init(.failed, error.description)
        case let error as RecordError:
            self.init(
                .failed,
                "syncdir's record of the directory cannot be read or written; is the disk full? (\(error.description))"
            )
        case DirectoryError.directoryMoved:
            self.init(.failed, "the directory is no longer at its path; perhaps its file system was unmounted")
        case is CancellationError: self.init(.failed, "interrupted")
        case let error as CocoaError: self.init(.failed, error.localizedDescription)
        default: return nil
        }
    }

    /// Sentences for errors, with the commands that help.
    static let sentences = ErrorSentences(
        ErrorSentences.Remedies(
            signIn: "syncdir sign-in", createGroup: "syncdir create-group NAME", join: "syncdir join CODE",
            listGroups: "syncdir groups", undoSwitch: "syncdir switch-account --undo"))

    /// Statuses of a server, or of a proxy or provider, that will recover.
    private static let overloaded = [429, 502, 503, 504]

    private init(_ error: SyncError) {
        let status: ExitStatus =
            switch error.code {
            case .signInRequired, .noUser, .signedOutRemotely, .accountInUse, .owningAccountRequired,
                .deviceGrantInvalid, .deviceGrantTooYoung, .freshSignInRequired, .undoExpired,
                .switchInProgress, .oldAccountProofRequired, .storageUnauthorized, .differentUser, .permissionDenied,
                .notAMember, .socialAcceptanceNotAllowed:
                .noPermission
            case .storeInUse: .busy
            case .networkError, .serverDown, .storageUnavailable: .unavailable
            case .requestRefused where Self.overloaded.contains(error.status ?? 0) && error.recovery == .retryLater:
                .unavailable
            default: .failed
            }
        self.init(status, Self.sentences.sentence(for: error))
    }

    private init(_ error: SignInError) {
        let status: ExitStatus =
            switch error.code {
            case .denied, .signInRequired: .noPermission
            case .providerUnavailable: .unavailable
            case .misconfigured, .storageInsecure: .configuration
            default: .failed
            }
        self.init(status, Self.sentences.sentence(for: error))
    }

    /// Whether a later retry may succeed.
    static func isTemporary(_ error: any Error) -> Bool {
        switch error {
        case let error as SyncError: error.recovery == .retryLater
        case let error as SignInError: error.code == .providerUnavailable
        default: false
        }
    }
}
