public import Store
public import SyncProtocol

/// All data about one file in the database: the source of its history.
public struct FileEvidence: Equatable, Sendable, Encodable {
    /// A person, by name and account type; never with tokens.
    public struct Person: Equatable, Sendable, Encodable {
        public var userID: UserID
        /// Absent if the person has left the server.
        public var name: String?
        public var accountType: AccountType?

        public init(userID: UserID, name: String?, accountType: AccountType?) {
            self.userID = userID
            self.name = name
            self.accountType = accountType
        }
    }

    /// A commit that is still stored; others have been deleted.
    public struct Commit: Equatable, Sendable, Encodable {
        public var masterVersion: MasterVersion
        public var person: Person
        public var deviceUUID: DeviceUUID
        /// Absent for a group's newest commit without an id.
        public var committedAt: WireDate?

        public init(masterVersion: MasterVersion, person: Person, deviceUUID: DeviceUUID, committedAt: WireDate?) {
            self.masterVersion = masterVersion
            self.person = person
            self.deviceUUID = deviceUUID
            self.committedAt = committedAt
        }
    }

    /// The committed file in one group.
    public struct Committed: Equatable, Sendable, Encodable {
        public var sharingGroupUUID: SharingGroupUUID
        public var groupName: String?
        public var groupMasterVersion: MasterVersion
        public var groupDeleted: Bool
        public var groupImported: Bool
        public var members: [Person]
        public var file: ListedFile
        public var deviceUUID: DeviceUUID
        /// Members who have used that device.
        public var deviceUsers: [Person]
        public var fileGroupUUID: FileGroupUUID?
        public var owner: Person
        public var ownerIsMember: Bool
        public var checkSum: String?
        public var objectID: String?
        /// Whether the owner's current account should have the contents.
        public var contentState: ContentState
        /// The state of the server's move of the contents after an account switch; absent if the server does not move
        /// them.
        public var serverMove: ServerMove?
        /// The object's name according to the protocol, as its owner sees it.
        public var objectName: String
        public var appMetaDataVersion: AppMetaDataVersion?
        /// The commit that last changed the file, if it is still stored.
        public var lastChange: Commit?
        /// Replies to downloads that reported the contents as gone, by reason; kept for 90 days.
        public var gone: [Gone]
        /// The time until which the contents of the deleted file stay in the storage; absent if the file is not
        /// deleted, or its contents already are.
        public var contentsKeptUntil: WireDate?
    }

    /// The server's own attempt to move the contents of a file that waits for them.
    public struct ServerMove: Equatable, Sendable, Encodable {
        /// Why it leaves the file to the phones; absent while it does not.
        public var failure: String?
    }

    /// Replies to downloads that reported contents as gone.
    public struct Gone: Equatable, Sendable, Encodable {
        /// `fileRemovedOrRenamed` or `authTokenExpiredOrRevoked`.
        public var reason: GoneReason
        /// The requested version.
        public var fileVersion: FileVersion
        public var firstToldAt: WireDate
        public var lastToldAt: WireDate
        public var timesTold: Int64
        /// The last request that got this reply, by its identifier in both logs.
        public var lastRequestID: String?
    }

    /// A staged change that has not been committed.
    public struct Staged: Equatable, Sendable, Encodable {
        public var sharingGroupUUID: SharingGroupUUID?
        public var person: Person
        public var deviceUUID: DeviceUUID
        public var kind: String
        public var fileVersion: FileVersion?
        public var appMetaDataVersion: AppMetaDataVersion?
        public var sizeBytes: Int64?
        public var owner: Person?
        public var stagedAt: WireDate
        public var batchUUID: BatchUUID?
    }

    public var fileUUID: FileUUID
    public var committed: [Committed]
    public var staged: [Staged]
    public var outbox: [ListedWork]
}
