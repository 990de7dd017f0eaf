import MariaDB
public import SyncProtocol

/// A person with an account.
public struct UserRecord: Equatable, Sendable {
    public var userID: UserID
    public var accountType: AccountType
    public var providerUserID: String
    public var displayName: String
    /// Google only: the name that the person gave the folder in their drive.
    public var cloudFolderName: String?
    /// The object id of the folder, once it is known; for storages whose folders have one.
    public var cloudFolderID: String?
    /// How often the identity has switched accounts: tokens of a different epoch belong to a different account.
    public var accountEpoch: AccountEpoch
}

extension UserRecord {
    /// The columns of a user that are kept after their removal, in `departed_users`.
    static let keptColumns: ColumnList = [
        "user_id", "account_type", "provider_user_id", "cloud_folder_name", "cloud_folder_id",
    ]
    /// The columns of `users` that ``init(_:)`` reads.
    static let columns = keptColumns + ["display_name", "account_epoch"]

    init(_ row: borrowing Row) throws(StoreError) {
        userID = UserID(try row.number("user_id"))
        accountType = try row.word("account_type")
        providerUserID = try row.string("provider_user_id")
        displayName = try row.string("display_name")
        cloudFolderName = try row.optionalString("cloud_folder_name")
        cloudFolderID = try row.optionalString("cloud_folder_id")
        accountEpoch = AccountEpoch(try row.number("account_epoch"))
    }
}

extension StoreSession {
    /// Maximum length of a stored name; longer ones from providers are truncated.
    static let maximumNameCharacters = 255

    /// The user who signs in with that account, and whether they have used this device before.
    public mutating func user(
        _ accountType: AccountType, _ providerUserID: String, device: DeviceUUID?
    ) throws(StoreError) -> (user: UserRecord, isDeviceKnown: Bool)? {
        try first(
            """
            SELECT \(UserRecord.columns, of: "u"),
                   EXISTS (SELECT 1 FROM devices d WHERE d.user_id = u.user_id AND d.device_uuid = ?) AS is_known
              FROM users u
             WHERE u.account_type = ?
               AND u.provider_user_id = ?
            """,
            [.text(orNull: device?.rawValue), .text(accountType.rawValue), .text(providerUserID)]
        ) { row throws(StoreError) in
            (user: try UserRecord(row), isDeviceKnown: try row.flag("is_known"))
        }
    }

    /// The user with that number.
    public mutating func user(_ userID: UserID) throws(StoreError) -> UserRecord? {
        try first(
            """
            SELECT \(UserRecord.columns)
              FROM users
             WHERE user_id = ?
            """,
            [.int(userID.rawValue)], UserRecord.init(_:))
    }

    /// Adds a user. Call in a transaction.
    /// - Throws: ``StoreError/alreadyExists(key:)`` with the key `account` if the account has a user.
    public mutating func addUser(
        _ accountType: AccountType, _ providerUserID: String, displayName: String, cloudFolderName: String?,
        at now: WireDate
    ) throws(StoreError) -> UserID {
        let name = String(String.UnicodeScalarView(displayName.unicodeScalars.prefix(Self.maximumNameCharacters)))
        let userID = UserID(
            try insert(
                """
                INSERT INTO users (account_type, provider_user_id, display_name, cloud_folder_name, created_at)
                VALUES (?, ?, ?, ?, ?)
                """,
                [
                    .text(accountType.rawValue), .text(providerUserID), .text(name), .text(orNull: cloudFolderName),
                    .date(now),
                ]))
        try takeOverClearing(of: accountType, providerUserID, by: userID)
        return userID
    }

    /// Replaces the stored folder `old` with `new` if it still is `old`, and the user's account is still that of
    /// `epoch`; returns the folder stored now.
    public mutating func replaceCloudFolder(
        of userID: UserID, at epoch: AccountEpoch, _ old: String?, by new: String
    ) throws(StoreError) -> String? {
        try execute(
            """
            UPDATE users
               SET cloud_folder_id = ?
             WHERE user_id = ?
               AND account_epoch = ?
               AND cloud_folder_id <=> ?
            """,
            [.text(new), .int(userID.rawValue), .int(epoch.rawValue), .text(orNull: old)])
        guard let user = try user(userID), user.accountEpoch == epoch else { return nil }
        return user.cloudFolderID
    }
}

