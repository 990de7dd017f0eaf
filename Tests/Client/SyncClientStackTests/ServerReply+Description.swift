import SyncClient

@testable import SyncEngine

extension ServerReply {
    /// The parts that clients depend on: all except dates, numbers of users and locations of files.
    /// - Parameter contents: The contents of a downloaded file.
    func described(in group: SharingGroupUUID, _ contents: String?) -> String {
        switch self {
        case .index(let response):
            let groups = response.sharingGroups.filter { $0.sharingGroupUUID == group }
                .map { "\($0.sharingGroupName ?? "-") \($0.masterVersion) \($0.deleted) \($0.permission)" }
            let rows = response.files?.fileIndex.map(\.described).sorted() ?? []
            let version = response.files.map { "\($0.masterVersion)" } ?? "-"
            return "index \(groups) version \(version) \(rows)"
        case .uploads(let rows):
            let staged = rows.map { "\($0.fileUUID) \($0.deleted) \(text($0.fileVersion)) \(text($0.batchUUID))" }
            return "uploads \(staged.sorted())"
        case .fileStaged: return "staged"
        case .several(let replies): return "\(replies.map { $0.described(in: group, nil) })"
        case .batchCommitted(let version, _, _): return "batch committed as \(version)"
        case .fileDownloaded(let file):
            return "file \(contents ?? "?") text \(file.appMetaData ?? "-") \(file.contentsChanged)"
        case .gone(let reason, _, _, let awaitsReupload): return "gone \(reason) \(awaitsReupload)"
        case .failed(.refused(let status, let code, _)): return "refused \(status) \(code ?? "-")"
        // The error depends on whether the client has called CheckCreds before, which the model does not track.
        case .failed(.noUser): return "\(ServerReply.failed(.signInRequired))"
        case .done, .committed, .appMetaDataDownloaded, .stale, .failed, .reuploaded, .serverMove,
            .accountSwitchSettled, .smallFiles:
            return "\(self)"
        }
    }
}

extension FileInfo {
    fileprivate var described: String {
        "\(fileUUID) \(deleted) \(text(fileVersion)) \(text(appMetaDataVersion)) \(text(mimeType)) "
            + "\(text(fileGroupUUID)) \(text(deviceUUID)) \(text(cloudStorageType)) \(text(awaitingReupload))"
    }
}

private func text(_ value: (some Any)?) -> String { value.map { "\($0)" } ?? "-" }
