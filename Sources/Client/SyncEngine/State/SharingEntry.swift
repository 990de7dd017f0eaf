package import SyncProtocol

/// A sharing group as the client last knew it.
package struct SharingEntry: TableRow {
    /// The group.
    package let sharingGroupUUID: SharingGroupUUID
    /// Free text; nil if the group has no name.
    package var name: String?
    /// The user's permission.
    package var permission: Permission
    /// The server's master version, as last reported.
    package var masterVersion: MasterVersion = .initial
    /// The storage of the user's host in this group; nil for users with their own storage, and for users without a
    /// host.
    package var cloudStorageType: CloudStorageType?
    /// Whether others have made changes that have not been downloaded yet.
    package var syncNeeded = false
    /// Whether the user is not, or is no longer, a member.
    package var removedFromGroup = false
    /// Whether the group's creation was queued, and the server does not have it yet.
    package var creationPending = false
    /// All changes up to this master version are in the directory; nil if the next index must be complete.
    package var indexedVersion: MasterVersion?
    /// The server's restore mark, as last reported.
    package var restoreMark: RestoreMark?
    /// If the server was restored from a backup, and the files have not been compared since: the last master version
    /// known before.
    package var versionBeforeRestore: MasterVersion?
    /// Together with ``versionBeforeRestore``: the master version of the backup; nil if the server does not report it.
    package var restoredVersion: MasterVersion?

    /// Creates an entry for a group that the client has just learned about.
    package init(sharingGroupUUID: SharingGroupUUID, name: String?, permission: Permission) {
        self.sharingGroupUUID = sharingGroupUUID
        self.name = name
        self.permission = permission
    }

    package var key: SharingGroupUUID { sharingGroupUUID }

    /// The group as apps see it.
    package var sharingGroup: SharingGroup {
        SharingGroup(
            sharingGroupUUID: sharingGroupUUID, sharingGroupName: name, permission: permission, syncNeeded: syncNeeded)
    }
}
