import MariaDB
public import Store
public import SyncProtocol

/// The progress of a rebuild.
public struct RebuildReport: Report {
    /// The maximum number of rows listed of each kind.
    static let longestList = 1_000

    /// A group that was restored, or that a manifest may update.
    public struct Group: Equatable, Sendable, Encodable {
        public var sharingGroupUUID: SharingGroupUUID
        public var name: String?
        /// `restoring`, `diverged`, `complete` or `finished`.
        public var state: String
        public var masterVersion: MasterVersion
        /// Whether a known key has signed its manifest.
        public var isSigned: Bool
        public var members: Int
        /// The number of members who have not returned.
        public var absentMembers: Int
        /// The names of the owners of live files who have not returned, separated by commas; absent if all have
        /// returned.
        public var absentOwners: String?
        public var liveFiles: Int
        /// The number of live files whose object has not been looked for.
        public var filesPending: Int
        /// The number of live files whose bytes have to be uploaded again.
        public var filesAwaiting: Int
    }

    /// A group that is not here, but to which people belong according to manifests of other groups.
    public struct Awaited: Equatable, Sendable, Encodable {
        /// Absent if manifests do not reveal the groups of these people.
        public var sharingGroupUUID: SharingGroupUUID?
        /// The number of people who are held until it is back, including those who have not returned.
        public var people: Int
    }

    /// Somebody with storage who has returned.
    public struct Visitor: Equatable, Sendable, Encodable {
        /// Absent for a stranger.
        public var userID: UserID?
        public var name: String?
        public var accountType: AccountType
        /// `waiting`: the folder has not been read; `read`; or `stranger`: no manifest names them.
        public var state: String
        public var comeAt: WireDate
        /// The number of attempts to read the folder, and the error of the last one; only while the state is `waiting`.
        public var attempts: Int64?
        public var lastError: String?
    }

    /// A manifest without a known signature.
    public struct Claim: Equatable, Sendable, Encodable {
        public var sharingGroupUUID: SharingGroupUUID
        public var groupName: String?
        /// The owner of the folder that contains it.
        public var userID: UserID
        public var userName: String?
        public var masterVersion: MasterVersion
        public var writtenAt: WireDate
        public var members: Int64
        public var adminNames: String
        public var liveFiles: Int64
        public var isTrusted: Bool
    }

    /// Absent if there was no rebuild.
    public var begunAt: WireDate?
    public var endedAt: WireDate?
    public var cloudFolderName: String?
    public var holdsEveryone: Bool
    public var groups: [Group]
    public var awaited: [Awaited]
    public var visitors: [Visitor]
    public var claims: [Claim]
    /// The public keys whose signatures are trusted.
    public var keys: [String]

    init(
        mode: RebuildMode?, groups: [Group], awaited: [Awaited], visitors: [Visitor], claims: [Claim], keys: [String]
    ) {
        begunAt = mode?.begunAt
        endedAt = mode?.endedAt
        cloudFolderName = mode?.cloudFolderName
        holdsEveryone = mode?.holdsEveryone == true
        self.groups = groups
        self.awaited = awaited
        self.visitors = visitors
        self.claims = claims
        self.keys = keys
    }

    public var isGood: Bool { !groups.contains { $0.state == "diverged" } }

