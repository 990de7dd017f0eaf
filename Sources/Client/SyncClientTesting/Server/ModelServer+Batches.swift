internal import SyncEngine
internal import SyncProtocol

// Changes that are committed with the last change of their batch.
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
