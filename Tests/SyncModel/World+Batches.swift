/// docs/protocol.md §6.5 and §8.22.
extension World {
    /// The request's member in a committed batch; nil if the batch is not committed.
    func committedMember(
        _ bare: Request, changing file: String, of batch: Request.Batch?, in uuid: String, by caller: Caller
    ) throws(Refusal) -> (member: BatchMember, masterVersion: Int)? {
        guard let batch, let commit = groups[uuid]?.commits[caller]?[batch.uuid] else { return nil }
        guard let member = commit.members[file], member.request == bare else { throw .batchMismatch }
        return (member, commit.masterVersion)
    }

    /// Assigns the staged change to the request's batch, if any, and commits the batch if it is complete.
    /// - Returns: the master version after the commit; nil without a commit.
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
        // Discards changes that were not sent again after the batch restarted.
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

    /// Removes the row of a new file without owner once its device has been informed.
    mutating func forgetWithoutOwner(_ upload: Request.Upload, _ caller: Caller) {
        let staged = groups[upload.group.group]?.staged[caller]?[upload.file]
        guard let staged, staged.kind == .upload, let uploaded = staged.upload, uploaded.owner == nil else { return }
        groups[upload.group.group]?.staged[caller]?[upload.file] = nil
    }

    /// Removes empty lists, so that otherwise equal worlds become equal.
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
    /// The request without master version and batch, which may differ in a repetition.
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
