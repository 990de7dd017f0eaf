import SyncEngine
import SyncProtocol

// Staging, committing and downloading.
extension ModelServer {
    /// Separates the contents of the files in one request.
    static let separator: Character = "\u{0}"

    /// Stages several files. If the last of them completes their batch, all report its commit.
    func stage(_ uploads: [FileUpload], _ contents: String, _ caller: ModelCaller, _ now: WireDate) -> Answer {
        guard let group = uploads.first?.sharingGroupUUID, smallFileLimits != nil else {
            return .refused(.endpointUnknown)
        }
        let access = inGroup(group, caller, needs: .write, nil) { _ in Answer(.done) }
        guard case .done = access.reply else { return access }
        let texts = contents.split(separator: Self.separator, omittingEmptySubsequences: false)
        let answers = zip(uploads, texts).map { upload, text in
            perform(.uploadFile(upload), from: caller, contents: String(text), at: now)
        }
        let committed = answers.lazy.compactMap { answer -> MasterVersion? in
            if case .batchCommitted(let version, _, _) = answer.reply { version } else { nil }
        }.first
        var answer = Answer(
            .several(
                answers.map { answer in
                    guard let committed, case .fileStaged(let creationDate, let updateDate) = answer.reply else {
                        return answer.reply
                    }
                    return .batchCommitted(committed, creationDate: creationDate, updateDate: updateDate)
                }))
        answer.isExpected = answers.allSatisfy { answer in
            if case .failed = answer.reply { answer.isExpected } else { true }
        }
        return answer
    }

    func stage(
        _ upload: FileUpload, _ contents: String, _ caller: ModelCaller, _ now: WireDate, _ group: inout ModelGroup
    ) -> Answer {
        let key = ModelGroup.StagingKey(caller: caller, file: upload.fileUUID)
        let known = group.files[upload.fileUUID]
        if let text = upload.appMetaData, text.version != nextTextVersion(known) {
            return contradiction(.appMetaDataVersionMismatch)
        }
        let owner: UserID
        if let known {
            guard !known.isDeleted || upload.undeleteServerFile else { return contradiction(.fileDeleted) }
            guard upload.fileVersion == known.version.next else { return contradiction(.fileVersionMismatch) }
            guard upload.mimeType == known.mimeType else { return contradiction(.mimeTypeChanged) }
            owner = known.owner
        } else {
            guard !upload.undeleteServerFile else { return contradiction(.fileNotDeleted) }
            guard upload.fileVersion == .first else { return contradiction(.fileVersionMismatch) }
            owner = hosts[caller.user] ?? caller.user
        }
        guard group.members[owner] != nil else { return Answer(.gone(.userRemoved, appMetaData: nil, nil)) }
        guard !revokedUsers.contains(owner) else {
            return Answer(.gone(.authTokenExpiredOrRevoked, appMetaData: nil, nil))
        }
        guard !unreachableUsers.contains(owner) else { return .refused(.cloudUnavailable) }
        if let room = room[owner], upload.fileSize ?? Int64(contents.utf8.count) > room {
            return .refused(.cloudQuotaExceeded)
        }
        if let code = refusalOfContents?(upload, contents, caller.user) { return .refused(code) }
        let change = ModelStagedChange(
            kind: .upload(
                upload.fileVersion, contents: contents, mimeType: upload.mimeType, fileGroup: upload.fileGroupUUID,
                undeletes: known?.isDeleted ?? false),
            text: upload.appMetaData ?? keptText(group.staged[key], known), creationDate: known?.creationDate ?? now,
            updateDate: now, stagedAt: now)
        group.staged[key] = change
        return Answer(.fileStaged(creationDate: change.creationDate, updateDate: change.updateDate))
    }

    /// An upload without metadata keeps already staged metadata, as long as they are the next version.
    private func keptText(_ staged: ModelStagedChange?, _ known: ModelFile?) -> AppMetaData? {
        guard let staged, let text = staged.text, text.version == nextTextVersion(known) else { return nil }
        return text
    }

