/// docs/protocol.md §8.11.
extension World {
    mutating func commit(
        _ selection: Request.GroupSelection, newName: String?, _ request: Request, by caller: Caller
    ) throws -> Answer {
        let group = try group(selection.group, for: caller.person, needing: .write).group
        let changes = (group.staged[caller] ?? [:]).filter { $0.value.batch == nil }
        var commitID: String?
        if case .doneUploads(_, _, _, let id) = request { commitID = id }
        let named = commitID.flatMap { group.commits[caller]?[$0] }
        guard group.masterVersion == selection.masterVersion else {
            if let named {
                guard named.request == request else { throw Refusal.commitIDReused }
                return Self.committed(named.transferred)
            }
            if let last = group.lastCommit, last.caller == caller, last.request == request, changes.isEmpty,
                last.masterVersion == group.masterVersion
            {
                return Self.committed(last.transferred)
            }
            return .stale(group.masterVersion)
        }
        let version = try apply(changes, in: selection.group, by: caller)
        guard named == nil else { throw Refusal.commitIDReused }
        if let newName { groups[selection.group]?.name = newName }
        groups[selection.group]?.lastCommit = Group.Commit(
            caller: caller, request: request, masterVersion: version, transferred: changes.count)
        if let commitID {
            groups[selection.group]?.commits[caller, default: [:]][commitID] = Group.NamedCommit(
                request: request, transferred: changes.count, masterVersion: version)
        }
        return Self.committed(changes.count)
    }

    private static func committed(_ count: Int) -> Answer {
        .success(.object(["numberUploadsTransferred": .integer(count)]))
    }

    /// Commits all of the staged changes or none.
    /// - Returns: the group's master version after the commit.
    mutating func apply(
        _ changes: [String: StagedChange], in uuid: String, by caller: Caller
    ) throws(AnyRefusal) -> Int {
        let group = groups[uuid]
        let owner = group?.members[caller.person].flatMap { effectiveOwner(of: caller.person, $0) }
        let version = (group?.masterVersion ?? 0) + 1
        var reasons: [Refusal] = []
        for (file, change) in changes {
            do throws(Refusal) {
                try apply(change, to: file, in: uuid, owner, by: caller)
                groups[uuid]?.files[file]?.changedAt = version
                groups[uuid]?.staged[caller]?[file] = nil
            } catch {
                reasons.append(error)
            }
        }
        guard reasons.isEmpty else { throw AnyRefusal(reasons) }
        groups[uuid]?.masterVersion = version
        return version
    }

    private mutating func apply(
        _ change: StagedChange, to uuid: String, in group: String, _ owner: Owner?, by caller: Caller
    ) throws(Refusal) {
        let current = groups[group]?.files[uuid]
        var file: File
        switch (change.kind, current, change.upload) {
        case (.upload, nil, let upload?):
            file = try newFile(uuid, change, upload, in: group, owner, by: caller)
        case (.upload, let current?, let upload?), (.undelete, let current?, let upload?):
            file = try nextVersion(of: uuid, current, change, upload, in: group, by: caller)
        case (.metadata, let current?, _):
            guard !current.isDeleted, change.metadata?.version == current.nextMetadataVersion else {
                throw .fileVersionMismatch
            }
            file = current
            file.metadata = change.metadata
        case (.deletion, let current?, _):
            guard change.version == current.version else { throw .fileVersionMismatch }
            file = current
            doom(uuid, current)
            file.markDeleted()
        default: throw .fileVersionMismatch
        }
        groups[group]?.files[uuid] = file
    }

    private func newFile(
        _ uuid: String, _ change: StagedChange, _ upload: StagedChange.Uploaded, in group: String, _ owner: Owner?,
        by caller: Caller
    ) throws(Refusal) -> File {
        guard let created = upload.created else { throw .fileVersionMismatch }
        guard let owner, owner == upload.owner else { throw .ownerRemoved }
        guard !isLive(uuid, outside: group) else { throw .fileInOtherGroup }
        return File(
            version: 0, device: caller.device, content: upload.content, mimeType: upload.mimeType,
            fileGroup: upload.fileGroup, owner: owner, account: account(of: owner.person), metadata: change.metadata,
            created: created, updated: upload.updated)
    }

    private mutating func nextVersion(
        of uuid: String, _ current: File, _ change: StagedChange, _ upload: StagedChange.Uploaded, in group: String,
        by caller: Caller
    ) throws(Refusal) -> File {
        guard change.version == current.version + 1, change.kind == .undelete || !current.isDeleted,
            change.metadata == nil || change.metadata?.version == current.nextMetadataVersion
        else { throw .fileVersionMismatch }
        guard upload.owner != nil else { throw .fileVersionMismatch }
        guard isPresent(current.owner, in: group) else { throw .ownerRemoved }
        guard !current.isDeleted || !isLive(uuid, outside: group) else { throw .fileInOtherGroup }
        var file = current
        doom(uuid, current)
        file.version += 1
        file.account = account(of: current.owner.person)
        file.contentState = .stored
        file.device = caller.device
        file.content = upload.content
        file.updated = upload.updated
        file.isDeleted = false
        if let metadata = change.metadata { file.metadata = metadata }
        return file
    }

    private mutating func doom(_ uuid: String, _ file: File) {
        if let stored = file.perhapsStored(as: uuid) { remains.doomed.insert(stored) }
    }
}

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