// MARK: Identities

extension StoreSession {
    /// The identity of a user and its epoch; `nil` if there is no such user.
    ///
    /// - Parameter fresh: becomes the identity of a user who has none yet.
    public mutating func identity(
        of userID: UserID, orElse fresh: UserAppID
    ) throws(StoreError) -> (id: UserAppID, epoch: AccountEpoch)? {
        if let known = try identity(of: userID) { return known }
        try execute(
            "UPDATE users SET user_app_id = ? WHERE user_id = ? AND user_app_id IS NULL",
            [.text(fresh.rawValue), .int(userID.rawValue)])
        return try identity(of: userID)
    }

    private mutating func identity(
        of userID: UserID
    ) throws(StoreError) -> (id: UserAppID, epoch: AccountEpoch)? {
        try first(
            "SELECT user_app_id, account_epoch FROM users WHERE user_id = ? AND user_app_id IS NOT NULL",
            [.int(userID.rawValue)]
        ) { row throws(StoreError) in
            (id: try row.identifier("user_app_id"), epoch: AccountEpoch(try row.number("account_epoch")))
        }
    }

    /// The user of an identity.
    public mutating func user(of identity: UserAppID) throws(StoreError) -> UserRecord? {
        try first(
            """
            SELECT \(UserRecord.columns)
              FROM users
             WHERE user_app_id = ?
            """, [.text(identity.rawValue)], UserRecord.init(_:))
    }

    // MARK: Accounts that an identity has left

    /// The current account type of the identity that has switched away from an account; `nil` if no identity has.
    public mutating func activeAccountType(
        insteadOf accountType: AccountType, _ providerUserID: String
    ) throws(StoreError) -> AccountType? {
        try first(
            """
            SELECT u.account_type
              FROM retired_accounts r
              JOIN users u ON u.user_id = r.user_id
             WHERE r.account_type = ?
               AND r.provider_user_id = ?
            """, [.text(accountType.rawValue), .text(providerUserID)]
        ) { row throws(StoreError) in try row.word(0) }
    }

    /// Detaches an account from the identity that has switched away from it.
    public mutating func detachRetiredAccount(
        _ accountType: AccountType, _ providerUserID: String
    ) throws(StoreError) {
        try execute(
            "DELETE FROM retired_accounts WHERE account_type = ? AND provider_user_id = ?",
            [.text(accountType.rawValue), .text(providerUserID)])
    }
}

// MARK: Devices

/// The outcome of registering a device.
public enum DeviceRegistration: Equatable, Sendable {
    case registered
    /// The user already has the maximum number of devices; nothing was changed.
    case tooMany
    /// The user has been removed in the meantime.
    case userUnknown
}

extension StoreSession {
    /// Registers a device of a user; has no effect if it is already registered.
    ///
    /// Count and insertion are atomic, since the user's row is locked. Call in a transaction.
    /// - Parameter maximum: number of devices that a user may have; `nil` for no limit.
    public mutating func register(
        _ device: DeviceUUID, of userID: UserID, maximum: Int?, at now: WireDate
    ) throws(StoreError) -> DeviceRegistration {
        guard try maximum == nil ? holdUser(userID) : lockUser(userID) else { return .userUnknown }
        if let maximum {
            let others = try first(
                "SELECT COUNT(*) FROM devices WHERE user_id = ? AND device_uuid <> ?",
                [.int(userID.rawValue), .text(device.rawValue)]
            ) { row throws(StoreError) in try row.number(0) }
            guard (others ?? 0) < Int64(maximum) else { return .tooMany }
        }
        try execute(
            """
            INSERT INTO devices (user_id, device_uuid, registered_at)
            VALUES (?, ?, ?)
                ON DUPLICATE KEY UPDATE device_uuid = device_uuid
            """,
            [.int(userID.rawValue), .text(device.rawValue), .date(now)])
        return .registered
    }
}
