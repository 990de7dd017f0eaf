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
    package var metadata: Metadata?
    package var isDeleted = false
    package internal(set) var created: Choice
    package internal(set) var updated: Choice

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

    /// The part of an upload that is about contents.
    package struct Uploaded: Equatable, Sendable {
        package let content: Content
        package internal(set) var owner: Owner
        package let mimeType: String
        package let fileGroup: String?
        /// New files only.
        var created: Choice?
        var updated: Choice
    }
}
