internal import MariaDB
public import SyncProtocol

/// The state that determines whether a file may be uploaded.
public struct UploadSituation: Equatable, Sendable {
    public var membership: Membership
    /// The device's staged change of the file.
    public var staged: StagedChange?
    /// The committed file, if the group has it, deleted or not.
    public var current: FileRecord?
    /// Whether another group has a live file with that UUID.
    public var isLiveElsewhere = false
}

extension StoreSession {
    /// Reads in one statement, so at the same moment, the data that decides about an upload; `nil` if the caller is not
    /// a member of the group, or if the group is deleted or does not exist.
    ///
    /// Membership and committed file change only together with the group's master version: they are still the same as
    /// when they were read if ``lockMasterVersionShared(of:)`` finds the same version.
    public mutating func uploadSituation(
        of file: FileUUID, by caller: UserRecord, on device: DeviceUUID, in group: SharingGroupUUID
    ) throws(StoreError) -> UploadSituation? {
        let callerWithStorage = caller.accountType.cloudStorageType == nil ? nil : caller.userID.rawValue
        var situation: UploadSituation?
        try connection.query(
            """
            SELECT \(Membership.columns), \(StagedChange.columns, of: "s"),
                   f.sharing_group_id, \(FileRecord.columns, of: "f")
              FROM sharing_groups g
              JOIN memberships m ON m.sharing_group_id = g.sharing_group_id
              LEFT JOIN users o ON o.user_id = IFNULL(?, m.owning_user_id)
              LEFT JOIN staged_changes s ON s.user_id = m.user_id
                                        AND s.device_uuid = ?
                                        AND s.sharing_group_id = m.sharing_group_id
                                        AND s.file_uuid = ?
              LEFT JOIN files f ON f.file_uuid = ?
                               AND (f.sharing_group_id = m.sharing_group_id OR NOT f.is_deleted)
             WHERE g.sharing_group_uuid = ?
               AND NOT g.is_deleted
               AND m.user_id = ?
            """,
            [
                .int(orNull: callerWithStorage), .text(device.rawValue), .text(file.rawValue), .text(file.rawValue),
                .text(group.rawValue), .int(caller.userID.rawValue),
            ]
        ) { row throws(StoreError) in
            // One row for each group that has the file; one row without a file if none has.
            var found: UploadSituation
            if let known = situation {
                found = known
            } else {
                found = UploadSituation(membership: try Membership(row))
                let staged = row.columns(of: "s")
                if try !staged.isNull("file_uuid") { found.staged = try StagedChange(staged) }
            }
            let file = row.columns(of: "f")
            if let groupID = try file.optionalNumber("sharing_group_id") {
                if groupID == found.membership.groupID.rawValue {
                    found.current = try FileRecord(file)
                } else {
                    found.isLiveElsewhere = true
                }
            }
            situation = found
        }
        return situation
    }
}