    public var lines: [String] {
        guard let begunAt else { return ["no rebuild"] }
        var lines = ["begun      \(begunAt.iso8601)"]
        if let endedAt { lines.append("ended      \(endedAt.iso8601)") }
        if holdsEveryone { lines.append("           nobody is served before the end") }
        if let cloudFolderName { lines.append("folder     \(cloudFolderName)") }
        lines += keys.map { "key        \($0)" }
        if !groups.isEmpty {
            var table = TextTable(
                "group", "name", "state", "version", "signed", "absent", "pending", "awaiting", "owners")
            for group in groups {
                table.add(
                    group.sharingGroupUUID.rawValue, group.name ?? "", group.state, "\(group.masterVersion)",
                    group.isSigned ? "yes" : "no", "\(group.absentMembers) of \(group.members)",
                    "\(group.filesPending) of \(group.liveFiles)", "\(group.filesAwaiting)",
                    group.absentOwners.map { "waits for \($0)" } ?? "")
            }
            lines += [""] + table.lines
        }
        if !awaited.isEmpty {
            var table = TextTable("missing group", "people held for it")
            for group in awaited { table.add(group.sharingGroupUUID?.rawValue ?? "unknown ones", "\(group.people)") }
            lines += [""] + table.lines
        }
        if !visitors.isEmpty {
            var table = TextTable("user", "name", "account", "state", "since", "attempts", "last error")
            for visitor in visitors {
                table.add(
                    visitor.userID.map { "\($0)" } ?? "", visitor.name ?? "", visitor.accountType.rawValue,
                    visitor.state, visitor.comeAt.iso8601, visitor.attempts.map { "\($0)" } ?? "",
                    visitor.lastError ?? "")
            }
            lines += [""] + table.lines
        }
        let open = claims.filter { !$0.isTrusted }
        guard !open.isEmpty else { return lines }
        var table = TextTable("group", "name", "found with", "version", "written", "members", "admins", "files")
        for claim in open {
            table.add(
                claim.sharingGroupUUID.rawValue, claim.groupName ?? "",
                "\(claim.userName ?? "?") (user \(claim.userID))", "\(claim.masterVersion)",
                claim.writtenAt.iso8601, "\(claim.members)", claim.adminNames, "\(claim.liveFiles)")
        }
        return lines + ["", "NOT TRUSTED: no known key has signed these; anybody could have written them"] + table.lines
            + ["NEXT       \(HostedApp.current.command) rebuild begin --trust-unsigned --group GROUP"]
    }
}

extension RebuildProgress {
    /// One line for the operator.
    var text: String {
        let states = groups.sorted { $0.key < $1.key }.map { "\($0.value) \($0.key)" }.joined(separator: ", ")
        return "since \(begunAt.iso8601): \(groups.isEmpty ? "no group back" : "groups \(states)"), "
            + "\(missingGroups) missing, \(Quantity.of(unreadFolders, "folder")) to read"
            + (openClaims > 0 ? ", \(openClaims) manifests not trusted" : "")
            + (holdsEveryone ? "; nobody is served" : "")
    }

    /// The finding of `syncctl doctor`.
    public var diagnosis: Diagnosis {
        Diagnosis(
            .rebuildOn, "the database is being rebuilt from manifests \(text)",
            fix: "syncctl rebuild status; when nobody is expected any more, syncctl rebuild end")
    }
}

extension StoreSession {
    /// The groups in a rebuild, unfinished ones first.
    mutating func rebuildStatusOfGroups() throws(StoreError) -> [RebuildReport.Group] {
        try all(
            """
            SELECT g.sharing_group_uuid, g.name, r.state, g.master_version, r.is_signed,
                   (SELECT COUNT(*) FROM memberships m WHERE m.sharing_group_id = g.sharing_group_id) AS members,
                   (SELECT COUNT(*) FROM rebuild_members a
                     WHERE a.sharing_group_id = g.sharing_group_id AND NOT a.is_recognised) AS absent_members,
                   (SELECT GROUP_CONCAT(u.display_name ORDER BY u.user_id SEPARATOR ', ')
                      FROM users u
                      LEFT JOIN rebuild_visits v ON v.user_id = u.user_id AND v.state = 'read'
                     WHERE v.user_id IS NULL
                       AND u.user_id IN (SELECT f.owning_user_id FROM files f
                                          WHERE f.sharing_group_id = g.sharing_group_id AND NOT f.is_deleted
                                            AND f.content_state = 'stored')) AS absent_owners,
                   (SELECT COUNT(*) FROM files f
                     WHERE f.sharing_group_id = g.sharing_group_id AND NOT f.is_deleted) AS live_files,
                   (SELECT COUNT(*) FROM rebuild_files p WHERE p.sharing_group_id = g.sharing_group_id) AS pending_files,
                   (SELECT COUNT(*) FROM files f
                     WHERE f.sharing_group_id = g.sharing_group_id AND NOT f.is_deleted
                       AND f.content_state = 'awaiting') AS awaiting_files
              FROM rebuild_groups r
              JOIN sharing_groups g ON g.sharing_group_id = r.sharing_group_id
             ORDER BY r.state, g.sharing_group_id
             LIMIT ?
            """, [.int(Int64(RebuildReport.longestList))]
        ) { row throws(StoreError) in
            RebuildReport.Group(
                sharingGroupUUID: try row.identifier("sharing_group_uuid"), name: try row.optionalString("name"),
                state: try row.string("state"), masterVersion: MasterVersion(try row.number("master_version")),
                isSigned: try row.flag("is_signed"), members: Int(try row.number("members")),
                absentMembers: Int(try row.number("absent_members")),
                absentOwners: try row.optionalString("absent_owners"), liveFiles: Int(try row.number("live_files")),
                filesPending: Int(try row.number("pending_files")),
                filesAwaiting: Int(try row.number("awaiting_files")))
        }
    }

