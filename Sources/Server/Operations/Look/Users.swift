import MariaDB
public import Store
public import SyncProtocol

/// The users to list.
public struct UserFilter: Sendable {
    public var accountType: AccountType?
    /// A part of the name, case-insensitive.
    public var namePart: String?
    /// The provider's own identifier of the person, an exact match.
    public var providerUserID: String?
    /// Only members of this group.
    public var group: SharingGroupUUID?

    public init(
        accountType: AccountType? = nil, namePart: String? = nil, providerUserID: String? = nil,
        group: SharingGroupUUID? = nil
    ) {
        self.accountType = accountType
        self.namePart = namePart
        self.providerUserID = providerUserID
        self.group = group
    }
}

/// A user in a list.
public struct ListedUser: Equatable, Sendable, Encodable {
    public var userID: UserID
    public var name: String
    public var accountType: AccountType
    public var providerUserID: String
    public var createdAt: WireDate
    public var groups: Int
    public var devices: Int
    /// The user's usage of each quota; empty if none was requested.
    public var quotas: [QuotaStanding] = []
    /// Whether the server can use the storage without the user: a refresh token, a password or a key is stored. Absent
    /// if the account has no storage, or if unknown.
    public var hasOfflineAccess: Bool?
}

/// A user with the data that belongs to them, without tokens.
public struct UserDetails: Equatable, Sendable, Encodable {
    /// A membership of the user.
    public struct Group: Equatable, Sendable, Encodable {
        public var sharingGroupUUID: SharingGroupUUID
        public var name: String?
        public var permission: Permission
        public var joinedAt: WireDate
        /// The user whose storage receives the user's new files; absent if there is none.
        public var owningUserID: UserID?
    }

    /// The user's own files.
    public struct Files: Equatable, Sendable, Encodable {
        public var live: Int
        public var deleted: Int
        public var bytes: Int64
        /// Files whose contents must be uploaded again after an account switch, or were abandoned.
        public var withoutBytes: Int
    }

    /// An account that the user has switched away from.
    public struct RetiredAccount: Equatable, Sendable, Encodable {
        public var accountType: AccountType
        public var providerUserID: String
        public var retiredAt: WireDate
    }

    /// A switch of the user's account that is proposed or in progress.
    public struct Switch: Equatable, Sendable, Encodable {
        public var switchID: AccountSwitchID
        public var state: String
        public var toAccountType: AccountType
        public var begunAt: WireDate
    }

    public var user: ListedUser
    /// The identity above the user's account; absent until a client requests it.
    public var userAppID: UserAppID?
    /// How often the user has switched accounts.
    public var accountEpoch: AccountEpoch
    /// The former accounts.
    public var retiredAccounts: [RetiredAccount]
    public var openSwitches: [Switch]
    /// The user's devices with a grant to switch the account.
    public var devicesWithGrant: Int
    public var cloudFolderName: String?
    public var cloudFolderID: String?
    /// Whether tokens are stored, sealed.
    public var hasCredentials: Bool
    public var credentialsVersion: Int64
    /// The user's devices that receive notifications, by kind of service.
    public var pushRegistrations: [String: Int]
    public var deviceUUIDs: [DeviceUUID]
    public var groups: [Group]
    public var ownedFiles: Files
    public var stagedChanges: Int
    public var outboxRows: Int
}

extension ListedUser {
    /// A row of `users`, with the counts `group_count` and `device_count`.
    fileprivate init(_ row: borrowing Row) throws(StoreError) {
        userID = UserID(try row.number("user_id"))
        name = try row.string("display_name")
        accountType = try row.word("account_type")
        providerUserID = try row.string("provider_user_id")
        createdAt = try row.date("created_at")
        groups = Int(try row.number("group_count"))
        devices = Int(try row.number("device_count"))
        hasOfflineAccess =
            accountType.cloudStorageType == nil ? nil : try row.optionalNumber("has_refresh_token").map { $0 != 0 }
    }
}

