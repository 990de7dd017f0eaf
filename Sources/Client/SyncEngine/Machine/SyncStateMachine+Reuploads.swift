package import SyncProtocol

// Uploads the contents of files that wait for their bytes, after the downloads of a group and before its uploads. The
// versions are already committed: no master version is involved, and nothing is committed.
extension SyncStateMachine {
    /// The number of failed requests after which a file is skipped.
    private static let maximumAttempts = 5

    /// Drops a file's planned or completed upload if the index shows that it no longer applies.
    mutating func noteReupload(of row: FileInfo, _ version: FileVersion) {
        guard let known = state.reuploads[row.fileUUID] else { return }
        let isOther = known.fileVersion != version || row.deleted
        if isOther || row.awaitingReupload == (known.status == .done) { state.reuploads[row.fileUUID] = nil }
    }

    /// Plans to upload the group's waiting files that are not planned yet. Downloads are complete at this point, so the
    /// versions match the server's.
    private mutating func planReuploads(in group: SharingGroupUUID) {
        guard let permission = state.groups[group]?.permission, permission >= .write else { return }
        for entry in state.directory.rows(at: .waiting(group)) where state.reuploads[entry.fileUUID] == nil {
            guard isOwn(entry.owningUserID) || configuration.reuploadsForOthers, !entry.forceDownload,
                let version = entry.fileVersion
            else { continue }
            state.reuploads.put(
                ReuploadItem(
                    fileUUID: entry.fileUUID, sharingGroupUUID: group, fileGroupUUID: entry.fileGroupUUID,
                    fileVersion: version))
        }
    }

    /// Whether this device would upload files of the group again. Others, or the server, may have been faster, without
    /// a change of the master version.
    func hasFilesToReupload(in group: SharingGroupUUID) -> Bool {
        state.directory.rows(at: .waiting(group)).contains {
            isOwn($0.owningUserID) || configuration.reuploadsForOthers
        }
    }

    private func isOwn(_ owner: UserID?) -> Bool { owner != nil && owner == configuration.userID }

    mutating func startReuploads() {
        planReuploads(in: runGroup)
        guard state.reuploads.contains(at: .waiting(runGroup)), account?.isPaused != true else {
            startUploads()
            return
        }
        if account?.mayBeMovedByServer == true, !ownReuploads.isEmpty {
            send(.askForServerMove(account?.reuploadingSwitchID), .askingForServerMove)
        } else {
            beginReuploads()
        }
    }

    private mutating func beginReuploads() {
        guard state.reuploads.contains(at: .waiting(runGroup)) else {
            startUploads()
            return
        }
        run?.step = .reuploading
        run?.token = nil
        continueReuploads()
    }

    /// The user's own files that must be uploaded again in the group.
    private var ownReuploads: [ReuploadItem] {
        state.reuploads.rows(at: .waiting(runGroup)).filter { isOwn(state.directory[$0.fileUUID]?.owningUserID) }
    }

    /// Leaves the user's files to the server while it moves them. The next sync plans them again.
    mutating func receiveServerMove(_ reply: ServerReply) {
        switch reply {
        case .serverMove(isUnderWay: true):
            for item in ownReuploads { state.reuploads[item.key] = nil }
        case .serverMove(isUnderWay: nil): break
        case .serverMove(isUnderWay: false), .failed(.refused(status: 404, _, _)):
            state.account.update(AccountState.only) { $0.mayBeMovedByServer = false }
        case .failed(let failure):
            fail(failure)
            return
        default:
            fail(SyncError(.inconsistentServer, sharingGroupUUID: runGroup))
            return
        }
        beginReuploads()
    }

    /// Records the server's report about its move; once the move is over, this device uploads the remaining files.
    package mutating func noteServerMove(isUnderWay: Bool?, at now: WireDate) -> [EngineAction] {
        guard isUnderWay == false, account?.mayBeMovedByServer == true else { return [] }
        state.account.update(AccountState.only) { $0.mayBeMovedByServer = false }
        return resumePendingUploads(at: now)
    }

