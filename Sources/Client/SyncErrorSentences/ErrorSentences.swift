public import Foundation
public import SyncAccounts
public import SyncClient

/// English sentences that explain errors to people: the problem, and what they can do about it.
///
/// A sentence begins with a small letter and has no full stop, so that a program can append it to a name. The stable
/// code follows in parentheses, for people who search for help. No sentence contains names of people, contents or
/// addresses.
public struct ErrorSentences: Sendable {
    /// The program's remedies for errors, such as the command `album sign-in`, or the name of a button.
    public struct Remedies: Sendable {
        /// Signs in.
        public var signIn: String
        /// Creates a group.
        public var createGroup: String
        /// Joins a group.
        public var join: String
        /// Shows the person's groups.
        public var listGroups: String
        /// Undoes a switch of accounts.
        public var undoSwitch: String

        public init(
            signIn: String, createGroup: String, join: String, listGroups: String,
            undoSwitch: String = "undo the switch"
        ) {
            self.signIn = signIn
            self.createGroup = createGroup
            self.join = join
            self.listGroups = listGroups
            self.undoSwitch = undoSwitch
        }

        /// Remedies in the words of any app with windows.
        public static let app = Remedies(
            signIn: "see the app's settings", createGroup: "in the app", join: "open its link",
            listGroups: "the app's list of groups")
    }

    let remedies: Remedies

    public init(_ remedies: Remedies) {
        self.remedies = remedies
    }

    /// The sentence for an error of the client library.
    public func sentence(for error: SyncError) -> String {
        if error.code == .requestRefused { return refusal(error) }
        let text = known(error) ?? "unknown to this program; a newer version may explain it"
        let detail = error.serverCode.map { "\(error.code.rawValue), \($0)" } ?? error.code.rawValue
        return "\(text)\(Self.earliest(error)) (\(detail))"
    }

    /// The server's earliest time for the next attempt, as the end of a sentence; empty if the server gives none.
    static func earliest(_ error: SyncError) -> String {
        guard error.recovery == .retryLater, let pause = error.retryAfter, pause > .zero else { return "" }
        let seconds = Int((pause / .seconds(1)).rounded(.up))
        let text =
            switch seconds {
            case 1: "1 second"
            case ...119: "\(seconds) seconds"
            case ...7_199: "\((seconds + 59) / 60) minutes"
            default: "\((seconds + 3_599) / 3_600) hours"
            }
        return ", in \(text) at the earliest"
    }

    /// The maximum length of a server's message that is quoted, in Unicode scalars.
    private static let longestMessage = 200

    /// The server's own message, as the middle of a sentence. Its author may be any proxy in front of the server, so
    /// the result contains only one line of printable text.
    private static func quoted(_ message: String?) -> String {
        let line = String(
            String.UnicodeScalarView(
                (message ?? "").unicodeScalars.map { $0.properties.isWhitespace ? " " : $0 }
                    .filter { ![.control, .format, .privateUse, .surrogate].contains($0.properties.generalCategory) }
                    .prefix(longestMessage)))
        let text = line.split(separator: " ").joined(separator: " ")
        return text.isEmpty ? "" : " and says \u{201C}\(text)\u{201D}"
    }

    /// The sentence for an error that concerns one file, which the program names.
    public func sentence(forFile error: SyncError) -> String {
        switch error.code {
        case .couldNotFindFileUUID: "its contents could not be sent; change it to have it sent again"
        case .fileManagerError:
            "it cannot be read, or was changed while it was being sent; it will be sent again when it is readable"
        default: sentence(for: error)
        }
    }

    /// The sentence for a person who is signed in, but has no user at the server yet.
    public var notYetUser: String {
        "you are signed in, but the server does not know you yet; create a group (\(remedies.createGroup)), or join "
            + "one with an invitation (\(remedies.join))"
    }

    /// The sentence for an error of a sign-in.
    public func sentence(for error: SignInError) -> String {
        let detail = error.detail.isEmpty ? error.code.rawValue : "\(error.code.rawValue): \(error.detail)"
        let text = known(error.code) ?? "the sign-in failed; try again: \(remedies.signIn)"
        return "\(text) (\(detail))"
    }

