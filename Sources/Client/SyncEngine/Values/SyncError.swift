public import SyncProtocol

/// An error of the client library, in a form that apps can act on.
///
/// Compare ``code``; further codes may be added.
public struct SyncError: Error, Sendable, Hashable, CustomStringConvertible {
    /// A kind of error.
    public struct Code: RawRepresentable, Sendable, Hashable {
        /// The stable name.
        public let rawValue: String

        /// Creates a code from its name.
        public init(rawValue: String) {
            self.rawValue = rawValue
        }

        // Errors of the caller.
        /// An upload without a MIME type.
        public static let noMimeType = Self(rawValue: "noMimeType")
        /// A new version, local or from the server, has a different MIME type than the file.
        public static let mimeTypeOfFileChanged = Self(rawValue: "mimeTypeOfFileChanged")
        /// The file is deleted.
        public static let fileAlreadyDeleted = Self(rawValue: "fileAlreadyDeleted")
        /// A new version names a different file group than the file's.
        public static let fileGroupUUIDChanged = Self(rawValue: "fileGroupUUIDChanged")
        /// The file is queued for deletion.
        public static let fileQueuedForDeletion = Self(rawValue: "fileQueuedForDeletion")
        /// A deletion of a file that is unknown to the library.
        public static let deletingUnknownFile = Self(rawValue: "deletingUnknownFile")
        /// A query for a file that is unknown to the library.
        public static let getAttributesForUnknownFile = Self(rawValue: "getAttributesForUnknownFile")
        /// No such file.
        public static let couldNotFindFileUUID = Self(rawValue: "couldNotFindFileUUID")
        /// An upload of app metadata without a text.
        public static let badAppMetaData = Self(rawValue: "badAppMetaData")
        /// The file belongs to another sharing group, or the files belong to several.
        public static let sharingGroupUUIDInconsistent = Self(rawValue: "sharingGroupUUIDInconsistent")
        /// The library does not know the sharing group.
        public static let unknownSharingGroup = Self(rawValue: "unknownSharingGroup")
        /// The library already knows the new sharing group's UUID.
        public static let sharingGroupExists = Self(rawValue: "sharingGroupExists")
        /// Changes to the group are queued, or the user's departure from it is.
        public static let openQueueNotEmpty = Self(rawValue: "openQueueNotEmpty")
        /// The call is not possible while a sync is active.
        public static let syncIsOperating = Self(rawValue: "syncIsOperating")
        /// The user is not, or is no longer, a member of the sharing group.
        public static let notAMember = Self(rawValue: "notAMember")
        /// The user's permission in the sharing group does not suffice.
        public static let permissionDenied = Self(rawValue: "permissionDenied")
        /// The file's contents are out of reach; see ``SyncError/goneReason``.
        public static let fileIsGone = Self(rawValue: "fileIsGone")
        /// Only an upload of contents can restore a deleted file; app metadata alone cannot.
        public static let appMetaDataUploadUndeletionAttempt = Self(rawValue: "appMetaDataUploadUndeletionAttempt")

        /// The library was closed.
        public static let closed = Self(rawValue: "closed")
        /// The library is suspended, because the app is in the background: resume it.
        public static let suspended = Self(rawValue: "suspended")
        /// Another process, or another instance, has the store open.
        public static let storeInUse = Self(rawValue: "storeInUse")

