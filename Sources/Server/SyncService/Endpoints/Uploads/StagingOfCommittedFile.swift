import Store
import SyncProtocol

/// Stages a change of a committed file that brings no bytes.
///
/// All of it is one transaction that keeps the group's master version from advancing. Of two equal requests at once the
/// second waits for the first one's row, finds it equal, and changes nothing. The last member of a batch commits the
/// batch (``BatchMember``).
struct StagingOfCommittedFile {
    let group: SharingGroupUUID
    let file: FileUUID
    let masterVersion: MasterVersion
    /// What the request is to the batch that it belongs to, if any.
    let batchMember: BatchMember?
    let caller: GroupCaller
    let context: RequestContext

    /// Stages what `change` makes of the committed file.
    ///
    /// - Parameter change: checks that the change fits the file; what it throws undoes everything.
    /// - Throws: ``EndpointError/fileUnknown``, what `change` throws, a reached quota, ``StoreError``.
    func stage(
        _ change: (FileRecord) throws(EndpointError) -> StagedChange
    ) throws -> StagingResponse {
        let (response, isCommit): (StagingResponse, Bool) = try context.store.transaction { session in
            let read = try caller.member(of: group, using: &session)
            let area = read.stagingArea
            // The last of a batch commits, so members of batches come one after the other.
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
            if let committed = try batchMember?.join(in: area, by: member, &session) {
                return (.committed(masterVersion: committed), true)
            }
            return (.staged, false)
        }
        context.hasCommitted = isCommit
        return response
    }
}
