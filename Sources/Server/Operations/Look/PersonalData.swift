import HTTPTransport
import Logging
import MariaDB
import Posix
import Providers
public import Store
public import SyncProtocol
public import Vault

/// The data that the server stores about one person, to export for them; no tokens, and no data about others.
public struct PersonalData: Sendable, Encodable {
    /// A file whose contents are in the person's own storage.
    public struct OwnFile: Sendable, Encodable {
        public var sharingGroupUUID: SharingGroupUUID
        public var file: ListedFile
        public var fileGroupUUID: FileGroupUUID?
        public var appMetaData: String?
        public var appMetaDataVersion: AppMetaDataVersion?
        public var checkSum: String?
        public var objectID: String?
        /// The object's name in the person's storage, unless they have renamed it.
        public var objectName: String
    }

    /// A change that the person has staged but not committed.
    public struct StagedChange: Sendable, Encodable {
        public var sharingGroupUUID: SharingGroupUUID
        public var fileUUID: FileUUID
        public var deviceUUID: DeviceUUID
        public var kind: String
        public var fileVersion: FileVersion?
        public var appMetaData: String?
        public var stagedAt: WireDate
    }

    /// A commit by the person; commits are deleted after a week.
    public struct Commit: Sendable, Encodable {
        public var sharingGroupUUID: SharingGroupUUID
        public var deviceUUID: DeviceUUID
        public var masterVersion: MasterVersion
        public var changes: Int
        public var committedAt: WireDate
    }

    public var user: UserDetails
    public var files: [OwnFile]
    public var stagedChanges: [StagedChange]
    public var commits: [Commit]
}

extension StoreSession {
    /// The data stored about a person; call it in a snapshot. `nil` if there is no such user.
    public mutating func personalData(of userID: UserID) throws(StoreError) -> PersonalData? {
        guard let user = try userDetails(userID) else { return nil }
        return PersonalData(
            user: user, files: try ownFiles(of: userID), stagedChanges: try ownStagedChanges(of: userID),
            commits: try ownCommits(of: userID))
    }

    private mutating func ownFiles(of userID: UserID) throws(StoreError) -> [PersonalData.OwnFile] {
        try all(
            """
            SELECT \(ListedFile.columns, of: "f"), f.file_group_uuid, f.app_metadata, f.app_metadata_version, f.check_sum,
                   f.object_id, f.device_uuid, g.sharing_group_uuid
              FROM files f
              JOIN sharing_groups g ON g.sharing_group_id = f.sharing_group_id
             WHERE f.owning_user_id = ?
               AND NOT f.is_deleted
             ORDER BY g.sharing_group_uuid, f.file_uuid
            """, [.int(userID.rawValue)]
        ) { row throws(StoreError) in
            let listed = try ListedFile(row)
            let objectID = try row.optionalString("object_id")
            return PersonalData.OwnFile(
                sharingGroupUUID: try row.identifier("sharing_group_uuid"), file: listed,
                fileGroupUUID: try row.optionalIdentifier("file_group_uuid"),
                appMetaData: try row.optionalString("app_metadata"),
                appMetaDataVersion: try row.optionalNumber32("app_metadata_version").map { AppMetaDataVersion($0) },
                checkSum: try row.optionalString("check_sum"), objectID: objectID,
                objectName: CloudFileName(
                    fileUUID: listed.fileUUID, deviceUUID: try row.identifier("device_uuid"),
                    fileVersion: listed.fileVersion,
                    fileExtension: listed.fileExtension(ofObject: objectID)
                ).rawValue)
        }
    }

    private mutating func ownStagedChanges(of userID: UserID) throws(StoreError) -> [PersonalData.StagedChange] {
        try all(
            """
            SELECT g.sharing_group_uuid, s.file_uuid, s.device_uuid, s.kind, s.file_version, s.app_metadata, s.staged_at
              FROM staged_changes s
              JOIN sharing_groups g ON g.sharing_group_id = s.sharing_group_id
             WHERE s.user_id = ?
             ORDER BY s.staged_at, s.file_uuid
            """, [.int(userID.rawValue)]
        ) { row throws(StoreError) in
            PersonalData.StagedChange(
                sharingGroupUUID: try row.identifier("sharing_group_uuid"),
                fileUUID: try row.identifier("file_uuid"), deviceUUID: try row.identifier("device_uuid"),
                kind: try row.string("kind"),
                fileVersion: try row.optionalNumber32("file_version").map { FileVersion($0) },
                appMetaData: try row.optionalString("app_metadata"), stagedAt: try row.date("staged_at"))
        }
    }

