internal import MariaDB
public import SyncProtocol

/// The end of an account switch.
extension StoreSession {
    /// Ends a switch whose files were being uploaded again: gives up the contents that are still missing, and raises
    /// the master version of every group with files of the user once, so that all devices read the index again; the
    /// server stops moving files. Leaves a switch that has already ended unchanged.
    ///
    /// Call first in a transaction: it locks the groups in the order of their UUIDs, then the user.
    /// - Returns: `false` if the user has no such confirmed switch.
    public mutating func finishSwitch(
        _ id: AccountSwitchID, of userID: UserID, _ missing: MissingFiles,
        movesEndAs moveState: AccountMove.State = .ended, at now: WireDate
    ) throws(StoreError) -> Bool {
        guard let known = try accountSwitch(id, at: now), known.userID == userID, known.state != .proposed else {
            return false
        }
        guard known.state == .reuploading else { return true }
        for group in try groupsWithFiles(of: userID) {
            let version: MasterVersion
            do { version = try lockMasterVersionExclusive(of: group) } catch .notFound { continue }
            guard case .advanced(let next) = try advanceMasterVersion(of: group, from: version) else {
                throw .corrupt(table: "sharing_groups", column: "master_version")
            }
            try execute(
                """
                UPDATE files
                   SET changed_at_master_version = ?
                 WHERE sharing_group_id = ?
                   AND owning_user_id = ?
                   AND NOT is_deleted
                """, [.int(next.rawValue), .int(group.rawValue), .int(userID.rawValue)])
            try giveUp(missing, ofFilesOf: userID, in: group)
        }
        guard try lockUser(userID), let current = try accountSwitch(id, locked: true, at: now) else { return false }
        // A repeated request was faster: do not advance its groups again.
        guard current.state == .reuploading else {
            throw .contention(.contention(code: 0, message: "the switch was finished meanwhile"))
        }
        try endMoves(of: userID, as: moveState, at: now)
        try execute(
            "UPDATE account_switches SET state = 'finished', finished_at = ? WHERE switch_uuid = ?",
            [.date(now), .text(id.rawValue)])
        return true
    }

    private mutating func groupsWithFiles(of userID: UserID) throws(StoreError) -> [SharingGroupID] {
        try all(
            """
            SELECT g.sharing_group_id
              FROM sharing_groups g
              JOIN (SELECT DISTINCT sharing_group_id FROM files WHERE owning_user_id = ? AND NOT is_deleted) theirs
                ON theirs.sharing_group_id = g.sharing_group_id
             WHERE NOT g.is_deleted
             ORDER BY g.sharing_group_uuid
            """, [.int(userID.rawValue)]
        ) { row throws(StoreError) in SharingGroupID(try row.number(0)) }
    }

    private mutating func giveUp(
        _ missing: MissingFiles, ofFilesOf userID: UserID, in group: SharingGroupID
    ) throws(StoreError) {
        let given: ColumnValues =
            switch missing {
            case .keepGone: ["content_state": .text(ContentState.missing.rawValue)]
            case .markDeleted: FileRecord.deletion
            }
        try execute(
            """
            UPDATE files
               SET \(assigning: given.columns)
             WHERE sharing_group_id = ?
               AND owning_user_id = ?
               AND content_state = 'awaiting'
               AND NOT is_deleted
            """, given.values + [.int(group.rawValue), .int(userID.rawValue)])
    }
}
