internal import MariaDB
public import SyncProtocol

/// Everything the database knows about one file: the source for its history.
public struct FileEvidence: Equatable, Sendable, Encodable {
    /// A person, by name and account type; never by tokens.
    public struct Person: Equatable, Sendable, Encodable {
        public var userID: UserID
        /// Absent if the person has left the server.
        public var name: String?
        public var accountType: AccountType?

        public init(userID: UserID, name: String?, accountType: AccountType?) {
            self.userID = userID
            self.name = name
            self.accountType = accountType
        }
    }

    /// A commit that is still stored; others have been deleted.
    public struct Commit: Equatable, Sendable, Encodable {
        public var masterVersion: MasterVersion
        public var person: Person
        public var deviceUUID: DeviceUUID
        /// Absent for a group's newest commit without an id.
        public var committedAt: WireDate?

        public init(masterVersion: MasterVersion, person: Person, deviceUUID: DeviceUUID, committedAt: WireDate?) {
            self.masterVersion = masterVersion
            self.person = person
            self.deviceUUID = deviceUUID
            self.committedAt = committedAt
        }
    }

    /// The committed file in one group.
    public struct Committed: Equatable, Sendable, Encodable {
        public var sharingGroupUUID: SharingGroupUUID
        public var groupName: String?
        public var groupMasterVersion: MasterVersion
        public var groupDeleted: Bool
        public var groupImported: Bool
        public var members: [Person]
        public var file: ListedFile
        public var deviceUUID: DeviceUUID
        /// Members who have used that device.
        public var deviceUsers: [Person]
        public var fileGroupUUID: FileGroupUUID?
        public var owner: Person
        public var ownerIsMember: Bool
        public var checkSum: String?
        public var objectID: String?
        /// The object's name according to the protocol, as its owner sees it.
        public var objectName: String
        public var appMetaDataVersion: AppMetaDataVersion?
        /// The commit that last changed the file, if it is still stored.
        public var lastChange: Commit?
    }

    /// A staged change that has not been committed.
    public struct Staged: Equatable, Sendable, Encodable {
        public var sharingGroupUUID: SharingGroupUUID?
        public var person: Person
        public var deviceUUID: DeviceUUID
        public var kind: String
        public var fileVersion: FileVersion?
        public var appMetaDataVersion: AppMetaDataVersion?
        public var sizeBytes: Int64?
        public var owner: Person?
        public var stagedAt: WireDate
        public var batchUUID: BatchUUID?
    }

    public var fileUUID: FileUUID
    public var committed: [Committed]
    public var staged: [Staged]
    public var outbox: [ListedWork]
}

extension StoreSession {
    /// Everything known about a file, in all groups; call in a snapshot.
    public mutating func evidence(of file: FileUUID, at now: WireDate) throws(StoreError) -> FileEvidence {
        FileEvidence(
            fileUUID: file, committed: try committed(file), staged: try staged(file),
            outbox: try outboxRows(concerning: file, at: now))
    }

