import MariaDB
public import SyncProtocol

/// The record of a user imported from an older server.
public struct ImportedUserMemory: Equatable, Sendable {
    /// The number here; the user may have left since then.
    public var userID: UserID
    /// ``SealedCredentials/version`` right after the import.
    public var credentialsVersion: Int64
}

extension StoreSession {
    /// The record of the user whom an older server knew as number `source`; `nil` if they were never imported.
    public mutating func importedUser(_ source: Int64) throws(StoreError) -> ImportedUserMemory? {
        try first(
            "SELECT user_id, credentials_version FROM imported_users WHERE source_user_id = ?", [.int(source)]
        ) { row throws(StoreError) in
            ImportedUserMemory(userID: UserID(try row.number(0)), credentialsVersion: try row.number(1))
        }
    }

    /// The users who were imported and still exist here, by their number at the source.
    public mutating func importedUsersStillHere() throws(StoreError) -> [(source: Int64, userID: UserID)] {
        try all(
            """
            SELECT i.source_user_id, i.user_id
              FROM imported_users i
              JOIN users u ON u.user_id = i.user_id
             ORDER BY i.source_user_id
            """, []
        ) { row throws(StoreError) in (source: try row.number(0), userID: UserID(try row.number(1))) }
    }

    /// The version of a user's credentials; `nil` if there is no such user.
    public mutating func credentialsVersion(of userID: UserID) throws(StoreError) -> Int64? {
        try first("SELECT credentials_version FROM users WHERE user_id = ?", [.int(userID.rawValue)]) {
            row throws(StoreError) in try row.number(0)
        }
    }

    /// Adds a user under the number that their phone has stored, or under a different one if that is taken.
    public mutating func addImportedUser(
        _ accountType: AccountType, _ providerUserID: String, displayName: String, cloudFolderName: String?,
        preferred: UserID, at now: WireDate
    ) throws(StoreError) -> UserID {
        guard try user(preferred) == nil else {
            return try addUser(
                accountType, providerUserID, displayName: displayName, cloudFolderName: cloudFolderName, at: now)
        }
        try execute(
            """
            INSERT INTO users
                   (user_id, account_type, provider_user_id, display_name, cloud_folder_name, created_at)
            VALUES (?, ?, ?, ?, ?, ?)
            """,
            [
                .int(preferred.rawValue), .text(accountType.rawValue), .text(providerUserID), .text(displayName),
                .text(orNull: cloudFolderName), .date(now),
            ])
        return preferred
    }

    /// Overwrites the data that an older server has about a user. Call only for users who have not signed in here.
    public mutating func updateImportedUser(
        _ userID: UserID, displayName: String, cloudFolderName: String?
    ) throws(StoreError) {
        try execute(
            """
            UPDATE users
               SET cloud_folder_id = IF(cloud_folder_name <=> ?, cloud_folder_id, NULL), cloud_folder_name = ?,
                   display_name = ?
             WHERE user_id = ?
            """,
            [
                .text(orNull: cloudFolderName), .text(orNull: cloudFolderName), .text(displayName),
                .int(userID.rawValue),
            ])
    }

    /// Records that a user was imported, together with the current version of their credentials.
    public mutating func rememberImport(
        of source: Int64, as userID: UserID, at now: WireDate
    ) throws(StoreError) {
        try execute(
            """
            INSERT INTO imported_users (source_user_id, user_id, credentials_version, imported_at)
            SELECT ?, user_id, credentials_version, ? FROM users WHERE user_id = ?
                ON DUPLICATE KEY UPDATE user_id = VALUES(user_id),
                   credentials_version = VALUES(credentials_version), imported_at = VALUES(imported_at)
            """,
            [.int(source), .date(now), .int(userID.rawValue)])
    }

    /// Adds devices that are not yet registered.
    /// - Returns: how many were added.
    public mutating func addImportedDevices(
        _ devices: [DeviceUUID], of userID: UserID, at now: WireDate
    ) throws(StoreError) -> Int {
        var added = 0
        for device in devices {
            added += try execute(
                """
                INSERT INTO devices (user_id, device_uuid, registered_at)
                VALUES (?, ?, ?)
                    ON DUPLICATE KEY UPDATE device_uuid = device_uuid
                """,
                [.int(userID.rawValue), .text(device.rawValue), .date(now)])
        }
        return added
    }
}
