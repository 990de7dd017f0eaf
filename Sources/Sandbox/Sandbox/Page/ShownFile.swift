internal import FoundationEssentials

/// A file as displayed on the page, from any provider.
struct ShownFile {
    let name: String
    /// The folders that contain it, joined by slashes; empty at the root.
    let folder: String
    let sizeBytes: Int
    let mimeType: String
    let modifiedAt: Date
    /// The name of its contents in the account's directory.
    let object: String
    var isTrashed = false

    /// Its address in the control interface, below `files` or `view`.
    func address(in route: String, of account: Account) -> String {
        "\(PageLayout.address(of: account))\(route)/\(PercentEncoding.encode(name))"
            + "?folder=\(PercentEncoding.encode(folder))"
    }
}

extension Date {
    /// Formatted for people, to the minute.
    var shown: String { PageText.escape(String(text.prefix(16)).replacing("T", with: " ")) }
}

extension SandboxState {
    /// The files of an account, in order of creation; `nil` if it has no storage.
    func shownFiles(of account: Account) -> (files: [ShownFile], usedBytes: Int, root: String)? {
        if let drive = drives[account.id] {
            let listing = FileListing(drive: drive)
            let files = listing.files.map { file in
                ShownFile(
                    name: file.name, folder: listing.folderName(of: file), sizeBytes: file.size ?? 0,
                    mimeType: file.mimeType, modifiedAt: file.modifiedAt, object: file.id,
                    isTrashed: drive.isTrashed(file))
            }
            return (files, drive.usedBytes, "My Drive")
        }
        if let folder = dropboxes[account.id] {
            let files = folder.entries.values.filter { !$0.isFolder }.sorted { $0.sequence < $1.sequence }
            let shown = files.map { file in
                ShownFile(
                    name: file.name, folder: String(file.folder.dropFirst()), sizeBytes: file.size ?? 0,
                    mimeType: MediaType.guess(file.name), modifiedAt: file.serverModifiedAt, object: file.id)
            }
            return (shown, folder.usedBytes, "Apps/Sandbox")
        }
        if let files = nextclouds[account.id] {
            let shown = files.entries.values.filter { !$0.isFolder }.sorted { $0.fileID < $1.fileID }.map { file in
                ShownFile(
                    name: file.name, folder: String(file.folder.dropFirst()), sizeBytes: file.size ?? 0,
                    mimeType: MediaType.guess(file.name), modifiedAt: file.modifiedAt, object: file.object)
            }
            return (shown, files.usedBytes, "Nextcloud")
        }
        if let drive = oneDrives[account.id] {
            let files = OneDriveListing(drive: drive).files.map { file in
                ShownFile(
                    name: file.name, folder: drive.folderPath(of: file), sizeBytes: file.size,
                    mimeType: file.mimeType, modifiedAt: file.modifiedAt, object: file.id)
            }
            return (files, drive.usedBytes, "OneDrive")
        }
        return nil
    }
}