extension StoreSession {
    /// Users in the order of their numbers, after `after`, at most `limit` of them, with their quota usage.
    public mutating func listUsers(
        _ filter: UserFilter, after: UserID?, limit: Int, _ quotas: Quotas, at now: WireDate
    ) throws(StoreError) -> [ListedUser] {
        var users = try listUsers(filter, after: after, limit: limit)
        for index in users.indices {
            users[index].quotas = try quotaStandings(of: users[index].userID, quotas, at: now)
        }
        return users
    }

    /// Users in the order of their numbers, after `after`, at most `limit` of them.
    public mutating func listUsers(
        _ filter: UserFilter, after: UserID?, limit: Int
    ) throws(StoreError) -> [ListedUser] {
        let type = Value.text(orNull: filter.accountType?.rawValue)
        let name = Value.text(orNull: filter.namePart)
        let account = Value.text(orNull: filter.providerUserID)
        let group = Value.text(orNull: filter.group?.rawValue)
        return try all(
            """
            SELECT u.user_id, u.display_name, u.account_type, u.provider_user_id, u.created_at, u.has_refresh_token,
                   (SELECT COUNT(*) FROM memberships m WHERE m.user_id = u.user_id) AS group_count,
                   (SELECT COUNT(*) FROM devices d WHERE d.user_id = u.user_id) AS device_count
              FROM users u
             WHERE u.user_id > ?
               AND (? IS NULL OR u.account_type = ?)
               AND (? IS NULL OR LOCATE(?, u.display_name) > 0)
               AND (? IS NULL OR u.provider_user_id = ?)
               AND (? IS NULL OR u.user_id IN (SELECT m.user_id
                                                 FROM memberships m
                                                 JOIN sharing_groups g ON g.sharing_group_id = m.sharing_group_id
                                                WHERE g.sharing_group_uuid = ?))
             ORDER BY u.user_id
             LIMIT ?
            """,
            [
                .int(after?.rawValue ?? .min), type, type, name, name, account, account, group, group,
                .int(Int64(limit)),
            ], ListedUser.init(_:))
    }