    private mutating func committed(_ file: FileUUID) throws(StoreError) -> [FileEvidence.Committed] {
        var found = try all(
            """
            SELECT f.file_uuid, f.file_version, f.is_deleted, f.mime_type, f.size_bytes, f.owning_user_id,
                   f.storage_type, f.created_at, f.updated_at, f.changed_at_master_version,
                   g.sharing_group_uuid, g.name, g.master_version, g.is_deleted, f.device_uuid, f.file_group_uuid,
                   u.display_name, u.account_type, f.check_sum, f.object_id, f.app_metadata_version,
                   m.user_id IS NOT NULL, g.sharing_group_id,
                   EXISTS (SELECT 1 FROM imported_groups i WHERE i.sharing_group_id = g.sharing_group_id)
              FROM files f
              JOIN sharing_groups g ON g.sharing_group_id = f.sharing_group_id
              LEFT JOIN users u ON u.user_id = f.owning_user_id
              LEFT JOIN memberships m ON m.sharing_group_id = f.sharing_group_id AND m.user_id = f.owning_user_id
             WHERE f.file_uuid = ?
             ORDER BY f.is_deleted, g.sharing_group_uuid
            """, [.text(file.rawValue)]
        ) { row throws(StoreError) in
            let listed = ListedFile(
                fileUUID: try row.identifier(0, "files", "file_uuid"),
                fileVersion: FileVersion(try row.number32(1, "files", "file_version")), deleted: try row.flag(2),
                mimeType: try row.string(3), sizeBytes: try row.optionalNumber(4),
                owningUserID: UserID(try row.number(5)), storageType: try row.word(6, "files", "storage_type"),
                createdAt: try row.date(7, "files", "created_at"), updatedAt: try row.date(8, "files", "updated_at"),
                changedAtMasterVersion: MasterVersion(try row.number(9)))
            let device: DeviceUUID = try row.identifier(14, "files", "device_uuid")
            var metaDataVersion: AppMetaDataVersion?
            if !row.isNull(20) {
                metaDataVersion = AppMetaDataVersion(try row.number32(20, "files", "app_metadata_version"))
            }
            let fileExtension = MIMEType(listed.mimeType).map(MIMETypeTable.extensionOfOlderServers) ?? "dat"
            let committed = FileEvidence.Committed(
                sharingGroupUUID: try row.identifier(10, "sharing_groups", "sharing_group_uuid"),
                groupName: row.optionalText(11), groupMasterVersion: MasterVersion(try row.number(12)),
                groupDeleted: try row.flag(13), groupImported: try row.flag(23), members: [], file: listed,
                deviceUUID: device, deviceUsers: [],
                fileGroupUUID: try row.optionalIdentifier(15, "files", "file_group_uuid"),
                owner: FileEvidence.Person(
                    userID: listed.owningUserID, name: row.optionalText(16),
                    accountType: try row.optionalWord(17, "users", "account_type")),
                ownerIsMember: try row.flag(21), checkSum: row.optionalText(18), objectID: row.optionalText(19),
                objectName: CloudFileName(
                    fileUUID: listed.fileUUID, deviceUUID: device, fileVersion: listed.fileVersion,
                    fileExtension: fileExtension
                ).rawValue, appMetaDataVersion: metaDataVersion, lastChange: nil)
            return (id: SharingGroupID(try row.number(22)), committed: committed)
        }
        for index in found.indices {
            let id = found[index].id
            let device = found[index].committed.deviceUUID
            found[index].committed.members = try people(of: id, device: nil)
            found[index].committed.deviceUsers = try people(of: id, device: device)
            found[index].committed.lastChange = try commit(
                found[index].committed.file.changedAtMasterVersion, of: id)
        }
        return found.map(\.committed)
    }

    /// The members of a group, or only those who have used a device.
    private mutating func people(
        of groupID: SharingGroupID, device: DeviceUUID?
    ) throws(StoreError) -> [FileEvidence.Person] {
        try all(
            """
            SELECT u.user_id, u.display_name, u.account_type
              FROM memberships m
              JOIN users u ON u.user_id = m.user_id
             WHERE m.sharing_group_id = ?
               AND (? IS NULL OR EXISTS (SELECT 1 FROM devices d WHERE d.user_id = u.user_id AND d.device_uuid = ?))
             ORDER BY u.user_id
            """, [.int(groupID.rawValue), .text(orNull: device?.rawValue), .text(orNull: device?.rawValue)]
        ) { row throws(StoreError) in
            FileEvidence.Person(
                userID: UserID(try row.number(0)), name: try row.string(1),
                accountType: try row.word(2, "users", "account_type"))
        }
    }

