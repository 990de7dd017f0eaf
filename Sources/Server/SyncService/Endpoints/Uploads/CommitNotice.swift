import Logging
import Providers
import Store
import SyncProtocol

extension RequestContext {
    /// Has the other members of a group told of a commit, from the outbox, if the client asked for it.
    ///
    /// Call in the commit's transaction. Nothing happens where push is not configured.
    func notify(
        othersIn member: Member, named groupName: String?, of message: String?,
        using session: inout StoreSession
    ) throws {
        guard let message else { return }
        guard !services.push.isEmpty else {
            return logger.debug("Nobody is notified: push is not configured")
        }
        guard let text = PushText.composed(sender: member.user.record.displayName, group: groupName, message: message)
        else {
            return
        }
        try session.addPush(text, from: member.userID, to: member.groupID, at: now)
    }
}
