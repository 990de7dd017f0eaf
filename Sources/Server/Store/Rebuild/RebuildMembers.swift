import MariaDB
public import SyncProtocol

/// The account of a member who has not returned yet.
///
/// Such a member has a user like everybody else, so that every rule about members and owners applies. The user has no
/// tokens, and an account that no sign-in service reports.
public enum AbsentAccount {
    /// The beginning of the provider's identifier; a random text follows.
    static let prefix = "absent "

    static func id(_ random: String) -> String { prefix + random }
}

extension UserRecord {
    /// Whether the person has not returned since a rebuild began.
    public var isAbsent: Bool { providerUserID.hasPrefix(AbsentAccount.prefix) }
}

/// A member in the applied manifest of a group, as whom an account may be recognised.
public struct RebuildMembership: Equatable, Sendable {
    public var groupID: SharingGroupID
    public var formerUserID: UserID
    /// The absent member's user here.
    public var userID: UserID
    /// Whether a known key has signed the manifest.
    public var isSigned: Bool
}

/// Whether all groups are here to which a user belongs according to manifests.
public enum AwaitedGroups: Sendable {
    /// At least one group is missing, or not all of the user's groups are known.
    case missing
    /// All groups are here, but the user is not a member of each: they have left one, or have not taken their place in
    /// it.
    case allHere
    /// All groups are here, and the user is a member of each.
    case allTaken
}

extension StoreSession {
    /// Sets the members of a group to those in a manifest: people whom the server knows, and users of absent members.
    /// Call in the transaction of ``put(back:over:mark:at:)``.
    /// - Parameters:
    ///   - storage: the storage of each former user who owns files.
    ///   - identity: the hash of a user's account with the manifest's salt.
    ///   - otherGroups: the other groups with files to which a member belongs; `nil` if they cannot be determined.
    ///   - newcomers: all users who were added since the rebuild began, without absent members.
    ///   - random: returns a new random text at each call.
    /// - Returns: the user of each member on this server, by the member's number on the lost server.
    public mutating func put(
        back members: [ManifestMember], storage: [UserID: CloudStorageType], in groupID: SharingGroupID,
        otherGroups: (ManifestMember) -> [SharingGroupUUID]?, newcomers: [UserRecord],
        identity: (UserRecord) -> [UInt8], random: () throws -> String, at now: WireDate
    ) throws -> [UserID: UserID] {
        let known = Dictionary(
            try all(
                "SELECT former_user_id, user_id FROM rebuild_members WHERE sharing_group_id = ?",
                [.int(groupID.rawValue)]
            ) { row throws(StoreError) in (UserID(try row.number(0)), UserID(try row.number(1))) },
            uniquingKeysWith: { first, _ in first })
        let hashed = newcomers.map { (user: $0, identity: identity($0)) }
        var users: [UserID: UserID] = [:]
        try execute("DELETE FROM rebuild_awaited WHERE stated_by = ?", [.int(groupID.rawValue)])
        for member in members {
            var found: UserRecord?
            for candidate in [known[member.userID], member.userID].compactMap(\.self) where found == nil {
                // An absent member is identified by the number only within the group, a person by their hash.
                guard let user = try user(candidate) else { continue }
                if user.isAbsent ? candidate == known[member.userID] : identity(user) == member.identity {
                    found = user
                }
            }
            found = found ?? hashed.first { $0.identity == member.identity }?.user
            let userID: UserID
            if let found {
                userID = found.userID
            } else {
                userID = try addAbsent(member, storage[member.userID], id: AbsentAccount.id(try random()), at: now)
            }
            users[member.userID] = userID
            try execute(
                """
                REPLACE INTO rebuild_members (sharing_group_id, former_user_id, identity, user_id, is_recognised,
                                              user_app_id, account_epoch)
                VALUES (?, ?, ?, ?, ?, ?, ?)
                """,
                [
                    .int(groupID.rawValue), .int(member.userID.rawValue), .bytes(member.identity),
                    .int(userID.rawValue), .bool(found?.isAbsent == false), .text(orNull: member.userAppID?.rawValue),
                    .int(member.accountEpoch?.rawValue ?? 0),
                ])
            try returnIdentity(to: userID)
            try noteAwaited(otherGroups(member), by: userID, statedBy: groupID)
        }
        try setMembers(members, users, of: groupID)
        return users
    }

