import Foundation
import SyncAccounts
import SyncClient
import SyncDirectory

/// The exit statuses, those of sysexits.h where it has one: an interface, documented in docs/syncdir.md.
enum ExitStatus: Int32, Codable {
    /// Something went wrong, or does not exist.
    case failed = 1
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
        case let error as RecordError: self.init(.failed, error.description)
        case DirectoryError.directoryMoved:
            self.init(.failed, "the directory is no longer where it was; perhaps its file system was unmounted")
        case is CancellationError: self.init(.failed, "interrupted")
        case let error as CocoaError: self.init(.failed, error.localizedDescription)
        default: return nil
        }
    }

    private init(_ error: SyncError) {
        let detail = error.serverCode.map { " (\($0))" } ?? ""
        switch error.code {
        case .signInRequired:
            self.init(.noPermission, "the server does not accept the account any more; use syncdir sign-in")
        case .signedOutRemotely:
            let type = error.activeAccountType.map { ", of the type \($0.rawValue)" } ?? ""
            self.init(
                .noPermission, "you have switched to another account\(type); sign in with it: syncdir sign-in")
        case .serverRestored:
            self.init(
                .failed, "the server was restored from a backup, and knows less than this directory; ask its operator")
        case .accountInUse: self.init(.noPermission, "that account is, or was, another person's on this server")
        case .owningAccountRequired:
            self.init(.noPermission, "an account without storage cannot take the place of one with files")
        case .deviceGrantInvalid:
            self.init(
                .noPermission,
                "this directory cannot prove that it is yours: use one that was synchronized with the former account")
        case .switchInProgress:
            self.init(.noPermission, "a switch to another account is proposed; cancel it there, or wait for a day")
        case .oldAccountProofRequired:
            self.init(.noPermission, "this server wants to see the former account, which syncdir cannot show")
        case .noAccountSwitch: self.init(.failed, "there is no such switch of accounts, or it has expired")
        case .switchConfirmed: self.init(.failed, "the switch of accounts is confirmed already")
        case .storageFull: self.init(.failed, "your storage is full")
        case .storageUnauthorized:
            self.init(.noPermission, "your storage does not admit the server any more; use syncdir sign-in")
        case .differentUser:
            self.init(.noPermission, "the directory belongs to another user than the one who is signed in")
        case .permissionDenied: self.init(.noPermission, "you are not permitted to do that in this group")
        case .notAMember: self.init(.noPermission, "you are not a member of this group, or not any more")
        case .socialAcceptanceNotAllowed:
            self.init(.noPermission, "this invitation is for accounts with storage of their own")
        case .unknownSharingGroup: self.init(.failed, "there is no such group; syncdir groups shows yours")
        case .noInvitationFound:
            self.init(.failed, "there is no such invitation: it was used, or it is older than a day")
        case .storeInUse: self.init(.busy, "another syncdir works with this directory or account")
        case .requestRefused where error.status == 429:
            self.init(.unavailable, "the server has too many requests, of yours or in all; try again later\(detail)")
        case .networkError: self.init(.unavailable, "the server cannot be reached")
        case .serverDown: self.init(.unavailable, "the server is closed" + (error.message.map { ": \($0)" } ?? ""))
        case .badServerVersion: self.init(.failed, "the server is too old for this syncdir")
        case .storeError: self.init(.failed, "the library's store cannot be read or written")
        default: self.init(.failed, "\(error.code.rawValue)\(detail)")
        }
    }

    private init(_ error: SignInError) {
        switch error.code {
        case .denied: self.init(.noPermission, "the sign-in was refused in the browser")
        case .timedOut: self.init(.failed, "nobody came back from the browser")
        case .providerUnavailable: self.init(.unavailable, "the account's provider cannot be reached")
        case .signInRequired: self.init(.noPermission, "the account must be signed in anew: \(error.detail)")
        case .misconfigured: self.init(.configuration, "the provider refuses the program: \(error.detail)")
        case .storageInsecure:
            self.init(.configuration, "the file with the credentials is open to others: \(error.detail)")
        default: self.init(.failed, "the sign-in failed: \(error)")
        }
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
