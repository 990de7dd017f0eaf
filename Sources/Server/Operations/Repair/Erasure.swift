import OpenSSLCrypto
public import Store
public import SyncProtocol

/// Removes a user from the server and reports what happened to all their data.
///
/// The removal is ``StoreSession/removeUser(_:at:)``, as in the endpoint RemoveUser.
public struct Erasure: Sendable {
    private let store: MetadataStore

    public init(store: MetadataStore) {
        self.store = store
    }

    /// What an erasure would remove; `nil` if there is no such user.
    public func preview(_ userID: UserID, at now: WireDate) throws -> ErasureReceipt? {
        try store.snapshot { session in
            guard let user = try session.userDetails(userID) else { return nil }
            return ErasureReceipt(
                isDone: false, erasedAt: now, user: user, rows: try session.traces(of: userID), rowsLeft: nil)
        }
    }

    /// Erases the user in one transaction; `nil` if there is no such user.
    public func erase(_ userID: UserID, at now: WireDate) throws -> ErasureReceipt? {
        try store.transaction { session in
            // Read without locks, because the removal must lock first: the receipt's counts are from this moment.
            guard let user = try session.userDetails(userID) else { return nil }
            let before = try session.traces(of: userID)
            guard try session.removeUser(userID, at: now) else { return nil }
            return ErasureReceipt(
                isDone: true, erasedAt: now, user: user, rows: before, rowsLeft: try session.traces(of: userID))
        }
    }
}

/// Proof of an erasure, without the name of the erased person.
public struct ErasureReceipt: Report {
    /// Whether the erasure was carried out; otherwise the receipt is a preview.
    public var erased: Bool
    public var erasedAt: WireDate
    public var userID: UserID
    public var accountType: AccountType
    /// SHA-256 of the provider's identifier of the person, in hexadecimal digits: anyone who knows the person can check
    /// it.
    public var accountHash: String
    /// The groups that the person was in; each one's master version has been incremented by one.
    public var groups: [SharingGroupUUID]
    /// The number of rows that named the person, by kind.
    public var rows: [String: Int]
    /// The number of rows that still name the person: files that are reported to others as deleted, by a number that no
    /// longer identifies anyone; and for an hour the sealed tokens, which are needed to remove uncommitted objects from
    /// their storage and then to notify the provider.
    public var rowsLeft: [String: Int]?

    init(isDone: Bool, erasedAt: WireDate, user: UserDetails, rows: [String: Int], rowsLeft: [String: Int]?) {
        erased = isDone
        self.erasedAt = erasedAt
        userID = user.user.userID
        accountType = user.user.accountType
        accountHash = IncrementalDigest.digest(of: Array(user.user.providerUserID.utf8), .sha256).hexLowercase
        groups = user.groups.map(\.sharingGroupUUID)
        self.rows = rows.filter { $0.value > 0 }
        self.rowsLeft = rowsLeft?.filter { $0.value > 0 }
    }

    /// Whether only the rows remain that ``rowsLeft`` may contain.
    public var isGood: Bool {
        guard let rowsLeft else { return true }
        var expected: Set = ["deletedFiles", "grantsToRevoke", "departedUsers"]
        if rowsLeft["departedUsers"] != nil { expected.insert("outbox") }
        return expected.isSuperset(of: rowsLeft.keys)
    }

    public var lines: [String] {
        let counts = rows.sorted { $0.key < $1.key }.map { "\($0.value) \($0.key)" }.joined(separator: ", ")
        var lines = [
            "\(erased ? "ERASED" : "Would erase") user \(userID), \(accountType.rawValue) account with SHA-256 \(accountHash)",
            "  at         \(erasedAt.iso8601)",
            "  rows       \(counts)",
            "  groups     \(groups.isEmpty ? "none" : groups.map(\.rawValue).joined(separator: ", "))",
            "  files      the person's files are deleted for others; their contents stay in the person's own storage",
            "  elsewhere  older backups still contain the person's data, and log files the number \(userID), until "
                + "they expire",
        ]
        if let rowsLeft, !rowsLeft.isEmpty {
            let left = rowsLeft.sorted { $0.key < $1.key }.map { "\($0.value) \($0.key)" }.joined(separator: ", ")
            lines.append("  left       \(left)")
            if rowsLeft["grantsToRevoke"] != nil || rowsLeft["departedUsers"] != nil {
                lines.append(
                    "             the sealed tokens are deleted after uncommitted uploads are removed from the "
                        + "storage and the provider is notified: after an hour, within a day")
            }
        }
        if !erased { lines.append("Nothing was changed. --yes removes the user; this cannot be undone.") }
        return lines
    }
}
