import MariaDB
public import Store
public import SyncProtocol

/// An account switch as operators see it.
public struct ListedSwitch: Equatable, Sendable, Encodable {
    /// The progress of the server's own move of the contents.
    public struct Move: Equatable, Sendable, Encodable {
        /// `moving`; `done`, if every file was tried; `failed`, if the former account can no longer be read; `ended`,
        /// if the move is no longer needed.
        public var state: String
        public var filesMoved: Int64
        public var bytesMoved: Int64
        /// Files that have not been tried yet.
        public var filesLeft: Int64
        /// Files that the server leaves to the phones.
        public var filesFailed: Int64
        /// When the next file is due; during a move, the end of its lease.
        public var availableAt: WireDate
        public var lastError: String?
        public var begunAt: WireDate
        public var endedAt: WireDate?
    }

    public var switchID: AccountSwitchID
    public var userID: UserID
    public var userName: String
    public var state: String
    public var fromAccountType: AccountType
    public var toAccountType: AccountType
    public var begunAt: WireDate
    /// The number of files that waited after the confirmation; absent before it.
    public var filesTotal: Int64?
    /// The number of the user's files that still wait for their contents.
    public var filesAwaiting: Int64
    /// When it was confirmed; absent before that.
    public var confirmedAt: WireDate?
    /// The switch that this one undoes; absent if it is not an undo.
    public var undoes: AccountSwitchID?
    /// When it was undone; absent otherwise.
    public var undoneAt: WireDate?
    /// Absent if the server moves nothing.
    public var move: Move?
}

/// One switch, with the files that the server leaves to the phones.
public struct SwitchDetails: Equatable, Sendable, Encodable {
    public struct FailedFile: Equatable, Sendable, Encodable {
        public var sharingGroupUUID: SharingGroupUUID
        public var fileUUID: FileUUID
        public var fileVersion: FileVersion
        public var reason: String
    }

    /// The maximum number of files to list.
    static let maximumFailedFiles = 1_000

    public var accountSwitch: ListedSwitch
    public var failedFiles: [FailedFile]
}

extension StoreSession {
    /// Switches in the order of their numbers, after `after`, at most `limit` of them.
    /// - Parameters:
    ///   - user: only this user's switches.
    ///   - includesFinished: whether to include finished switches.
    public mutating func listSwitches(
        of user: UserID? = nil, includesFinished: Bool, after: AccountSwitchID?, limit: Int
    ) throws(StoreError) -> [ListedSwitch] {
        let user = Value.int(orNull: user?.rawValue)
        return try all(
            """
            SELECT s.switch_uuid, s.user_id, u.display_name, s.state, s.from_account_type, s.to_account_type, s.begun_at,
                   s.files_total, s.confirmed_at, s.undoes, s.undone_at, a.state AS move_state, a.files_moved, a.bytes_moved, a.available_at, a.last_error,
                   a.begun_at AS move_begun_at, a.ended_at,
                   (SELECT COUNT(*)
                      FROM moving_contents m
                     WHERE m.switch_uuid = s.switch_uuid AND m.failure IS NULL) AS files_left,
                   (SELECT COUNT(*)
                      FROM moving_contents m
                     WHERE m.switch_uuid = s.switch_uuid AND m.failure IS NOT NULL) AS files_failed,
                   (SELECT COUNT(*)
                      FROM files f
                     WHERE f.owning_user_id = s.user_id AND f.object_id IS NULL AND f.content_state = 'awaiting'
                       AND NOT f.is_deleted) AS files_awaiting
              FROM account_switches s
              JOIN users u ON u.user_id = s.user_id
              LEFT JOIN account_moves a ON a.switch_uuid = s.switch_uuid
             WHERE s.switch_uuid > ?
               AND (? IS NULL OR s.user_id = ?)
               AND (? OR s.state <> 'finished' OR a.state = 'moving')
             ORDER BY s.switch_uuid
             LIMIT ?
            """,
            [.text(after?.rawValue ?? ""), user, user, .bool(includesFinished), .int(Int64(limit))],
            ListedSwitch.init(_:))
    }

    /// One switch; `nil` if there is none with that number.
    public mutating func switchDetails(_ id: AccountSwitchID) throws(StoreError) -> SwitchDetails? {
        let user = try first(
            "SELECT user_id FROM account_switches WHERE switch_uuid = ?", [.text(id.rawValue)]
        ) { row throws(StoreError) in UserID(try row.number(0)) }
        guard let user,
            let listed = try listSwitches(of: user, includesFinished: true, after: nil, limit: 1_000)
                .first(where: { $0.switchID == id })
        else { return nil }
        let failed = try all(
            """
            SELECT g.sharing_group_uuid, m.file_uuid, m.file_version, m.failure
              FROM moving_contents m
              JOIN sharing_groups g ON g.sharing_group_id = m.sharing_group_id
             WHERE m.switch_uuid = ?
               AND m.failure IS NOT NULL
             ORDER BY g.sharing_group_uuid, m.file_uuid
             LIMIT ?
            """, [.text(id.rawValue), .int(Int64(SwitchDetails.maximumFailedFiles))]
        ) { row throws(StoreError) in
            SwitchDetails.FailedFile(
                sharingGroupUUID: try row.identifier("sharing_group_uuid"), fileUUID: try row.identifier("file_uuid"),
                fileVersion: FileVersion(try row.number32("file_version")), reason: try row.string("failure"))
        }
        return SwitchDetails(accountSwitch: listed, failedFiles: failed)
    }
}

