import MariaDB
public import SyncProtocol

/// A sharing group of an older server, in this server's terms: the input of ``StoreSession/takeOver(_:_:digest:at:)``.
public struct ImportedGroup: Equatable, Sendable, Codable {
    public struct Member: Equatable, Sendable, Codable {
        public var userID: UserID
        /// For members without storage.
        public var owningUserID: UserID?
        public var permission: Permission

        public init(userID: UserID, owningUserID: UserID?, permission: Permission) {
            self.userID = userID
            self.owningUserID = owningUserID
            self.permission = permission
        }
    }

    /// A committed file, with an object known by name only.
    public struct File: Equatable, Sendable, Codable {
        public var fileUUID: FileUUID
        public var fileGroupUUID: FileGroupUUID?
        public var owningUserID: UserID
        public var storageType: CloudStorageType
        public var deviceUUID: DeviceUUID
        public var createdAt: WireDate
        public var updatedAt: WireDate
        public var mimeType: MIMEType
        public var appMetaData: String?
        public var appMetaDataVersion: AppMetaDataVersion?
        public var isDeleted: Bool
        public var fileVersion: FileVersion
        public var checkSum: CheckSum?

        public init(
            fileUUID: FileUUID, fileGroupUUID: FileGroupUUID?, owningUserID: UserID, storageType: CloudStorageType,
            deviceUUID: DeviceUUID, createdAt: WireDate, updatedAt: WireDate, mimeType: MIMEType, appMetaData: String?,
            appMetaDataVersion: AppMetaDataVersion?, isDeleted: Bool, fileVersion: FileVersion, checkSum: CheckSum?
        ) {
            self.fileUUID = fileUUID
            self.fileGroupUUID = fileGroupUUID
            self.owningUserID = owningUserID
            self.storageType = storageType
            self.deviceUUID = deviceUUID
            self.createdAt = createdAt
            self.updatedAt = updatedAt
            self.mimeType = mimeType
            self.appMetaData = appMetaData
            self.appMetaDataVersion = appMetaDataVersion
            self.isDeleted = isDeleted
            self.fileVersion = fileVersion
            self.checkSum = checkSum
        }
    }

    public var groupUUID: SharingGroupUUID
    public var name: String?
    /// The minimum version that members must see.
    public var masterVersion: MasterVersion
    public var isDeleted: Bool
    public var members: [Member]
    public var files: [File]

    public init(
        groupUUID: SharingGroupUUID, name: String?, masterVersion: MasterVersion, isDeleted: Bool, members: [Member],
        files: [File]
    ) {
        self.groupUUID = groupUUID
        self.name = name
        self.masterVersion = masterVersion
        self.isDeleted = isDeleted
        self.members = members
        self.files = files
    }
}

/// An older server's work in progress for a group: not visible to members, so it does not count as a change.
public struct ImportedWork: Equatable, Sendable {
    public struct Invitation: Equatable, Sendable {
        public var invitation: SharingInvitationUUID
        public var owningUserID: UserID
        public var permission: Permission
        public var allowsSocialAcceptance: Bool
        public var acceptors: Int
        public var expires: WireDate

        public init(
            invitation: SharingInvitationUUID, owningUserID: UserID, permission: Permission,
            allowsSocialAcceptance: Bool, acceptors: Int, expires: WireDate
        ) {
            self.invitation = invitation
            self.owningUserID = owningUserID
            self.permission = permission
            self.allowsSocialAcceptance = allowsSocialAcceptance
            self.acceptors = acceptors
            self.expires = expires
        }
    }

    public struct Upload: Equatable, Sendable {
        /// The row's number at the source; increases with time.
        public var sourceUploadID: Int64
        public var userID: UserID
        public var deviceUUID: DeviceUUID
        public var change: StagedChange

