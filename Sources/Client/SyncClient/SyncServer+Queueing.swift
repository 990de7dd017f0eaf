public import Foundation

// Queue calls: local, fast, and durable once they return. Each is one transaction; if it throws, nothing has changed.
// Each group has its own queue, which a sync of the group closes: changes to one group never block those to another.
extension SyncServer {
    /// Queues a file for upload, as a new file or as the next version of one. Replaces queued changes to the file that
    /// no sync has closed yet.
    ///
    /// The file must not change until its upload is committed, withdrawn or set aside; a changed file is not sent, but
    /// set aside (``SyncEvent/singleFileUploadFailed(_:_:)``).
    /// - Throws: `fileManagerError` if the file does not exist; `noMimeType`, `mimeTypeOfFileChanged`,
    ///   `fileGroupUUIDChanged`, `fileAlreadyDeleted`, `fileQueuedForDeletion`, `fileIsGone`,
    ///   `sharingGroupUUIDInconsistent` if the file belongs to another group, `unknownSharingGroup`, `notAMember`,
    ///   `permissionDenied`, `openQueueNotEmpty` if the user is about to leave the group; `storeError`.
    public func uploadImmutable(
        localFile: LocalFileLocation, withAttributes attributes: SyncAttributes
    ) throws(SyncError) {
        try queue(try driver.source(localFile, isOwned: false), attributes)
    }

    /// As ``uploadImmutable(localFile:withAttributes:)``, but the library copies the file first: the original may
    /// change as soon as the call returns.
    public func uploadCopy(localFile: LocalFileLocation, withAttributes attributes: SyncAttributes) throws(SyncError) {
        guard let url = driver.files.url(of: localFile) else { throw SyncError(.fileManagerError) }
        try queueOwned(try driver.files.copy(url), attributes)
    }

    /// As ``uploadImmutable(localFile:withAttributes:)``, but the library takes ownership of the file and moves it
    /// away.
    public func uploadTemporary(
        localFile: LocalFileLocation, withAttributes attributes: SyncAttributes
    ) throws(SyncError) {
        guard let url = driver.files.url(of: localFile) else { throw SyncError(.fileManagerError) }
        _ = try FileStamp(of: url)
        let location = try driver.files.move(url)
        do { try queue(try driver.source(location, isOwned: true), attributes) } catch {
            // Returns the file to the caller.
            if let moved = driver.files.url(of: location) { try? FileManager.default.moveItem(at: moved, to: url) }
            throw error
        }
    }

    /// As ``uploadCopy(localFile:withAttributes:)`` with data in memory.
    public func uploadData(_ data: Data, withAttributes attributes: SyncAttributes) throws(SyncError) {
        try queueOwned(try driver.files.write(data), attributes)
    }

    /// Queues many files in one transaction: all of them, or none. The result is the same as if each were
    /// queued by itself, in this order.
    ///
    /// Copies are on disk before the first file is queued. If the call throws, they are removed, and temporary files
    /// are moved back to their original locations.
    /// - Throws: As ``uploadImmutable(localFile:withAttributes:)``, with the first file that cannot be queued in
    ///   ``SyncError/fileUUID``.
    public func upload(
        _ files: [(contents: UploadContents, attributes: SyncAttributes)]
    ) throws(SyncError) {
        let prepared = try driver.files.prepare(files)
        do throws(SyncError) {
            var uploads: [(source: UploadSource, attributes: SyncAttributes)] = []
            uploads.reserveCapacity(files.count)
            for (location, file) in zip(prepared.locations, files) {
                let source = try SyncError.naming(file.attributes.fileUUID) { () throws(SyncError) in
                    try driver.source(location, isOwned: file.contents.isOwned)
                }
                uploads.append((source, file.attributes))
            }
            try driver.change { machine throws(SyncError) in ((), try machine.upload(uploads, at: driver.now)) }
        } catch {
            driver.files.undo(prepared)
            throw error
        }
    }

    /// As ``uploadImmutable(localFile:withAttributes:)``, for many files at once: ``upload(_:)``.
    public func uploadImmutable(
        _ files: [(localFile: LocalFileLocation, attributes: SyncAttributes)]
    ) throws(SyncError) {
        try upload(files.map { (.immutable($0.localFile), $0.attributes) })
    }

