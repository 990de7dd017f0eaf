/// docs/protocol.md §6.5 and §8.22.
extension World {
    /// The request's part in a batch that is committed; nil if the batch is not.
    func committedMember(
        _ bare: Request, changing file: String, of batch: Request.Batch?, in uuid: String, by caller: Caller
    ) throws(Refusal) -> (member: BatchMember, masterVersion: Int)? {
        guard let batch, let commit = groups[uuid]?.commits[caller]?[batch.uuid] else { return nil }
        guard let member = commit.members[file], member.request == bare else { throw .batchMismatch }
        return (member, commit.masterVersion)
    }

    /// Makes what has just been staged a member of the request's batch, or of none, and commits the batch if it is
    /// complete.
    /// - Returns: the master version that the commit led to.
    mutating func join(
        _ batch: Request.Batch?, with bare: Request, changing file: String, in uuid: String, by caller: Caller
    ) throws -> Int? {
        groups[uuid]?.staged[caller]?[file]?.batch = nil
        guard let batch, let group = groups[uuid] else { return nil }
        let version = group.masterVersion
        if let open = group.batches[caller]?[batch.uuid], open.masterVersion == version, open.count != batch.count {
            throw Refusal.batchMismatch
        }
        groups[uuid]?.batches[caller, default: [:]][batch.uuid] = Group.OpenBatch(
            count: batch.count, masterVersion: version)
        groups[uuid]?.staged[caller]?[file]?.batch = StagedChange.StagedBatch(
            uuid: batch.uuid, masterVersion: version, request: bare)
        let all = (groups[uuid]?.staged[caller] ?? [:]).filter { $0.value.batch?.uuid == batch.uuid }
        let members = all.filter { $0.value.batch?.masterVersion == version }
        guard members.count <= batch.count else { throw Refusal.batchMismatch }
        guard members.count == batch.count else { return nil }
        let committed = try apply(members, in: uuid, by: caller)
        var commit = Group.NamedCommit(request: nil, transferred: members.count, masterVersion: committed)
        for (file, change) in members {
            guard let request = change.batch?.request else { continue }
            let created = change.upload == nil ? nil : groups[uuid]?.files[file]?.created
            commit.members[file] = BatchMember(request: request, created: created, updated: change.upload?.updated)
        }
        // What was not sent again after the batch had begun anew.
        for (file, change) in all where members[file] == nil {
            discard(change, of: file)
            groups[uuid]?.staged[caller]?[file] = nil
        }
        groups[uuid]?.batches[caller]?[batch.uuid] = nil
        groups[uuid]?.commits[caller, default: [:]][batch.uuid] = commit
        return committed
    }

    mutating func discardUploads(
        in uuid: String, _ files: [String]?, _ batch: String?, by caller: Caller
    ) throws(Refusal) -> Answer {
        let group = try group(uuid, for: caller.person, needing: .write).group
        let discarded = (group.staged[caller] ?? [:]).filter { file, change in
            (files?.contains(file) ?? true) && (batch.map { $0 == change.batch?.uuid } ?? true)
        }
        for (file, change) in discarded {
            discard(change, of: file)
            groups[uuid]?.staged[caller]?[file] = nil
        }
        return .success(.object(["numberUploadsDiscarded": .integer(discarded.count)]))
    }

    /// What is left of a new file without owner goes when its device is told so.
    mutating func forgetWithoutOwner(_ upload: Request.Upload, _ caller: Caller) {
        let staged = groups[upload.group.group]?.staged[caller]?[upload.file]
        guard let staged, staged.kind == .upload, let uploaded = staged.upload, uploaded.owner == nil else { return }
        groups[upload.group.group]?.staged[caller]?[upload.file] = nil
    }

    /// Makes worlds that differ by nothing but empty lists equal.
    mutating func tidy() {
        for (uuid, group) in groups {
            if group.staged.contains(where: { $0.value.isEmpty }) {
                groups[uuid]?.staged = group.staged.filter { !$0.value.isEmpty }
            }
            if group.batches.contains(where: { $0.value.isEmpty }) {
                groups[uuid]?.batches = group.batches.filter { !$0.value.isEmpty }
            }
        }
    }
}

extension Request {
    /// The request without what a repetition of it may say otherwise: master version and batch.
    package var bare: Request {
        switch self {
        case .uploadFile(var upload):
            upload.group.masterVersion = 0
            upload.batch = nil
            return .uploadFile(upload)
        case .uploadAppMetaData(var file, let metadata, _):
            file.group.masterVersion = 0
            return .uploadAppMetaData(file, metadata)
        case .uploadDeletion(var file, let version, _):
            file.group.masterVersion = 0
            return .uploadDeletion(file, version: version)
        default: return self
        }
    }
}
