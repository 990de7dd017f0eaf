public import SyncProtocol

/// What became of a request that names the group's master version.
public enum Outcome<Value: Sendable>: Sendable {
    /// It was carried out.
    case success(Value)
    /// The master version is not the group's. Nothing was done: read the index, and try again.
    case stale(current: MasterVersion)
    /// What the request is about is out of reach for good.
    case gone(Gone)

    /// The value of a success; nil otherwise.
    public var value: Value? {
        if case .success(let value) = self { value } else { nil }
    }
}

extension Outcome: Equatable where Value: Equatable {}

/// What is known of something that is out of reach for good.
public struct Gone: Sendable, Hashable {
    /// Why.
    public var reason: GoneReason
    /// More precisely, if the server says so: ``ServerErrorCode/notAMember`` and ``ServerErrorCode/ownerRemoved`` have the
    /// same reason.
    public var serverCode: ServerErrorCode?
    /// The file's metadata, of a download whose bytes are gone.
    public var appMetaData: String?
    /// The storage in which the bytes were, of a download.
    public var cloudStorageType: CloudStorageType?

    /// Puts it together.
    public init(
        _ reason: GoneReason, serverCode: ServerErrorCode? = nil, appMetaData: String? = nil,
        cloudStorageType: CloudStorageType? = nil
    ) {
        self.reason = reason
        self.serverCode = serverCode
        self.appMetaData = appMetaData
        self.cloudStorageType = cloudStorageType
    }
}

/// A change that waits for its commit.
public struct StagedChange: Sendable, Hashable {
    /// If it was the last of its batch: the master version as which the batch was committed.
    public var committedMasterVersion: MasterVersion?

    /// Puts it together.
    public init(committedMasterVersion: MasterVersion? = nil) {
        self.committedMasterVersion = committedMasterVersion
    }
}

/// A file that waits for its commit.
public struct StagedFile: Sendable, Hashable {
    /// When version 0 of the file was staged, by the server's clock.
    public var creationDate: WireDate
    /// When this version was staged, by the server's clock.
    public var updateDate: WireDate
    /// If it was the last of its batch: the master version as which the batch was committed.
    public var committedMasterVersion: MasterVersion?

    /// Puts it together.
    public init(creationDate: WireDate, updateDate: WireDate, committedMasterVersion: MasterVersion? = nil) {
        self.creationDate = creationDate
        self.updateDate = updateDate
        self.committedMasterVersion = committedMasterVersion
    }
}

/// A file that was downloaded and found to be what the server announced.
public struct DownloadedFile: Sendable, Hashable {
    /// The app's metadata; nil if the file has none.
    public var appMetaData: String?
    /// The storage of the file's owner.
    public var cloudStorageType: CloudStorageType
    /// Of the bytes, in the flavour of that storage.
    public var checkSum: CheckSum
    /// Whether the owner has changed the bytes behind the server's back.
    public var contentsChanged: Bool
    /// How many bytes there are.
    public var length: Int64

    /// Puts it together.
    public init(
        appMetaData: String?, cloudStorageType: CloudStorageType, checkSum: CheckSum, contentsChanged: Bool,
        length: Int64
    ) {
        self.appMetaData = appMetaData
        self.cloudStorageType = cloudStorageType
        self.checkSum = checkSum
        self.contentsChanged = contentsChanged
        self.length = length
    }
}

/// What became of a question for the index.
public enum IndexOutcome: Sendable, Hashable {
    /// The groups, and the files if a group was named. `entityTag` names this state; nil if the server has no such.
    case changed(IndexResponse, entityTag: String?)
    /// Nothing has changed since the reply with the entity tag that the request had.
    case unchanged
}

/// A user as the server knows them now.
public struct SignedInUser: Sendable, Hashable {
    /// The server's number.
    public var userID: UserID
    /// A token that lives longer, to be used from now on (Facebook).
    public var accessToken: Secret?
    /// Whether the server can use the person's storage only as long as the access token lives: ask them for the consent that
    /// brings a refresh token.
    public var lacksOfflineAccess: Bool

    /// Puts it together.
    public init(userID: UserID, accessToken: Secret? = nil, lacksOfflineAccess: Bool = false) {
        self.userID = userID
        self.accessToken = accessToken
        self.lacksOfflineAccess = lacksOfflineAccess
    }
}

/// What became of a check of the credentials.
public enum SignInOutcome: Sendable, Hashable {
    /// The person has a user.
    case user(SignedInUser)
    /// They have none, or the token is not accepted; servers of older generations do not say which.
    case noUser(ServerErrorCode?)
}

/// What became of a redeemed invitation.
public enum RedemptionOutcome: Sendable, Hashable {
    /// The caller is a member of this group.
    case joined(SignedInUser, SharingGroupUUID)
    /// The invitation admits only accounts with cloud storage.
    case storageAccountRequired
    /// It never existed, is used up, or expired.
    case invitationUnknown
}