    /// A user with everything that belongs to them; `nil` if there is no such user.
    /// - Parameter quotas: limits whose usage is returned; none by default.
    public mutating func userDetails(
        _ userID: UserID, _ quotas: Quotas = .unlimited, at now: WireDate = WireDate(secondsSince1970: 0)
    ) throws(StoreError) -> UserDetails? {
        let id: [Value] = [.int(userID.rawValue)]
        guard var listed = try listUsers(UserFilter(), after: UserID(userID.rawValue &- 1), limit: 1).first,
            listed.userID == userID
        else { return nil }
        listed.quotas = try quotas == .unlimited ? [] : quotaStandings(of: userID, quotas, at: now)
        let account = try first(
            """
            SELECT cloud_folder_name, cloud_folder_id, credentials IS NOT NULL AS has_credentials, credentials_version,
                   user_app_id, account_epoch
              FROM users
             WHERE user_id = ?
            """, id
        ) { row throws(StoreError) in
            (
                folder: try row.optionalString("cloud_folder_name"),
                folderID: try row.optionalString("cloud_folder_id"), hasTokens: try row.flag("has_credentials"),
                version: try row.number("credentials_version"),
                identity: try row.optionalIdentifier("user_app_id", as: UserAppID.self),
                epoch: AccountEpoch(try row.number("account_epoch"))
            )
        }
        var kinds: [String: Int] = [:]
        try query(
            "SELECT kind, COUNT(*) FROM push_registrations WHERE user_id = ? GROUP BY kind ORDER BY kind", id
        ) { row throws(StoreError) in kinds[try row.string(0)] = Int(try row.number(1)) }
        let devices: [DeviceUUID] = try all(
            "SELECT device_uuid FROM devices WHERE user_id = ? ORDER BY registered_at, device_uuid", id
        ) { row throws(StoreError) in try row.identifier(0) }
        let files = try first(
            """
            SELECT SUM(NOT is_deleted) AS live, SUM(is_deleted) AS deleted,
                   SUM(IF(is_deleted, 0, size_bytes)) AS live_bytes,
                   SUM(content_state <> 'stored' AND NOT is_deleted) AS without_bytes
              FROM files
             WHERE owning_user_id = ?
            """, id
        ) { row throws(StoreError) in
            UserDetails.Files(
                live: Int(try row.optionalNumber("live") ?? 0), deleted: Int(try row.optionalNumber("deleted") ?? 0),
                bytes: try row.optionalNumber("live_bytes") ?? 0,
                withoutBytes: Int(try row.optionalNumber("without_bytes") ?? 0))
        }
        return UserDetails(
            user: listed, userAppID: account?.identity, accountEpoch: account?.epoch ?? AccountEpoch(0),
            retiredAccounts: try retiredAccounts(of: userID), openSwitches: try openSwitches(of: userID),
            devicesWithGrant: try count("SELECT COUNT(DISTINCT device_uuid) FROM device_grants WHERE user_id = ?", id),
            cloudFolderName: account?.folder, cloudFolderID: account?.folderID,
            hasCredentials: account?.hasTokens ?? false, credentialsVersion: account?.version ?? 0,
            pushRegistrations: kinds, deviceUUIDs: devices, groups: try memberships(of: userID),
            ownedFiles: files ?? UserDetails.Files(live: 0, deleted: 0, bytes: 0, withoutBytes: 0),
            stagedChanges: try count("SELECT COUNT(*) FROM staged_changes WHERE user_id = ?", id),
            outboxRows: try count("SELECT COUNT(*) FROM outbox WHERE user_id = ?", id))
    }

    private mutating func retiredAccounts(of userID: UserID) throws(StoreError) -> [UserDetails.RetiredAccount] {
        try all(
            """
            SELECT account_type, provider_user_id, retired_at
              FROM retired_accounts
             WHERE user_id = ?
             ORDER BY retired_at, account_type, provider_user_id
            """, [.int(userID.rawValue)]
        ) { row throws(StoreError) in
            UserDetails.RetiredAccount(
                accountType: try row.word("account_type"), providerUserID: try row.string("provider_user_id"),
                retiredAt: try row.date("retired_at"))
        }
    }

    private mutating func openSwitches(of userID: UserID) throws(StoreError) -> [UserDetails.Switch] {
        try all(
            """
            SELECT switch_uuid, state, to_account_type, begun_at
              FROM account_switches
             WHERE user_id = ?
               AND state <> 'finished'
             ORDER BY begun_at, switch_uuid
            """, [.int(userID.rawValue)]
        ) { row throws(StoreError) in
            UserDetails.Switch(
                switchID: try row.identifier("switch_uuid"), state: try row.string("state"),
                toAccountType: try row.word("to_account_type"), begunAt: try row.date("begun_at"))
        }
    }

    private mutating func memberships(of userID: UserID) throws(StoreError) -> [UserDetails.Group] {
        try all(
            """
            SELECT g.sharing_group_uuid, g.name, m.permission, m.joined_at,
                   IF(u.account_type IN (\(SQL.owningAccountTypes)), u.user_id, m.owning_user_id) AS owner_id
              FROM memberships m
              JOIN users u ON u.user_id = m.user_id
              JOIN sharing_groups g ON g.sharing_group_id = m.sharing_group_id
             WHERE m.user_id = ?
             ORDER BY m.joined_at, g.sharing_group_uuid
            """, [.int(userID.rawValue)]
        ) { row throws(StoreError) in
            UserDetails.Group(
                sharingGroupUUID: try row.identifier("sharing_group_uuid"), name: try row.optionalString("name"),
                permission: try row.permission("permission"), joinedAt: try row.date("joined_at"),
                owningUserID: try row.optionalNumber("owner_id").map(UserID.init))
        }
    }
}

