/// A content in somebody's storage.
package struct StoredContent: Hashable, Sendable {
    package let owner: Owner
    package let file: String
    package let content: Content
}

/// What lies, or may lie, in people's storage although no file and no staged change refers to it.
package struct Remains: Equatable, Sendable {
    /// Stays there: what people own when they or their group leave the server is theirs.
    package internal(set) var left: Set<StoredContent> = []
    /// The server was about to delete it when the owner removed the account, and has an hour for that: there or not.
    package internal(set) var uncertain: Set<StoredContent> = []
    /// Replaced, deleted or withdrawn: must vanish, unless the owner removes the account first.
    package internal(set) var doomed: Set<StoredContent> = []

    /// The server lost access to this owner's storage.
    mutating func loseAccess(to owner: Owner) {
        uncertain.formUnion(doomed.filter { $0.owner == owner })
        doomed = doomed.filter { $0.owner != owner }
    }
}

extension World {
    /// What a staged change has put into somebody's storage is not needed any more.
    mutating func discard(_ change: StagedChange?, of file: String) {
        guard let upload = change?.upload, let owner = upload.owner else { return }
        let stored = StoredContent(owner: owner, file: file, content: upload.content)
        if isPresent(owner) { remains.doomed.insert(stored) } else { remains.uncertain.insert(stored) }
    }

    /// What files and staged changes refer to.
    package var referenced: Set<StoredContent> {
        var result: Set<StoredContent> = []
        for group in groups.values {
            for (uuid, file) in group.files where !file.isDeleted {
                result.insert(StoredContent(owner: file.owner, file: uuid, content: file.content))
            }
            for (uuid, change) in group.staged.values.joined() {
                guard let upload = change.upload, let owner = upload.owner else { continue }
                result.insert(StoredContent(owner: owner, file: uuid, content: upload.content))
            }
        }
        return result
    }
}
