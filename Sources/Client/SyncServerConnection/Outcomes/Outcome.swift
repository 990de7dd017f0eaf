public import SyncProtocol

/// The outcome of a request that names the group's master version.
public enum Outcome<Value: Sendable>: Sendable {
    /// The request was carried out.
    case success(Value)
    /// The master version is stale. Nothing was done: read the index, and retry.
    case stale(current: MasterVersion)
    /// The object of the request is permanently out of reach.
    case gone(Gone)

    /// The value of a success; nil otherwise.
    public var value: Value? {
        if case .success(let value) = self { value } else { nil }
    }
}

extension Outcome: Equatable where Value: Equatable {}

/// Information about an object that is permanently out of reach.
public struct Gone: Sendable, Hashable {
    /// The reason.
    public var reason: GoneReason
    /// The more precise reason, if the server reports one: ``ErrorCode/notAMember`` and
    /// ``ErrorCode/ownerRemoved`` have the same reason.
    public var serverCode: ServerErrorCode?
    /// The file's metadata, for a download whose contents are gone.
    public var appMetaData: String?
    /// The storage that held the contents, for a download.
    public var cloudStorageType: CloudStorageType?
    /// For a download: whether the contents will be uploaded again, because their owner has switched accounts.
    public var isAwaitingReupload: Bool
    /// Whether the file has metadata that are not here; only in the outcome of a reply that was kept.
    public var lacksAppMetaData: Bool

    /// Creates a value.
    public init(
        _ reason: GoneReason, serverCode: ServerErrorCode? = nil, appMetaData: String? = nil,
        cloudStorageType: CloudStorageType? = nil, isAwaitingReupload: Bool = false, lacksAppMetaData: Bool = false
    ) {
        self.reason = reason
        self.serverCode = serverCode
        self.appMetaData = appMetaData
        self.cloudStorageType = cloudStorageType
        self.isAwaitingReupload = isAwaitingReupload
        self.lacksAppMetaData = lacksAppMetaData
    }
}

/// A change that waits to be committed.
public struct StagedChange: Sendable, Hashable {
    /// If the change was the last of its batch: the master version with which the batch was committed.
    public var committedMasterVersion: MasterVersion?

    /// Creates a value.
    public init(committedMasterVersion: MasterVersion? = nil) {
        self.committedMasterVersion = committedMasterVersion
    }
}

/// A file that waits to be committed.
public struct StagedFile: Sendable, Hashable {
    /// When version 0 of the file was staged, by the server's clock.
    public var creationDate: WireDate
    /// When this version was staged, by the server's clock.
    public var updateDate: WireDate
    /// If the file was the last of its batch: the master version with which the batch was committed.
    public var committedMasterVersion: MasterVersion?

    /// Creates a value.
    public init(creationDate: WireDate, updateDate: WireDate, committedMasterVersion: MasterVersion? = nil) {
        self.creationDate = creationDate
        self.updateDate = updateDate
        self.committedMasterVersion = committedMasterVersion
    }
}

/// A downloaded file, verified against the server's announcement.
public struct DownloadedFile: Sendable, Hashable {
    /// The app's metadata; nil if the file has none.
    public var appMetaData: String?
    /// The storage of the file's owner.
    public var cloudStorageType: CloudStorageType
    /// The checksum of the contents, in the flavour of that storage.
    public var checkSum: CheckSum
    /// Whether the owner has changed the contents in the storage directly, without the server.
    public var contentsChanged: Bool
    /// The number of bytes.
    public var length: Int64
    /// Whether the file has metadata that are not here; only in the outcome of a reply that was kept.
    public var lacksAppMetaData: Bool

    /// Creates a value.
    public init(
        appMetaData: String?, cloudStorageType: CloudStorageType, checkSum: CheckSum, contentsChanged: Bool,
        length: Int64, lacksAppMetaData: Bool = false
    ) {
        self.appMetaData = appMetaData
        self.cloudStorageType = cloudStorageType
        self.checkSum = checkSum
        self.contentsChanged = contentsChanged
        self.length = length
        self.lacksAppMetaData = lacksAppMetaData
    }
}

/// The outcome of an index request.
public enum IndexOutcome: Sendable, Hashable {
    /// The groups, and the files if a group was named. `entityTag` identifies this state; nil if the server has no
    /// entity tags.
    case changed(IndexResponse, entityTag: String?)
    /// Nothing has changed since the reply with the request's entity tag.
    case unchanged
}

/// A user as currently known to the server.
public struct SignedInUser: Sendable, Hashable {
    /// The server's identifier of the user.
    public var userID: UserID
    /// A longer-lived token, to be used from now on (Facebook).
    public var accessToken: Secret?
    /// Whether the server can use the user's storage only as long as the access token is valid: ask the user for
    /// consent to a refresh token.
    public var lacksOfflineAccess: Bool
    /// The identity above the account; nil if the server is of an older generation, which has none.
    public var identity: AccountIdentity?

    /// Creates a value.
    public init(
        userID: UserID, accessToken: Secret? = nil, lacksOfflineAccess: Bool = false, identity: AccountIdentity? = nil
    ) {
        self.userID = userID
        self.accessToken = accessToken
        self.lacksOfflineAccess = lacksOfflineAccess
        self.identity = identity
    }
}

/// The outcome of a check of the credentials.
public enum SignInOutcome: Sendable, Hashable {
    /// The account has a user.
    case user(SignedInUser)
    /// The account has no user, or the token is not accepted; servers of older generations do not distinguish these.
    case noUser(ServerErrorCode?)
    /// The person has switched to another account: sign in with that account, whose type the server may report. If the
    /// person did not make the switch, this device can undo it until the given time.
    case retired(activeAccountType: AccountType?, undoUntil: WireDate? = nil)
}

/// The outcome of redeeming an invitation.
public enum RedemptionOutcome: Sendable, Hashable {
    /// The caller is a member of this group.
    case joined(SignedInUser, SharingGroupUUID)
    /// The invitation accepts only accounts with cloud storage.
    case storageAccountRequired
    /// The invitation never existed, is used up, or expired.
    case invitationUnknown
}