extension ListedUser: TableRow {
    public static var noun: String { "users" }
    public static var header: [String] {
        ["USER", "NAME", "ACCOUNT", "PROVIDER ID", "SINCE", "GROUPS", "DEVICES", "NOTES"]
    }

    public var cells: [String] {
        [
            "\(userID)", name, accountType.rawValue, providerUserID, "\(createdAt.iso8601)", "\(groups)", "\(devices)",
            notes,
        ]
    }

    /// No offline access, and limits that are near or reached.
    private var notes: String {
        let near = quotas.filter(\.isNear).map { "\($0.quota) \($0.used)/\($0.limit)" }
        return ((hasOfflineAccess == false ? ["no offline access"] : []) + near).joined(separator: ", ")
    }
}

extension UserDetails: Report {
    public var lines: [String] {
        var lines = [
            "user \(user.userID): \(user.name), \(user.accountType.rawValue) account \(user.providerUserID), since "
                + "\(user.createdAt.iso8601)",
            "  devices    \(deviceUUIDs.map(\.rawValue).joined(separator: ", "))",
            "  tokens     "
                + (hasCredentials
                    ? "stored, sealed, version \(credentialsVersion)"
                    : "none: the user has to sign in again")
                + (user.hasOfflineAccess == false ? "; no refresh token: no offline access" : ""),
        ]
        if let cloudFolderName {
            lines.append("  folder     \(cloudFolderName)\(cloudFolderID.map { ", object \($0)" } ?? "")")
        }
        lines.append(
            "  own files  \(ownedFiles.live) of \(Quantity.bytes(ownedFiles.bytes)), and \(ownedFiles.deleted) deleted")
        lines += switches
        lines.append(
            "  waiting    \(Quantity.of(stagedChanges, "staged change")), \(Quantity.of(outboxRows, "job")) in the outbox"
        )
        if !pushRegistrations.isEmpty {
            let kinds = pushRegistrations.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }
            lines.append("  notified   \(kinds.joined(separator: ", "))")
        }
        let used = user.quotas.filter { $0.used > 0 }.map { "\($0.quota) \($0.used) of \($0.limit)" }
        if !used.isEmpty { lines.append("  limits     \(used.joined(separator: ", "))") }
        for group in groups {
            let storage =
                switch group.owningUserID {
                case user.userID?: "own storage"
                case let owner?: "files go to user \(owner)"
                case nil: "no storage for new files"
                }
            lines.append(
                "  group      \(group.sharingGroupUUID) \(group.name ?? "")".trimmed
                    + ": \(group.permission.rawValue), "
                    + "since \(group.joinedAt.iso8601), \(storage)")
        }
        return lines
    }

    /// Lines about account switches; empty for most users.
    private var switches: [String] {
        var lines: [String] = []
        if let userAppID {
            lines.append(
                "  identity   \(userAppID), \(Quantity.of(Int(accountEpoch.rawValue), "switch", "switches")) so far; "
                    + "\(Quantity.of(devicesWithGrant, "device")) with a grant")
        }
        for account in retiredAccounts {
            lines.append(
                "  former     \(account.accountType.rawValue) account \(account.providerUserID), until "
                    + "\(account.retiredAt.iso8601)")
        }
        for open in openSwitches {
            lines.append(
                "  switch     \(open.switchID) to a \(open.toAccountType.rawValue) account, begun \(open.begunAt.iso8601): "
                    + open.state)
        }
        if ownedFiles.withoutBytes > 0 {
            lines.append(
                "  no bytes   \(Quantity.of(ownedFiles.withoutBytes, "file")), until they are uploaded again")
        }
        return lines
    }
}

extension String {
    /// The text without trailing spaces.
    fileprivate var trimmed: String {
        var text = self
        while text.last == " " { text.removeLast() }
        return text
    }
}
