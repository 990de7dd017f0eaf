package import SyncProtocol

/// Contents to upload, with their state when they were queued.
package struct UploadSource: Sendable, Equatable {
    /// The location of the contents.
    package let location: LocalFileLocation
    /// Whether the file is a copy that the library owns.
    package let isOwned: Bool
    /// Size in bytes; nil if it was not determined.
    package let size: Int64?
    /// Modification time, in seconds since 1970; nil if it was not determined.
    package let modified: Double?

    /// Creates a source.
    package init(location: LocalFileLocation, isOwned: Bool, size: Int64? = nil, modified: Double? = nil) {
        self.location = location
        self.isOwned = isOwned
        self.size = size
        self.modified = modified
    }
}

// Queues changes. A call that throws has changed nothing.
extension SyncStateMachine {
    /// Queues a new file, or the next version of one. Replaces changes to the file that are queued and not yet closed,
    /// or that were set aside.
    /// - Throws: `noMimeType`, `mimeTypeOfFileChanged`, `fileGroupUUIDChanged`, `fileAlreadyDeleted`,
    ///   `fileQueuedForDeletion`, `fileIsGone`, `sharingGroupUUIDInconsistent` if the file belongs to another group,
    ///   `unknownSharingGroup`, `notAMember`, `permissionDenied`, `openQueueNotEmpty` if the user is about to leave the
    ///   group.
    package mutating func upload(
        _ source: UploadSource, _ attributes: SyncAttributes, at now: WireDate
    ) throws(SyncError) -> [EngineAction] {
        self.now = now
        try checkUpload(attributes)
        queue(source, attributes)
        return takeActions()
    }

    /// Queues several files, as ``upload(_:_:at:)`` does one after another: all of them, or none.
    /// - Throws: The errors of ``upload(_:_:at:)``, with the file.
    package mutating func upload(
        _ uploads: [(source: UploadSource, attributes: SyncAttributes)], at now: WireDate
    ) throws(SyncError) -> [EngineAction] {
        self.now = now
        var first: [FileUUID: SyncAttributes] = [:]
        for (_, attributes) in uploads {
            do throws(SyncError) {
                try checkUpload(attributes)
                // What the others would find once those before them are queued.
                guard let earlier = first[attributes.fileUUID] else {
                    first[attributes.fileUUID] = attributes
                    continue
                }
                guard attributes.sharingGroupUUID == earlier.sharingGroupUUID else {
                    throw SyncError(.sharingGroupUUIDInconsistent, sharingGroupUUID: attributes.sharingGroupUUID)
                }
                guard attributes.mimeType == earlier.mimeType else { throw SyncError(.mimeTypeOfFileChanged) }
                let fileGroup = state.directory[attributes.fileUUID]?.fileGroupUUID ?? earlier.fileGroupUUID
                guard attributes.fileGroupUUID == nil || attributes.fileGroupUUID == fileGroup else {
                    throw SyncError(.fileGroupUUIDChanged)
                }
            } catch {
                var error = error
                error.fileUUID = attributes.fileUUID
                throw error
            }
        }
        for (source, attributes) in uploads { queue(source, attributes) }
        return takeActions()
    }

    private func checkUpload(_ attributes: SyncAttributes) throws(SyncError) {
        guard let mimeType = attributes.mimeType, mimeType.rawValue != "unknown" else {
            throw SyncError(.noMimeType, fileUUID: attributes.fileUUID)
        }
        try checkContent(attributes)
    }

    private mutating func queue(_ source: UploadSource, _ attributes: SyncAttributes) {
        if state.directory[attributes.fileUUID] == nil {
            var entry = DirectoryEntry(
                fileUUID: attributes.fileUUID, sharingGroupUUID: attributes.sharingGroupUUID)
            entry.fileGroupUUID = attributes.fileGroupUUID
            entry.mimeType = attributes.mimeType
            state.directory.put(entry)
        }
        var item = replaceContent(of: attributes, kind: .file)
        item.fileGroupUUID = state.directory[attributes.fileUUID]?.fileGroupUUID
        item.mimeType = attributes.mimeType
        item.appMetaData = attributes.appMetaData
        if let entry = state.directory[attributes.fileUUID], entry.newerVersion != nil, entry.fileVersion == nil {
            // The server has lost the file, with its text.
            item.appMetaData = attributes.appMetaData ?? entry.appMetaData?.contents
        }
        item.source = source.location
        item.ownsFile = source.isOwned
        item.fileSize = source.size
        item.fileModified = source.modified
        state.items.put(item)
        dropItems(changesSetAside(of: attributes.fileUUID))
    }