    /// Gives a recognised person the identity that their devices know, with the number of their account switches, from
    /// the manifest that states the most of these; unless they have an identity, or it is somebody else's.
    private mutating func returnIdentity(to userID: UserID) throws(StoreError) {
        let user = Value.int(userID.rawValue)
        let known = try first(
            """
            SELECT user_app_id, account_epoch
              FROM rebuild_members
             WHERE user_id = ?
               AND is_recognised
               AND user_app_id IS NOT NULL
             ORDER BY account_epoch DESC
             LIMIT 1
            """, [user]
        ) { row throws(StoreError) in (id: try row.string(0), epoch: try row.number(1)) }
        guard let known else { return }
        // In one table: an UPDATE of several also needs rights on the tables that refer to users.
        try execute(
            """
            UPDATE IGNORE users
               SET user_app_id = ?, account_epoch = ?
             WHERE user_id = ?
               AND (user_app_id IS NULL OR (user_app_id = ? AND account_epoch < ?))
            """, [.text(known.id), .int(known.epoch), user, .text(known.id), .int(known.epoch)])
    }

    private mutating func addAbsent(
        _ member: ManifestMember, _ storage: CloudStorageType?, id: String, at now: WireDate
    ) throws(StoreError) -> UserID {
        let types = AccountType.allCases.filter { ($0.userType == .owning) == member.isOwning }
        let type = types.first { storage == nil || $0.cloudStorageType == storage } ?? .facebook
        let name = String(String.UnicodeScalarView(member.name.unicodeScalars.prefix(Self.maximumNameCharacters)))
        return UserID(
            try insert(
                "INSERT INTO users (account_type, provider_user_id, display_name, created_at) VALUES (?, ?, ?, ?)",
                [.text(type.rawValue), .text(id), .text(name), .date(now)]))
    }

    /// Replaces the memberships of a group with those in a manifest.
    private mutating func setMembers(
        _ members: [ManifestMember], _ users: [UserID: UserID], of groupID: SharingGroupID
    ) throws(StoreError) {
        let group = Value.int(groupID.rawValue)
        let wanted = Set(members.compactMap { users[$0.userID] })
        for present in try self.members(of: groupID).map(\.userID) where !wanted.contains(present) {
            try execute(
                "DELETE FROM memberships WHERE sharing_group_id = ? AND user_id = ?", [group, .int(present.rawValue)])
            changes.formerMembers.insert(present)
            try removeUserIfAbsentEverywhere(present)
        }
        for member in members {
            guard let userID = users[member.userID] else { continue }
            let owner = member.isOwning ? nil : member.owningUserID.flatMap { users[$0] }
            try execute(
                """
                INSERT INTO memberships (sharing_group_id, user_id, owning_user_id, permission, joined_at)
                VALUES (?, ?, ?, ?, ?)
                    ON DUPLICATE KEY UPDATE owning_user_id = VALUES(owning_user_id), permission = VALUES(permission),
                       joined_at = VALUES(joined_at)
                """,
                [
                    group, .int(userID.rawValue), .int(orNull: owner?.rawValue),
                    .text(member.permission.queryText), .date(member.joinedAt),
                ])
        }
    }

    // MARK: Recognising people

    /// The salts with which the identities of absent members are hashed, for all groups that have such members.
    public mutating func saltsOfAbsentMembers() throws(StoreError) -> [(groupID: SharingGroupID, salt: [UInt8])] {
        try all(
            """
            SELECT r.sharing_group_id, r.salt
              FROM rebuild_groups r
             WHERE r.salt IS NOT NULL
               AND EXISTS (SELECT 1 FROM rebuild_members m
                            WHERE m.sharing_group_id = r.sharing_group_id AND NOT m.is_recognised)
             ORDER BY r.sharing_group_id
            """, []
        ) { row throws(StoreError) in (SharingGroupID(try row.number(0)), try row.optionalData(1) ?? []) }
    }

