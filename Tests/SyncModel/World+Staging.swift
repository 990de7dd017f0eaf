/// docs/protocol.md §8.7 to §8.10, and the table of §6.4.
extension World {
    /// MIME types that the server knows.
    package static let mimeTypes = ["text/plain", "image/jpeg", "application/x-url"]

    mutating func stage(_ request: Request.Upload, by caller: Caller, as serial: Int) throws -> Answer {
        guard Self.mimeTypes.contains(request.mimeType) else { throw Refusal.unknownMIMEType }
        guard request.fileGroup == nil || request.version == 0 else { throw Refusal.outOfRange }
        let (group, member) = try group(request.group.group, for: caller.person, needing: .write)
        let bare = Request.uploadFile(request).bare
        if let done = try committedMember(
            bare, changing: request.file, of: request.batch, in: request.group.group, by: caller),
            let created = done.member.created, let updated = done.member.updated
        {
            return Self.dates(created: created, updated: updated, committedAs: done.masterVersion)
        }
        guard group.masterVersion == request.group.masterVersion else { return .stale(group.masterVersion) }
        let current = group.files[request.file]
        let owner = try checkedOwner(of: request, current, effectiveOwner(of: caller.person, member))
        let staged = group.staged[caller]?[request.file]
        if let staged, let dates = repetition(of: staged, request, owner, current) {
            let committed = try join(
                request.batch, with: bare, changing: request.file, in: request.group.group, by: caller)
            return Self.dates(created: dates.created, updated: dates.updated, committedAs: committed)
        }
        guard isRight(request, in: owner) else { throw Refusal.checkSumMismatch }

        let now = Choice.time(serial)
        var change = StagedChange(kind: current?.isDeleted == true ? .undelete : .upload, version: request.version)
        change.upload = StagedChange.Uploaded(
            content: request.content, owner: owner, mimeType: request.mimeType, fileGroup: request.fileGroup,
            created: current == nil ? now : nil, updated: now)
        // Metadata that this device staged before remain part of the change.
        change.metadata =
            request.metadata
            ?? staged?.metadata.flatMap { $0.version == current?.nextMetadataVersion ?? 0 ? $0 : nil }
        discard(staged, of: request.file)
        groups[request.group.group]?.staged[caller, default: [:]][request.file] = change
        let committed = try join(
            request.batch, with: bare, changing: request.file, in: request.group.group, by: caller)
        return Self.dates(created: current?.created ?? now, updated: now, committedAs: committed)
    }

    /// Applies the rules for versions, types and owners.
    private func checkedOwner(
        of request: Request.Upload, _ current: File?, _ effectiveOwner: Owner?
    ) throws(Refusal) -> Owner {
        if let metadata = request.metadata, metadata.version != current?.nextMetadataVersion ?? 0 {
            throw .metadataVersionMismatch
        }
        if let current {
            guard !current.isDeleted || request.undeletes else { throw .fileDeleted }
            guard request.version == current.version + 1 else { throw .fileVersionMismatch }
            guard request.mimeType == current.mimeType else { throw .mimeTypeChanged }
            guard !current.isDeleted || !isLive(request.file, outside: request.group.group) else {
                throw .fileInOtherGroup
            }
            guard isPresent(current.owner, in: request.group.group) else { throw .ownerRemoved }
            return current.owner
        }
        guard !request.undeletes else { throw .fileNotDeleted }
        guard request.version == 0 else { throw .fileVersionMismatch }
        guard !isLive(request.file, outside: request.group.group) else { throw .fileInOtherGroup }
        guard let effectiveOwner else { throw .ownerRemoved }
        return effectiveOwner
    }

    /// Whether the announced checksum fits the bytes, as computed for the owner's storage or for a possible former one.
    private func isRight(_ request: Request.Upload, in owner: Owner) -> Bool {
        let checkSums = request.content.checkSums.mapValues { $0.lowercased() }
        let announced = request.checkSum.lowercased()
        if checkSums[storage(of: owner) ?? ""] == announced { return true }
        return switches[owner.person] != nil && checkSums.values.contains(announced)
    }