    /// Queues a change to a file's text alone. Replaces changes to the file that are queued and not yet closed.
    /// - Throws: `badAppMetaData`, `couldNotFindFileUUID`, and the errors of ``upload(_:_:at:)``.
    package mutating func uploadAppMetaData(
        _ attributes: SyncAttributes, at now: WireDate
    ) throws(SyncError) -> [EngineAction] {
        self.now = now
        let file = attributes.fileUUID
        guard let text = attributes.appMetaData else { throw SyncError(.badAppMetaData, fileUUID: file) }
        guard attributes.mimeType != nil else { throw SyncError(.noMimeType, fileUUID: file) }
        guard let entry = state.directory[file] else { throw SyncError(.couldNotFindFileUUID, fileUUID: file) }
        try checkContent(attributes)
        let closedItems = state.pendingItems(of: file).filter { !isOpen($0) }
        let comesFirst = !closedItems.contains { $0.kind == .file }
        guard !comesFirst || entry.fileVersion != nil else { throw SyncError(.couldNotFindFileUUID, fileUUID: file) }
        guard !comesFirst || !entry.deletedOnServer else { throw SyncError(.fileAlreadyDeleted, fileUUID: file) }
        var item = replaceContent(of: attributes, kind: .appMetaData)
        item.mimeType = entry.mimeType
        item.appMetaData = text
        item.uploadUndeletion = false
        state.items.put(item)
        return takeActions()
    }

    /// Queues deletions: all of them, or none. Drops changes to the files that are queued and not yet closed, that wait
    /// for storage, or that were set aside; a file that therefore never reached the server is deleted immediately.
    /// - Throws: `deletingUnknownFile`, `fileAlreadyDeleted`, `fileQueuedForDeletion`, `sharingGroupUUIDInconsistent`,
    ///   `unknownSharingGroup`, `notAMember`, `permissionDenied`, `openQueueNotEmpty`.
    package mutating func delete(_ files: [FileUUID], at now: WireDate) throws(SyncError) -> [EngineAction] {
        self.now = now
        var seen: Set<FileUUID> = []
        var group: SharingGroupUUID?
        for file in files {
            guard let entry = state.directory[file] else { throw SyncError(.deletingUnknownFile, fileUUID: file) }
            guard !entry.deletedLocally else { throw SyncError(.fileAlreadyDeleted, fileUUID: file) }
            guard seen.insert(file).inserted, !hasDeletion(file) else {
                throw SyncError(.fileQueuedForDeletion, fileUUID: file)
            }
            guard group == nil || group == entry.sharingGroupUUID else {
                throw SyncError(.sharingGroupUUIDInconsistent, fileUUID: file)
            }
            group = entry.sharingGroupUUID
            try checkOpenQueue(takes: entry.sharingGroupUUID)
            // A file that never reached the server is only withdrawn.
            guard entry.fileVersion == nil || state.groups[entry.sharingGroupUUID]?.permission != .read else {
                throw SyncError(.permissionDenied, fileUUID: file, sharingGroupUUID: entry.sharingGroupUUID)
            }
        }
        for file in files { delete(file) }
        return takeActions()
    }

    private mutating func delete(_ file: FileUUID) {
        guard let entry = state.directory[file] else { return }
        // Changes that cannot be sent would block the deletion.
        let dropped = state.pendingItems(of: file).filter { item in
            guard !isOpen(item) else { return true }
            let cannotBeSent = entry.goneReason != nil || item.lastError?.isAboutStorage == true
            return item.isContent && cannotBeSent && mayBeWithdrawn(item)
        }
        abandon(dropped + changesSetAside(of: file))
        if entry.fileVersion == nil, state.pendingItems(of: file).isEmpty {
            // Another device may upload the file again if a restored server has lost it; then the library asks the app.
            state.directory.update(file) {
                $0.deletedLocally = true
                $0.deletedOnServer = true
                if $0.isIndexOnly { $0.newerVersion = .first }
                $0.isIndexOnly = false
            }
            return
        }
        let item = addItem(.deletion, entry.sharingGroupUUID, file)
        state.items.put(item)
    }

    /// Queues the creation of a sharing group, whose admin the user becomes. The group is visible locally at once, and
    /// files for it may be queued after its creation.
    /// - Throws: `sharingGroupExists`, `permissionDenied` for users without storage.
    package mutating func createSharingGroup(
        _ group: SharingGroupUUID, name: String?, at now: WireDate
    ) throws(SyncError) -> [EngineAction] {
        self.now = now
        guard configuration.accountStorage != nil else {
            throw SyncError(.permissionDenied, sharingGroupUUID: group)
        }
        guard state.groups[group] == nil else { throw SyncError(.sharingGroupExists, sharingGroupUUID: group) }
        var entry = newEntry(of: group, name: name, permission: .admin)
        entry.creationPending = true
        state.groups.put(entry)
        var item = addItem(.groupCreate, group, nil)
        item.newGroupName = name
        state.items.put(item)
        return takeActions()
    }

