internal import SyncEngine
internal import SyncProtocol

/// A file in the model of the server.
struct ModelFile {
    var device: DeviceUUID
    let owner: UserID
    let fileGroup: FileGroupUUID?
    let mimeType: MIMEType
    var version: FileVersion
    /// The contents of the committed version; the owner may have changed the bytes in the cloud since.
    var contents: String
    var bytesInCloud: String?
    var text: AppMetaData?
    var isDeleted = false
    /// The storage of a deleted file, if its owner has left that storage since.
    var deletedFrom: CloudStorageType?
    var content = Content.stored
    /// Whether the server can still read the bytes in the owner's former storage.
    var isInFormerStorage = false
    let creationDate: WireDate
    var updateDate: WireDate
    /// The master version after the last change.
    var changedAt: MasterVersion

    /// Whether the owner's storage has the committed version.
    enum Content {
        case stored
        /// Not yet: the owner has switched accounts.
        case awaiting
        /// No longer: the owner has abandoned it.
        case missing
    }
}

/// A change that waits to be committed.
struct ModelStagedChange {
    enum Kind {
        case upload(FileVersion, contents: String, mimeType: MIMEType, fileGroup: FileGroupUUID?, undeletes: Bool)
        case text
        case deletion(FileVersion)
    }

    var kind: Kind
    var text: AppMetaData?
    let creationDate: WireDate
    let updateDate: WireDate
    let stagedAt: WireDate
    var batch: ModelBatch?
    /// Whether the contents were lost with the former storage of the file's owner.
    var hasLostContents = false
}

/// The batch of a staged change.
struct ModelBatch: Equatable {
    let batch: UploadBatch
    let masterVersion: MasterVersion
    /// Distinguishes a repeated request from a different one, regardless of the master version and batch that it names.
    let request: String

    init(_ batch: UploadBatch, _ masterVersion: MasterVersion, _ request: String) {
        self.batch = batch
        self.masterVersion = masterVersion
        self.request = request
    }

    /// Whether a change belongs to the same commit as another one.
    func isBeside(_ other: ModelBatch) -> Bool {
        batch.batchUUID == other.batch.batchUUID && masterVersion == other.masterVersion
    }
}

/// The result of a change that belongs to a batch.
struct ModelBatchMember {
    let request: String
    let reply: ServerReply
}

/// The effect of one commit on one file; kept for the checks.
struct ModelCommittedChange {
    let masterVersion: MasterVersion
    let device: DeviceUUID
    let version: FileVersion
    /// Nil if the contents did not change.
    let contents: String?
    /// Nil if the text did not change.
    let text: AppMetaData?
    let isDeleted: Bool
    let undeletes: Bool
}

/// The sender of a request.
struct ModelCaller: Hashable {
    let user: UserID
    let device: DeviceUUID
}

/// A sharing group in the model of the server.
struct ModelGroup {
    struct StagingKey: Hashable {
        let caller: ModelCaller
        let file: FileUUID
    }

    struct CommitKey: Hashable {
        let caller: ModelCaller
        let commitID: CommitID
    }

    let creator: UserID
    var name: String?
    var masterVersion = MasterVersion.initial
    var members: [UserID: Permission] = [:]
    var files: [FileUUID: ModelFile] = [:]
    var staged: [StagingKey: ModelStagedChange] = [:]
    var commits: [CommitKey: (request: ServerRequestKey, count: Int)] = [:]
    /// The members of batches that were committed.
    var batches: [CommitKey: [FileUUID: ModelBatchMember]] = [:]
    var history: [FileUUID: [ModelCommittedChange]] = [:]
    /// The mark of the last restoration, and the master version after it; nil if there was none.
    var restored: (mark: RestoreMark, masterVersion: MasterVersion)?
    /// Changes committed before restorations.
    var formerHistory: [FileUUID: [ModelCommittedChange]] = [:]
    /// The user, device and number of changes in the last commit, for retries without an id.
    var lastCommit: (request: ServerRequestKey, count: Int)?
}

/// Distinguishes commits.
struct ServerRequestKey: Equatable {
    let caller: ModelCaller
    let masterVersion: MasterVersion
    let name: String?
    let message: String?
    let commitID: CommitID?
}
