import FoundationEssentials
import OpenSSLCrypto

extension DriveFile {
    /// - Parameter sha256: the SHA-256 of the content, if it is already known.
    fileprivate mutating func beginRevision(sha256: String?) {
        let revision = "0B" + RandomText.token(48)
        headRevisionID = revision
        if let sha256 { StoredContent.remember(sha256, .sha256, ofRevision: revision) }
    }
}

extension SandboxServer {
    /// Creates a file or folder.
    /// - Parameters:
    ///   - content: moved into place; `nil` creates a folder or an empty file.
    ///   - reservedID: the ID assigned to an upload session, for metadata without an ID.
    /// - Throws: ``DriveError`` if the ID is in use or not genuine, the folder is not visible, or the quota is
    ///   exceeded.
    func createFile(
        _ metadata: DriveMetadata, content: UploadedContent?, by caller: DriveCaller, reservedID: String? = nil,
        request: SandboxRequest
    ) throws -> DriveFile {
        let account = caller.account.id
        try requireUsableID(metadata, account: account, request)
        let time = now
        let id = metadata.id ?? reservedID ?? DriveFileID.generate(for: account)
        return try withState { state in
            let folder = try state.withDrive(of: account) { drive, quotaBytes throws(DriveError) in
                try Self.requireUnused(id, in: drive)
                guard drive.usedBytes + (content?.size ?? 0) <= quotaBytes else { throw .quotaExceeded }
                return try caller.folder(metadata.parents?.first, in: drive)
            }
            var file = DriveFile(
                id: id, name: metadata.name ?? "Untitled",
                mimeType: content?.contentType ?? "application/octet-stream", parent: folder.id,
                at: metadata.createdTime ?? time)
            metadata.apply(to: &file, at: time)
            file.changedAt = time
            file.projects = [caller.project]
            if !file.isFolder {
                let path = directory.contentPath(account, id)
                if let content {
                    try directory.move(content.path, to: path)
                } else {
                    _ = try ContentWriter(path: path, .md5)
                }
                file.size = content?.size ?? 0
                file.md5 = content?.checksum ?? "d41d8cd98f00b204e9800998ecf8427e"
                file.beginRevision(sha256: content?.sha256)
            }
            file.sequence = state.drives[account]?.nextSequence ?? 0
            try state.drives[account]?.keep(file, in: directory)
            return file
        }
    }

    /// Changes a file's metadata and, if given, its content.
    ///
    /// `change` runs under the server's lock, so it must not call the server.
    /// - Throws: ``DriveError`` if the file is not visible; the errors of `change`.
    @discardableResult
    func changeFile(
        _ id: String, by caller: DriveCaller, at time: Date, content: UploadedContent? = nil,
        _ change: (inout DriveFile, Drive) throws(DriveError) -> Void
    ) throws -> DriveFile {
        let account = caller.account.id
        return try withState { state in
            var file = try state.withDrive(of: account) { drive, quotaBytes throws(DriveError) in
                var file = try caller.file(id, in: drive)
                guard file.id != drive.rootID else {
                    throw DriveError(403, "insufficientFilePermissions", "The root folder cannot be changed.")
                }
                try change(&file, drive)
                guard
                    drive.usedBytes + (content.map { $0.size - (file.size ?? 0) } ?? 0) <= quotaBytes || content == nil
                else { throw .quotaExceeded }
                return file
            }
            if let content {
                try directory.move(content.path, to: directory.contentPath(account, file.id))
                file.size = content.size
                file.md5 = content.checksum
                file.beginRevision(sha256: content.sha256)
            }
            file.version += 1
            try state.drives[account]?.keep(file, in: directory)
            return file
        }
    }

    /// Permanently deletes a file, or a folder with its contents.
    /// - Throws: ``DriveError`` if it is not visible.
    func removeFile(_ id: String, by caller: DriveCaller) throws {
        let account = caller.account.id
        try withState { state throws(DriveError) in
            let file = try state.withDrive(of: account) { drive, _ throws(DriveError) in
                let file = try caller.file(id, in: drive)
                guard file.id != drive.rootID else {
                    throw DriveError(403, "insufficientFilePermissions", "The root folder cannot be deleted.")
                }
                return file
            }
            state.drives[account]?.delete(file.id, in: directory)
        }
    }

    /// - Throws: ``DriveError`` 400 if the metadata has an ID that `generateIds` did not create for this account, or an
    ///   ID for a Google document other than a folder.
    func requireUsableID(
        _ metadata: DriveMetadata, account: String, _ request: SandboxRequest
    ) throws(DriveError) {
        guard let id = metadata.id else { return }
        if let type = metadata.mimeType, type.hasPrefix(DriveFile.documentTypes), type != DriveFile.folderType {
            note(request, "file-id", "a file of the type \(type) cannot have an ID from generateIds")
            throw DriveError(
                400, "invalid", "Generated IDs are not supported for Docs Editors formats.", location: "file.id")
        }
        guard DriveFileID.isGenuine(id, for: account) else {
            note(request, "file-id", "the ID in the metadata is not from generateIds for this account")
            throw DriveError(400, "invalid", "The provided file ID is not usable.", location: "file.id")
        }
    }

    /// - Throws: ``DriveError`` 409 if a file with that ID exists or has existed.
    static func requireUnused(_ id: String, in drive: Drive) throws(DriveError) {
        guard drive.entries[id] == nil, !drive.deletedIDs.contains(id) else {
            throw DriveError(409, "fileIdInUse", "A file already exists with the provided ID.")
        }
    }
}

extension SandboxState {
    /// Reads an account's Drive and quota. Later changes to the Drive are made in place: a surviving copy would make
    /// the cost of each change proportional to the number of files.
    fileprivate func withDrive<Result>(
        of account: String, _ body: (Drive, Int) throws(DriveError) -> Result
    ) throws(DriveError) -> Result {
        guard let drive = drives[account] else { throw DriveError(500, "internalError", "No Drive") }
        return try body(drive, accounts[account]?.quotaBytes ?? 0)
    }
}