        // Errors of syncs.
        /// No complete reply from the server.
        public static let networkError = Self(rawValue: "networkError")
        /// The server is closed for maintenance, or its database is unreachable.
        public static let serverDown = Self(rawValue: "serverDown")
        /// The server refused a request; see ``SyncError/serverCode``.
        public static let requestRefused = Self(rawValue: "requestRefused")
        /// The server is older than the app requires.
        public static let badServerVersion = Self(rawValue: "badServerVersion")
        /// The credentials are no longer accepted.
        public static let signInRequired = Self(rawValue: "signInRequired")
        /// The account has no user on this server: create a user, or redeem an invitation.
        public static let noUser = Self(rawValue: "noUser")
        /// The user has switched to another account on another device: sign in with that account, of the type
        /// ``SyncError/activeAccountType``. The store and the queues are kept.
        public static let signedOutRemotely = Self(rawValue: "signedOutRemotely")
        /// The server was restored from a backup older than this device's data, and the app did not supply the contents
        /// of a file that must be uploaded again (``SyncServerDelegate``): upload the file.
        public static let serverRestored = Self(rawValue: "serverRestored")
        /// The new account of the switch belongs, or belonged, to another user.
        public static let accountInUse = Self(rawValue: "accountInUse")
        /// An account without storage cannot replace one that owns files, or hosts files of others.
        public static let owningAccountRequired = Self(rawValue: "owningAccountRequired")
        /// This device cannot prove that it belongs to the user: it never signed in to this server, or the proof has
        /// been revoked or has expired. Switch on another device, or sign in with the former account first.
        public static let deviceGrantInvalid = Self(rawValue: "deviceGrantInvalid")
        /// This device's proof is too recent to begin a switch. Use another device, propose the switch with credentials
        /// of the former account that contain a new authorization code, or sign in with the former account again after
        /// ``SyncError/usableFrom``.
        public static let deviceGrantTooYoung = Self(rawValue: "deviceGrantTooYoung")
        /// Sign in with the account again, and retry with those credentials: they must contain a new authorization
        /// code.
        public static let freshSignInRequired = Self(rawValue: "freshSignInRequired")
        /// The switch of accounts happened too long ago to be undone.
        public static let undoExpired = Self(rawValue: "undoExpired")
        /// A switch to a different account has been proposed. Cancel it there, or wait until it expires.
        public static let switchInProgress = Self(rawValue: "switchInProgress")
        /// The server requires credentials of the former account.
        public static let oldAccountProofRequired = Self(rawValue: "oldAccountProofRequired")
        /// The switch of accounts does not exist, or its proposal has expired: propose it again.
        public static let noAccountSwitch = Self(rawValue: "noAccountSwitch")
        /// The switch of accounts is confirmed, and can no longer be cancelled.
        public static let switchConfirmed = Self(rawValue: "switchConfirmed")
        /// The storage is full; ``SyncError/storage`` identifies its owner. The change waits; smaller ones are sent.
        public static let storageFull = Self(rawValue: "storageFull")
        /// The storage no longer admits the server; ``SyncError/storage`` identifies its owner. The change waits until
        /// the owner signs in again.
        public static let storageUnauthorized = Self(rawValue: "storageUnauthorized")
        /// The storage cannot be reached at the moment; ``SyncError/storage`` identifies its owner.
        public static let storageUnavailable = Self(rawValue: "storageUnavailable")
        /// The member whose storage would hold the file has left the group. The change waits for another host.
        public static let storageOwnerMissing = Self(rawValue: "storageOwnerMissing")
        /// The commit that contains the change has been sent, and its outcome is not known yet: sync, then call again,
        /// or delete the file.
        public static let commitUnderWay = Self(rawValue: "commitUnderWay")
        /// The app must keep the contents: the server does not have them, a change or request is pending, they are being
        /// replaced, or the group's files are not downloaded on demand.
        public static let contentsNotEvictable = Self(rawValue: "contentsNotEvictable")
        /// A user other than the store's owner is signed in. Sign in as the store's user again, or reset all.
        public static let differentUser = Self(rawValue: "differentUser")
        /// The library's own database cannot be read or written: is the disk full?
        public static let storeError = Self(rawValue: "storeError")
        /// The invitation accepts only accounts with cloud storage.
        public static let socialAcceptanceNotAllowed = Self(rawValue: "socialAcceptanceNotAllowed")
        /// The invitation never existed, is used up, or expired.
        public static let noInvitationFound = Self(rawValue: "noInvitationFound")
        /// The server is of an older generation, which does not support this.
        public static let notSupported = Self(rawValue: "notSupported")
        /// A file to upload is missing, unreadable, or differs from the queued one.
        public static let fileManagerError = Self(rawValue: "fileManagerError")
        /// Others change the group so quickly that the uploads are always stale; a later sync may succeed.
        public static let tooManyRestarts = Self(rawValue: "tooManyRestarts")
        /// The server holds staged changes that were dropped locally, and offers no way to withdraw them. They expire
        /// when the server's retention period for staged changes ends.
        public static let stagedChangesCannotBeWithdrawn = Self(rawValue: "stagedChangesCannotBeWithdrawn")
        /// The server has a sharing group with that UUID that is not the user's.
        public static let uuidCollision = Self(rawValue: "uuidCollision")
        /// The app did not accept a delivery.
        public static let deliveryRefused = Self(rawValue: "deliveryRefused")
        /// The server's replies contradict themselves or earlier replies.
        public static let inconsistentServer = Self(rawValue: "inconsistentServer")
    }

    /// The remedy for an error.
    public enum Recovery: Sendable, Hashable {
        /// A later sync may succeed without any other action.
        case retryLater
        /// The user must sign in, or sign up.
        case signInAgain
        /// The user must make room in their storage.
        case freeSpace
        /// The server or the storage does not accept the current file: replace it, delete it, or withdraw the change.
        case replaceFile
        /// The owner of the storage, another member of the group, must make room or sign in again.
        case askOwner
        /// A newer app, or a newer server, is required.
        case upgradeApp
        /// The call was invalid, and will fail again.
        case fixCall
        /// Nothing can be done.
        case none
    }

    /// The kind of error.
    public let code: Code
    /// The affected file, if any.
    public var fileUUID: FileUUID?
    /// The affected sharing group, if any.
    public var sharingGroupUUID: SharingGroupUUID?
    /// Why a file is out of reach; only with ``Code/fileIsGone``.
    public var goneReason: GoneReason?
    /// The type of the account to sign in with, if the server reports it; only with ``Code/signedOutRemotely``.
    public var activeAccountType: AccountType?
    /// The time until which this device can undo the switch to that account, if the user did not make it; only with
    /// ``Code/signedOutRemotely``, and nil if it cannot.
    public var undoUntil: WireDate?
    /// The time from which this device can begin a switch; only with ``Code/deviceGrantTooYoung``.
    public var usableFrom: WireDate?
    /// The status of the server's reply, if any.
    public var status: Int?
    /// The server's own code for the refusal, if any.
    public var serverCode: String?
    /// The message of the server, or of its stand-in; only with ``Code/serverDown``.
    public var message: String?
    /// The wait before the next attempt, if the server specifies one.
    public var retryAfter: Duration?
    /// The owner of the storage; only with the codes that begin with `storage`.
    public var storage: StorageOwner?

