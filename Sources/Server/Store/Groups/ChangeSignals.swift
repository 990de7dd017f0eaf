import MariaDB
public import SyncProtocol

/// What transactions have changed for listeners; reported after their commit (``MetadataStore``).
public struct CommittedChanges: Sendable, Equatable {
    /// Groups with a new master version, or a new member.
    public var groups: Set<SharingGroupID> = []
    /// Users who are no longer members of a group.
    public var formerMembers: Set<UserID> = []
    /// Users whose streams end: those who still have a right to one connect again.
    public var endedStreams: Set<UserID> = []

    public init() {}

    public var isEmpty: Bool { count == 0 }
    public var count: Int { groups.count + formerMembers.count + endedStreams.count }

    public mutating func add(_ other: CommittedChanges) {
        groups.formUnion(other.groups)
        formerMembers.formUnion(other.formerMembers)
        endedStreams.formUnion(other.endedStreams)
    }
}

/// A changed group as its listeners learn of it.
public struct GroupChange: Sendable, Equatable {
    public var change: ChangeSignal.Change
    public var members: [UserID]
}

extension StoreSession {
    /// The current state of a group and its members; `nil` if the group has ended.
    public mutating func change(of groupID: SharingGroupID) throws(StoreError) -> GroupChange? {
        var found: GroupChange?
        try query(
            """
            SELECT g.sharing_group_uuid, g.master_version, m.user_id
              FROM sharing_groups g
              JOIN memberships m ON m.sharing_group_id = g.sharing_group_id
             WHERE g.sharing_group_id = ?
               AND NOT g.is_deleted
            """, [.int(groupID.rawValue)]
        ) { row throws(StoreError) in
            if found == nil {
                let change = ChangeSignal.Change(
                    sharingGroupUUID: try row.identifier(0), masterVersion: MasterVersion(try row.number(1)))
                found = GroupChange(change: change, members: [])
            }
            found?.members.append(UserID(try row.number(2)))
        }
        return found
    }

    // MARK: Other hosts

    /// Records changes for the other hosts (``signals(seen:exceptFrom:)``); each row is its own transaction.
    /// - Parameter origin: identifies this host.
    public mutating func leave(_ changes: CommittedChanges, from origin: String) throws(StoreError) {
        for group in changes.groups { try leave(from: origin, .int(group.rawValue), .null, endsStreams: false) }
        for user in changes.formerMembers { try leave(from: origin, .null, .int(user.rawValue), endsStreams: false) }
        for user in changes.endedStreams { try leave(from: origin, .null, .int(user.rawValue), endsStreams: true) }
    }

    private mutating func leave(
        from origin: String, _ group: Value, _ user: Value, endsStreams: Bool
    ) throws(StoreError) {
        try execute(
            """
            INSERT INTO change_signals (origin, sharing_group_id, user_id, ends_streams, created_at)
            VALUES (?, ?, ?, ?, UTC_TIMESTAMP(3))
            """, [.text(origin), group, user, .bool(endsStreams)])
    }

    /// The changes that other hosts have recorded in the last seconds, except rows that were seen. Rows do not become
    /// visible in the order of their numbers, so their time decides.
    /// - Parameter seen: the numbers of the rows of those seconds; replaced by the current ones.
    public mutating func signals(
        seen: inout Set<Int64>, exceptFrom origin: String
    ) throws(StoreError) -> CommittedChanges {
        var current: Set<Int64> = []
        var changes = CommittedChanges()
        try query(
            """
            SELECT signal_id, sharing_group_id, user_id, ends_streams
              FROM change_signals
             WHERE created_at >= UTC_TIMESTAMP(3) - INTERVAL 5 SECOND
               AND origin <> ?
            """, [.text(origin)]
        ) { row throws(StoreError) in
            let number: Int64 = try row.number(0)
            current.insert(number)
            guard !seen.contains(number) else { return }
            if let group = try row.optionalNumber(1) { changes.groups.insert(SharingGroupID(group)) }
            guard let user = try row.optionalNumber(2).map(UserID.init) else { return }
            if try row.flag(3) { changes.endedStreams.insert(user) } else { changes.formerMembers.insert(user) }
        }
        seen = current
        return changes
    }

    /// Removes rows that all hosts have had time to read.
    public mutating func forgetSignals(limit: Int) throws(StoreError) {
        try execute(
            """
            DELETE FROM change_signals
             WHERE created_at < UTC_TIMESTAMP(3) - INTERVAL 60 SECOND
             ORDER BY created_at
             LIMIT ?
            """, [.int(Int64(limit))])
    }
}