    private func nextTextVersion(_ file: ModelFile?) -> AppMetaDataVersion? {
        guard let text = file?.text else { return .first }
        return text.version.next
    }

    func stage(
        _ text: AppMetaData, of file: FileUUID, _ caller: ModelCaller, _ now: WireDate, _ group: inout ModelGroup
    ) -> Answer {
        guard let known = group.files[file] else { return contradiction(.fileUnknown) }
        guard !known.isDeleted else { return contradiction(.fileDeleted) }
        guard text.version == nextTextVersion(known) else {
            return contradiction(.appMetaDataVersionMismatch)
        }
        let key = ModelGroup.StagingKey(caller: caller, file: file)
        if var staged = group.staged[key], case .upload(let version, _, _, _, _) = staged.kind,
            version == known.version.next, !staged.hasLostContents
        {
            staged.text = text
            group.staged[key] = staged
        } else {
            group.staged[key] = ModelStagedChange(
                kind: .text, text: text, creationDate: known.creationDate, updateDate: known.updateDate, stagedAt: now)
        }
        return Answer(.done)
    }

    func stageDeletion(
        of file: FileUUID, _ version: FileVersion, _ caller: ModelCaller, _ now: WireDate, _ group: inout ModelGroup
    ) -> Answer {
        guard let known = group.files[file] else { return contradiction(.fileUnknown) }
        guard known.version == version else { return contradiction(.fileVersionMismatch) }
        group.staged[.init(caller: caller, file: file)] = ModelStagedChange(
            kind: .deletion(version), text: nil, creationDate: known.creationDate, updateDate: known.updateDate,
            stagedAt: now)
        return Answer(.done)
    }

    func isExpired(_ change: ModelStagedChange, at now: WireDate) -> Bool {
        change.stagedAt.secondsSince1970 + Self.stagingLifetimeSeconds < now.secondsSince1970
    }

    func listStaged(
        _ group: ModelGroup, of id: SharingGroupUUID, _ caller: ModelCaller, _ now: WireDate
    ) -> Answer {
        let own = group.staged.filter { $0.key.caller == caller && !isExpired($0.value, at: now) }
        let rows = own.map { key, change in
            var row = FileInfo(fileUUID: key.file, sharingGroupUUID: id, deleted: false)
            row.batchUUID = change.batch?.batch.batchUUID
            switch change.kind {
            case .upload(let version, _, let mimeType, _, _):
                row.fileVersion = version
                row.mimeType = mimeType
            case .text: break
            case .deletion(let version):
                row.deleted = true
                row.fileVersion = version
            }
            return row
        }
        return Answer(.uploads(rows.sorted { $0.fileUUID < $1.fileUUID }))
    }

    func perform(_ commit: ServerRequest.Commit, _ caller: ModelCaller, _ now: WireDate) -> Answer {
        let id = commit.sharingGroupUUID
        guard var group = groups[id], let permission = group.members[caller.user] else {
            return .refused(.notAMember)
        }
        guard permission.allows(.write) else { return .refused(.permissionTooLow) }
        let request = ServerRequestKey(
            caller: caller, masterVersion: commit.masterVersion, name: commit.sharingGroupName,
            message: commit.pushNotificationMessage, commitID: commit.commitID)
        let commitKey = commit.commitID.map { ModelGroup.CommitKey(caller: caller, commitID: $0) }
        let own = group.staged.filter {
            $0.key.caller == caller && $0.value.batch == nil && !isExpired($0.value, at: now)
        }
        guard group.masterVersion == commit.masterVersion else {
            if capabilities.commitID, let known = commitKey.flatMap({ group.commits[$0] }) {
                guard known.request == request else { return .refused(.commitIdReused) }
                return Answer(.committed(numberUploadsTransferred: known.count))
            }
            if own.isEmpty, let last = group.lastCommit, last.request == request,
                group.masterVersion == commit.masterVersion.next
            {
                return Answer(.committed(numberUploadsTransferred: last.count))
            }
            return Answer(.stale(current: group.masterVersion))
        }
        for (key, change) in own {
            if let refusal = refusal(of: change, key.file, caller, group) { return refusal }
        }
        if capabilities.commitID, let commitKey, group.commits[commitKey] != nil {
            return .refused(.commitIdReused)
        }
        group.masterVersion = group.masterVersion.next
        for (key, change) in own.sorted(by: { $0.key.file < $1.key.file }) {
            apply(change, to: key.file, caller, &group)
        }
        group.staged = group.staged.filter { $0.key.caller != caller || $0.value.batch != nil }
        if let name = commit.sharingGroupName { group.name = name }
        if let commitKey { group.commits[commitKey] = (request, own.count) }
        group.lastCommit = (request, own.count)
        groups[id] = group
        return Answer(.committed(numberUploadsTransferred: own.count))
    }

