public import Foundation

// Short names for common calls; each has the effect of the call that its comment names. Files are URLs, and errors are
// the same.
extension SyncServer {
    // MARK: Files

    /// Queues a copy of a file for upload: ``uploadCopy(localFile:withAttributes:)``.
    public func upload(_ file: URL, as attributes: SyncAttributes) throws(SyncError) {
        try uploadCopy(localFile: location(of: file), withAttributes: attributes)
    }

    /// Queues data for upload: ``uploadData(_:withAttributes:)``.
    public func upload(_ data: Data, as attributes: SyncAttributes) throws(SyncError) {
        try uploadData(data, withAttributes: attributes)
    }

    /// Queues an unchanging file for upload: ``uploadImmutable(localFile:withAttributes:)``.
    public func upload(unchanging file: URL, as attributes: SyncAttributes) throws(SyncError) {
        try uploadImmutable(localFile: location(of: file), withAttributes: attributes)
    }

    /// Queues a file for upload, and moves it away: ``uploadTemporary(localFile:withAttributes:)``.
    public func upload(moving file: URL, as attributes: SyncAttributes) throws(SyncError) {
        try uploadTemporary(localFile: location(of: file), withAttributes: attributes)
    }

    /// Queues the deletion of files, all or none: ``delete(filesWithUUIDs:)``.
    public func delete(_ files: [FileUUID]) throws(SyncError) { try delete(filesWithUUIDs: files) }

    /// Withdraws those changes to a file that the server does not have yet: ``withdraw(forFileUUID:)``.
    public func withdraw(_ file: FileUUID) throws(SyncError) { try withdraw(forFileUUID: file) }

    /// Queues again the changes to a file that were set aside: ``retryUpload(forFileUUID:)``.
    public func retryUpload(_ file: FileUUID) throws(SyncError) { try retryUpload(forFileUUID: file) }

    /// The library's information about a file: ``getAttributes(forFileUUID:)``.
    public func attributes(of file: FileUUID) throws(SyncError) -> SyncAttributes {
        try getAttributes(forFileUUID: file)
    }

    // MARK: Syncs

    /// Requests a sync of a group: ``sync(sharingGroupUUID:reAttemptGoneDownloads:pushNotificationMessage:)``.
    public func sync(_ group: SharingGroupUUID) throws(SyncError) { try sync(sharingGroupUUID: group) }

    /// Requests a sync of a group, and waits for it:
    /// ``synced(sharingGroupUUID:reAttemptGoneDownloads:pushNotificationMessage:)``.
    @discardableResult
    public func synced(_ group: SharingGroupUUID) async throws -> SyncReport {
        try await synced(sharingGroupUUID: group)
    }

    // MARK: Groups

    /// Queues the creation of a group with a new identifier:
    /// ``createSharingGroup(sharingGroupUUID:sharingGroupName:)``.
    @discardableResult
    public func createGroup(named name: String? = nil) throws(SyncError) -> SharingGroupUUID {
        let group = SharingGroupUUID()
        try createSharingGroup(sharingGroupUUID: group, sharingGroupName: name)
        return group
    }

    /// Queues a new name for a group: ``updateSharingGroup(sharingGroupUUID:newSharingGroupName:)``.
    public func rename(_ group: SharingGroupUUID, to name: String) throws(SyncError) {
        try updateSharingGroup(sharingGroupUUID: group, newSharingGroupName: name)
    }

    /// Queues the user's departure from a group: ``removeFromSharingGroup(sharingGroupUUID:)``.
    public func leave(_ group: SharingGroupUUID) throws(SyncError) {
        try removeFromSharingGroup(sharingGroupUUID: group)
    }

    /// Creates an invitation to a group:
    /// ``createSharingInvitation(withPermission:sharingGroupUUID:numberAcceptors:allowSharingAcceptance:)``.
    public func invite(
        to group: SharingGroupUUID, permission: Permission, acceptors: Int = 1
    ) async throws(SyncError) -> SharingInvitationUUID {
        try await createSharingInvitation(
            withPermission: permission, sharingGroupUUID: group, numberAcceptors: acceptors)
    }

    /// Joins a group with an invitation: ``redeemSharingInvitation(invitationCode:)``.
    @discardableResult
    public func join(with code: SharingInvitationUUID) async throws(SyncError) -> SharingGroupUUID {
        try await redeemSharingInvitation(invitationCode: code)
    }
}
