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
        guard let mimeType = attributes.mimeType, mimeType.rawValue != "unknown" else {
            throw SyncError(.noMimeType, fileUUID: attributes.fileUUID)
        }
        try checkContent(attributes)
        if state.directory[attributes.fileUUID] == nil {
            var entry = DirectoryEntry(
                fileUUID: attributes.fileUUID, sharingGroupUUID: attributes.sharingGroupUUID)
            entry.fileGroupUUID = attributes.fileGroupUUID
            entry.mimeType = mimeType
            state.directory.put(entry)
        }
        var item = replaceContent(of: attributes, kind: .file)
        item.fileGroupUUID = state.directory[attributes.fileUUID]?.fileGroupUUID
        item.mimeType = mimeType
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
        return takeActions()
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
        var entry = SharingEntry(sharingGroupUUID: group, name: name, permission: .admin)
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

    private func isOpen(_ item: UploadItem) -> Bool { state.queues[item.queueID]?.state == .open }

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
    private mutating func openedQueue(of group: SharingGroupUUID) -> RowID<UploadQueue> {
        if let open = state.openQueue(of: group) { return open.id }
        let queue = UploadQueue(id: state.nextQueueID(), sharingGroupUUID: group, createdAt: now)
        state.queues.put(queue)
        return queue.id
    }
}

// The app's decisions about unsent changes: it queues them again, or withdraws them.
extension SyncStateMachine {
    /// Queues the uploads of a file that were set aside. Contents and texts that were queued since take precedence.
    /// - Parameter source: Reads the current state of an item's contents, which may have changed since.
    /// - Throws: `couldNotFindFileUUID` if nothing was set aside, or only the text of a file that the server does not
    ///   have; errors of ``upload(_:_:at:)`` and `source`.
    package mutating func retryUpload(
        of file: FileUUID, at now: WireDate, source: (UploadItem) throws(SyncError) -> UploadSource?
    ) throws(SyncError) -> [EngineAction] {
        self.now = now
        let items = changesSetAside(of: file)
        guard let entry = state.directory[file],
            var item = items.last(where: { $0.kind == .file }) ?? items.last
        else { throw SyncError(.couldNotFindFileUUID, fileUUID: file) }
        try checkContent(entry.attributes)
        let pending = state.pendingItems(of: file)
        guard item.kind == .file || entry.fileVersion != nil || pending.contains(where: { $0.kind == .file }) else {
            throw SyncError(.couldNotFindFileUUID, fileUUID: file)
        }
        if let source = try source(item) {
            item.fileSize = source.size
            item.fileModified = source.modified
        }
        let queued = pending.first(where: isOpen)
        let texts = items.compactMap(\.appMetaData) + pending.compactMap(\.appMetaData)
        if var queued, queued.kind == .file || item.kind == .appMetaData {
            // Later changes are newer; only their text may be missing.
            queued.appMetaData = texts.last
            state.items.put(queued)
            dropItems(items)
            return takeActions()
        }
        if let queued { removeItem(queued) }
        dropItems(items.filter { $0.id != item.id })
        item.appMetaData = texts.last
        // The file is kept, since the new item owns it.
        state.items[item.key] = nil
        state.items.put(item.requeued(as: state.nextItemID(), in: openedQueue(of: item.sharingGroupUUID)))
        removeIfEmpty(item.queueID)
        return takeActions()
    }

    /// Discards the changes to a file that were set aside. If the file never reached the server, its record is removed.
    /// - Throws: `couldNotFindFileUUID` if nothing was set aside.
    package mutating func discardUpload(of file: FileUUID) throws(SyncError) -> [EngineAction] {
        try withdraw(changesSetAside(of: file), of: file)
        return takeActions()
    }

    /// Withdraws all pending changes to a file from all queues, and cancels any transfer in progress. If the file never
    /// reached the server, its record is removed.
    /// - Throws: `couldNotFindFileUUID` if nothing is pending; `commitUnderWay`.
    package mutating func withdraw(_ file: FileUUID) throws(SyncError) -> [EngineAction] {
        let items = state.items.rows(at: .file(file))
        guard items.allSatisfy(mayBeWithdrawn) else { throw SyncError(.commitUnderWay, fileUUID: file) }
        try withdraw(items, of: file)
        return takeActions()
    }

    private mutating func withdraw(_ items: [UploadItem], of file: FileUUID) throws(SyncError) {
        guard !items.isEmpty else { throw SyncError(.couldNotFindFileUUID, fileUUID: file) }
        abandon(items)
        if let entry = state.directory[file], !entry.deletedLocally, !state.items.contains(at: .file(file)) {
            state.directory[file] = entry.fileVersion == nil ? nil : entry
            state.directory.update(file) { $0.newerVersion = nil }
        }
        forgetUndeletion(of: file)
    }

    /// Whether the server cannot have been asked to commit a change. A batch that it may have completed counts as not
    /// committed: if it was, the index will show that.
    func mayBeWithdrawn(_ item: UploadItem) -> Bool {
        guard let queue = state.queues[item.queueID] else { return true }
        return queue.commitID == nil || queue.batchUUID != nil
    }

    /// Drops changes, and cancels their transfers, unless these contain other files as well. Their staged versions on
    /// the server are discarded before the next commit.
    mutating func abandon(_ items: [UploadItem]) {
        for item in items {
            for (token, transfer) in run?.transfers ?? [:] {
                if case .upload(item.id, _) = transfer { actions.append(.cancel(token)) }
            }
            if let queue = state.queues[item.queueID], queue.batchUUID != nil {
                let isUnderWay = run?.transfers.values.contains { transfer in
                    switch transfer {
                    case .upload(_, queue.id), .uploads(_, queue.id): true
                    default: false
                    }
                }
                if isUnderWay == true {
                    // The other changes are sent without it, once the transfers in progress have ended.
                    endTransfers(.sendWithoutBatch(queue.id))
                } else {
                    forgetCommit(of: queue.id)
                    for other in state.items(in: queue.id) where other.status != .notStarted {
                        state.items.update(other.key) { $0.resetStaging() }
                    }
                }
            }
            verifiedGroups.remove(item.sharingGroupUUID)
        }
        dropItems(items)
    }
}
