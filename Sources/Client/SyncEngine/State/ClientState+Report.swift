internal import SyncProtocol

extension ClientState {
    /// What the client keeps track of, row by row.
    package var trackingReport: TrackingReport {
        let lines: [[String]] = [
            groups.inOrder.map(\.reportLine), directory.inOrder.map(\.reportLine), queues.inOrder.map(\.reportLine),
            items.inOrder.map(\.reportLine), downloadGroups.inOrder.map(\.reportLine),
            downloads.inOrder.map(\.reportLine), transfers.inOrder.map(\.reportLine),
        ]
        return TrackingReport(
            lines: lines.flatMap { $0 }, pending: items.inOrder.compactMap { pendingChange($0) },
            violations: violations())
    }

    private func pendingChange(_ item: UploadItem) -> TrackingReport.PendingChange? {
        guard item.goneReason == nil, let queue = queues[item.queueID] else { return nil }
        let kind: TrackingReport.PendingChange.Kind =
            switch item.kind {
            case .file: .file
            case .appMetaData: .appMetaData
            case .deletion: .deletion
            case .groupCreate: .groupCreation
            case .groupUpdate: .groupRename
            case .groupRemoveUser: .groupRemoval
            }
        let queueState: TrackingReport.PendingChange.QueueState =
            switch queue.state {
            case .open: .open
            case .closed: .closed
            case .dead: .dead
            }
        return TrackingReport.PendingChange(
            kind: kind, queue: queueState, sharingGroupUUID: item.sharingGroupUUID, fileUUID: item.fileUUID,
            isStaged: item.isStaged, attempts: Int(item.attempts), lastError: item.lastError)
    }
}

/// Puts a line together; leaves out what is absent or false.
private func line(_ table: String, _ values: KeyValuePairs<String, String?>, flags: KeyValuePairs<String, Bool> = [:])
    -> String
{
    let pairs = values.compactMap { name, value in value.map { "\(name)=\($0)" } }
    return ([table] + pairs + flags.filter(\.value).map(\.key)).joined(separator: " ")
}

extension SharingEntry {
    fileprivate var reportLine: String {
        line(
            "group",
            [
                "uuid": sharingGroupUUID.rawValue, "permission": permission.rawValue,
                "masterVersion": "\(masterVersion)", "indexedVersion": indexedVersion.map { "\($0)" },
                "storage": cloudStorageType?.rawValue,
            ],
            flags: [
                "syncNeeded": syncNeeded, "removedFromGroup": removedFromGroup, "creationPending": creationPending,
            ])
    }
}

extension DirectoryEntry {
    fileprivate var reportLine: String {
        line(
            "file",
            [
                "uuid": fileUUID.rawValue, "group": sharingGroupUUID.rawValue, "fileGroup": fileGroupUUID?.rawValue,
                "mimeType": mimeType?.rawValue, "storage": cloudStorageType?.rawValue,
                "version": fileVersion.map { "\($0)" }, "textVersion": appMetaData.map { "\($0.version)" },
                "gone": goneReason?.rawValue,
            ],
            flags: [
                "deletedLocally": deletedLocally, "deletedOnServer": deletedOnServer, "forceDownload": forceDownload,
            ])
    }
}

extension UploadQueue {
    fileprivate var reportLine: String {
        line(
            "queue",
            [
                "id": "\(id)", "state": state.rawValue, "group": sharingGroupUUID?.rawValue,
                "commit": commitID?.rawValue, "commitVersion": commitVersion.map { "\($0)" },
            ])
    }
}

extension UploadItem {
    fileprivate var reportLine: String {
        line(
            "upload",
            [
                "id": "\(id)", "queue": "\(queueID)", "kind": kind.rawValue, "status": status.rawValue,
                "file": fileUUID?.rawValue, "stagedVersion": stagedFileVersion.map { "\($0)" },
                "stagedTextVersion": stagedAppMetaDataVersion.map { "\($0)" }, "base": source?.base.rawValue,
                "bytes": fileSize.map { "\($0)" }, "gone": goneReason?.rawValue, "attempts": "\(attempts)",
                "lastError": lastError,
            ], flags: ["ownsFile": ownsFile, "undeletes": uploadUndeletion])
    }
}

extension DownloadGroup {
    fileprivate var reportLine: String {
        line(
            "downloadGroup",
            [
                "id": "\(id)", "group": sharingGroupUUID.rawValue, "fileGroup": fileGroupUUID?.rawValue,
                "status": status.rawValue, "masterVersion": "\(masterVersion)",
            ])
    }
}

extension DownloadItem {
    fileprivate var reportLine: String {
        line(
            "download",
            [
                "id": "\(id)", "downloadGroup": "\(groupID)", "kind": kind.rawValue, "status": status.rawValue,
                "file": fileUUID.rawValue, "version": "\(fileVersion)",
                "textVersion": appMetaDataVersion.map { "\($0)" }, "gone": goneReason?.rawValue,
            ], flags: ["contentsChanged": contentsChanged, "answered": resolution != nil])
    }
}

extension TransferCacheEntry {
    fileprivate var reportLine: String {
        line("transfer", ["id": "\(id)", "file": fileUUID.rawValue, "version": "\(fileVersion)"])
    }
}