    /// The groups that people are held for.
    mutating func awaitedGroups() throws(StoreError) -> [RebuildReport.Awaited] {
        try all(
            """
            SELECT a.sharing_group_uuid, COUNT(DISTINCT a.user_id)
              FROM rebuild_awaited a
              LEFT JOIN sharing_groups g ON g.sharing_group_uuid = a.sharing_group_uuid
             WHERE g.sharing_group_id IS NULL
             GROUP BY a.sharing_group_uuid
             ORDER BY a.sharing_group_uuid
             LIMIT ?
            """, [.int(Int64(RebuildReport.longestList))]
        ) { row throws(StoreError) in
            RebuildReport.Awaited(
                sharingGroupUUID: SharingGroupUUID(try row.string(0)), people: Int(try row.number(1)))
        }
    }

    /// The people with storage who have returned; first those whose folders have not been read.
    mutating func rebuildVisitors() throws(StoreError) -> [RebuildReport.Visitor] {
        try all(
            """
            SELECT v.user_id, u.display_name, v.account_type, v.state, v.come_at, o.attempts, o.last_error
              FROM rebuild_visits v
              LEFT JOIN users u ON u.user_id = v.user_id
              LEFT JOIN outbox o ON o.user_id = v.user_id AND o.kind = 'readManifests'
             ORDER BY v.state, v.come_at, v.user_id
             LIMIT ?
            """, [.int(Int64(RebuildReport.longestList))]
        ) { row throws(StoreError) in
            RebuildReport.Visitor(
                userID: try row.optionalNumber("user_id").map(UserID.init),
                name: try row.optionalString("display_name"),
                accountType: try row.word("account_type"), state: try row.string("state"),
                comeAt: try row.date("come_at"), attempts: try row.optionalNumber("attempts"),
                lastError: try row.optionalString("last_error"))
        }
    }

    /// The manifests without a known signature.
    mutating func rebuildClaims() throws(StoreError) -> [RebuildReport.Claim] {
        try all(
            """
            SELECT c.sharing_group_uuid, c.group_name, c.user_id, u.display_name, c.master_version, c.written_at,
                   c.members, c.admin_names, c.live_files, c.is_trusted
              FROM rebuild_claims c
              LEFT JOIN users u ON u.user_id = c.user_id
             ORDER BY c.is_trusted, c.sharing_group_uuid, c.master_version DESC
             LIMIT ?
            """, [.int(Int64(RebuildReport.longestList))]
        ) { row throws(StoreError) in
            RebuildReport.Claim(
                sharingGroupUUID: try row.identifier("sharing_group_uuid"),
                groupName: try row.optionalString("group_name"), userID: UserID(try row.number("user_id")),
                userName: try row.optionalString("display_name"),
                masterVersion: MasterVersion(try row.number("master_version")), writtenAt: try row.date("written_at"),
                members: try row.number("members"), adminNames: try row.string("admin_names"),
                liveFiles: try row.number("live_files"), isTrusted: try row.flag("is_trusted"))
        }
    }
}
