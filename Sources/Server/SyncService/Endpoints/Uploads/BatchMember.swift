import OpenSSLCrypto
import Store
import SyncProtocol

/// The part of a batch that one request brings, and what becomes of it.
///
/// All requests of a batch name the same master version. The one with which the batch is complete commits it, under the
/// rules of DoneUploads, in the transaction that stages it: either the request is staged and everything committed, or
/// neither. Transactions of members hold the group's row exclusively, so of two that arrive at the same moment one comes
/// first, and the commit happens once.
struct BatchMember {
    private let ticket: BatchTicket
    private let file: FileUUID
    private let context: RequestContext

    /// - Parameter request: what the request asks for, without master version and batch: a repetition may differ in them.
    init(
        of batch: UploadBatch, changing file: FileUUID, from masterVersion: MasterVersion,
        asking request: some RequestMessage, context: RequestContext
    ) {
        ticket = BatchTicket(
            batch: batch, masterVersion: masterVersion,
            requestHash: IncrementalDigest.digest(
                of: Array("\(type(of: request).endpoint.rawValue)?\(request.encodedQuery)".utf8), .sha256))
        self.file = file
        self.context = context
    }

    /// The commit of which this request was a part; `nil` if the batch is not committed.
    /// - Throws: ``EndpointError/batchMismatch`` if the batch was committed without this request.
    func commit(
        in area: StagingArea, _ session: inout StoreSession
    ) throws -> (masterVersion: MasterVersion, member: CommittedMember)? {
        let commitID = ticket.batch.batchUUID.commitID
        guard let commit = try session.identifiedCommit(commitID, in: area) else { return nil }
        guard let part = try session.committedMember(of: commitID, changing: file, in: area),
            part.requestHash == ticket.requestHash
        else { throw EndpointError.batchMismatch }
        return (commit.masterVersion, part)
    }

    /// Adds the change, which has just been staged, to the batch, and commits the batch if it is complete.
    ///
    /// Call in a transaction that holds the group's row exclusively and has found its master version to be the request's.
    /// - Returns: the master version that the commit led to; `nil` if members are missing.
    /// - Throws: ``EndpointError/batchMismatch``, ``CommitRefusal``; the transaction must be undone then.
    func join(
        in area: StagingArea, by member: Member, _ session: inout StoreSession
    ) throws -> MasterVersion? {
        let now = context.now
        switch try session.joinBatch(ticket, with: file, in: area, at: now) {
        case .mismatch: throw EndpointError.batchMismatch
        case .incomplete: return nil
        case .complete(let pushMessage):
            guard
                case .advanced(let version) = try session.advanceMasterVersion(
                    of: area.groupID, from: ticket.masterVersion)
            else { throw EndpointError.uploadConflict }
            let transferred = try session.commitStaged(
                in: area, of: ticket.batch.batchUUID, owningUser: member.owningUser, as: version, at: now)
            try session.record(
                IdentifiedCommit(requestHash: ticket.requestHash, masterVersion: version, transferred: transferred),
                as: ticket.batch.batchUUID.commitID, in: area, at: now)
            try context.notify(
                othersIn: member, named: member.groupName, of: pushMessage, using: &session)
            return version
        }
    }
}
