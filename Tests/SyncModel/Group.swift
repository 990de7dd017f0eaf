/// A sharing group.
package struct Group: Equatable, Sendable {
    package var name: String?
    package var masterVersion = 0
    package var isDeleted = false
    package var members: [Person: Member] = [:]
    package var files: [String: File] = [:]
    /// The staged changes by each user and device, by file.
    package var staged: [Caller: [String: StagedChange]] = [:]
    /// Candidates, one of whom has just become admin, the most likely one first; see ``World/settled``.
    var heirs: [Person] = []
    /// The newest commit and its reply, in case the reply was lost.
    var lastCommit: Commit?
    /// Commits with an id, including those of batches.
    package internal(set) var commits: [Caller: [String: NamedCommit]] = [:]
    /// Uncommitted batches.
    package internal(set) var batches: [Caller: [String: OpenBatch]] = [:]

    /// A commit stored under its id.
    package struct NamedCommit: Equatable, Sendable {
        /// The DoneUploads request; nil for a batch.
        package let request: Request?
        let transferred: Int
        /// The group's master version after the commit.
        let masterVersion: Int
        /// The requests of a batch, by file.
        package var members: [String: BatchMember] = [:]
    }

    /// The state of a batch that is not complete yet.
    package struct OpenBatch: Equatable, Sendable {
        package let count: Int
        package let masterVersion: Int
    }

    /// A commit that is stored until the master version changes again.
    struct Commit: Equatable, Sendable {
        let caller: Caller
        let request: Request
        let masterVersion: Int
        let transferred: Int
    }

    /// Creates a group with one admin.
    init(name: String?, creator: Person) {
        self.name = name
        members[creator] = Member(permission: .admin)
    }

    /// Promotes the heir at `index` to admin.
    mutating func promoteHeir(_ index: Int) {
        members[heirs[index]]?.permission = .admin
        heirs = []
    }
}

/// A membership in a group.
package struct Member: Equatable, Sendable {
    package var permission: Permission
    /// The owner of the new files of a member without storage; nil for other members, and after the owner has left.
    package var owner: Owner?
    /// The invitation of the member; nil for the creator.
    package var invitation: Choice?
}

/// Whether the owner's account contains the bytes of a file.
package enum ContentState: Sendable {
    case stored
    /// The owner has switched accounts since, and the bytes must be uploaded again.
    case awaiting
    /// The owner has switched accounts since, and the server is moving the bytes: they may have arrived already.
    case moving
    /// The owner has switched accounts since, and given up the bytes.
    case missing
}

/// A committed file.
package struct File: Equatable, Sendable {
    package var version: Int
    /// The device that uploaded the current version.
    package var device: String
    package var content: Content
    package let mimeType: String
    package let fileGroup: String?
    /// The permanent owner, even after they have left.
    package internal(set) var owner: Owner
    /// The owner's account that contains the bytes or is to receive them.
    package internal(set) var account: Account
    package internal(set) var contentState = ContentState.stored
    package var metadata: Metadata?
    package var isDeleted = false
    package internal(set) var created: Choice
    package internal(set) var updated: Choice
    /// The master version of the file's last change.
    var changedAt = 0

    /// Marks the file as deleted, whether or not its bytes are stored.
    mutating func markDeleted() {
        isDeleted = true
        contentState = .stored
    }

    /// The required version of the next metadata.
    package var nextMetadataVersion: Int { metadata.map { $0.version + 1 } ?? 0 }
}

/// A device's uncommitted change to one file.
package struct StagedChange: Equatable, Sendable {
    package enum Kind: Sendable {
        case upload
        /// An upload that undeletes a file.
        case undelete
        case metadata
        case deletion
    }

    package var kind: Kind
    /// The file version, for uploads and deletions.
    package var version: Int?
    package var upload: Uploaded?
    package var metadata: Metadata?
    /// The batch that commits the change, and its master version.
    package var batch: StagedBatch?

    /// The membership of a staged change in a batch.
    package struct StagedBatch: Equatable, Sendable {
        package let uuid: String
        let masterVersion: Int
        /// The request without master version and batch.
        let request: Request
    }

    /// The contents of a staged upload.
    package struct Uploaded: Equatable, Sendable {
        package let content: Content
        /// The owner; nil if the contents are lost because the owner of a new file has left, or the owner has switched
        /// accounts since.
        package internal(set) var owner: Owner?
        package let mimeType: String
        package let fileGroup: String?
        /// The creation date, for new files only.
        var created: Choice?
        var updated: Choice
    }
}

/// A request of a committed batch.
package struct BatchMember: Equatable, Sendable {
    /// The request without master version and batch.
    package let request: Request
    var created: Choice?
    var updated: Choice?
}
