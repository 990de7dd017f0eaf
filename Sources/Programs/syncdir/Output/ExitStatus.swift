import Foundation
import SyncAccounts
import SyncClient
import SyncDirectory
import SyncErrorSentences

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
