/// A sharing group.
package struct Group: Equatable, Sendable {
    package var name: String?
    package var masterVersion = 0
    package var isDeleted = false
    package var members: [Person: Member] = [:]
    package var files: [String: File] = [:]
    /// What each device of each user wants to commit, by file.
    package var staged: [Caller: [String: StagedChange]] = [:]
    /// One of these has just become admin, the most likely one first; see ``World/settled``.
    var heirs: [Person] = []
    /// The newest commit and its reply, for the case that the reply got lost.
    var lastCommit: Commit?
    /// Commits with an id, those of batches included.
    package internal(set) var commits: [Caller: [String: NamedCommit]] = [:]
    /// Batches that are not committed.
    package internal(set) var batches: [Caller: [String: OpenBatch]] = [:]

    /// A commit that is remembered by its id.
    package struct NamedCommit: Equatable, Sendable {
        /// Of DoneUploads; nil for a batch.
        package let request: Request?
        let transferred: Int
        /// The version that the commit led to.
        let masterVersion: Int
        /// Of a batch: what was asked for, by file.
        package var members: [String: BatchMember] = [:]
    }

    /// What a batch's requests have said so far.
    package struct OpenBatch: Equatable, Sendable {
        package let count: Int
        package let masterVersion: Int
    }

    /// A commit that is remembered as long as the master version is the one that it made.
    struct Commit: Equatable, Sendable {
        let caller: Caller
        let request: Request
        let masterVersion: Int
        let transferred: Int
    }

    /// A new group with one admin.
    init(name: String?, creator: Person) {
        self.name = name
        members[creator] = Member(permission: .admin)
    }

    /// Makes the heir of that number admin.
    mutating func promoteHeir(_ index: Int) {
        members[heirs[index]]?.permission = .admin
        heirs = []
    }
}

/// Somebody's place in a group.
package struct Member: Equatable, Sendable {
    package var permission: Permission
    /// Who takes the new files of a member without storage; empty for others, and once that owner has left.
    package var owner: Owner?
    /// How the member came in; nil for the creator.
    package var invitation: Choice?
}

/// Whether the owner's account has the bytes of a file.
package enum ContentState: Sendable {
    case stored
    /// The owner has switched accounts since.
    case awaiting
    /// Likewise, and the server is moving them: they may be there already.
    case moving
    /// The owner has given up on them since.
    case missing
}

/// A committed file.
package struct File: Equatable, Sendable {
    package var version: Int
    /// The device that uploaded the present version.
    package var device: String
    package var content: Content
    package let mimeType: String
    package let fileGroup: String?
    /// The owner for good, even after they have left.
    package internal(set) var owner: Owner
    /// The owner's account in which the bytes are, or to which they are to come.
    package internal(set) var account: Account
    package internal(set) var contentState = ContentState.stored
    package var metadata: Metadata?
    package var isDeleted = false
    package internal(set) var created: Choice
    package internal(set) var updated: Choice
    /// The master version with which anything about the file changed last.
    var changedAt = 0

    /// Deletes the file, whether or not it has its bytes.
    mutating func markDeleted() {
        isDeleted = true
        contentState = .stored
    }

    /// The version that metadata given next must have.
    package var nextMetadataVersion: Int { metadata.map { $0.version + 1 } ?? 0 }
}

/// What a device wants to change about one file.
package struct StagedChange: Equatable, Sendable {
    package enum Kind: Sendable {
        case upload
        /// An upload that revives a deleted file.
        case undelete
        case metadata
        case deletion
    }

    package var kind: Kind
    /// Of uploads and deletions.
    package var version: Int?
    package var upload: Uploaded?
    package var metadata: Metadata?
    /// The batch that commits it, and for which master version.
    package var batch: StagedBatch?

    /// What a staged change is to its batch.
    package struct StagedBatch: Equatable, Sendable {
        package let uuid: String
        let masterVersion: Int
        /// What was asked for, without master version and batch.
        let request: Request
    }

    /// The part of an upload that is about contents.
    package struct Uploaded: Equatable, Sendable {
        package let content: Content
        /// Nil if the contents are gone: those of a new file whose owner has left since, and any whose owner has switched
        /// accounts since.
        package internal(set) var owner: Owner?
        package let mimeType: String
        package let fileGroup: String?
        /// New files only.
        var created: Choice?
        var updated: Choice
    }
}

/// A request that was part of a committed batch.
package struct BatchMember: Equatable, Sendable {
    /// Without master version and batch.
    package let request: Request
    var created: Choice?
    var updated: Choice?
}
