public import SyncProtocol

/// The result of comparing the app's files with the directory.
public struct LocalConsistencyResults: Sendable, Equatable {
    /// Deleted, and unknown to the app: harmless.
    public var clientMissingAndDeleted: Set<FileUUID> = []
    /// Not deleted, and unknown to the app. A download request repairs that.
    public var clientMissingNotDeleted: Set<FileUUID> = []
    /// Known to the app, not to the library.
    public var directoryMissing: Set<FileUUID> = []
    /// Known to the app, and deleted.
    public var clientHasDeleted: Set<FileUUID> = []
    /// Known to the app, deleted by others, and not about to be restored. The next sync of the group repairs that.
    public var deletedByOthers: Set<FileUUID> = []
    /// Known to the app, although it has evicted the contents: they may be stale. Remove them, or request a download.
    public var clientHasEvicted: Set<FileUUID> = []

    /// No differences.
    public init() {}
}

/// The scope of a reset.
public enum ResetType: Sendable {
    /// All pending uploads and downloads.
    case tracking
    /// Everything that the client stores.
    case all
}

// Queries and repairs.
extension SyncStateMachine {
    /// The groups that the user is a member of.
    package var sharingGroups: [SharingGroup] {
        state.groups.inOrder.filter { !$0.removedFromGroup && !state.isBeingLeft($0.sharingGroupUUID) }
            .map(\.sharingGroup)
    }

    /// Whether a closed queue remains to be sent.
    package var uploadsPending: Bool { state.queues.contains(at: .closed) }

    /// The attributes of a file.
    /// - Throws: `getAttributesForUnknownFile`, `fileAlreadyDeleted`.
    package func attributes(of file: FileUUID) throws(SyncError) -> SyncAttributes {
        guard let entry = state.directory[file] else {
            throw SyncError(.getAttributesForUnknownFile, fileUUID: file)
        }
        guard !entry.deletedLocally else { throw SyncError(.fileAlreadyDeleted, fileUUID: file) }
        return entry.attributes
    }

    /// Compares the app's files with the directory; nil while a sync is active.
    package func localConsistencyCheck(clientFiles: Set<FileUUID>) -> LocalConsistencyResults? {
        guard !isSyncing else { return nil }
        var results = LocalConsistencyResults()
        results.directoryMissing = clientFiles.filter { state.directory[$0] == nil }
        for entry in state.directory.all {
            switch (clientFiles.contains(entry.fileUUID), entry.deletedLocally) {
            case (true, true): results.clientHasDeleted.insert(entry.fileUUID)
            case (false, true): results.clientMissingAndDeleted.insert(entry.fileUUID)
            case (false, false):
                if !entry.isIndexOnly { results.clientMissingNotDeleted.insert(entry.fileUUID) }
            case (true, false) where entry.isIndexOnly: results.clientHasEvicted.insert(entry.fileUUID)
            case (true, false):
                if entry.deletedOnServer, !state.items.contains(at: .file(entry.fileUUID)) {
                    results.deletedByOthers.insert(entry.fileUUID)
                }
            }
        }
        return results
    }

    /// Drops pending changes, or everything that the client stores. Touches neither the app's files nor the server.
    /// - Throws: `syncIsOperating`.
    package mutating func reset(_ type: ResetType, at now: WireDate) throws(SyncError) -> [EngineAction] {
        self.now = now
        guard !isSyncing else { throw SyncError(.syncIsOperating) }
        for queue in state.queues.inOrder { removeQueue(queue.id) }
        for group in state.downloadGroups.inOrder { removeDownloads(group.id, keepingBytes: false) }
        for entry in state.transfers.inOrder {
            state.transfers[entry.key] = nil
            actions.append(.removeFile(entry.location))
        }
        for entry in state.directory.inOrder {
            if type == .all || entry.fileVersion == nil {
                state.directory[entry.key] = nil
            } else if entry.deletedOnServer, !entry.deletedLocally {
                // No upload undeletes it now.
                leaveToIndex(entry.key)
            }
        }
        for entry in state.groups.inOrder where type == .all || entry.creationPending {
            state.groups[entry.key] = nil
        }
        if type == .all {
            removeReuploads()
            state.account[AccountState.only] = nil
        }
        verifiedGroups = []
        return takeActions()
    }

    /// Removes a group to which the user does not belong: its files, and its unsent changes. The
    /// app's own data is not touched.
    /// - Throws: `unknownSharingGroup`; `syncIsOperating` if the user is still a member.
    package mutating func forget(_ group: SharingGroupUUID) throws(SyncError) -> [EngineAction] {
        guard let entry = state.groups[group] else {
            throw SyncError(.unknownSharingGroup, sharingGroupUUID: group)
        }
        // A creation that the server refuses can be abandoned as well.
        guard entry.removedFromGroup || (entry.creationPending && !isSyncing) else {
            throw SyncError(.syncIsOperating, sharingGroupUUID: group)
        }
        for queue in state.queues.rows(where: { $0.sharingGroupUUID == group }) { removeQueue(queue.id) }
        for file in state.directory.rows(where: { $0.sharingGroupUUID == group }) {
            state.directory[file.key] = nil
            state.reuploads[file.key] = nil
        }
        state.groups[group] = nil
        return takeActions()
    }
}
