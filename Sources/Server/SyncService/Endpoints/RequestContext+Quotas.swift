import Providers
import Store
import SyncProtocol

// Quotas are looked at in the transaction that adds something, once it is added: a repeated request, which adds nothing,
// is never refused, and a refusal undoes all of it.
extension RequestContext {
    /// Counts one deed of the caller's account in the present hour.
    /// - Throws: ``EndpointError/quotaUsedUp(_:retryAfter:)``.
    func use(_ quota: Quota, in session: inout StoreSession) throws {
        guard let limit = services.settings.quotas[quota], let accountType = presented?.accountType else { return }
        let use = try session.use(quota, by: accountType, profile.providerUserID, limit: limit)
        guard case .exhausted(let retryAfter) = use else { return }
        refusedQuota = quota
        throw EndpointError.quotaUsedUp(quota, retryAfter: retryAfter)
    }

    /// Makes sure that the user, who has just joined a group, is in no more than they may.
    /// - Throws: ``EndpointError/quotaReached(_:)``.
    func checkGroups(of userID: UserID, in session: inout StoreSession) throws {
        try check(.groups) { try session.groupCount(of: userID) }
    }

    /// Makes sure that the caller, who has just made an invitation, has no more of them than they may.
    /// - Throws: ``EndpointError/quotaReached(_:)``.
    func checkInvitations(in session: inout StoreSession) throws {
        try check(.openInvitations) { try session.openInvitationCount(by: caller.userID, at: now) }
    }

    /// Makes sure that the caller, who has just staged a change, has no more staged than they may.
    ///
    /// No lock of the user's row stands in the way of their other devices: requests at the same moment may go beyond the
    /// limit by one change each.
    /// - Throws: ``EndpointError/quotaReached(_:)``.
    func checkStagedChanges(in session: inout StoreSession) throws {
        let quotas = services.settings.quotas
        guard quotas[.stagedChanges] != nil || quotas[.stagedBytes] != nil else { return }
        let size = try session.stagedSize(of: caller.userID)
        try check(.stagedChanges) { size.changes }
        try check(.stagedBytes) { size.bytes }
    }

    private func check(_ quota: Quota, _ count: () throws -> Int) throws {
        guard let limit = services.settings.quotas[quota], try count() > limit else { return }
        refusedQuota = quota
        throw EndpointError.quotaReached(quota)
    }
}
