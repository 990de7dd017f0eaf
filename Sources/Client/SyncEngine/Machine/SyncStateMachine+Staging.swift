internal import SyncProtocol

// Ensures that the server has staged exactly the changes that the client expects, since a commit includes all staged
// changes.
extension SyncStateMachine {
    mutating func receiveStaged(_ reply: ServerReply, _ queue: RowID<UploadQueue>) {
        switch reply {
        case .uploads(let rows): compareStaged(rows, with: queue)
        case .failed(.refused(status: 410, _, _)): restart(current: nil)
        case .failed(let failure): failStaging(failure)
        default: fail(SyncError(.inconsistentServer, sharingGroupUUID: runGroup))
        }
    }

    /// Handles a failure; if the user may no longer write, the index shows that.
    private mutating func failStaging(_ failure: RequestFailure) {
        if failure.isRefusal(.permissionTooLow) { restart(current: nil) } else { fail(failure) }
    }

    private mutating func compareStaged(_ rows: [FileInfo], with queue: RowID<UploadQueue>) {
        // The server stages at most one change per file.
        let staged = Dictionary(rows.map { ($0.fileUUID, $0) }, uniquingKeysWith: { first, _ in first })
        let batch = state.queues[queue]?.batchUUID
        var expected: Set<FileUUID> = []
        for item in state.items(in: queue) where item.isStaged {
            if let row = item.fileUUID.flatMap({ staged[$0] }), row.batchUUID == batch,
                Self.isStaged(item, as: row)
            {
                expected.insert(row.fileUUID)
            } else {
                state.items.update(item.key) { $0.resetStaging() }
            }
        }
        // Changes that the commit would not include are replaced when their file is sent again, without another
        // transfer to the storage.
        let files = Set(state.items(in: queue).compactMap(\.fileUUID))
        let unexpected = rows.filter { row in
            !expected.contains(row.fileUUID) && (row.batchUUID == nil || !files.contains(row.fileUUID))
        }
        if unexpected.isEmpty {
            verifiedGroups.insert(runGroup)
            continueUploads(of: queue)
        } else if configuration.capabilities.discardUploads {
            // Files beyond the limit of one request are left for the next check.
            let files = unexpected.prefix(DiscardUploadsRequest.maximumFiles).map(\.fileUUID)
            send(.discardUploads(runGroup, files), .discarding(queue))
        } else {
            replaceStaged(unexpected, of: queue)
        }
    }

    private static func isStaged(_ item: UploadItem, as row: FileInfo) -> Bool {
        guard item.fileUUID == row.fileUUID else { return false }
        switch item.kind {
        case .file: return !row.deleted && row.fileVersion == item.stagedFileVersion
        case .appMetaData: return !row.deleted && row.fileVersion == nil
        case .deletion: return row.deleted && row.fileVersion == item.stagedFileVersion
        case .groupCreate, .groupUpdate, .groupRemoveUser: return false
        }
    }

    mutating func receiveDiscarded(_ reply: ServerReply, _ queue: RowID<UploadQueue>) {
        switch reply {
        case .done: send(.getUploads(runGroup), .listingStaged(queue))
        case .failed(let failure): failStaging(failure)
        default: fail(SyncError(.inconsistentServer, sharingGroupUUID: runGroup))
        }
    }

    /// If staged changes cannot be discarded, they can only be replaced: by the queue's own change of the same file,
    /// or, if the file is deleted, by another deletion, which changes nothing.
    private mutating func replaceStaged(_ rows: [FileInfo], of queue: RowID<UploadQueue>) {
        let waiting = Set(state.items(in: queue).filter { $0.status == .notStarted }.compactMap(\.fileUUID))
        for row in rows where !waiting.contains(row.fileUUID) {
            let entry = state.directory[row.fileUUID]
            guard let entry, entry.deletedOnServer, let version = entry.fileVersion else {
                fail(
                    SyncError(
                        .stagedChangesCannotBeWithdrawn, fileUUID: row.fileUUID, sharingGroupUUID: runGroup))
                return
            }
            if row.deleted, row.fileVersion == version { continue }
            let masterVersion = state.groups[runGroup]?.masterVersion ?? .initial
            send(
                .uploadDeletion(row.fileUUID, version, masterVersion: masterVersion, sharingGroupUUID: runGroup),
                .replacingStaged(queue))
            return
        }
        verifiedGroups.insert(runGroup)
        continueUploads(of: queue)
    }

    mutating func receiveReplaced(_ reply: ServerReply, _ queue: RowID<UploadQueue>) {
        switch reply {
        case .done: send(.getUploads(runGroup), .listingStaged(queue))
        case .stale(let current):
            resetItems(of: runGroup)
            restart(current: current)
        case .failed(let failure): failStaging(failure)
        default: fail(SyncError(.inconsistentServer, sharingGroupUUID: runGroup))
        }
    }
}