        public init(sourceUploadID: Int64, userID: UserID, deviceUUID: DeviceUUID, change: StagedChange) {
            self.sourceUploadID = sourceUploadID
            self.userID = userID
            self.deviceUUID = deviceUUID
            self.change = change
        }
    }

    public var invitations: [Invitation]
    public var uploads: [Upload]

    public init(invitations: [Invitation] = [], uploads: [Upload] = []) {
        self.invitations = invitations
        self.uploads = uploads
    }
}

/// The state of an older server's group compared with this server.
public enum GroupTakeover: String, Equatable, Sendable {
    /// It does not exist here yet.
    case added
    /// It has changed at the source since it was imported, and not here.
    case updated
    /// It is the same here as at the source.
    case unchanged
    /// It has changed here since it was imported: the source is no longer authoritative.
    case changedHere
    /// A group with that UUID was created here.
    case foreign
}

extension StoreSession {
    private struct KnownGroup {
        var groupID: SharingGroupID
        var masterVersion: Int64
        /// `nil` if the group was not imported.
        var imported: (masterVersion: Int64, digest: [UInt8], lastUpload: Int64, at: WireDate)?
    }

    /// Returns what ``takeOver(_:_:digest:at:)`` would do.
    public mutating func takeover(
        of group: SharingGroupUUID, digest: [UInt8]
    ) throws(StoreError) -> GroupTakeover {
        Self.takeover(try known(group, locked: false), digest)
    }

    /// Imports a group from an older server, unless it has changed here since the last import.
    ///
    /// Call in a separate transaction: it imports the whole group or nothing. Objects that have been found here remain
    /// known as long as their file's version is the same. The master version never decreases, and rises with each
    /// change.
    /// - Parameter digest: SHA-256 that identifies the group's content.
    /// - Returns: what was done, and how many staged changes and invitations were added.
    public mutating func takeOver(
        _ group: ImportedGroup, _ work: ImportedWork, digest: [UInt8], at now: WireDate
    ) throws(StoreError) -> (takeover: GroupTakeover, uploads: Int, invitations: Int) {
        let known = try known(group.groupUUID, locked: true)
        let takeover = Self.takeover(known, digest)
        let groupID: SharingGroupID
        var version = group.masterVersion.rawValue
        switch takeover {
        case .changedHere, .foreign: return (takeover, 0, 0)
        case .added:
            groupID = SharingGroupID(
                try insert(
                    """
                    INSERT INTO sharing_groups (sharing_group_uuid, name, master_version, is_deleted, created_at)
                    VALUES (?, ?, ?, ?, ?)
                    """,
                    [
                        .text(group.groupUUID.rawValue), .text(orNull: group.name), .int(version),
                        .bool(group.isDeleted), .date(now),
                    ]))
        case .updated, .unchanged:
            guard let known else { throw .notFound }
            groupID = known.groupID
            version = takeover == .unchanged ? known.masterVersion : max(version, known.masterVersion + 1)
        }
        if takeover == .updated {
            try execute(
                "UPDATE sharing_groups SET name = ?, master_version = ?, is_deleted = ? WHERE sharing_group_id = ?",
                [.text(orNull: group.name), .int(version), .bool(group.isDeleted), .int(groupID.rawValue)])
        }
        if takeover != .unchanged {
            try writeMembers(of: group, groupID, at: now)
            for file in group.files { try write(file, groupID, version) }
        }
        let uploads = try addUploads(work.uploads, groupID, after: known?.imported?.lastUpload ?? 0, at: now)
        let invitations = try addInvitations(work.invitations, groupID, after: known?.imported?.at, at: now)
        try execute(
            """
            INSERT INTO imported_groups
                   (sharing_group_id, master_version, content_digest, last_source_upload, imported_at)
            VALUES (?, ?, ?, ?, ?)
                ON DUPLICATE KEY UPDATE master_version = VALUES(master_version),
                   content_digest = VALUES(content_digest),
                   last_source_upload = GREATEST(last_source_upload, VALUES(last_source_upload)),
                   imported_at = VALUES(imported_at)
            """,
            [
                .int(groupID.rawValue), .int(version), .bytes(digest),
                .int(work.uploads.map(\.sourceUploadID).max() ?? 0), .date(now),
            ])
        return (takeover, uploads, invitations)
    }

