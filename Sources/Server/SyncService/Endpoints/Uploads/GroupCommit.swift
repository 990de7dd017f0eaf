import Logging
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
    /// The id under which the commit is remembered, if the client sent one.
    let commitID: CommitID?
    /// Distinguishes requests.
    let requestHash: [UInt8]
    /// The group's new name, if any.
    let groupName: String?
    /// The notification for the other members, if any.
    let pushMessage: String?

    /// - Returns: how many changes were committed.
    /// - Throws: ``CommitRefusal``, ``EndpointError/commitIDReused``, ``StoreError``; the transaction must then be
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
                throw EndpointError.commitIDReused
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