    /// The absent member of a group with that identity.
    public mutating func absentMember(
        _ identity: [UInt8], in groupID: SharingGroupID
    ) throws(StoreError) -> RebuildMembership? {
        try first(
            """
            SELECT m.former_user_id, m.user_id, r.is_signed
              FROM rebuild_members m
              JOIN rebuild_groups r ON r.sharing_group_id = m.sharing_group_id
             WHERE m.sharing_group_id = ?
               AND m.identity = ?
               AND NOT m.is_recognised
             LIMIT 1
            """, [.int(groupID.rawValue), .bytes(identity)]
        ) { row throws(StoreError) in
            RebuildMembership(
                groupID: groupID, formerUserID: UserID(try row.number(0)), userID: UserID(try row.number(1)),
                isSigned: try row.flag(2))
        }
    }

    /// Gives a person the place of the absent member as whom they were recognised: the membership, the files, and the
    /// members who use the absent member's storage. Call in a transaction; it locks the group.
    /// - Returns: `false`, with nothing changed, if the place was taken meanwhile, or the group has ended.
    public mutating func seat(_ user: UserRecord, as place: RebuildMembership) throws(StoreError) -> Bool {
        let group = Value.int(place.groupID.rawValue)
        do { _ = try lockMasterVersionExclusive(of: place.groupID) } catch .notFound { return false }
        guard try lockUser(user.userID) else { return false }
        let taken = try execute(
            """
            UPDATE rebuild_members
               SET user_id = ?, is_recognised = TRUE
             WHERE sharing_group_id = ?
               AND former_user_id = ?
               AND user_id = ?
               AND NOT is_recognised
            """,
            [.int(user.userID.rawValue), group, .int(place.formerUserID.rawValue), .int(place.userID.rawValue)])
        guard taken == 1 else { return false }
        try returnIdentity(to: user.userID)
        let (person, absent) = (Value.int(user.userID.rawValue), Value.int(place.userID.rawValue))
        if try isMember(user.userID, of: place.groupID) {
            // The person has joined again here, with a permission that somebody has granted on this server.
            try execute("DELETE FROM memberships WHERE sharing_group_id = ? AND user_id = ?", [group, absent])
        } else {
            try execute(
                "UPDATE memberships SET user_id = ? WHERE sharing_group_id = ? AND user_id = ?",
                [person, group, absent])
        }
        try execute(
            "UPDATE memberships SET owning_user_id = ? WHERE sharing_group_id = ? AND owning_user_id = ?",
            [person, group, absent])
        if let storage = user.accountType.cloudStorageType {
            try execute(
                """
                UPDATE files
                   SET owning_user_id = ?
                 WHERE sharing_group_id = ?
                   AND owning_user_id = ?
                   AND storage_type = ?
                """, [person, group, absent, .text(storage.rawValue)])
        }
        // Index shows owners; its tag contains this number.
        try execute("UPDATE sharing_groups SET reuploads = reuploads + 1 WHERE sharing_group_id = ?", [group])
        try execute(
            "UPDATE IGNORE rebuild_awaited SET user_id = ? WHERE stated_by = ? AND user_id = ?",
            [person, group, absent])
        try removeUserIfAbsentEverywhere(place.userID)
        changes.groups.insert(place.groupID)
        return true
    }

    /// Deletes the user of an absent member whom no group needs.
    private mutating func removeUserIfAbsentEverywhere(_ userID: UserID) throws(StoreError) {
        guard try user(userID)?.isAbsent == true else { return }
        try execute(
            """
            DELETE FROM users
             WHERE user_id = ?
               AND NOT EXISTS (SELECT 1 FROM memberships m WHERE m.user_id = users.user_id)
               AND NOT EXISTS (SELECT 1 FROM files f WHERE f.owning_user_id = users.user_id AND NOT f.is_deleted)
            """, [.int(userID.rawValue)])
    }

    /// All people who were added since a rebuild began, except those who may still get another number.
    public mutating func newcomers(since mode: RebuildMode) throws(StoreError) -> [UserRecord] {
        try all(
            """
            SELECT \(UserRecord.columns, of: "u")
              FROM users u
             WHERE u.user_id >= ?
               AND NOT EXISTS (SELECT 1 FROM rebuild_visits v WHERE v.user_id = u.user_id AND v.is_provisional)
             ORDER BY u.user_id
            """, [.int(mode.firstNewUser.rawValue)], UserRecord.init(_:)
        ).filter { !$0.isAbsent }
    }