    private mutating func ownCommits(of userID: UserID) throws(StoreError) -> [PersonalData.Commit] {
        try all(
            """
            SELECT g.sharing_group_uuid, c.device_uuid, c.master_version, c.transferred, c.committed_at
              FROM commits c
              JOIN sharing_groups g ON g.sharing_group_id = c.sharing_group_id
             WHERE c.user_id = ?
             ORDER BY c.committed_at, c.master_version
            """, [.int(userID.rawValue)]
        ) { row throws(StoreError) in
            PersonalData.Commit(
                sharingGroupUUID: try row.identifier("sharing_group_uuid"),
                deviceUUID: try row.identifier("device_uuid"),
                masterVersion: MasterVersion(try row.number("master_version")),
                changes: Int(try row.number("transferred")), committedAt: try row.date("committed_at"))
        }
    }

    /// The number of rows of each kind that still refer to a user. After the user's removal, all are 0 except deleted
    /// files, which record the storage's owner by user number, and, for a while, the data needed to clear their storage
    /// (``StoreSession/departedUser(_:)`` and its work) and to revoke their grants.
    public mutating func traces(of userID: UserID) throws(StoreError) -> [String: Int] {
        let id: [Value] = [.int(userID.rawValue)]
        return [
            "users": try count("SELECT COUNT(*) FROM users WHERE user_id = ?", id),
            "retiredAccounts": try count("SELECT COUNT(*) FROM retired_accounts WHERE user_id = ?", id),
            "deviceGrants": try count("SELECT COUNT(*) FROM device_grants WHERE user_id = ?", id),
            "accountSwitches": try count("SELECT COUNT(*) FROM account_switches WHERE user_id = ?", id),
            "accountMoves": try count("SELECT COUNT(*) FROM account_moves WHERE user_id = ?", id),
            "devices": try count("SELECT COUNT(*) FROM devices WHERE user_id = ?", id),
            "memberships": try count(
                "SELECT COUNT(*) FROM memberships WHERE user_id = ? OR owning_user_id = ?", id + id),
            "invitations": try count(
                "SELECT COUNT(*) FROM invitations WHERE inviting_user_id = ? OR owning_user_id = ?", id + id),
            "files": try count("SELECT COUNT(*) FROM files WHERE owning_user_id = ? AND NOT is_deleted", id),
            "deletedFiles": try count("SELECT COUNT(*) FROM files WHERE owning_user_id = ? AND is_deleted", id),
            "stagedChanges": try count("SELECT COUNT(*) FROM staged_changes WHERE user_id = ?", id),
            "batches": try count("SELECT COUNT(*) FROM batches WHERE user_id = ?", id),
            "commits": try count("SELECT COUNT(*) FROM commits WHERE user_id = ?", id),
            "commitMembers": try count("SELECT COUNT(*) FROM commit_members WHERE user_id = ?", id),
            "contentHashes": try count("SELECT COUNT(*) FROM content_hashes WHERE user_id = ?", id),
            "indexPages": try count("SELECT COUNT(*) FROM index_pages WHERE user_id = ?", id),
            "manifests": try count("SELECT COUNT(*) FROM manifests WHERE owning_user_id = ?", id),
            "manifestMembers": try count("SELECT COUNT(*) FROM manifest_members WHERE user_id = ?", id),
            "rebuildAwaited": try count("SELECT COUNT(*) FROM rebuild_awaited WHERE user_id = ?", id),
            "rebuildClaims": try count("SELECT COUNT(*) FROM rebuild_claims WHERE user_id = ?", id),
            "rebuildMembers": try count("SELECT COUNT(*) FROM rebuild_members WHERE user_id = ?", id),
            "rebuildVisits": try count("SELECT COUNT(*) FROM rebuild_visits WHERE user_id = ?", id),
            "pushRegistrations": try count("SELECT COUNT(*) FROM push_registrations WHERE user_id = ?", id),
            "outbox": try count(
                "SELECT COUNT(*) FROM outbox WHERE user_id = ? AND kind NOT IN ('removePushTopic', 'revokeGrant')", id),
            "departedUsers": try count("SELECT COUNT(*) FROM departed_users WHERE user_id = ?", id),
            "grantsToRevoke": try count(
                "SELECT COUNT(*) FROM outbox WHERE user_id = ? AND kind = 'revokeGrant'", id),
        ]
    }
}