    private mutating func continueReuploads() {
        if endsTransfers() { return }
        while mayTransfer, account?.isPaused != true, let item = nextReupload() {
            guard let entry = state.directory[item.fileUUID] else {
                state.reuploads[item.key] = nil
                continue
            }
            run?.reuploadedGroup = item.fileGroupUUID
            state.reuploads.update(item.key) { $0.status = .uploading }
            transfer(
                .reupload(item.fileUUID),
                .reuploadFile(
                    FileReupload(
                        attributes: entry.attributes, fileVersion: item.fileVersion,
                        cloudStorageType: entry.cloudStorageType, switchID: account?.reuploadingSwitchID)))
        }
        if isLineFree { startUploads() }
    }

    /// The next file, preferably of the same file group as the last one.
    private func nextReupload() -> ReuploadItem? {
        run?.reuploadedGroup.flatMap { state.reuploads.first(at: .waitingTogether($0)) }
            ?? state.reuploads.first(at: .waiting(runGroup))
    }

    mutating func receiveReupload(_ reply: ServerReply, _ file: FileUUID) {
        switch reply {
        case .reuploaded(let result): settle(result, file)
        case .gone(let reason, _, _, _):
            if reason == .authTokenExpiredOrRevoked, isOwn(state.directory[file]?.owningUserID) {
                endTransfers(.fail(SyncError(.storageUnauthorized)))
                again(file)
            } else {
                end(file, as: .failed, "\(reason)")
            }
        case .failed where run?.afterTransfers != nil: again(file)
        case .failed(let failure) where failure.isRefusal(.contentMismatch):
            end(file, as: .superseded, nil)
        case .failed(.localFile): end(file, as: .unavailable, nil)
        case .failed(let failure) where failure.isRefusal(.cloudQuotaExceeded):
            endTransfers(.fail(SyncError(.storageFull)))
            again(file)
        case .failed(.refused(status: 404, _, _)): state.reuploads[file] = nil
        case .failed(let failure): noteFailure(failure, file)
        default: endTransfers(.fail(SyncError(.inconsistentServer, fileUUID: file, sharingGroupUUID: runGroup)))
        }
        continueReuploads()
    }

    private mutating func settle(_ result: ServerReply.ReuploadResult, _ file: FileUUID) {
        switch result {
        case .stored, .alreadyStored:
            state.directory.update(file) { $0.awaitingReupload = false }
            if case .stored(let bytes) = result {
                state.account.update(AccountState.only) { $0.reuploadedBytes += bytes }
            }
            end(file, as: .done, nil)
        case .outdated: state.reuploads[file] = nil
        case .notAvailable: end(file, as: .unavailable, nil)
        case .differentVersion: end(file, as: .superseded, nil)
        }
    }

    private mutating func noteFailure(_ failure: RequestFailure, _ file: FileUUID) {
        let error = Self.error(for: failure, group: runGroup)
        // Without a reply, or after a switch on another device, the file is not the cause.
        guard case .refused(let status, _, _) = failure, status != 429, !failure.isRefusal(.staleEpoch) else {
            again(file, error.description)
            endTransfers(.fail(error))
            return
        }
        let attempts = (state.reuploads[file]?.attempts ?? 0) + 1
        state.reuploads.update(file) { $0.attempts = attempts }
        if status < 500 || attempts >= Self.maximumAttempts {
            end(file, as: .failed, error.description)
        } else {
            again(file, error.description)
            endTransfers(.fail(error))
        }
    }

    /// Records that a file no longer waits because its next version is committed.
    mutating func noteSuperseded(_ item: UploadItem) {
        guard item.kind == .file, let file = item.fileUUID, let known = state.reuploads[file], known.status != .done
        else { return }
        end(file, as: .done, nil)
    }

    private mutating func again(_ file: FileUUID, _ error: String? = nil) {
        state.reuploads.update(file) {
            $0.status = .pending
            $0.lastError = error ?? $0.lastError
        }
    }

    private mutating func end(_ file: FileUUID, as status: ReuploadItem.Status, _ error: String?) {
        state.reuploads.update(file) {
            $0.status = status
            $0.lastError = error
        }
        report(
            .accountSwitchProgress(
                done: state.reuploads.count(at: .status(.done)), total: state.reuploads.count,
                bytes: account?.reuploadedBytes ?? 0))
    }
}