    /// The dates of an identical earlier upload, if a commit would still accept its row.
    private func repetition(
        of staged: StagedChange, _ request: Request.Upload, _ owner: Owner, _ current: File?
    ) -> (created: Choice, updated: Choice)? {
        guard let upload = staged.upload, staged.version == request.version, upload.owner == owner,
            (staged.kind == .undelete) == (current?.isDeleted == true), upload.mimeType == request.mimeType,
            upload.fileGroup == request.fileGroup,
            upload.content.checkSums[storage(of: owner) ?? ""]?.lowercased() == request.checkSum.lowercased()
        else { return nil }
        if let metadata = staged.metadata, metadata.version != current?.nextMetadataVersion ?? 0 { return nil }
        if let metadata = request.metadata, metadata != staged.metadata { return nil }
        guard let created = upload.created ?? current?.created else { return nil }
        return (created, upload.updated)
    }

    private static func dates(created: Choice, updated: Choice, committedAs version: Int?) -> Answer {
        .success(
            .object([
                "creationDate": .chosen(created), "updateDate": .chosen(updated),
                "committedMasterVersion": .optional(version),
            ]))
    }

    private static func done(committedAs version: Int?) -> Answer {
        .success(.object(["committedMasterVersion": .optional(version)]))
    }

    /// Whether another group contains this file as a live one.
    func isLive(_ file: String, outside group: String) -> Bool {
        groups.contains { $0.key != group && $0.value.files[file]?.isDeleted == false }
    }

    mutating func stage(
        _ metadata: Metadata, of selection: Request.FileSelection, in batch: Request.Batch?, by caller: Caller
    ) throws -> Answer {
        let group = try group(selection.group.group, for: caller.person, needing: .write).group
        let bare = Request.uploadAppMetaData(selection, metadata).bare
        if let done = try committedMember(
            bare, changing: selection.file, of: batch, in: selection.group.group, by: caller)
        {
            return Self.done(committedAs: done.masterVersion)
        }
        guard group.masterVersion == selection.group.masterVersion else { return .stale(group.masterVersion) }
        guard let current = group.files[selection.file] else { throw Refusal.fileUnknown }
        guard !current.isDeleted else { throw Refusal.fileDeleted }
        guard metadata.version == current.nextMetadataVersion else { throw Refusal.metadataVersionMismatch }
        let staged = group.staged[caller]?[selection.file]
        var change = StagedChange(kind: .metadata, metadata: metadata)
        if let staged, staged.kind == .upload, staged.upload?.owner != nil, staged.version == current.version + 1 {
            change = staged
            change.metadata = metadata
        } else {
            discard(staged, of: selection.file)
        }
        groups[selection.group.group]?.staged[caller, default: [:]][selection.file] = change
        return Self.done(
            committedAs: try join(
                batch, with: bare, changing: selection.file, in: selection.group.group, by: caller))
    }

    mutating func stageDeletion(
        of selection: Request.FileSelection, _ version: Int, in batch: Request.Batch?, by caller: Caller
    ) throws -> Answer {
        let group = try group(selection.group.group, for: caller.person, needing: .write).group
        let bare = Request.uploadDeletion(selection, version: version).bare
        if let done = try committedMember(
            bare, changing: selection.file, of: batch, in: selection.group.group, by: caller)
        {
            return Self.done(committedAs: done.masterVersion)
        }
        guard group.masterVersion == selection.group.masterVersion else { return .stale(group.masterVersion) }
        guard let current = group.files[selection.file] else { throw Refusal.fileUnknown }
        guard version == current.version else { throw Refusal.fileVersionMismatch }
        discard(group.staged[caller]?[selection.file], of: selection.file)
        groups[selection.group.group]?.staged[caller, default: [:]][selection.file] = StagedChange(
            kind: .deletion, version: version)
        return Self.done(
            committedAs: try join(
                batch, with: bare, changing: selection.file, in: selection.group.group, by: caller))
    }

    func stagedUploads(in uuid: String, of caller: Caller) throws(Refusal) -> Answer {
        let group = try group(uuid, for: caller.person, needing: .write).group
        let entries = (group.staged[caller] ?? [:]).map { file, change in
            Template.object([
                "fileUUID": .text(file),
                "sharingGroupUUID": .text(uuid),
                "deleted": .flag(change.kind == .deletion),
                "fileVersion": .optional(change.version),
                "mimeType": .optional(change.upload?.mimeType),
                "fileGroupUUID": .optional(change.upload?.fileGroup),
                "creationDate": .optional(change.upload?.created),
                "updateDate": .optional(change.upload?.updated),
                "batchUUID": .optional(change.batch?.uuid),
            ])
        }
        return .success(.object(["uploads": .list(entries, by: "fileUUID")]))
    }
}