    // MARK: Other groups of a member

    /// Records the other groups of a user that the applied manifest of a group lists, in place of those recorded
    /// before.
    /// - Parameter groups: `nil` if they cannot be determined.
    mutating func noteAwaited(
        _ groups: [SharingGroupUUID]?, by userID: UserID, statedBy groupID: SharingGroupID
    ) throws(StoreError) {
        let (group, user) = (Value.int(groupID.rawValue), Value.int(userID.rawValue))
        try execute("DELETE FROM rebuild_awaited WHERE stated_by = ? AND user_id = ?", [group, user])
        for awaited in groups?.map(\.rawValue) ?? [""] {
            try execute(
                "INSERT IGNORE INTO rebuild_awaited (stated_by, user_id, sharing_group_uuid) VALUES (?, ?, ?)",
                [group, user, .text(awaited)])
        }
    }

    /// The same, if they could not be determined before: now the user's own manifest of the group has been read.
    public mutating func noteAwaitedIfUnknown(
        _ groups: [SharingGroupUUID], by userID: UserID, statedBy groupID: SharingGroupID
    ) throws(StoreError) {
        let isUnknown = try first(
            "SELECT 1 FROM rebuild_awaited WHERE stated_by = ? AND user_id = ? AND sharing_group_uuid = ''",
            [.int(groupID.rawValue), .int(userID.rawValue)]
        ) { _ in true }
        if isUnknown == true { try noteAwaited(groups, by: userID, statedBy: groupID) }
    }

    /// Whether the groups are here to which a user belongs according to manifests.
    public mutating func awaitedGroups(of userID: UserID) throws(StoreError) -> AwaitedGroups {
        let groups = try all(
            """
            SELECT g.sharing_group_id IS NOT NULL, m.user_id IS NOT NULL
              FROM rebuild_awaited a
              LEFT JOIN sharing_groups g ON g.sharing_group_uuid = a.sharing_group_uuid
              LEFT JOIN memberships m ON m.sharing_group_id = g.sharing_group_id
                                     AND m.user_id = a.user_id
             WHERE a.user_id = ?
            """, [.int(userID.rawValue)]
        ) { row throws(StoreError) in (isHere: try row.flag(0), isMember: try row.flag(1)) }
        if groups.contains(where: { !$0.isHere }) { return .missing }
        return groups.allSatisfy(\.isMember) ? .allTaken : .allHere
    }

    /// Deletes the records of groups that are here, after the user has taken their places in them.
    public mutating func forgetAwaitedGroups(of userID: UserID) throws(StoreError) {
        try execute(
            """
            DELETE FROM rebuild_awaited
             WHERE user_id = ?
               AND EXISTS (SELECT 1 FROM sharing_groups g
                            WHERE g.sharing_group_uuid = rebuild_awaited.sharing_group_uuid)
            """, [.int(userID.rawValue)])
    }

    // MARK: Manifests of a group with absent members

    /// The absent members of a group with their identities, and the salt of the identities; `nil` if no member is
    /// absent.
    public mutating func absentIdentities(
        in groupID: SharingGroupID
    ) throws(StoreError) -> (salt: [UInt8], identities: [UserID: [UInt8]])? {
        let salt =
            try first(
                "SELECT salt FROM rebuild_groups WHERE sharing_group_id = ?", [.int(groupID.rawValue)]
            ) { row throws(StoreError) in try row.optionalData(0) } ?? nil
        guard let salt else { return nil }
        let identities = try all(
            "SELECT user_id, identity FROM rebuild_members WHERE sharing_group_id = ? AND NOT is_recognised",
            [.int(groupID.rawValue)]
        ) { row throws(StoreError) in (UserID(try row.number(0)), try row.optionalData(1) ?? []) }
        guard !identities.isEmpty else { return nil }
        return (salt, Dictionary(identities, uniquingKeysWith: { first, _ in first }))
    }
}