    private static func takeover(_ known: KnownGroup?, _ digest: [UInt8]) -> GroupTakeover {
        guard let known else { return .added }
        guard let imported = known.imported else { return .foreign }
        guard known.masterVersion == imported.masterVersion else { return .changedHere }
        return imported.digest == digest ? .unchanged : .updated
    }

    private mutating func known(_ group: SharingGroupUUID, locked: Bool) throws(StoreError) -> KnownGroup? {
        if locked {
            // Lock the group's row first, as in every transaction that writes.
            _ = try first(
                "SELECT 1 FROM sharing_groups WHERE sharing_group_uuid = ? FOR UPDATE", [.text(group.rawValue)]
            ) { _ in }
        }
        return try first(
            """
            SELECT g.sharing_group_id, g.master_version, i.master_version, i.content_digest, i.last_source_upload,
                   i.imported_at
              FROM sharing_groups g
              LEFT JOIN imported_groups i ON i.sharing_group_id = g.sharing_group_id
             WHERE g.sharing_group_uuid = ?
            """, [.text(group.rawValue)]
        ) { row throws(StoreError) in
            let group = row.columns(of: "g")
            var known = KnownGroup(
                groupID: SharingGroupID(try group.number("sharing_group_id")),
                masterVersion: try group.number("master_version"), imported: nil)
            let imported = row.columns(of: "i")
            if let version = try imported.optionalNumber("master_version") {
                known.imported = (
                    version, try imported.optionalData("content_digest") ?? [],
                    try imported.number("last_source_upload"), try imported.date("imported_at")
                )
            }
            return known
        }
    }

    private mutating func writeMembers(
        of group: ImportedGroup, _ groupID: SharingGroupID, at now: WireDate
    ) throws(StoreError) {
        let present = try all(
            "SELECT user_id FROM memberships WHERE sharing_group_id = ?", [.int(groupID.rawValue)]
        ) { row throws(StoreError) in try row.number(0) }
        let wanted = Set(group.members.map(\.userID.rawValue))
        for userID in present where !wanted.contains(userID) {
            try execute(
                "DELETE FROM memberships WHERE sharing_group_id = ? AND user_id = ?",
                [.int(groupID.rawValue), .int(userID)])
        }
        for member in group.members {
            try execute(
                """
                INSERT INTO memberships (sharing_group_id, user_id, owning_user_id, permission, joined_at)
                VALUES (?, ?, ?, ?, ?)
                    ON DUPLICATE KEY UPDATE owning_user_id = VALUES(owning_user_id), permission = VALUES(permission)
                """,
                [
                    .int(groupID.rawValue), .int(member.userID.rawValue), .int(orNull: member.owningUserID?.rawValue),
                    .text(member.permission.queryText), .date(now),
                ])
        }
    }

