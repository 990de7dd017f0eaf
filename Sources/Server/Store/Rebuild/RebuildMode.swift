import MariaDB
public import SyncProtocol

/// The current or last rebuild of this database from the manifests in owners' folders
/// (docs/adr/0121-a-server-rebuilt-from-manifests.md).
public struct RebuildMode: Equatable, Sendable {
    public var begunAt: WireDate
    /// `nil` while people are held until they are recognised.
    public var endedAt: WireDate?
    /// The folder of people whose request does not name one.
    public var cloudFolderName: String?
    /// Whether nobody is served before the end.
    public var holdsEveryone: Bool
    /// Users with this number or a higher one were added since the rebuild began.
    public var firstNewUser: UserID

    public init(
        begunAt: WireDate, endedAt: WireDate? = nil, cloudFolderName: String? = nil, holdsEveryone: Bool = false,
        firstNewUser: UserID
    ) {
        self.begunAt = begunAt
        self.endedAt = endedAt
        self.cloudFolderName = cloudFolderName
        self.holdsEveryone = holdsEveryone
        self.firstNewUser = firstNewUser
    }

    public var isOn: Bool { endedAt == nil }
}

/// The progress of the current rebuild.
public struct RebuildProgress: Equatable, Sendable, Encodable {
    public var begunAt: WireDate
    public var holdsEveryone: Bool
    /// The number of restored groups, by ``RebuildGroup/State``.
    public var groups: [String: Int]
    /// The number of groups to which people belong according to manifests, and that are not back.
    public var missingGroups: Int
    /// The number of people whose folders have not been read.
    public var unreadFolders: Int
    /// The number of manifests without a known signature that the operator has not accepted.
    public var openClaims: Int
}

/// The visit of an account with storage since a rebuild began.
public struct RebuildVisit: Equatable, Sendable {
    public enum State: String, Sendable, CaseIterable {
        /// The folder has not been read.
        case waiting
        case read
        /// The folder was read, and no manifest names the account.
        case stranger
    }

    public var state: State
    /// `nil` for a stranger.
    public var userID: UserID?
    /// Whether the user exists only for the visit, and has not been recognised.
    public var isProvisional: Bool
}

extension StoreSession {
    /// The rebuild of this database; `nil` if there was none.
    public mutating func rebuildMode() throws(StoreError) -> RebuildMode? {
        try first(
            "SELECT begun_at, ended_at, cloud_folder_name, holds_everyone, first_new_user_id FROM rebuilds", []
        ) { row throws(StoreError) in
            RebuildMode(
                begunAt: try row.date(0), endedAt: try row.optionalDate(1),
                cloudFolderName: try row.optionalString(2), holdsEveryone: try row.flag(3),
                firstNewUser: UserID(try row.number(4)))
        }
    }

    /// Whether a rebuild is in progress; it cannot end before the end of the transaction.
    public mutating func holdRebuildOpen() throws(StoreError) -> Bool {
        try first("SELECT 1 FROM rebuilds WHERE ended_at IS NULL LOCK IN SHARE MODE", []) { _ in true } ?? false
    }

    /// The progress of the rebuild; `nil` if none is in progress.
    public mutating func rebuildProgress() throws(StoreError) -> RebuildProgress? {
        guard let mode = try rebuildMode(), mode.isOn else { return nil }
        let states = try all(
            "SELECT state, COUNT(*) FROM rebuild_groups GROUP BY state ORDER BY state", []
        ) { row throws(StoreError) in (try row.string(0), Int(try row.number(1))) }
        let counts = try first(
            """
            SELECT (SELECT COUNT(DISTINCT a.sharing_group_uuid)
                      FROM rebuild_awaited a
                      LEFT JOIN sharing_groups g ON g.sharing_group_uuid = a.sharing_group_uuid
                     WHERE a.sharing_group_uuid <> '' AND g.sharing_group_id IS NULL),
                   (SELECT COUNT(*) FROM rebuild_visits v WHERE v.state = 'waiting'),
                   (SELECT COUNT(*) FROM rebuild_claims c WHERE NOT c.is_trusted)
            """, []
        ) { row throws(StoreError) in (Int(try row.number(0)), Int(try row.number(1)), Int(try row.number(2))) }
        return RebuildProgress(
            begunAt: mode.begunAt, holdsEveryone: mode.holdsEveryone, groups: Dictionary(uniqueKeysWithValues: states),
            missingGroups: counts?.0 ?? 0, unreadFolders: counts?.1 ?? 0, openClaims: counts?.2 ?? 0)
    }