    func refusal(
        of change: ModelStagedChange, _ file: FileUUID, _ caller: ModelCaller, _ group: ModelGroup
    ) -> Answer? {
        let known = group.files[file]
        let isNext =
            switch change.kind {
            case .upload(let version, _, _, _, let undeletes):
                known.map { version == $0.version.next && (undeletes || !$0.isDeleted) } ?? (version == .first)
            case .text: known?.isDeleted == false
            case .deletion(let version): known?.version == version
            }
        if case .upload = change.kind, change.hasLostContents {
            var refusal = Answer.refused(.fileVersionMismatch)
            refusal.isExpected = true
            return refusal
        }
        let isNextText = change.text.map { $0.version == nextTextVersion(known) } ?? true
        return isNext && isNextText ? nil : contradiction(.fileVersionMismatch)
    }

    func apply(
        _ change: ModelStagedChange, to id: FileUUID, _ caller: ModelCaller, _ group: inout ModelGroup
    ) {
        var brings: String?
        var undeletes = false
        switch change.kind {
        case .upload(let version, let contents, let mimeType, let fileGroup, _):
            var file =
                group.files[id]
                ?? ModelFile(
                    device: caller.device, owner: hosts[caller.user] ?? caller.user, fileGroup: fileGroup,
                    mimeType: mimeType,
                    version: version, contents: contents, creationDate: change.creationDate,
                    updateDate: change.updateDate, changedAt: group.masterVersion)
            undeletes = file.isDeleted
            file.device = caller.device
            file.version = version
            file.contents = contents
            file.bytesInCloud = nil
            file.content = .stored
            file.isInFormerStorage = false
            file.isDeleted = false
            file.deletedFrom = nil
            file.updateDate = change.updateDate
            group.files[id] = file
            brings = contents
        case .text: break
        case .deletion: group.files[id]?.isDeleted = true
        }
        if let text = change.text { group.files[id]?.text = text }
        group.files[id]?.changedAt = group.masterVersion
        var noted = group.files[id]
        noted?.device = caller.device
        note(noted, id, brings, change.text, undeletes: undeletes, in: &group)
    }

    func download(
        _ id: FileUUID, _ version: FileVersion, _ textVersion: AppMetaDataVersion?, _ group: ModelGroup
    ) -> Answer {
        guard let file = group.files[id] else { return contradiction(.fileUnknown) }
        guard !file.isDeleted else { return contradiction(.fileDeleted) }
        guard file.version == version else { return contradiction(.fileVersionMismatch) }
        guard file.text?.version == textVersion else { return contradiction(.appMetaDataVersionMismatch) }
        let storage = storage(of: file.owner)
        if revokedUsers.contains(file.owner) || (file.content == .awaiting && !file.isInFormerStorage) {
            return Answer(
                .gone(
                    .authTokenExpiredOrRevoked, appMetaData: file.text?.contents, storage,
                    awaitsReupload: file.content == .awaiting))
        }
        guard !unreachableUsers.contains(file.owner) else { return .refused(.cloudUnavailable) }
        if missingFiles.contains(id) || file.content == .missing {
            return Answer(.gone(.fileRemovedOrRenamed, appMetaData: file.text?.contents, storage))
        }
        let download = ServerReply.FileDownload(
            location: LocalFileLocation(base: .library, path: ""), appMetaData: file.text?.contents,
            cloudStorageType: storage, contentsChanged: file.bytesInCloud != nil)
        return Answer(.fileDownloaded(download), contents: file.bytesInCloud ?? file.contents)
    }
}

