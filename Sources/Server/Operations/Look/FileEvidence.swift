import MariaDB
public import Store
public import SyncProtocol

/// All data about one file in the database: the source of its history.
public struct FileEvidence: Equatable, Sendable, Encodable {
    /// A person, by name and account type; never with tokens.
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
        /// Whether the owner's current account should have the contents.
        public var contentState: ContentState
        /// The state of the server's move of the contents after an account switch; absent if the server does not move
        /// them.
        public var serverMove: ServerMove?
        /// The object's name according to the protocol, as its owner sees it.
        public var objectName: String
        public var appMetaDataVersion: AppMetaDataVersion?
        /// The commit that last changed the file, if it is still stored.
        public var lastChange: Commit?
        /// Replies to downloads that reported the contents as gone, by reason; kept for 90 days.
        public var gone: [Gone]
        /// The time until which the contents of the deleted file are kept in the storage; absent if the file is not
        /// deleted, or its contents already are.
        public var contentsKeptUntil: WireDate?
    }

    /// The server's own attempt to move the contents of a file that waits for them.
    public struct ServerMove: Equatable, Sendable, Encodable {
        /// Why it leaves the file to the phones; absent while it does not.
        public var failure: String?
    }

    /// Replies to downloads that reported contents as gone.
    public struct Gone: Equatable, Sendable, Encodable {
        /// `fileRemovedOrRenamed` or `authTokenExpiredOrRevoked`.
        public var reason: GoneReason
        /// The requested version.
        public var fileVersion: FileVersion
        public var firstToldAt: WireDate
        public var lastToldAt: WireDate
        public var timesTold: Int64
        /// The last request that got this reply, by its identifier in both logs.
        public var lastRequestID: String?
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

extension FileEvidence.Person {
    /// A person with the name and account from a row; both are NULL if the person has left the server.
    fileprivate init(_ userID: UserID, _ row: borrowing Row) throws(StoreError) {
        self.init(
            userID: userID, name: try row.optionalString("display_name"),
            accountType: try row.optionalWord("account_type"))
    }
}

extension StoreSession {
    /// All data about a file, in all groups; call it in a snapshot.
    public mutating func evidence(of file: FileUUID, at now: WireDate) throws(StoreError) -> FileEvidence {
        FileEvidence(
            fileUUID: file, committed: try committed(file), staged: try staged(file),
            outbox: try outboxRows(concerning: file, at: now))
    }

    private mutating func committed(_ file: FileUUID) throws(StoreError) -> [FileEvidence.Committed] {
        var found = try all(
            """
            SELECT \(ListedFile.columns, of: "f"), f.device_uuid, f.file_group_uuid, f.check_sum, f.object_id,
                   f.content_state,
                   f.app_metadata_version, g.sharing_group_id, g.sharing_group_uuid, g.name, g.master_version,
                   g.is_deleted, u.display_name, u.account_type, m.user_id,
                   EXISTS (SELECT 1 FROM imported_groups i WHERE i.sharing_group_id = g.sharing_group_id) AS is_imported,
                   (SELECT COALESCE(c.failure, '')
                      FROM moving_contents c
                     WHERE c.sharing_group_id = f.sharing_group_id AND c.file_uuid = f.file_uuid
                       AND c.file_version = f.file_version
                     LIMIT 1) AS move_failure
              FROM files f
              JOIN sharing_groups g ON g.sharing_group_id = f.sharing_group_id
              LEFT JOIN users u ON u.user_id = f.owning_user_id
              LEFT JOIN memberships m ON m.sharing_group_id = f.sharing_group_id AND m.user_id = f.owning_user_id
             WHERE f.file_uuid = ?
             ORDER BY f.is_deleted, g.sharing_group_uuid
            """, [.text(file.rawValue)]
        ) { row throws(StoreError) in
            let file = row.columns(of: "f")
            let group = row.columns(of: "g")
            let listed = try ListedFile(file)
            let device: DeviceUUID = try file.identifier("device_uuid")
            let serverMove = try row.optionalString("move_failure").map { failure in
                FileEvidence.ServerMove(failure: failure.isEmpty ? nil : failure)
            }
            let objectID = try file.optionalString("object_id")
            let committed = FileEvidence.Committed(
                sharingGroupUUID: try group.identifier("sharing_group_uuid"),
                groupName: try group.optionalString("name"),
                groupMasterVersion: MasterVersion(try group.number("master_version")),
                groupDeleted: try group.flag("is_deleted"), groupImported: try row.flag("is_imported"), members: [],
                file: listed, deviceUUID: device, deviceUsers: [],
                fileGroupUUID: try file.optionalIdentifier("file_group_uuid"),
                owner: try FileEvidence.Person(listed.owningUserID, row.columns(of: "u")),
                ownerIsMember: try !row.columns(of: "m").isNull("user_id"),
                checkSum: try file.optionalString("check_sum"), objectID: objectID,
                contentState: try file.word("content_state"), serverMove: serverMove,
                objectName: CloudFileName(
                    fileUUID: listed.fileUUID, deviceUUID: device, fileVersion: listed.fileVersion,
                    fileExtension: listed.fileExtension(ofObject: objectID)
                ).rawValue,
                appMetaDataVersion: try file.optionalNumber32("app_metadata_version").map { AppMetaDataVersion($0) },
                lastChange: nil, gone: [], contentsKeptUntil: nil)
            return (id: SharingGroupID(try group.number("sharing_group_id")), committed: committed)
        }
        for index in found.indices {
            let id = found[index].id
            let device = found[index].committed.deviceUUID
            found[index].committed.members = try people(of: id, device: nil)
            found[index].committed.deviceUsers = try people(of: id, device: device)
            found[index].committed.lastChange = try commit(
                found[index].committed.file.changedAtMasterVersion, of: id)
            found[index].committed.gone = try gone(file, of: id)
            if found[index].committed.file.deleted {
                found[index].committed.contentsKeptUntil = try contentsKept(
                    of: file, version: found[index].committed.file.fileVersion, in: id)
            }
        }
        return found.map(\.committed)
    }

    /// The members of a group, or only members who have used a device.
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
            try FileEvidence.Person(UserID(row.number("user_id")), row)
        }
    }

    /// The commit that created a master version, if still stored: commits with an id are kept for a week, others until
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
                person: try FileEvidence.Person(UserID(row.number("user_id")), row),
                deviceUUID: try row.identifier("device_uuid"), committedAt: try row.optionalDate("committed_at"))
        }
    }

    private mutating func gone(
        _ file: FileUUID, of groupID: SharingGroupID
    ) throws(StoreError) -> [FileEvidence.Gone] {
        try all(
            """
            SELECT reason, file_version, first_told_at, last_told_at, times_told, last_request_id
              FROM gone_contents
             WHERE sharing_group_id = ?
               AND file_uuid = ?
             ORDER BY first_told_at, reason
            """, [.int(groupID.rawValue), .text(file.rawValue)]
        ) { row throws(StoreError) in
            FileEvidence.Gone(
                reason: try row.word("reason"), fileVersion: FileVersion(try row.number32("file_version")),
                firstToldAt: try row.date("first_told_at"), lastToldAt: try row.date("last_told_at"),
                timesTold: try row.number("times_told"), lastRequestID: try row.optionalString("last_request_id"))
        }
    }

    /// The time until which the object of a deleted file's last version is kept; `nil` if its deletion is being
    /// retried.
    private mutating func contentsKept(
        of file: FileUUID, version: FileVersion, in groupID: SharingGroupID
    ) throws(StoreError) -> WireDate? {
        try first(
            """
            SELECT available_at
              FROM outbox
             WHERE file_uuid = ?
               AND file_version = ?
               AND sharing_group_id = ?
               AND kind = 'deleteObject'
               AND attempts = 0
             LIMIT 1
            """, [.text(file.rawValue), .int(Int64(version.rawValue)), .int(groupID.rawValue)]
        ) { row throws(StoreError) in try row.date(0) }
    }

    private mutating func staged(_ file: FileUUID) throws(StoreError) -> [FileEvidence.Staged] {
        try all(
            """
            SELECT s.user_id, s.device_uuid, s.kind, s.file_version, s.app_metadata_version, s.size_bytes,
                   s.owning_user_id, s.staged_at, s.batch_uuid, g.sharing_group_uuid, u.display_name, u.account_type,
                   o.display_name, o.account_type
              FROM staged_changes s
              LEFT JOIN sharing_groups g ON g.sharing_group_id = s.sharing_group_id
              LEFT JOIN users u ON u.user_id = s.user_id
              LEFT JOIN users o ON o.user_id = s.owning_user_id
             WHERE s.file_uuid = ?
             ORDER BY s.staged_at, s.user_id, s.device_uuid
            """, [.text(file.rawValue)]
        ) { row throws(StoreError) in
            let staged = row.columns(of: "s")
            var owner: FileEvidence.Person?
            if let ownerID = try staged.optionalNumber("owning_user_id") {
                owner = try FileEvidence.Person(UserID(ownerID), row.columns(of: "o"))
            }
            return FileEvidence.Staged(
                sharingGroupUUID: try row.optionalIdentifier("sharing_group_uuid"),
                person: try FileEvidence.Person(UserID(staged.number("user_id")), row.columns(of: "u")),
                deviceUUID: try staged.identifier("device_uuid"), kind: try staged.string("kind"),
                fileVersion: try staged.optionalNumber32("file_version").map { FileVersion($0) },
                appMetaDataVersion: try staged.optionalNumber32("app_metadata_version").map { AppMetaDataVersion($0) },
                sizeBytes: try staged.optionalNumber("size_bytes"), owner: owner,
                stagedAt: try staged.date("staged_at"), batchUUID: try staged.optionalIdentifier("batch_uuid"))
        }
    }

    /// Work on objects that the file refers to, or whose names identify them as the file's.
    private mutating func outboxRows(
        concerning file: FileUUID, at now: WireDate
    ) throws(StoreError) -> [ListedWork] {
        let numbers = try all(
            """
            SELECT o.outbox_id
              FROM outbox o
             WHERE LOCATE(?, o.object_name) > 0
                OR o.file_uuid = ?
                OR EXISTS (SELECT 1 FROM files f
                            WHERE f.file_uuid = ? AND f.owning_user_id = o.user_id AND f.object_id = o.object_id)
                OR EXISTS (SELECT 1 FROM staged_changes s
                            WHERE s.file_uuid = ? AND s.owning_user_id = o.user_id AND s.object_id = o.object_id)
             ORDER BY o.outbox_id
            """, Array(repeating: .text(file.rawValue), count: 4)
        ) { row throws(StoreError) in try row.number(0) }
        var rows: [ListedWork] = []
        for number in numbers {
            rows += try listOutbox(OutboxFilter(), after: number - 1, limit: 1, at: now)
        }
        return rows
    }
}