    /// The commit that led to a master version, if still stored: commits with an id are kept for a week, others until
    /// the next one.
    private mutating func commit(
        _ version: MasterVersion, of groupID: SharingGroupID
    ) throws(StoreError) -> FileEvidence.Commit? {
        let values: [Value] = [.int(groupID.rawValue), .int(version.rawValue)]
        return try first(
            """
            SELECT c.user_id, c.device_uuid, c.committed_at, u.display_name, u.account_type
              FROM (SELECT user_id, device_uuid, committed_at
                      FROM commits
                     WHERE sharing_group_id = ?
                       AND master_version = ?
                     UNION ALL
                    SELECT last_commit_user_id, last_commit_device_uuid, NULL
                      FROM sharing_groups
                     WHERE sharing_group_id = ?
                       AND last_commit_version = ?) c
              LEFT JOIN users u ON u.user_id = c.user_id
             ORDER BY c.committed_at IS NULL
             LIMIT 1
            """, values + values
        ) { row throws(StoreError) in
            FileEvidence.Commit(
                masterVersion: version,
                person: FileEvidence.Person(
                    userID: UserID(try row.number(0)), name: row.optionalText(3),
                    accountType: try row.optionalWord(4, "users", "account_type")),
                deviceUUID: try row.identifier(1, "commits", "device_uuid"),
                committedAt: row.isNull(2) ? nil : try row.date(2, "commits", "committed_at"))
        }
    }

    private mutating func staged(_ file: FileUUID) throws(StoreError) -> [FileEvidence.Staged] {
        try all(
            """
            SELECT g.sharing_group_uuid, s.user_id, u.display_name, u.account_type, s.device_uuid, s.kind,
                   s.file_version, s.app_metadata_version, s.size_bytes, s.owning_user_id, o.display_name,
                   o.account_type, s.staged_at, s.batch_uuid
              FROM staged_changes s
              LEFT JOIN sharing_groups g ON g.sharing_group_id = s.sharing_group_id
              LEFT JOIN users u ON u.user_id = s.user_id
              LEFT JOIN users o ON o.user_id = s.owning_user_id
             WHERE s.file_uuid = ?
             ORDER BY s.staged_at, s.user_id, s.device_uuid
            """, [.text(file.rawValue)]
        ) { row throws(StoreError) in
            var version: FileVersion?
            if !row.isNull(6) { version = FileVersion(try row.number32(6, "staged_changes", "file_version")) }
            var metaDataVersion: AppMetaDataVersion?
            if !row.isNull(7) {
                metaDataVersion = AppMetaDataVersion(try row.number32(7, "staged_changes", "app_metadata_version"))
            }
            var owner: FileEvidence.Person?
            if let ownerID = try row.optionalNumber(9) {
                owner = FileEvidence.Person(
                    userID: UserID(ownerID), name: row.optionalText(10),
                    accountType: try row.optionalWord(11, "users", "account_type"))
            }
            return FileEvidence.Staged(
                sharingGroupUUID: try row.optionalIdentifier(0, "sharing_groups", "sharing_group_uuid"),
                person: FileEvidence.Person(
                    userID: UserID(try row.number(1)), name: row.optionalText(2),
                    accountType: try row.optionalWord(3, "users", "account_type")),
                deviceUUID: try row.identifier(4, "staged_changes", "device_uuid"), kind: try row.string(5),
                fileVersion: version, appMetaDataVersion: metaDataVersion, sizeBytes: try row.optionalNumber(8),
                owner: owner, stagedAt: try row.date(12, "staged_changes", "staged_at"),
                batchUUID: try row.optionalIdentifier(13, "staged_changes", "batch_uuid"))
        }
    }

    /// Work that concerns objects that the file refers to, or whose names identify them as the file's.
    private mutating func outboxRows(
        concerning file: FileUUID, at now: WireDate
    ) throws(StoreError) -> [ListedWork] {
        let numbers = try all(
            """
            SELECT o.outbox_id
              FROM outbox o
             WHERE LOCATE(?, o.object_name) > 0
                OR EXISTS (SELECT 1 FROM files f
                            WHERE f.file_uuid = ? AND f.owning_user_id = o.user_id AND f.object_id = o.object_id)
                OR EXISTS (SELECT 1 FROM staged_changes s
                            WHERE s.file_uuid = ? AND s.owning_user_id = o.user_id AND s.object_id = o.object_id)
             ORDER BY o.outbox_id
            """, [.text(file.rawValue), .text(file.rawValue), .text(file.rawValue)]
        ) { row throws(StoreError) in try row.number(0) }
        var rows: [ListedWork] = []
        for number in numbers {
            rows += try listOutbox(OutboxFilter(), after: number - 1, limit: 1, at: now)
        }
        return rows
    }
}