    /// Nil for a code that is newer than this table.
    func known(_ error: SyncError) -> String? {
        switch error.code {
        // Mistakes in the program, as far as a person can judge.
        case .noMimeType: "the file has no type; \(Self.report)"
        case .mimeTypeOfFileChanged:
            "a file keeps the type of its first upload; give the new contents a new name"
        case .fileAlreadyDeleted: "the file is deleted; add it again under a new name"
        case .fileGroupUUIDChanged: "a file cannot move to other files of a group; \(Self.report)"
        case .fileQueuedForDeletion: "the file is about to be deleted; add it again afterwards"
        case .deletingUnknownFile, .getAttributesForUnknownFile, .couldNotFindFileUUID:
            "no such file exists here; synchronize, then check again"
        case .badAppMetaData: "the file's description is missing; \(Self.report)"
        case .sharingGroupUUIDInconsistent: "a file cannot move to another group; add it there under a new name"
        case .unknownSharingGroup: "no such group exists; \(remedies.listGroups) shows yours"
        case .sharingGroupExists: "this group already exists; \(remedies.listGroups) shows yours"
        case .openQueueNotEmpty: "changes to this group are waiting to be sent; synchronize it first"
        case .contentsNotEvictable: "the file must stay on this device for now; synchronize, then try again"
        case .syncIsOperating: "this is not possible while files are being synchronized; try again afterwards"
        case .appMetaDataUploadUndeletionAttempt: "the file is deleted; only uploading its contents can restore it"
        case .closed: "the program is ending; start it again"
        case .suspended: "the program is in the background; bring it to the front, then try again"
        case .storeInUse: "another process is using this directory or account; end that process, or wait for it"
        case .notSupported: "the server is too old for this; ask its operator to update it"
        // The world.
        case .networkError:
            "the server cannot be reached; check the network and the server's address; pending changes will be sent "
                + "later"
        case .serverDown:
            "the server is closed at the moment\(Self.quoted(error.message)); pending changes will be sent later"
        case .badServerVersion: "the server is too old for this program; ask its operator to update it"
        case .tooManyRestarts: "others keep changing the group; try again in a moment"
        case .stagedChangesCannotBeWithdrawn:
            "the server still holds a change that was withdrawn here, and will drop it after a while; try again later"
        case .inconsistentServer:
            "the server's answers contradict each other; try again, and ask its operator if this persists"
        case .uuidCollision: "the server has another group with this identifier; try again"
        // The caller.
        case .notAMember: "you are not, or no longer, a member of this group; ask for an invitation"
        case .permissionDenied: "you are not permitted to do that in this group; ask an admin of the group"
        case .fileIsGone: Self.gone(error.goneReason)
        case .noUser: notYetUser
        case .signInRequired: "the server no longer accepts the account; sign in again: \(remedies.signIn)"
        case .signedOutRemotely:
            "you have switched to another account"
                + (error.activeAccountType.map { ", of the type \($0.rawValue)" } ?? "")
                + "; sign in with it: \(remedies.signIn)"
                + (error.undoUntil.map {
                    "; if that was not you, sign in with this account once more, and undo the switch before \($0) UTC: "
                        + remedies.undoSwitch
                } ?? "")
        case .serverRestored:
            "the server was restored from a backup and has lost this file, and its contents are not here either; add "
                + "it again, or synchronize a device that has it"
        case .accountInUse:
            "that account belongs, or once belonged, to another person on this server; sign in with your own"
        case .owningAccountRequired:
            "an account without storage cannot replace one with files; sign in with another account"
        case .deviceGrantInvalid:
            "this device cannot prove that it is yours; use one that was synchronized with the former account"
        case .deviceGrantTooYoung:
            "this device is too new here to switch accounts; use one that was synchronized before, sign in with the "
                + "former account once more and use it as proof, or sign in with it again"
                + (error.usableFrom.map { " after \($0) UTC" } ?? " in a week")
        case .freshSignInRequired:
            "the server requires a fresh sign-in for this; sign in with the account once more, then try again: "
                + remedies.signIn
        case .undoExpired: "the account was switched too long ago; ask the server's operator"
        case .switchInProgress: "a switch to another account is pending; cancel it there, or wait for a day"
        case .oldAccountProofRequired: "this server requires proof of the former account; sign in with it as well"
        case .noAccountSwitch: "no such switch of accounts, or it has expired; begin it again"
        case .switchConfirmed: "the switch of accounts is already confirmed; it can no longer be cancelled"
        case .differentUser: "this belongs to another person; sign in with that person's account: \(remedies.signIn)"
        case .socialAcceptanceNotAllowed:
            "this invitation is for accounts that include storage; sign in with such an account"
        case .noInvitationFound:
            "no such invitation: it was used, or it is older than a day; ask for a new one"
        // Remote and local storage.
        case .storageFull where error.recovery == .askOwner:
            "the storage of the member who hosts it is full; ask that member to make room; it will be sent then"
        case .storageFull:
            "your storage is full; delete something there or get more space; it will be sent then"
        case .storageUnauthorized where error.recovery == .askOwner:
            "the server has lost access to the storage of the member who hosts it; ask that member to sign in again; "
                + "it will be sent then"
        case .storageUnauthorized:
            "the server has lost access to your storage; to have it sent, sign in again: \(remedies.signIn)"
        case .storageOwnerMissing:
            "the member whose storage held your files has left the group; ask an admin for a new invitation"
        case .storageUnavailable where error.storage == .own:
            "your storage is not answering at the moment; it will be sent later"
        case .storageUnavailable:
            "the storage of the member who hosts it is not answering at the moment; it will be sent later"
        case .commitUnderWay:
            "the server is committing it at the moment; synchronize, and try again"
        case .storeError: "the program's own data cannot be read or written; is the disk full?"
        case .fileManagerError: "a file cannot be read or written; does it still exist, and is the disk full?"
        case .deliveryRefused: "changes by others could not be stored here; is the disk full?"
        default: nil
        }
    }