// Changes that are committed when the last change in their batch arrives.
extension ModelServer {
    /// Stages a change and, if it completes a batch, commits the batch; all or nothing.
    func staging(
        _ file: FileUUID, in id: SharingGroupUUID, _ version: MasterVersion, _ batch: ModelBatch?,
        _ caller: ModelCaller, _ now: WireDate, _ stage: (inout ModelGroup) -> Answer
    ) -> Answer {
        inGroup(id, caller, needs: .write, batch == nil ? version : nil) { group in
            let key = ModelGroup.StagingKey(caller: caller, file: file)
            guard let batch else {
                let answer = stage(&group)
                if answer.isStaged { group.staged[key]?.batch = nil }
                return answer
            }
            let commitKey = ModelGroup.CommitKey(caller: caller, commitID: batch.batch.batchUUID.commitID)
            if let members = group.batches[commitKey] {
                guard let member = members[file], member.request == batch.request else {
                    return .refused(.batchMismatch)
                }
                return Answer(member.reply)
            }
            guard version == group.masterVersion else { return Answer(.stale(current: group.masterVersion)) }
            let before = group
            let answer = stage(&group)
            guard answer.isStaged else { return answer }
            group.staged[key]?.batch = batch
            if let refusal = commitIfComplete(batch, commitKey, now, &group) {
                group = before
                return refusal
            }
            return group.batches[commitKey]?[file].map { Answer($0.reply) } ?? answer
        }
    }

    /// Commits a complete batch; returns nil, or the refusal of the change that arrived last.
    private func commitIfComplete(
        _ batch: ModelBatch, _ commitKey: ModelGroup.CommitKey, _ now: WireDate, _ group: inout ModelGroup
    ) -> Answer? {
        let caller = commitKey.caller
        let members = group.staged.filter { key, change in
            key.caller == caller && change.batch?.isBeside(batch) == true && !isExpired(change, at: now)
        }
        let count = batch.batch.batchCount
        guard members.count <= count, members.values.allSatisfy({ $0.batch?.batch.batchCount == count }) else {
            return .refused(.batchMismatch)
        }
        guard members.count == count else { return nil }
        for (key, change) in members {
            if let refusal = refusal(of: change, key.file, caller, group) { return refusal }
        }
        group.masterVersion = group.masterVersion.next
        var replies: [FileUUID: ModelBatchMember] = [:]
        for (key, change) in members.sorted(by: { $0.key.file < $1.key.file }) {
            apply(change, to: key.file, caller, &group)
            var dates: (WireDate, WireDate)?
            if case .upload = change.kind { dates = (change.creationDate, change.updateDate) }
            replies[key.file] = ModelBatchMember(
                request: change.batch?.request ?? "",
                reply: .batchCommitted(group.masterVersion, creationDate: dates?.0, updateDate: dates?.1))
        }
        group.staged = group.staged.filter { key, change in
            key.caller != caller || change.batch?.batch.batchUUID != batch.batch.batchUUID
        }
        group.batches[commitKey] = replies
        return nil
    }
}

extension ModelServer.Answer {
    /// Whether a change was staged.
    fileprivate var isStaged: Bool {
        switch reply {
        case .fileStaged, .done: true
        default: false
        }
    }
}

extension FileUpload {
    /// Distinguishes the request from others, regardless of master version and batch.
    func request(_ contents: String) -> String {
        "upload \(mimeType) \(fileVersion) \(fileGroupUUID?.rawValue ?? "-") \(undeleteServerFile) "
            + "\(appMetaData.map { "\($0)" } ?? "-") \(contents)"
    }
}