    /// As ``uploadCopy(localFile:withAttributes:)``, for many files at once: ``upload(_:)``.
    public func uploadCopy(_ files: [(localFile: LocalFileLocation, attributes: SyncAttributes)]) throws(SyncError) {
        try upload(files.map { (.copy($0.localFile), $0.attributes) })
    }

    /// The types of files that the server accepts, for an app to check before it queues a file: the server refuses
    /// other files (`unknown_mime_type`), and the library sets them aside. Requires a network, but no sign-in.
    ///
    /// A server of an earlier release does not report its types; the result then contains those that all servers
    /// accept.
    /// - Throws: `networkError`, `serverDown` and others.
    public func acceptedTypes() async throws(SyncError) -> Set<MIMEType> {
        let connection = try requireConnection()
        let health = try await asked { () throws(ServerConnectionError) in try await connection.healthCheck() }
        return Set(health.mimeTypes ?? MIMETypeTable.deployed.types)
    }

    private func queueOwned(_ location: LocalFileLocation, _ attributes: SyncAttributes) throws(SyncError) {
        do { try queue(try driver.source(location, isOwned: true), attributes) } catch {
            driver.files.remove(location)
            throw error
        }
    }

    private func queue(_ source: UploadSource, _ attributes: SyncAttributes) throws(SyncError) {
        try driver.change { machine throws(SyncError) in ((), try machine.upload(source, attributes, at: driver.now)) }
    }

    /// Queues a change to a file's text alone. Replaces queued changes to the file that are not closed yet.
    /// - Throws: `badAppMetaData` without a text, `couldNotFindFileUUID` if the server will not have the file by then,
    ///   and as ``uploadImmutable(localFile:withAttributes:)``.
    public func uploadAppMetaData(attributes: SyncAttributes) throws(SyncError) {
        try driver.change { machine throws(SyncError) in
            ((), try machine.uploadAppMetaData(attributes, at: driver.now))
        }
    }

    /// Queues the changes to a file that were set aside: those that the server does not accept
    /// (``SyncEvent/singleFileUploadFailed(_:_:)``), and those that could not be sent before its group was lost.
    /// Contents and texts that were queued later take precedence. A file that the app owns is uploaded in its current
    /// state.
    /// - Throws: `couldNotFindFileUUID` if nothing was set aside, or only the text of a file that the server does not
    ///   have; `fileManagerError` if the contents no longer exist; and as
    ///   ``uploadImmutable(localFile:withAttributes:)``.
    public func retryUpload(forFileUUID file: FileUUID) throws(SyncError) {
        try driver.change { machine throws(SyncError) in
            let actions = try machine.retryUpload(of: file, at: driver.now) { item throws(SyncError) in
                guard let location = item.source else { return nil }
                return try driver.source(location, isOwned: item.ownsFile)
            }
            return ((), actions)
        }
    }

    /// Withdraws all changes to a file that the server does not have yet, with the library's copies: queued, waiting
    /// for storage, or set aside. Cancels a transfer in progress. If the server does not have the file, because the
    /// file never reached it, or because a restored server has lost it, its record is removed; if another device
    /// uploads it again, it is a new file. If only a text is withdrawn, the library uploads the lost file again. The
    /// app's own file is not touched; ``requestDownload(forFileUUID:)`` requests the server's contents.
    ///
    /// A batch that the server has just completed can no longer be withdrawn: the next sync delivers the file.
    /// - Throws: `couldNotFindFileUUID` if nothing is pending; `commitUnderWay`; `storeError`.
    public func withdraw(forFileUUID file: FileUUID) throws(SyncError) {
        try driver.change { machine throws(SyncError) in ((), try machine.withdraw(file)) }
    }

    /// Discards the changes to a file that were set aside, as ``withdraw(forFileUUID:)`` does, and no others.
    /// - Throws: `couldNotFindFileUUID` if nothing was set aside; `storeError`.
    public func discardUpload(forFileUUID file: FileUUID) throws(SyncError) {
        try driver.change { machine throws(SyncError) in ((), try machine.discardUpload(of: file)) }
    }