    // MARK: Visits

    public mutating func rebuildVisit(
        of accountType: AccountType, _ providerUserID: String
    ) throws(StoreError) -> RebuildVisit? {
        try first(
            """
            SELECT state, user_id, is_provisional
              FROM rebuild_visits
             WHERE account_type = ?
               AND provider_user_id = ?
            """, [.text(accountType.rawValue), .text(providerUserID)], Self.visit)
    }

    /// The visit of a user.
    public mutating func rebuildVisit(of userID: UserID) throws(StoreError) -> RebuildVisit? {
        try first(
            "SELECT state, user_id, is_provisional FROM rebuild_visits WHERE user_id = ?", [.int(userID.rawValue)],
            Self.visit)
    }

    private static func visit(_ row: borrowing Row) throws(StoreError) -> RebuildVisit {
        RebuildVisit(
            state: try row.word(0), userID: try row.optionalNumber(1).map(UserID.init), isProvisional: try row.flag(2))
    }

    /// Records the visit of a user, and schedules the reading of their folder. Call in a transaction.
    /// - Parameter isProvisional: whether the same transaction has added the user, only for the visit.
    /// - Throws: ``StoreError/alreadyExists(key:)`` if the account has visited before.
    public mutating func addRebuildVisit(
        of user: UserRecord, isProvisional: Bool, at now: WireDate
    ) throws(StoreError) {
        guard let storageType = user.accountType.cloudStorageType else { return }
        try execute(
            """
            INSERT INTO rebuild_visits
                   (account_type, provider_user_id, user_id, state, is_provisional, come_at)
            VALUES (?, ?, ?, 'waiting', ?, ?)
            """,
            [
                .text(user.accountType.rawValue), .text(user.providerUserID), .int(user.userID.rawValue),
                .bool(isProvisional), .date(now),
            ])
        try scheduleManifestReading(OwningUser(userID: user.userID, storageType: storageType), at: now)
    }

    /// Deletes the visit of a stranger, who may then visit again.
    public mutating func forgetStranger(
        _ accountType: AccountType, _ providerUserID: String
    ) throws(StoreError) {
        try execute(
            "DELETE FROM rebuild_visits WHERE account_type = ? AND provider_user_id = ? AND state = 'stranger'",
            [.text(accountType.rawValue), .text(providerUserID)])
    }

    /// Schedules the reading of the manifests in a folder, unless it is already scheduled; a postponed reading becomes
    /// due now.
    public mutating func scheduleManifestReading(_ owner: OwningUser, at now: WireDate) throws(StoreError) {
        let values: [Value] = [.int(owner.userID.rawValue)]
        try execute(
            """
            UPDATE outbox SET available_at = ?
             WHERE user_id = ?
               AND kind = 'readManifests'
               AND lease_owner IS NULL
               AND available_at > ?
            """, [.date(now)] + values + [.date(now)])
        let waiting = try first(
            "SELECT 1 FROM outbox WHERE user_id = ? AND kind = 'readManifests' AND lease_owner IS NULL LIMIT 1", values
        ) { _ in true }
        if waiting == nil { try add(.readManifests, of: owner, availableAt: now, at: now) }
    }

    /// Gives a provisional user the number that they had on the lost server, and passes their outbox work on to it. Call
    /// in a transaction.
    /// - Parameter credentials: seals the user's tokens again, for the new number; `nil` if none are stored.
    /// - Returns: `false`, with nothing changed, if another user has the number, or the user is not provisional any more.
    public mutating func recognise(
        provisional userID: UserID, as former: UserID, sealing credentials: (SealedCredentials) throws -> [UInt8]?
    ) throws -> Bool {
        guard try lockUser(userID), try rebuildVisit(of: userID)?.isProvisional == true else { return false }
        if former != userID {
            guard try !lockUser(former) else { return false }
            let present = try self.credentials(of: userID)
            let record = try present.flatMap { try credentials($0) }
            try execute(
                """
                UPDATE users
                   SET user_id = ?, credentials = ?, credentials_version = credentials_version + 1
                 WHERE user_id = ?
                """, [.int(former.rawValue), .bytes(orNull: record), .int(userID.rawValue)])
            try execute(
                "UPDATE outbox SET user_id = ? WHERE user_id = ?", [.int(former.rawValue), .int(userID.rawValue)])
            try execute(
                "UPDATE rebuild_claims SET user_id = ? WHERE user_id = ?",
                [.int(former.rawValue), .int(userID.rawValue)])
        }
        try execute(
            "UPDATE rebuild_visits SET user_id = ?, is_provisional = FALSE WHERE user_id = ?",
            [.int(former.rawValue), .int(userID.rawValue)])
        return true
    }

