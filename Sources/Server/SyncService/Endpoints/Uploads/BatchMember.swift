import OpenSSLCrypto
import Store
import SyncProtocol

/// The change that one request contributes to a batch, and its outcome.
///
/// All requests of a batch name the same master version. The request that completes the batch commits it, under the
/// rules of DoneUploads, in the transaction that stages the request: either both happen or neither. Members'
/// transactions hold the group's row exclusively, so two that arrive at the same moment are serialized, and the batch
/// is committed once.
struct BatchMember {
    private let ticket: BatchTicket
    private let file: FileUUID
    private let context: RequestContext

    /// - Parameter request: the request's parameters, without master version and batch, in which a repetition may
    ///   differ.
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

    /// The commit that included this request; `nil` if the batch is not committed.
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
    /// Call in a transaction that holds the group's row exclusively and has verified that its master version is the
    /// request's.
    /// - Returns: the master version after the commit; `nil` if members are missing.
    /// - Throws: ``EndpointError/batchMismatch``, ``CommitRefusal``; the transaction must then be rolled back.
    func join(by member: Member, _ session: inout StoreSession) throws -> MasterVersion? {
        switch try session.joinBatch(ticket, with: file, in: member.stagingArea, at: context.now) {
        case .mismatch: throw EndpointError.batchMismatch
        case .incomplete: return nil
        case .complete(let pushMessage):
            guard
                case .advanced(let version) = try session.advanceMasterVersion(
                    of: member.groupID, from: ticket.masterVersion)
            else { throw EndpointError.uploadConflict }
            let commit = GroupCommit(
                member: member, version: version, batch: ticket.batch.batchUUID,
                commitID: ticket.batch.batchUUID.commitID, requestHash: ticket.requestHash, groupName: nil,
                pushMessage: pushMessage)
            _ = try commit.perform(in: context, using: &session)
            return version
        }
    }
}
