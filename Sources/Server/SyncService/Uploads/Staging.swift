import Store
import SyncProtocol

/// Stages a change to a committed file's metadata for the next commit.
///
/// The metadata are in the query or, if too long for it, in the request's body. A repeated request finds its row and
/// changes nothing.
struct UploadAppMetaDataEndpoint: Endpoint {
    /// - Throws: ``ErrorCode/fileDeleted``, ``ErrorCode/appMetaDataVersionMismatch``, and the errors of reading
    ///   a body.
    func respond(
        to request: UploadAppMetaDataRequest, from caller: GroupCaller, in context: RequestContext
    ) throws -> EndpointReply {
        let metaData = try request.appMetaData ?? metaDataInBody(of: context)
        let staging = StagingOfCommittedFile(
            group: request.sharingGroupUUID, file: request.fileUUID, masterVersion: request.masterVersion,
            batchMember: batchMember(for: request, with: metaData, context), caller: caller,
            context: context)
        let response = try staging.stage { current throws(Refusal) in
            if current.isDeleted { throw Refusal(.fileDeleted) }
            guard metaData.version.isNext(after: current) else { throw Refusal(.appMetaDataVersionMismatch) }
            var change = StagedChange(fileUUID: request.fileUUID, kind: .metadata)
            change.appMetaData = metaData.contents
            change.appMetaDataVersion = metaData.version
            return change
        }
        return .json(response)
    }

    /// The same JSON text that the parameter holds, as the whole body.
    private func metaDataInBody(of context: RequestContext) throws -> AppMetaData {
        let limit = UploadAppMetaDataRequest.maximumBodyBytes
        guard let length = context.head.contentLength, length > 0 else { throw RequestError.missing(.appMetaData) }
        guard length <= limit else { throw Refusal.bodyTooLarge(maximumBytes: Int64(limit)) }
        let bytes = try context.body.readWhole()
        guard let text = String(validating: bytes, as: UTF8.self) else { throw RequestError.invalidUTF8 }
        return try AppMetaData(jsonText: text)
    }

    private func batchMember(
        for request: UploadAppMetaDataRequest, with metaData: AppMetaData, _ context: RequestContext
    ) -> BatchMember? {
        guard let batch = request.batch else { return nil }
        let bare = UploadAppMetaDataRequest(
            fileUUID: request.fileUUID, appMetaData: metaData, masterVersion: MasterVersion(0),
            sharingGroupUUID: request.sharingGroupUUID)
        return BatchMember(
            of: batch, changing: request.fileUUID, from: request.masterVersion, asking: bare, context: context)
    }
}

extension UploadAppMetaDataRequest: ServedRequest {
    typealias Handler = UploadAppMetaDataEndpoint
}

/// Stages the deletion of a committed file for the next commit.
///
/// A repeated request finds its row and changes nothing; neither does committing a deletion that another device has
/// already committed. The debugging parameter `actualDeletion` is ignored: no build deletes files without a commit.
struct UploadDeletionEndpoint: Endpoint {
    /// - Throws: ``ErrorCode/fileVersionMismatch``.
    func respond(
        to request: UploadDeletionRequest, from caller: GroupCaller, in context: RequestContext
    ) throws -> EndpointReply {
        let staging = StagingOfCommittedFile(
            group: request.sharingGroupUUID, file: request.fileUUID, masterVersion: request.masterVersion,
            batchMember: batchMember(for: request, context), caller: caller, context: context)
        let response = try staging.stage { current throws(Refusal) in
            guard request.fileVersion == current.fileVersion else { throw Refusal(.fileVersionMismatch) }
            var change = StagedChange(fileUUID: request.fileUUID, kind: .deletion)
            change.fileVersion = request.fileVersion
            return change
        }
        return .json(response)
    }

    private func batchMember(for request: UploadDeletionRequest, _ context: RequestContext) -> BatchMember? {
        guard let batch = request.batch else { return nil }
        let bare = UploadDeletionRequest(
            fileUUID: request.fileUUID, fileVersion: request.fileVersion, masterVersion: MasterVersion(0),
            sharingGroupUUID: request.sharingGroupUUID)
        return BatchMember(
            of: batch, changing: request.fileUUID, from: request.masterVersion, asking: bare, context: context)
    }
}

extension UploadDeletionRequest: ServedRequest {
    typealias Handler = UploadDeletionEndpoint
}

