import FoundationEssentials

/// How to handle a name that is taken.
enum NameConflict: String, Sendable {
    case fail, replace, rename
}

extension SandboxServer {
    /// The account's current OneDrive.
    func oneDrive(of account: String) throws(GraphError) -> OneDrive {
        guard let drive = withState({ $0.oneDrives[account] }) else {
            throw GraphError(500, "generalException", "The sandbox has no OneDrive for this account")
        }
        return drive
    }

    /// Changes an account's OneDrive and writes the changed items to disk.
    func changeOneDrive<Result: Sendable>(
        of account: String, _ body: (inout OneDriveChange) throws -> Result
    ) throws -> Result {
        try withState { state in
            guard let drive = state.oneDrives[account] else {
                throw GraphError(500, "generalException", "The sandbox has no OneDrive for this account")
            }
            // Removed from the state during the change, so that only one copy exists.
            state.oneDrives[account] = nil
            var change = OneDriveChange(
                drive: drive, directory: directory, quotaBytes: state.accounts[account]?.quotaBytes ?? 0)
            defer { state.oneDrives[account] = change.drive }
            return try body(&change)
        }
    }

    /// The folder of our app, created if it is missing.
    func appFolder(of account: String) throws -> OneDriveItem {
        let time = now
        return try changeOneDrive(of: account) { change in
            if let folder = change.drive.appFolder { return folder }
            let apps =
                try change.drive.child("Apps", of: change.drive.rootID)
                ?? change.makeFolder("Apps", in: change.drive.rootID, at: time)
            return try change.makeFolder(RegisteredApps.microsoftAppName, in: apps.id, isAppFolder: true, at: time)
        }
    }
}

/// A change to a OneDrive, under the server's lock.
struct OneDriveChange {
    var drive: OneDrive
    let directory: StateDirectory
    let quotaBytes: Int

    /// Creates a folder.
    mutating func makeFolder(
        _ name: String, in parent: String, isAppFolder: Bool = false, at time: Date
    ) throws(StorageError) -> OneDriveItem {
        var folder = OneDriveItem(
            number: drive.nextSequence, in: drive.driveID, name: name, parent: parent, isFolder: true, mimeType: "",
            at: time)
        folder.isAppFolder = isAppFolder
        return try keep(folder)
    }

    /// Stores content under a name.
    /// - Returns: the item, and whether it is new.
    mutating func store(
        _ content: UploadedContent, as name: String, in parent: String, conflict: NameConflict, at time: Date
    ) throws -> (item: OneDriveItem, isNew: Bool) {
        var name = name
        let existing = drive.child(name, of: parent)
        switch (existing, conflict) {
        case (nil, _): break
        case (_?, .fail): throw GraphError.nameTaken
        case (let item?, .replace):
            guard !item.isFolder else { throw GraphError.nameTaken }
            return (try replace(item, by: content, at: time), false)
        case (_?, .rename): name = drive.freeName(like: name, in: parent)
        }
        guard drive[parent] != nil else { throw GraphError.notFound }
        guard drive.usedBytes + content.size <= quotaBytes else { throw GraphError.quotaExceeded }
        var item = OneDriveItem(
            number: drive.nextSequence, in: drive.driveID, name: name, parent: parent, isFolder: false,
            mimeType: content.contentType ?? "application/octet-stream", at: time)
        try directory.move(content.path, to: directory.contentPath(drive.account, item.id))
        item.size = content.size
        item.quickXorHash = content.checksum
        return (try keep(item), true)
    }

    /// Replaces an item's content.
    mutating func replace(
        _ item: OneDriveItem, by content: UploadedContent, at time: Date
    ) throws -> OneDriveItem {
        guard drive.usedBytes - item.size + content.size <= quotaBytes else { throw GraphError.quotaExceeded }
        try directory.move(content.path, to: directory.contentPath(drive.account, item.id))
        var item = item
        item.size = content.size
        item.quickXorHash = content.checksum
        item.modifiedAt = time
        item.contentAt = time
        item.contentVersion += 1
        return try keep(item)
    }

    /// Stores a new or changed item.
    mutating func keep(_ item: OneDriveItem) throws(StorageError) -> OneDriveItem {
        var item = item
        if let old = drive[item.id] { item.version = old.version + 1 }
        try drive.keep(item, in: directory)
        return item
    }

    /// Deletes an item, including the contents of a folder.
    mutating func remove(_ id: String) { drive.delete(id, in: directory) }
}