    /// The owner of the storage that contains, or would contain, a file.
    public enum StorageOwner: Sendable, Hashable {
        /// The user.
        case own
        /// Another member; nil if the server has not reported which.
        case other(UserID?)
    }

    /// Creates an error.
    public init(
        _ code: Code, fileUUID: FileUUID? = nil, sharingGroupUUID: SharingGroupUUID? = nil,
        goneReason: GoneReason? = nil
    ) {
        self.code = code
        self.fileUUID = fileUUID
        self.sharingGroupUUID = sharingGroupUUID
        self.goneReason = goneReason
    }

    /// The remedy for the error.
    public var recovery: Recovery {
        switch code {
        case .networkError, .serverDown, .tooManyRestarts, .syncIsOperating, .stagedChangesCannotBeWithdrawn,
            .deliveryRefused, .inconsistentServer, .storeError, .storageUnavailable, .commitUnderWay:
            .retryLater
        case .requestRefused:
            switch serverCode.flatMap(ErrorCode.init(rawValue:))?.refusalClass ?? RefusalClass(status: status ?? 500) {
            case .file: .replaceFile
            case .storage, .caller, .knowledge, .world: .retryLater
            }
        case .fileManagerError: .replaceFile
        case .storageFull, .storageUnauthorized, .storageOwnerMissing:
            switch (code, storage) {
            case (.storageOwnerMissing, _), (_, .other): .askOwner
            case (.storageFull, _): .freeSpace
            default: .signInAgain
            }
        case .signInRequired, .noUser, .differentUser, .signedOutRemotely, .oldAccountProofRequired,
            .deviceGrantTooYoung, .freshSignInRequired:
            .signInAgain
        case .badServerVersion, .notSupported: .upgradeApp
        case .notAMember, .permissionDenied, .fileIsGone, .socialAcceptanceNotAllowed, .noInvitationFound,
            .serverRestored, .accountInUse, .owningAccountRequired, .deviceGrantInvalid, .switchInProgress,
            .noAccountSwitch, .switchConfirmed, .undoExpired:
            .none
        default: .fixCall
        }
    }

    /// Whether a sync that ends with the error says nothing about the syncs of other groups.
    var isAboutOneGroup: Bool {
        switch code {
        case .notAMember, .permissionDenied, .uuidCollision, .deliveryRefused, .tooManyRestarts, .inconsistentServer,
            .stagedChangesCannotBeWithdrawn:
            true
        case .requestRefused: status.map { (400..<500).contains($0) && ![401, 429].contains($0) } ?? false
        default: false
        }
    }

    /// The code, with the server's own code, if any. Safe to log: contains neither users nor contents.
    public var description: String {
        var text = code.rawValue
        if let status { text += " (\(status)\(serverCode.map { " " + $0 } ?? ""))" }
        return text
    }
}

/// The part of an error that is stored with a change until the change is sent: everything except the file, the group,
/// and momentary details.
package struct StoredSyncError: Sendable, Hashable {
    /// The error.
    package let error: SyncError

    /// Creates the stored part of an error.
    package init(_ error: SyncError) {
        var kept = SyncError(error.code)
        kept.status = error.status
        // A code is one word; an unexpected server may send any text.
        kept.serverCode = error.serverCode.flatMap { $0.isEmpty || $0.contains(" ") || $0 == "-" ? nil : $0 }
        kept.storage = error.storage
        self.error = kept
    }

    /// Whether a storage refused the change.
    package var isAboutStorage: Bool { error.storage != nil }

    /// The stored form: the code, the status and code of the server or `-`, and the owner of the storage.
    package var text: String {
        let storage =
            switch error.storage {
            case nil: "-"
            case .own: "own"
            case .other(nil): "other"
            case .other(let user?): "\(user.rawValue)"
            }
        return "\(error.code.rawValue) \(error.status.map { "\($0)" } ?? "-") \(error.serverCode ?? "-") \(storage)"
    }

    /// Parses the stored form. In any other text, as in older stores, the first word is the code.
    package init(text: String) {
        let parts = text.split(separator: " ").map(String.init)
        var error = SyncError(SyncError.Code(rawValue: parts.first ?? ""))
        if parts.count == 4 {
            error.status = Int(parts[1])
            error.serverCode = parts[2] == "-" ? nil : parts[2]
            switch parts[3] {
            case "-": break
            case "own": error.storage = .own
            case "other": error.storage = .other(nil)
            default: error.storage = .other(Int64(parts[3]).map { UserID($0) })
            }
        }
        self.error = error
    }
}