    /// Nil for a code that is newer than this table.
    func known(_ code: SignInError.Code) -> String? {
        switch code {
        case .denied: "the provider refused the sign-in; if that was a mistake, try again: \(remedies.signIn)"
        case .timedOut: "the sign-in in the browser was not completed in time; try again: \(remedies.signIn)"
        case .cancelled: "the sign-in was interrupted; try again: \(remedies.signIn)"
        case .portUnavailable:
            "the port for the browser's answer is in use; end the program that uses it, and try again"
        case .browserUnavailable: "no browser could be opened; open the printed page yourself"
        case .providerUnavailable: "the account's provider cannot be reached; try again later"
        case .signInRequired: "you must sign in to the account again: \(remedies.signIn)"
        case .misconfigured: "the provider refuses this program; its registration must be corrected"
        case .storageFailed: "the credentials cannot be read or written; check their file and the disk"
        case .storageLocked: "the credentials cannot be read until the device is unlocked; unlock it, then try again"
        case .storageInsecure: "others can access the file with the credentials; remove their permissions"
        case .failed: "the sign-in failed; try again: \(remedies.signIn)"
        default: nil
        }
    }

    private static func gone(_ reason: GoneReason?) -> String {
        switch reason {
        case .fileRemovedOrRenamed:
            "the file's contents were removed from its owner's storage; anyone with a copy can add it again"
        case .userRemoved: "the file's owner has left; anyone with a copy can add it again"
        case .authTokenExpiredOrRevoked, nil:
            "the owner's storage does not give the server access to the file; the owner must sign in again"
        }
    }

    static let report = "this is a bug in the program; please report it"
}

// The errors' `localizedDescription`, with the remedies of ``ErrorSentences/Remedies/app``: to use it, an app adds this
// module to its target. In a sentence of its own, thus with a capital letter and a full stop.

extension SyncError: LocalizedError {
    /// The problem, and what a person can do about it, in English.
    public var errorDescription: String? { ErrorSentences.whole(ErrorSentences(.app).sentence(for: self)) }
}

extension ServerConnectionError: LocalizedError {
    /// The problem, and what a person can do about it, in English.
    public var errorDescription: String? { SyncError(self).errorDescription }
}

extension SignInError: LocalizedError {
    /// The problem, and what a person can do about it, in English.
    public var errorDescription: String? { ErrorSentences.whole(ErrorSentences(.app).sentence(for: self)) }
}

extension CredentialRefreshFailure: LocalizedError {
    /// The problem, and what a person can do about it, in English.
    public var errorDescription: String? { SignInError(.providerUnavailable).errorDescription }
}

#if canImport(Security)
    extension KeychainError: LocalizedError {
        /// The problem, and what a person can do about it, in English.
        public var errorDescription: String? { SignInError(self).errorDescription }
    }
#endif

extension ErrorSentences {
    fileprivate static func whole(_ sentence: String) -> String {
        sentence.prefix(1).uppercased() + sentence.dropFirst() + "."
    }
}