/// Stages a change to a committed file that transfers no bytes.
///
/// Everything is one transaction that keeps the group's master version from advancing. The second of two identical
/// concurrent requests waits for the row of the first, finds it equal, and changes nothing. The last member of a batch
/// commits the batch (``BatchMember``).
struct StagingOfCommittedFile {
    let group: SharingGroupUUID
    let file: FileUUID
    let masterVersion: MasterVersion
    /// The request's role in its batch, if any.
    let batchMember: BatchMember?
    let caller: GroupCaller
    let context: RequestContext

    /// Stages the change that `change` derives from the committed file.
    ///
    /// - Parameter change: checks that the change is valid for the file; an error that it throws rolls back the
    ///   transaction.
    /// - Throws: ``ErrorCode/fileUnknown``, the errors of `change`, a reached quota, ``StoreError``.
    func stage(
        _ change: (FileRecord) throws(Refusal) -> StagedChange
    ) throws -> StagingResponse {
        let (response, isCommit): (StagingResponse, Bool) = try context.store.transaction { session in
            let read = try caller.member(of: group, using: &session)
            let area = read.stagingArea
            // The last member of a batch commits it, so members of batches are serialized.
            let version =
                try batchMember == nil
                ? session.lockMasterVersionShared(of: area.groupID)
                : session.lockMasterVersionExclusive(of: area.groupID)
            if let committed = try batchMember?.commit(in: area, &session) {
                return (.committed(masterVersion: committed.masterVersion), false)
            }
            let member = try caller.member(read, lockedAt: version, using: &session)
            guard version == masterVersion else { return (.stale(current: version), false) }
            guard let current = try session.file(file, in: member.groupID) else { throw Refusal(.fileUnknown) }
            let requested = try change(current)
            let staged = try session.claimStaging(of: file, in: area, at: context.now)
            let replacement = StagedReplacement.of(requested, over: staged, current: current)
            try replacement.apply(in: area, at: context.now, &session)
            if !replacement.isRepetition { try context.checkStagedChanges(of: member.userID, in: &session) }
            if let committed = try batchMember?.join(by: member, &session) {
                return (.committed(masterVersion: committed), true)
            }
            return (.staged, false)
        }
        context.hasCommitted = isCommit
        return response
    }
}

/// Lists what the calling device has staged in a group.
///
/// Reads only; may be repeated.
struct GetUploadsEndpoint: Endpoint {
    func respond(
        to request: GetUploadsRequest, from caller: GroupCaller, in context: RequestContext
    ) throws -> EndpointReply {
        let uploads = try context.store.snapshot { session in
            let member = try caller.member(of: request.sharingGroupUUID, using: &session)
            return try session.stagedChanges(in: member.stagingArea).map { change in
                var info = FileInfo(
                    fileUUID: change.fileUUID, sharingGroupUUID: member.groupUUID,
                    deleted: change.kind == .deletion)
                info.fileVersion = change.fileVersion
                info.mimeType = change.mimeType
                info.creationDate = change.createdAt
                info.updateDate = change.updatedAt
                info.fileGroupUUID = change.fileGroupUUID
                info.batchUUID = change.batchUUID
                return info
            }
        }
        return .json(GetUploadsResponse(uploads: uploads))
    }
}

extension GetUploadsRequest: ServedRequest {
    typealias Handler = GetUploadsEndpoint
}

/// Discards what the calling device has staged in a group: everything, or only some files, or one batch.
///
/// Staged changes concern nobody else, so the master version does not matter. The objects in the clouds are deleted
/// after the reply, through the outbox. A repeated request finds nothing left to discard. An upload still in progress
/// is staged afterwards and remains.
struct DiscardUploadsEndpoint: Endpoint {
    func respond(
        to request: DiscardUploadsRequest, from caller: GroupCaller, in context: RequestContext
    ) throws -> EndpointReply {
        let discarded = try context.store.transaction { session in
            let member = try caller.member(of: request.sharingGroupUUID, using: &session)
            // Commits wait for this lock, or have already taken their rows.
            _ = try session.lockMasterVersionShared(of: member.groupID)
            return try session.discardStaged(
                in: member.stagingArea, files: request.fileUUIDs.map { Set($0) }, batch: request.batchUUID,
                at: context.now)
        }
        return .json(DiscardUploadsResponse(numberUploadsDiscarded: Int32(clamping: discarded)))
    }
}

extension DiscardUploadsRequest: ServedRequest {
    typealias Handler = DiscardUploadsEndpoint
}