    /// Queues a new name for a group. Replaces a name that is queued and not yet closed.
    /// - Throws: `unknownSharingGroup`, `notAMember`, `permissionDenied` unless the user is admin, `openQueueNotEmpty`.
    package mutating func updateSharingGroup(
        _ group: SharingGroupUUID, newName: String, at now: WireDate
    ) throws(SyncError) -> [EngineAction] {
        self.now = now
        try checkOpenQueue(takes: group)
        guard state.groups[group]?.permission == .admin else {
            throw SyncError(.permissionDenied, sharingGroupUUID: group)
        }
        if let open = state.openQueue(of: group) {
            for item in state.items(in: open.id) where item.kind == .groupUpdate { removeItem(item) }
        }
        let refused = state.items.rows { $0.kind == .groupUpdate && $0.sharingGroupUUID == group }.filter {
            state.queues[$0.queueID]?.state == .dead
        }
        dropItems(refused)
        var item = addItem(.groupUpdate, group, nil)
        item.newGroupName = newName
        state.items.put(item)
        return takeActions()
    }

    /// Queues the user's departure from a group. Must be followed by a sync of the group.
    /// - Throws: `unknownSharingGroup`, `notAMember`, even if the user is only about to leave, `openQueueNotEmpty` if
    ///   changes to the group are queued.
    package mutating func removeFromSharingGroup(
        _ group: SharingGroupUUID, at now: WireDate
    ) throws(SyncError) -> [EngineAction] {
        self.now = now
        guard let entry = state.groups[group] else {
            throw SyncError(.unknownSharingGroup, sharingGroupUUID: group)
        }
        guard !entry.removedFromGroup, !state.isBeingLeft(group) else {
            throw SyncError(.notAMember, sharingGroupUUID: group)
        }
        guard state.openQueue(of: group) == nil else {
            throw SyncError(.openQueueNotEmpty, sharingGroupUUID: group)
        }
        state.items.put(addItem(.groupRemoveUser, group, nil))
        return takeActions()
    }

    // MARK: Rules

    func isOpen(_ item: UploadItem) -> Bool { state.queues[item.queueID]?.state == .open }

    private func hasDeletion(_ file: FileUUID) -> Bool {
        state.pendingItems(of: file).contains { $0.kind == .deletion }
    }

    func checkContent(_ attributes: SyncAttributes) throws(SyncError) {
        let file = attributes.fileUUID
        try checkOpenQueue(takes: attributes.sharingGroupUUID)
        guard state.groups[attributes.sharingGroupUUID]?.permission != .read else {
            throw SyncError(.permissionDenied, fileUUID: file, sharingGroupUUID: attributes.sharingGroupUUID)
        }
        guard let entry = state.directory[file] else { return }
        guard entry.sharingGroupUUID == attributes.sharingGroupUUID else {
            throw SyncError(
                .sharingGroupUUIDInconsistent, fileUUID: file, sharingGroupUUID: attributes.sharingGroupUUID)
        }
        guard !entry.deletedLocally else { throw SyncError(.fileAlreadyDeleted, fileUUID: file) }
        guard !hasDeletion(file) else { throw SyncError(.fileQueuedForDeletion, fileUUID: file) }
        // Changes to files in a revoked storage may wait for its owner.
        if let reason = entry.goneReason, reason != .authTokenExpiredOrRevoked {
            throw SyncError(.fileIsGone, fileUUID: file, goneReason: reason)
        }
        if let known = entry.mimeType, let mimeType = attributes.mimeType, known != mimeType {
            throw SyncError(.mimeTypeOfFileChanged, fileUUID: file)
        }
        if let fileGroup = attributes.fileGroupUUID, fileGroup != entry.fileGroupUUID {
            throw SyncError(.fileGroupUUIDChanged, fileUUID: file)
        }
    }

    private func checkOpenQueue(takes group: SharingGroupUUID) throws(SyncError) {
        guard let entry = state.groups[group] else {
            throw SyncError(.unknownSharingGroup, sharingGroupUUID: group)
        }
        guard !entry.removedFromGroup else { throw SyncError(.notAMember, sharingGroupUUID: group) }
        guard !state.isBeingLeft(group) else { throw SyncError(.openQueueNotEmpty, sharingGroupUUID: group) }
    }

    private mutating func replaceContent(of attributes: SyncAttributes, kind: UploadItem.Kind) -> UploadItem {
        var bringsBack = false
        for item in state.items.rows(at: .file(attributes.fileUUID)) where isOpen(item) {
            bringsBack = bringsBack || item.uploadUndeletion
            removeItem(item)
        }
        var item = addItem(kind, attributes.sharingGroupUUID, attributes.fileUUID)
        item.uploadUndeletion = bringsBack
        return item
    }

    /// Creates an item for the open queue of its group. The caller stores the item.
    private mutating func addItem(
        _ kind: UploadItem.Kind, _ group: SharingGroupUUID, _ file: FileUUID?
    ) -> UploadItem {
        UploadItem(
            id: state.nextItemID(), queueID: openedQueue(of: group), kind: kind, sharingGroupUUID: group, fileUUID: file
        )
    }

    /// The open queue of a group, opened if there is none. The caller adds an item to it.
    mutating func openedQueue(of group: SharingGroupUUID) -> RowID<UploadQueue> {
        if let open = state.openQueue(of: group) { return open.id }
        let queue = UploadQueue(id: state.nextQueueID(), sharingGroupUUID: group, createdAt: now)
        state.queues.put(queue)
        return queue.id
    }
}
