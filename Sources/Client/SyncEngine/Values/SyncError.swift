public import SyncProtocol

/// What went wrong in the client library, in a form that apps can act on.
///
/// Compare ``code``; further codes may be added.
public struct SyncError: Error, Sendable, Hashable, CustomStringConvertible {
    /// Names a kind of error.
    public struct Code: RawRepresentable, Sendable, Hashable {
        /// The stable name.
        public let rawValue: String

        /// A code by its name.
        public init(rawValue: String) {
            self.rawValue = rawValue
        }

        // Mistakes of the caller.
        /// An upload without a MIME type.
        public static let noMimeType = Self(rawValue: "noMimeType")
        /// A next version, local or from the server, has another MIME type than the file.
        public static let mimeTypeOfFileChanged = Self(rawValue: "mimeTypeOfFileChanged")
        /// The file is deleted.
        public static let fileAlreadyDeleted = Self(rawValue: "fileAlreadyDeleted")
        /// A next version names another file group than the file is in.
        public static let fileGroupUUIDChanged = Self(rawValue: "fileGroupUUIDChanged")
        /// The file waits to be deleted.
        public static let fileQueuedForDeletion = Self(rawValue: "fileQueuedForDeletion")
        /// A deletion of a file that the library does not know.
        public static let deletingUnknownFile = Self(rawValue: "deletingUnknownFile")
        /// A question about a file that the library does not know.
        public static let getAttributesForUnknownFile = Self(rawValue: "getAttributesForUnknownFile")
        /// No such file.
        public static let couldNotFindFileUUID = Self(rawValue: "couldNotFindFileUUID")
        /// An upload of app metadata without a text.
        public static let badAppMetaData = Self(rawValue: "badAppMetaData")
        /// The open queue, the file, or the queue to close belongs to another sharing group.
        public static let sharingGroupUUIDInconsistent = Self(rawValue: "sharingGroupUUIDInconsistent")
        /// The library does not know the sharing group.
        public static let unknownSharingGroup = Self(rawValue: "unknownSharingGroup")
        /// The library knows the new sharing group's UUID already.
        public static let sharingGroupExists = Self(rawValue: "sharingGroupExists")
        /// The call needs an empty open queue, or one without a removal of the user.
        public static let openQueueNotEmpty = Self(rawValue: "openQueueNotEmpty")
        /// The call is not possible while a sync is active.
        public static let syncIsOperating = Self(rawValue: "syncIsOperating")
        /// The user is not, or no longer, a member of the sharing group.
        public static let notAMember = Self(rawValue: "notAMember")
        /// The user's permission in the sharing group does not suffice.
        public static let permissionDenied = Self(rawValue: "permissionDenied")
        /// The file's contents are out of reach; see ``SyncError/goneReason``.
        public static let fileIsGone = Self(rawValue: "fileIsGone")
        /// Only an upload of contents can bring a deleted file back, app metadata alone cannot.
        public static let appMetaDataUploadUndeletionAttempt = Self(rawValue: "appMetaDataUploadUndeletionAttempt")

        /// The library was closed.
        public static let closed = Self(rawValue: "closed")
        /// Another process, or another instance, has the store open.
        public static let storeInUse = Self(rawValue: "storeInUse")

        // Found while syncing.
        /// No complete answer of the server.
        public static let networkError = Self(rawValue: "networkError")
        /// The server is closed for maintenance, or its database is out of reach.
        public static let serverDown = Self(rawValue: "serverDown")
        /// The server refused a request; see ``SyncError/serverCode``.
        public static let requestRefused = Self(rawValue: "requestRefused")
        /// The server is older than the app demands.
        public static let badServerVersion = Self(rawValue: "badServerVersion")
        /// The credentials do not count any more.
        public static let signInRequired = Self(rawValue: "signInRequired")
        /// Somebody else is signed in than the one whose files the store has. Sign the first one in again, or reset all.
        public static let differentUser = Self(rawValue: "differentUser")
        /// The library's own database cannot be read or written: is the disk full?
        public static let storeError = Self(rawValue: "storeError")
        /// The invitation admits only accounts with cloud storage.
        public static let socialAcceptanceNotAllowed = Self(rawValue: "socialAcceptanceNotAllowed")
        /// The invitation never existed, is used up, or expired.
        public static let noInvitationFound = Self(rawValue: "noInvitationFound")
        /// The server is of an older generation, which cannot do this.
        public static let notSupported = Self(rawValue: "notSupported")
        /// A file to upload is missing, unreadable, or not the one that was queued.
        public static let fileManagerError = Self(rawValue: "fileManagerError")
        /// Others change the group so fast that the uploads never fit; a later sync may succeed.
        public static let tooManyRestarts = Self(rawValue: "tooManyRestarts")
        /// The server holds staged changes that were given up here, and offers no way to withdraw them. They end by
        /// themselves when the server's term for staged changes is over.
        public static let stagedChangesCannotBeWithdrawn = Self(rawValue: "stagedChangesCannotBeWithdrawn")
        /// The server has a sharing group of that UUID which is not ours.
        public static let uuidCollision = Self(rawValue: "uuidCollision")
        /// The app did not take a delivery.
        public static let deliveryRefused = Self(rawValue: "deliveryRefused")
        /// What the server says contradicts itself, or what it said before.
        public static let inconsistentServer = Self(rawValue: "inconsistentServer")
    }

    /// What an app may do about an error.
    public enum Recovery: Sendable, Hashable {
        /// A later sync may succeed by itself.
        case retryLater
        /// The user must sign in.
        case signInAgain
        /// A newer app, or a newer server, is needed.
        case upgradeApp
        /// The call was wrong, and will be the next time.
        case fixCall
        /// Nothing.
        case none
    }

    /// The kind of error.
    public let code: Code
    /// The file concerned, if there is one.
    public var fileUUID: FileUUID?
    /// The sharing group concerned, if there is one.
    public var sharingGroupUUID: SharingGroupUUID?
    /// Why a file is out of reach; only with ``Code/fileIsGone``.
    public var goneReason: GoneReason?
    /// The status of the server's reply, if there was one.
    public var status: Int?
    /// The server's own code for the refusal, if it gave one.
    public var serverCode: String?
    /// What the server, or its stand-in, says about itself; only with ``Code/serverDown``.
    public var message: String?

    /// Puts an error together.
    public init(
        _ code: Code, fileUUID: FileUUID? = nil, sharingGroupUUID: SharingGroupUUID? = nil,
        goneReason: GoneReason? = nil
    ) {
        self.code = code
        self.fileUUID = fileUUID
        self.sharingGroupUUID = sharingGroupUUID
        self.goneReason = goneReason
    }

    /// What an app may do about it.
    public var recovery: Recovery {
        switch code {
        case .networkError, .serverDown, .tooManyRestarts, .syncIsOperating, .stagedChangesCannotBeWithdrawn,
            .deliveryRefused, .requestRefused, .inconsistentServer, .storeError:
            .retryLater
        case .signInRequired, .differentUser: .signInAgain
        case .badServerVersion, .notSupported: .upgradeApp
        case .notAMember, .permissionDenied, .fileIsGone, .socialAcceptanceNotAllowed, .noInvitationFound: .none
        default: .fixCall
        }
    }

    /// The code, with the server's own if there is one. Safe to log: names no user and no contents.
    public var description: String {
        var text = code.rawValue
        if let status { text += " (\(status)\(serverCode.map { " " + $0 } ?? ""))" }
        return text
    }
}
