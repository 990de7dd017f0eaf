import Logging
import OpenSSLCrypto
import Providers
import Store
import SyncProtocol

/// Applies a device's staged changes to the group: those of one batch, or those outside of batches.
///
/// DoneUploads and the last member of a batch each perform one in their transaction, after the group's master version
/// has advanced: it includes the changes, the commit under the client's id, and the notification of the other members.
struct GroupCommit {
    let member: Member
    /// The group's new master version.
    let version: MasterVersion
    /// The batch whose changes are committed; `nil` for those that are in none.
    let batch: BatchUUID?
    /// The id under which the commit is recorded, if the client sent one.
    let commitID: CommitID?
    /// Distinguishes requests.
    let requestHash: [UInt8]
    /// The group's new name, if any.
    let groupName: String?
    /// The notification for the other members, if any.
    let pushMessage: String?

    /// - Returns: how many changes were committed.
    /// - Throws: ``CommitRefusal``, ``ErrorCode/commitIdReused``, ``StoreError``; the transaction must then be
    ///   rolled back.
    func perform(in context: RequestContext, using session: inout StoreSession) throws -> Int32 {
        let area = member.stagingArea
        let transferred = try session.commitStaged(
            in: area, of: batch, owningUser: member.owningUser, as: version,
            keepingReplacedFor: context.services.settings.replacedVersionSeconds, at: context.now)
        if let groupName { try session.rename(member.groupID, to: groupName) }
        try context.scheduleIndexPages(
            ofChangesIn: member.groupID, as: version, isRenamed: groupName != nil, using: &session)
        if let commitID {
            let commit = IdentifiedCommit(requestHash: requestHash, masterVersion: version, transferred: transferred)
            do {
                try session.record(commit, as: commitID, in: area, at: context.now)
            } catch StoreError.alreadyExists {
                // The id was used for another master version; otherwise the request would have been stale.
                throw Refusal(.commitIdReused)
            }
        }
        try notifyOthers(context, &session)
        return transferred
    }

    /// Schedules a notification of the other members through the outbox if the client requested it and push is
    /// configured.
    private func notifyOthers(_ context: RequestContext, _ session: inout StoreSession) throws {
        guard let pushMessage else { return }
        guard !context.services.push.isEmpty else {
            return context.logger.debug("No notification sent: push is not configured")
        }
        let text = PushText.composed(
            sender: member.user.record.displayName, group: groupName ?? member.groupName, message: pushMessage)
        guard let text else { return }
        try session.addPush(text, from: member.userID, to: member.groupID, at: context.now)
    }
}

/// The change that one request contributes to a batch, and its outcome.
///
/// All requests of a batch name the same master version. The request that completes the batch commits it, under the
/// rules of DoneUploads, in the transaction that stages the request: either both happen or neither. Members'
/// transactions hold the group's row exclusively, so two that arrive at the same moment are serialized, and the batch
/// is committed once.
struct BatchMember {
    fileprivate let ticket: BatchTicket
    fileprivate let file: FileUUID
    private let context: RequestContext

    /// - Parameter request: the request's parameters, without the master version and the batch, which may differ in a
    ///   repeated request.
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
    /// - Throws: ``ErrorCode/batchMismatch`` if the batch was committed without this request.
    func commit(
        in area: StagingArea, _ session: inout StoreSession
    ) throws -> (masterVersion: MasterVersion, member: CommittedMember)? {
        let commitID = ticket.batch.batchUUID.commitID
        guard let commit = try session.identifiedCommit(commitID, in: area) else { return nil }
        guard let part = try session.committedMember(of: commitID, changing: file, in: area),
            part.requestHash == ticket.requestHash
        else { throw Refusal(.batchMismatch) }
        return (commit.masterVersion, part)
    }

    /// Adds the change, which has just been staged, to the batch, and commits the batch if it is complete.
    ///
    /// Call in a transaction that holds the group's row exclusively and has verified that its master version is the
    /// request's.
    /// - Returns: the master version after the commit; `nil` if members are missing.
    /// - Throws: ``ErrorCode/batchMismatch``, ``CommitRefusal``; the transaction must then be rolled back.
    func join(by member: Member, _ session: inout StoreSession) throws -> MasterVersion? {
        try Self.join([self], by: member, in: context, &session)
    }

    /// The same for several changes of one batch.
    static func join(
        _ changes: [BatchMember], by member: Member, in context: RequestContext, _ session: inout StoreSession
    ) throws -> MasterVersion? {
        guard let ticket = changes.last?.ticket else { return nil }
        switch try session.joinBatch(
            changes.map { ($0.ticket, $0.file) }, in: member.stagingArea, at: context.now)
        {
        case .mismatch: throw Refusal(.batchMismatch)
        case .incomplete: return nil
        case .complete(let pushMessage):
            guard
                case .advanced(let version) = try session.advanceMasterVersion(
                    of: member.groupID, from: ticket.masterVersion)
            else { throw Refusal(.uploadConflict) }
            let commit = GroupCommit(
                member: member, version: version, batch: ticket.batch.batchUUID,
                commitID: ticket.batch.batchUUID.commitID, requestHash: ticket.requestHash, groupName: nil,
                pushMessage: pushMessage)
            _ = try commit.perform(in: context, using: &session)
            return version
        }
    }
}
