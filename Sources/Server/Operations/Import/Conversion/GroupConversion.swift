import Store
import SyncProtocol

/// The user on this server that corresponds to a user of the source.
struct UserHere: Equatable, Sendable {
    var userID: UserID
    var accountType: AccountType

    /// The user's own storage.
    var owner: OwningUser? { accountType.cloudStorageType.map { OwningUser(userID: userID, storageType: $0) } }
}

/// Converts a group for the import. It is pure: the same rows give the same group.
struct GroupConversion {
    /// The owner of files whose owner has left; user numbers begin at 1.
    static let nobody = UserID(0)

    let source: SourceGroupContents
    /// By their number at the source.
    let users: [Int64: UserHere]
    private(set) var notes: [ImportNote] = []

    init(_ source: SourceGroupContents, users: [Int64: UserHere]) {
        self.source = source
        self.users = users
    }

    mutating func note(_ table: String, _ row: String, _ outcome: ImportNote.Outcome, _ reason: ImportNote.Reason) {
        notes.append(ImportNote(table, row, outcome, reason))
    }

    /// The group; `nil` if it cannot be imported. SyncServerII omitted files of departed people from its index, so that
    /// other devices kept them forever. Here they are listed as deleted, under a master version that makes every device
    /// check.
    mutating func group() -> ImportedGroup? {
        let uuid = source.group.sharingGroupUUID
        guard let groupUUID = SharingGroupUUID(uuid) else {
            note("SharingGroup", uuid, .skipped, .groupUUIDUnusable)
            return nil
        }
        if source.group.masterVersion == nil { note("MasterVersion", uuid, .adjusted, .masterVersionMissing) }
        let members = members()
        var isDeleted = source.group.deleted
        if !isDeleted && members.isEmpty {
            isDeleted = true
            note("SharingGroup", uuid, .adjusted, .groupWithoutMembers)
        }
        var files = FileConversion(group: uuid, users: users)
        var converted = files.files(source.files)
        notes += files.notes
        if isDeleted { for index in converted.indices { converted[index].isDeleted = true } }
        let version = max(0, source.group.masterVersion ?? 0) + (files.hasVanishedFiles ? 1 : 0)
        return ImportedGroup(
            groupUUID: groupUUID, name: source.group.sharingGroupName, masterVersion: MasterVersion(version),
            isDeleted: isDeleted, members: isDeleted ? [] : members, files: converted)
    }

    private mutating func members() -> [ImportedGroup.Member] {
        var members: [ImportedGroup.Member] = []
        var seen: Set<UserID> = []
        for member in source.members {
            let row = "\(source.group.sharingGroupUUID) \(member.userId)"
            guard let user = users[member.userId] else {
                note("SharingGroupUser", row, .skipped, .memberUnknown)
                continue
            }
            guard let permission = Permission(rawValue: member.permission) else {
                note("SharingGroupUser", row, .skipped, .permissionUnknown)
                continue
            }
            guard seen.insert(user.userID).inserted else {
                note("SharingGroupUser", row, .skipped, .memberListedTwice)
                continue
            }
            var owner: UserID?
            if user.owner == nil, let owning = member.owningUserId {
                owner = users[owning]?.owner?.userID
                if owner == nil { note("SharingGroupUser", row, .adjusted, .owningUserGone) }
            }
            members.append(ImportedGroup.Member(userID: user.userID, owningUserID: owner, permission: permission))
        }
        return members
    }
}