/// All data that the server stores about one person, to give to them; on request with the contents of their files.
public struct PersonalExport: Report {
    /// A file whose contents could not be downloaded.
    public struct MissingFile: Encodable {
        public var fileUUID: FileUUID
        public var reason: String
    }

    /// Incremented whenever a field changes its meaning.
    public private(set) var format = 1
    public var exportedAt: WireDate
    public var data: PersonalData
    /// Each file's path in the folder of the export, by the file's UUID; absent without contents.
    public private(set) var paths: [String: String]?
    public private(set) var missingFiles: [MissingFile] = []

    public init(_ data: PersonalData, at now: WireDate) {
        self.data = data
        exportedAt = now
    }

    public var isGood: Bool { missingFiles.isEmpty }

    public var lines: [String] {
        var lines = [
            "exported user \(data.user.user.userID): \(Quantity.of(data.files.count, "file")) of their own, "
                + "\(Quantity.of(data.user.groups.count, "group")), \(Quantity.of(data.user.deviceUUIDs.count, "device"))"
        ]
        if let paths { lines.append("\(Quantity.of(paths.count, "file")) with contents") }
        for file in missingFiles { lines.append("file \(file.fileUUID) could not be downloaded: \(file.reason)") }
        return lines
    }

    /// Downloads the person's files from their own storage into `folder`, one folder per group.
    ///
    /// - Parameter storage: the person's storage.
    /// - Throws: ``PosixError`` if writing fails; the export lists files that the storage does not return.
    public mutating func fetchFiles(from storage: UserStorage, into folder: String) throws {
        var paths: [String: String] = [:]
        for file in data.files {
            do {
                let path = try Self.fetch(file, from: storage, into: folder)
                paths[file.file.fileUUID.rawValue] = path
            } catch let error as CloudStorageError {
                if case .contentFailed(let cause) = error { throw cause }
                missingFiles.append(MissingFile(fileUUID: file.file.fileUUID, reason: Self.word(for: error)))
            }
        }
        self.paths = paths
    }

    private static func fetch(
        _ file: PersonalData.OwnFile, from storage: UserStorage, into folder: String
    ) throws -> String {
        var access = storage.access
        access.deadline = .after(.seconds(60))
        let objectID: String
        if let known = file.objectID {
            objectID = known
        } else {
            guard let found = try storage.provider.find(name: file.objectName, in: access) else {
                throw CloudStorageError.notFound
            }
            objectID = found.objectID
        }
        // A group's UUID is text chosen by a client; it must not become a path.
        let group = UUIDFolder.name(of: file.sharingGroupUUID)
        try Directory.make("\(folder)/files/\(group)")
        let path = "files/\(group)/\(file.objectName)"
        let target = try RegularFile("\(folder)/\(path)", for: .writing)
        var offset = 0
        var failure: PosixError?
        do {
            try storage.provider.download(objectID: objectID, from: access) { bytes in
                do throws(PosixError) {
                    try target.write(bytes, at: offset)
                    offset += bytes.count
                    return true
                } catch {
                    failure = error
                    return false
                }
            }
        } catch {
            if let failure { throw CloudStorageError.contentFailed(failure) }
            throw error
        }
        return path
    }

    private static func word(for error: CloudStorageError) -> String {
        switch error {
        case .notFound: "it is missing from the person's storage"
        case .authorizationRevoked: "the storage denies access; the person has to sign in again"
        default: "the provider did not return it"
        }
    }
}

/// Converts a group's identifier to a folder name.
private enum UUIDFolder {
    static func name(of group: SharingGroupUUID) -> String {
        let letters = group.rawValue.unicodeScalars.map { scalar in
            scalar.isASCII && (scalar.properties.isAlphabetic || scalar == "-" || (48...57).contains(scalar.value))
                ? Character(scalar) : "_"
        }
        return String(letters)
    }
}
