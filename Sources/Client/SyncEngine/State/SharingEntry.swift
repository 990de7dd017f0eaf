package import SyncProtocol

/// A sharing group as the client last knew it.
package struct SharingEntry: TableRow {
    /// The group.
    package let sharingGroupUUID: SharingGroupUUID
    /// Free text; nil if the group has no name.
    package var name: String?
    /// What the user may do.
    package var permission: Permission
    /// The server's, as last heard.
    package var masterVersion: MasterVersion = .initial
    /// The storage of the user's host in this group; nil for users with storage of their own, and without a host.
    package var cloudStorageType: CloudStorageType?
    /// Whether others changed something that was not downloaded yet.
    package var syncNeeded = false
    /// Whether the user is not, or no longer, a member.
    package var removedFromGroup = false
    /// Whether the group was queued to be created, and the server does not have it yet.
    package var creationPending = false
    /// All changes up to this master version are in the directory; nil if the next index must be whole.
    package var indexedVersion: MasterVersion?

    /// A group that the client just learned of.
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
