import Store
import SyncProtocol

/// Stages a change of a committed file that transfers no bytes.
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
    /// - Throws: ``EndpointError/fileUnknown``, the errors of `change`, a reached quota, ``StoreError``.
    func stage(
        _ change: (FileRecord) throws(EndpointError) -> StagedChange
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
            guard let current = try session.file(file, in: member.groupID) else { throw EndpointError.fileUnknown }
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
