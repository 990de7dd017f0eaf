import Providers
import Store
import SyncProtocol

// Quotas are checked in the transaction that adds something, after it is added: a repeated request, which adds nothing,
// is never rejected, and a rejection rolls back everything.
extension RequestContext {
    /// Counts one action of a person's account in the current hour.
    /// - Throws: ``EndpointError/quotaUsedUp(_:retryAfter:)``.
    func use(_ quota: Quota, of person: SignedInPerson, in session: inout StoreSession) throws {
        try use(quota, of: person.presented.accountType, person.profile.providerUserID, in: &session)
    }

    /// The same for an account that need not be the caller's.
    func use(
        _ quota: Quota, of accountType: AccountType, _ providerUserID: String, in session: inout StoreSession
    ) throws {
        guard let limit = services.settings.quotas[quota] else { return }
        let use = try session.use(quota, by: accountType, providerUserID, limit: limit)
        guard case .exhausted(let retryAfter) = use else { return }
        refusedQuota = quota
        throw EndpointError.quotaUsedUp(quota, retryAfter: retryAfter)
    }

    /// Checks that the user, who has just joined a group, is not in more groups than allowed.
    /// - Throws: ``EndpointError/quotaReached(_:)``.
    func checkGroups(of userID: UserID, in session: inout StoreSession) throws {
        try check(.groups) { try session.groupCount(of: userID) }
    }

    /// Checks that the user, who has just created an invitation, does not have more of them than allowed.
    /// - Throws: ``EndpointError/quotaReached(_:)``.
    func checkInvitations(of userID: UserID, in session: inout StoreSession) throws {
        try check(.openInvitations) { try session.openInvitationCount(by: userID, at: now) }
    }

    /// Checks that the user, who has just staged a change, does not have more staged than allowed.
    ///
    /// The user's row is not locked, so as not to block their other devices: concurrent requests may exceed the limit
    /// by one change each.
    /// - Throws: ``EndpointError/quotaReached(_:)``.
    func checkStagedChanges(of userID: UserID, in session: inout StoreSession) throws {
        let quotas = services.settings.quotas
        guard quotas[.stagedChanges] != nil || quotas[.stagedBytes] != nil else { return }
        let size = try session.stagedSize(of: userID)
        try check(.stagedChanges) { size.changes }
        try check(.stagedBytes) { size.bytes }
    }

    /// Checks that the user, who has just begun an upload, does not have more uploads in progress than allowed staged
    /// changes, which these uploads will become.
    /// - Throws: ``EndpointError/quotaReached(_:)``.
    func checkResumableUploads(of userID: UserID, in session: inout StoreSession) throws {
        try check(.stagedChanges) { try session.resumableUploadCount(of: userID, at: now) }
    }

    private func check(_ quota: Quota, _ count: () throws -> Int) throws {
        guard let limit = services.settings.quotas[quota], try count() > limit else { return }
        refusedQuota = quota
        throw EndpointError.quotaReached(quota)
    }
}