    /// Ends a visit after the folder was read. A provisional user without a group becomes a stranger, and is deleted.
    /// Call in a transaction.
    public mutating func endRebuildVisit(of userID: UserID, at now: WireDate) throws(StoreError) {
        guard try lockUser(userID), let visit = try rebuildVisit(of: userID) else { return }
        let user = Value.int(userID.rawValue)
        let isMember =
            try first("SELECT 1 FROM memberships WHERE user_id = ? LIMIT 1", [user]) { _ in true } ?? false
        // If the operator may still trust the user's claims, the tokens are kept, so that the folder can be read again.
        let hasClaims =
            try first("SELECT 1 FROM rebuild_claims WHERE user_id = ? LIMIT 1", [user]) { _ in true } ?? false
        let isUnknown = visit.isProvisional && !isMember
        let state: RebuildVisit.State = !isUnknown ? .read : hasClaims ? .waiting : .stranger
        let isStranger = state == .stranger
        try execute(
            """
            UPDATE rebuild_visits
               SET state = ?, read_at = ?, user_id = IF(?, NULL, user_id), is_provisional = ?
             WHERE user_id = ?
            """, [.text(state.rawValue), .date(now), .bool(isStranger), .bool(state == .waiting), user])
        if isStranger { try execute("DELETE FROM users WHERE user_id = ?", [user]) }
    }

    /// Whether an owner's folder has been read since the rebuild began.
    public mutating func hasComeBack(_ userID: UserID) throws(StoreError) -> Bool {
        try rebuildVisit(of: userID)?.state == .read
    }

    // MARK: Claims

    /// Records a manifest without a known signature for the operator; does nothing if it is already recorded.
    public mutating func note(_ claim: RebuildClaim, at now: WireDate) throws(StoreError) {
        try execute(
            """
            INSERT IGNORE INTO rebuild_claims
                   (sharing_group_uuid, user_id, digest, group_name, master_version, written_at, members, admin_names,
                    live_files, is_trusted, found_at)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, FALSE, ?)
            """,
            [
                .text(claim.groupUUID.rawValue), .int(claim.userID.rawValue), .bytes(claim.digest),
                .text(orNull: claim.groupName), .int(claim.masterVersion.rawValue), .date(claim.writtenAt),
                .int(Int64(claim.members)),
                .text(String(String.UnicodeScalarView(claim.adminNames.unicodeScalars.prefix(1_000)))),
                .int(Int64(claim.liveFiles)), .date(now),
            ])
    }

    /// The digests of the manifests in a user's folder that the operator trusts without a signature.
    public mutating func trustedClaims(of userID: UserID) throws(StoreError) -> Set<[UInt8]> {
        Set(
            try all(
                "SELECT digest FROM rebuild_claims WHERE user_id = ? AND is_trusted", [.int(userID.rawValue)]
            ) { row throws(StoreError) in try row.optionalData(0) ?? [] })
    }
}

/// The summary of a manifest without a known signature.
public struct RebuildClaim: Equatable, Sendable {
    public var groupUUID: SharingGroupUUID
    /// The owner of the folder that contains it.
    public var userID: UserID
    /// SHA-256 of the signed text.
    public var digest: [UInt8]
    public var groupName: String?
    public var masterVersion: MasterVersion
    public var writtenAt: WireDate
    public var members: Int
    /// Separated by commas.
    public var adminNames: String
    public var liveFiles: Int

    public init(
        groupUUID: SharingGroupUUID, userID: UserID, digest: [UInt8], groupName: String?,
        masterVersion: MasterVersion, writtenAt: WireDate, members: Int, adminNames: String, liveFiles: Int
    ) {
        self.groupUUID = groupUUID
        self.userID = userID
        self.digest = digest
        self.groupName = groupName
        self.masterVersion = masterVersion
        self.writtenAt = writtenAt
        self.members = members
        self.adminNames = adminNames
        self.liveFiles = liveFiles
    }
}
