import Logging
import Providers
import Store
import SyncProtocol

/// Makes what a device has staged in a group, that of one batch or that of none, part of the group.
///
/// DoneUploads and the last member of a batch each perform one, in their transaction, once the group's master version is
/// advanced: the changes themselves, the commit under the client's id, and the notice to the other members.
struct GroupCommit {
    let member: Member
    /// The master version that the group has now.
    let version: MasterVersion
    /// The batch whose changes are committed; `nil` for those that are in none.
    let batch: BatchUUID?
    /// Under which the commit is remembered, if the client wants that.
    let commitID: CommitID?
    /// Tells requests apart.
    let requestHash: [UInt8]
    /// The group's new name, if it gets one.
    let groupName: String?
    /// What the other members are told, if anything.
    let pushMessage: String?

    /// - Returns: how many changes were committed.
    /// - Throws: ``CommitRefusal``, ``EndpointError/commitIDReused``, ``StoreError``; the transaction must be undone then.
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
                // The same id for another master version, or the request would have been stale.
                throw EndpointError.commitIDReused
            }
        }
        try notifyOthers(context, &session)
        return transferred
    }

    /// Has the other members notified, from the outbox, if the client asked for it; nothing happens where push is not
    /// configured.
    private func notifyOthers(_ context: RequestContext, _ session: inout StoreSession) throws {
        guard let pushMessage else { return }
        guard !context.services.push.isEmpty else {
            return context.logger.debug("Nobody is notified: push is not configured")
        }
        let text = PushText.composed(
            sender: member.user.record.displayName, group: groupName ?? member.groupName, message: pushMessage)
        guard let text else { return }
        try session.addPush(text, from: member.userID, to: member.groupID, at: context.now)
    }
}
