/// A content in an owner's storage.
package struct StoredContent: Hashable, Sendable {
    package internal(set) var owner: Owner
    /// The owner's account that contains it.
    package let account: Account
    package let file: String
    package let content: Content
}

/// Contents that are, or may be, in owners' storages although no file and no staged change references them.
package struct Remains: Equatable, Sendable {
    /// Contents that are kept, because their owner or their group was removed.
    package internal(set) var left: Set<StoredContent> = []
    /// Contents that may or may not exist: the server was about to delete them when the owner removed the account, and
    /// has an hour to do so.
    package internal(set) var uncertain: Set<StoredContent> = []
    /// Accounts that their owners once left.
    package internal(set) var abandoned: Set<Account> = []
    /// Replaced, deleted or withdrawn contents, which the server must delete unless the owner removes the account
    /// first.
    package internal(set) var doomed: Set<StoredContent> = []

    /// The owner leaves an account: the server drops its pending deletions there, so all contents remain.
    mutating func leave(_ account: Account, of owner: Owner) {
        abandoned.insert(account)
        doomed = doomed.filter { $0.account != account || $0.owner != owner }
    }

    /// The server writes into an account again: new objects may appear alongside old ones or replace them.
    mutating func returnTo(_ account: Account) {
        let known = left.filter { $0.account == account }
        uncertain.formUnion(known)
        left.subtract(known)
    }

    /// Records that a file is deleted without its bytes.
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
    /// Marks the contents of a discarded change as unneeded.
    mutating func discard(_ change: StagedChange?, of file: String) {
        guard let upload = change?.upload, let owner = upload.owner else { return }
        let stored = StoredContent(
            owner: owner, account: account(of: owner.person), file: file, content: upload.content)
        if isPresent(owner) { remains.doomed.insert(stored) } else { remains.uncertain.insert(stored) }
    }

    /// The contents that files and staged changes reference.
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
    /// The location of the bytes; `nil` if the file is deleted or waits for them.
    func stored(as uuid: String) -> StoredContent? {
        guard !isDeleted, contentState == .stored else { return nil }
        return StoredContent(owner: owner, account: account, file: uuid, content: content)
    }

    /// The location of the bytes, including bytes that the server is moving and that may have arrived.
    func perhapsStored(as uuid: String) -> StoredContent? {
        guard !isDeleted, contentState == .stored || contentState == .moving else { return nil }
        return StoredContent(owner: owner, account: account, file: uuid, content: content)
    }
}