    /// Queues the deletion of a file.
    public func delete(fileWithUUID file: FileUUID) throws(SyncError) {
        try delete(filesWithUUIDs: [file])
    }

    /// Queues deletions: all of them, or none. Drops changes to the files that are queued and not yet closed, that wait
    /// for storage, or that were set aside; a file that never reached the server is deleted immediately.
    /// - Throws: `deletingUnknownFile`, `fileAlreadyDeleted`, `fileQueuedForDeletion`, `sharingGroupUUIDInconsistent`
    ///   if the files belong to several groups, `unknownSharingGroup`, `notAMember`, `permissionDenied`,
    ///   `openQueueNotEmpty` if the user is about to leave the group; `storeError`.
    public func delete(filesWithUUIDs files: [FileUUID]) throws(SyncError) {
        try driver.change { machine throws(SyncError) in ((), try machine.delete(files, at: driver.now)) }
    }

    /// Queues the creation of a sharing group, which is visible locally at once; files for it may be queued after it.
    /// - Throws: `sharingGroupExists`; `permissionDenied` for users without storage, and while the user is unknown;
    ///   `storeError`.
    public func createSharingGroup(
        sharingGroupUUID: SharingGroupUUID, sharingGroupName: String? = nil
    ) throws(SyncError) {
        try driver.change { machine throws(SyncError) in
            ((), try machine.createSharingGroup(sharingGroupUUID, name: sharingGroupName, at: driver.now))
        }
    }

    /// Queues a new name for a group, which takes effect with the next commit.
    /// - Throws: `unknownSharingGroup`, `notAMember`, `permissionDenied` unless the user is admin, `openQueueNotEmpty`
    ///   if the user is about to leave the group; `storeError`.
    public func updateSharingGroup(
        sharingGroupUUID: SharingGroupUUID, newSharingGroupName: String
    ) throws(SyncError) {
        try driver.change { machine throws(SyncError) in
            ((), try machine.updateSharingGroup(sharingGroupUUID, newName: newSharingGroupName, at: driver.now))
        }
    }

    /// Queues the user's departure from a group; must be followed by a sync of the group. The app keeps its files until
    /// it calls ``forget(sharingGroupUUID:)``.
    /// - Throws: `unknownSharingGroup`; `notAMember`, even if the user is only about to leave; `openQueueNotEmpty` if
    ///   changes to the group are queued that no sync has closed; `storeError`.
    public func removeFromSharingGroup(sharingGroupUUID: SharingGroupUUID) throws(SyncError) {
        try driver.change { machine throws(SyncError) in
            ((), try machine.removeFromSharingGroup(sharingGroupUUID, at: driver.now))
        }
    }

    /// Closes the changes queued for a group so far, without a sync: they will be sent as a whole.
    /// - Throws: `unknownSharingGroup`, `notAMember`; `storeError`.
    public func closeQueue(sharingGroupUUID: SharingGroupUUID) throws(SyncError) {
        try driver.change { machine throws(SyncError) in
            try machine.closeQueue(of: sharingGroupUUID, at: driver.now)
            return ((), [])
        }
    }
}

/// The contents of one of the files that ``SyncServer/upload(_:)`` queues.
public enum UploadContents: Sendable {
    /// A file that does not change: ``SyncServer/uploadImmutable(localFile:withAttributes:)``.
    case immutable(LocalFileLocation)
    /// A file that the library copies: ``SyncServer/uploadCopy(localFile:withAttributes:)``.
    case copy(LocalFileLocation)
    /// A file that the library takes over: ``SyncServer/uploadTemporary(localFile:withAttributes:)``.
    case temporary(LocalFileLocation)
    /// Bytes in memory: ``SyncServer/uploadData(_:withAttributes:)``.
    case data(Data)

    /// Whether the library keeps its own file with the contents.
    var isOwned: Bool { if case .immutable = self { false } else { true } }
}

extension SyncError {
    /// Adds the file to the error of `body`.
    static func naming<Value>(
        _ file: FileUUID, _ body: () throws(SyncError) -> Value
    ) throws(SyncError) -> Value {
        do throws(SyncError) { return try body() } catch {
            var error = error
            error.fileUUID = file
            throw error
        }
    }
}
