/// A content in somebody's storage.
package struct StoredContent: Hashable, Sendable {
    package internal(set) var owner: Owner
    /// The owner's account in which it is.
    package let account: Account
    package let file: String
    package let content: Content
}

/// What lies, or may lie, in people's storage although no file and no staged change refers to it.
package struct Remains: Equatable, Sendable {
    /// Stays there: what people own when they or their group leave the server is theirs.
    package internal(set) var left: Set<StoredContent> = []
    /// The server was about to delete it when the owner removed the account, and has an hour for that: there or not.
    package internal(set) var uncertain: Set<StoredContent> = []
    /// Accounts that their owners have left once.
    package internal(set) var abandoned: Set<Account> = []
    /// Replaced, deleted or withdrawn: must vanish, unless the owner removes the account first.
    package internal(set) var doomed: Set<StoredContent> = []

    /// The server has forgotten what it had to delete in an account that its owner has left: whatever else lies there,
    /// stays.
    mutating func leave(_ account: Account, of owner: Owner) {
        abandoned.insert(account)
        doomed = doomed.filter { $0.account != account || $0.owner != owner }
    }

    /// The server writes into an account again: new objects come beside, or over, those that were left there.
    mutating func returnTo(_ account: Account) {
        let known = left.filter { $0.account == account }
        uncertain.formUnion(known)
        left.subtract(known)
    }

    /// A file is deleted, but not its bytes.
    mutating func take(_ file: File, as uuid: String) {
        guard let stored = file.perhapsStored(as: uuid) else { return }
        if file.contentState == .moving { uncertain.insert(stored) } else { left.insert(stored) }
    }

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
        let stored = StoredContent(
            owner: owner, account: account(of: owner.person), file: file, content: upload.content)
        if isPresent(owner) { remains.doomed.insert(stored) } else { remains.uncertain.insert(stored) }
    }

    /// What files and staged changes refer to.
    package var referenced: Set<StoredContent> {
        var result: Set<StoredContent> = []
        for group in groups.values {
            result.formUnion(group.files.compactMap { uuid, file in file.stored(as: uuid) })
            for (uuid, change) in group.staged.values.joined() {
                guard let upload = change.upload, let owner = upload.owner else { continue }
                result.insert(
                    StoredContent(
                        owner: owner, account: account(of: owner.person), file: uuid, content: upload.content))
            }
        }
        return result
    }
}

extension File {
    /// Where the bytes are; `nil` if the file is deleted, or waits for them.
    func stored(as uuid: String) -> StoredContent? {
        guard !isDeleted, contentState == .stored else { return nil }
        return StoredContent(owner: owner, account: account, file: uuid, content: content)
    }

    /// Where the bytes are, or may be since the server is moving them.
    func perhapsStored(as uuid: String) -> StoredContent? {
        guard !isDeleted, contentState == .stored || contentState == .moving else { return nil }
        return StoredContent(owner: owner, account: account, file: uuid, content: content)
    }
}