    /// Assignments are evaluated from left to right, so the data of the object is decided before the version is
    /// overwritten.
    private mutating func write(
        _ file: ImportedGroup.File, _ groupID: SharingGroupID, _ version: Int64
    ) throws(StoreError) {
        try execute(
            """
            INSERT INTO files
                   (sharing_group_id, file_uuid, file_group_uuid, owning_user_id, storage_type, device_uuid,
                    created_at, updated_at, mime_type, app_metadata, app_metadata_version, is_deleted, file_version,
                    check_sum, changed_at_master_version)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
                ON DUPLICATE KEY UPDATE
                   object_revision = IF(VALUES(is_deleted) OR file_version <> VALUES(file_version)
                                        OR device_uuid <> VALUES(device_uuid), NULL, object_revision),
                   provider_hash = IF(VALUES(is_deleted) OR file_version <> VALUES(file_version)
                                      OR device_uuid <> VALUES(device_uuid), NULL, provider_hash),
                   sha256 = IF(VALUES(is_deleted) OR file_version <> VALUES(file_version)
                               OR device_uuid <> VALUES(device_uuid), NULL, sha256),
                   size_bytes = IF(VALUES(is_deleted) OR file_version <> VALUES(file_version)
                                   OR device_uuid <> VALUES(device_uuid), NULL, size_bytes),
                   object_id = IF(VALUES(is_deleted) OR file_version <> VALUES(file_version)
                                  OR device_uuid <> VALUES(device_uuid), NULL, object_id),
                   file_group_uuid = VALUES(file_group_uuid), owning_user_id = VALUES(owning_user_id),
                   storage_type = VALUES(storage_type), device_uuid = VALUES(device_uuid),
                   created_at = VALUES(created_at), updated_at = VALUES(updated_at), mime_type = VALUES(mime_type),
                   app_metadata = VALUES(app_metadata), app_metadata_version = VALUES(app_metadata_version),
                   is_deleted = VALUES(is_deleted), file_version = VALUES(file_version),
                   check_sum = VALUES(check_sum), changed_at_master_version = VALUES(changed_at_master_version)
            """,
            [
                .int(groupID.rawValue), .text(file.fileUUID.rawValue), .text(orNull: file.fileGroupUUID?.rawValue),
                .int(file.owningUserID.rawValue), .text(file.storageType.rawValue), .text(file.deviceUUID.rawValue),
                .date(file.createdAt), .date(file.updatedAt), .text(file.mimeType.rawValue),
                .text(orNull: file.appMetaData), .int(orNull: file.appMetaDataVersion.map { Int64($0.rawValue) }),
                .bool(file.isDeleted), .int(Int64(file.fileVersion.rawValue)), .text(orNull: file.checkSum?.rawValue),
                .int(version),
            ])
    }

    /// Changes that are already staged here take precedence.
    private mutating func addUploads(
        _ uploads: [ImportedWork.Upload], _ groupID: SharingGroupID, after last: Int64, at now: WireDate
    ) throws(StoreError) -> Int {
        var added = 0
        for upload in uploads where upload.sourceUploadID > last {
            let area = StagingArea(userID: upload.userID, deviceUUID: upload.deviceUUID, groupID: groupID)
            guard try stagedChange(of: upload.change.fileUUID, in: area) == nil,
                try claimStaging(of: upload.change.fileUUID, in: area, at: now) == nil
            else { continue }
            try stage(upload.change, in: area, at: now)
            added += 1
        }
        return added
    }

    /// Only invitations created since the last import: an earlier one that no longer exists here was used up or revoked
    /// here.
    private mutating func addInvitations(
        _ invitations: [ImportedWork.Invitation], _ groupID: SharingGroupID, after last: WireDate?, at now: WireDate
    ) throws(StoreError) -> Int {
        var added = 0
        for invitation in invitations {
            let made = invitation.expires.secondsSince1970 - Self.sourceInvitationSeconds
            if let last, made <= last.secondsSince1970 { continue }
            added += try execute(
                """
                INSERT IGNORE INTO invitations
                       (invitation_uuid, sharing_group_id, inviting_user_id, owning_user_id, permission,
                        allows_social_acceptance, remaining_acceptors, expires_at)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?)
                """,
                [
                    .text(invitation.invitation.rawValue), .int(groupID.rawValue),
                    .int(invitation.owningUserID.rawValue), .int(invitation.owningUserID.rawValue),
                    .text(invitation.permission.queryText), .bool(invitation.allowsSocialAcceptance),
                    .int(Int64(invitation.acceptors)), .date(invitation.expires),
                ])
        }
        return added
    }

    /// Lifetime of an invitation of SyncServerII.
    private static let sourceInvitationSeconds: Int64 = 86_400
}
