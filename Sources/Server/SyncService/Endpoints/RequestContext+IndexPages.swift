import Store
import SyncProtocol

extension RequestContext {
    /// How long changes are collected for one page, in seconds.
    private static let indexPageDelaySeconds: Int64 = 15

    /// If the configuration enables index pages, schedules a rewrite for every owner whose files changed in a group's
    /// new master version.
    func scheduleIndexPages(
        ofChangesIn groupID: SharingGroupID, as version: MasterVersion, isRenamed: Bool,
        using session: inout StoreSession
    ) throws(StoreError) {
        guard services.settings.writesIndexPage else { return }
        let due = WireDate(secondsSince1970: now.secondsSince1970 + Self.indexPageDelaySeconds)
        try session.scheduleIndexPages(ofChangesIn: groupID, as: version, availableAt: due, at: now)
        if isRenamed { try session.scheduleIndexPages(ofOwnersIn: groupID, availableAt: due, at: now) }
    }

    /// Schedules a rewrite of an owner's index page, if they have storage.
    func scheduleIndexPage(of user: UserRecord, using session: inout StoreSession) throws(StoreError) {
        guard services.settings.writesIndexPage, let storageType = user.accountType.cloudStorageType else { return }
        let due = WireDate(secondsSince1970: now.secondsSince1970 + Self.indexPageDelaySeconds)
        try session.scheduleIndexPage(
            of: OwningUser(userID: user.userID, storageType: storageType), availableAt: due, at: now)
    }
}