extension ListedSwitch {
    fileprivate init(_ row: borrowing Row) throws(StoreError) {
        switchID = try row.identifier("switch_uuid")
        userID = UserID(try row.number("user_id"))
        userName = try row.string("display_name")
        state = try row.string("state")
        fromAccountType = try row.word("from_account_type")
        toAccountType = try row.word("to_account_type")
        begunAt = try row.date("begun_at")
        filesTotal = try row.optionalNumber("files_total")
        filesAwaiting = try row.number("files_awaiting")
        confirmedAt = try row.optionalDate("confirmed_at")
        undoes = try row.optionalIdentifier("undoes")
        undoneAt = try row.optionalDate("undone_at")
        move = nil
        guard let state = try row.optionalString("move_state") else { return }
        move = Move(
            state: state, filesMoved: try row.number("files_moved"), bytesMoved: try row.number("bytes_moved"),
            filesLeft: try row.number("files_left"), filesFailed: try row.number("files_failed"),
            availableAt: try row.date("available_at"), lastError: try row.optionalString("last_error"),
            begunAt: try row.date("move_begun_at"), endedAt: try row.optionalDate("ended_at"))
    }
}

extension ListedSwitch.Move {
    /// A short text.
    var summary: String {
        let moved = "\(Quantity.of(Int(filesMoved), "file")) of \(Quantity.bytes(bytesMoved)) moved"
        let left = filesLeft > 0 ? ", \(filesLeft) left" : ""
        let failed = filesFailed > 0 ? ", \(filesFailed) left to the phones" : ""
        return "\(state): \(moved)\(left)\(failed)" + (lastError.map { "; \($0)" } ?? "")
    }
}

extension SwitchDetails: Report {
    public var lines: [String] {
        let listed = accountSwitch
        var lines = [
            "switch \(listed.switchID) of user \(listed.userID) (\(listed.userName)), begun \(listed.begunAt.iso8601)",
            "  accounts   from \(listed.fromAccountType.rawValue) to \(listed.toAccountType.rawValue): \(listed.state)",
            "  files      "
                + (listed.filesTotal.map {
                    "\(listed.filesAwaiting) of \($0) wait for their contents"
                } ?? "not confirmed"),
            "  server     " + (listed.move?.summary ?? "moves nothing: devices upload"),
        ]
        if let id = listed.undoes { lines.append("  undoes     switch \(id)") }
        if let time = listed.confirmedAt { lines.append("  confirmed  \(time.iso8601)") }
        if let time = listed.undoneAt { lines.append("  undone     \(time.iso8601)") }
        if let move = listed.move, move.state == "moving" { lines.append("  next       \(move.availableAt.iso8601)") }
        for file in failedFiles {
            lines.append(
                "  not moved  file \(file.fileUUID), version \(file.fileVersion), group \(file.sharingGroupUUID): "
                    + file.reason)
        }
        return lines
    }
}

extension ListedSwitch: TableRow {
    public static var noun: String { "switches" }
    public static var header: [String] {
        ["SWITCH", "USER", "FROM", "TO", "STATE", "AWAITING", "BEGUN", "SERVER"]
    }

    public var cells: [String] {
        [
            "\(switchID)", "\(userID)", fromAccountType.rawValue, toAccountType.rawValue, state, "\(filesAwaiting)",
            "\(begunAt.iso8601)", move?.summary ?? "",
        ]
    }
}

/// The result of an operator's undo of a switch.
public struct UndoneSwitch: Equatable, Sendable, Encodable {
    /// The switch that was undone.
    public var switchID: AccountSwitchID
    /// The new switch that performs the undo.
    public var undoID: AccountSwitchID
    public var userID: UserID
    /// The type of the account that is active again.
    public var accountType: AccountType
    public var accountEpoch: AccountEpoch?
    /// Files that wait for their contents: those changed or added since the switch.
    public var filesAwaiting: Int64
    /// Whether the jobs role moves them from the account that was active in the meantime.
    public var movesContents: Bool

    public init(_ undo: AccountSwitch, of undone: UndoableSwitch, movesContents: Bool) {
        switchID = undone.id
        undoID = undo.id
        userID = undo.userID
        accountType = undone.accountType
        accountEpoch = undo.accountEpoch
        filesAwaiting = undo.filesTotal ?? 0
        self.movesContents = movesContents
    }
}

extension UndoneSwitch: Report {
    public var lines: [String] {
        let waiting =
            filesAwaiting == 0
            ? "every file has its contents again"
            : "\(Quantity.of(Int(filesAwaiting), "file")) wait for their contents"
                + (movesContents
                    ? ": the jobs role moves them back after the person has signed in" : ": devices upload")
        return [
            "switch \(switchID) of user \(userID) is undone, by switch \(undoID)",
            "  account    \(accountType.rawValue) again; the person has to sign in with it once",
            "  files      \(waiting)",
            "  devices    those added with or after the switch have lost their grants and notifications",
        ]
    }
}
