import MariaDB
import OpenSSLCrypto
public import Store
public import SyncProtocol
public import Vault

/// Checks every rule that the stored rows must follow. All rules are checked on one snapshot, so it can run at any time
/// alongside the server. Only ``repair(_:at:)`` changes anything.
public struct Fsck: Sendable {
    /// The number of sealed records to read at a time.
    private static let page = 500

    private let store: MetadataStore
    private let sealer: CredentialSealer
    private let rowLimit: Int

    /// - Parameter rowLimit: the number of rows to list for each finding; further rows are only mentioned.
    public init(store: MetadataStore, sealer: CredentialSealer, rowLimit: Int) {
        self.store = store
        self.sealer = sealer
        self.rowLimit = rowLimit
    }

    /// All broken rules, the worst first.
    /// - Throws: ``StoreError``.
    public func run() throws -> [Finding] {
        let findings = try store.snapshot { session in
            try Invariant.all.compactMap { try finding($0, &session) }
        }
        return (try findings + sealedRecords()).sorted { $1.severity < $0.severity }
    }

    private func finding(_ rule: Invariant, _ session: inout StoreSession) throws -> Finding? {
        let rows = try rule.violations(limit: rowLimit + 1, &session)
        guard !rows.isEmpty else { return nil }
        return Finding(
            code: rule.code, severity: rule.severity, meaning: rule.meaning, repair: rule.repair?.action,
            rows: Array(rows.prefix(rowLimit)), more: rows.count > rowLimit)
    }

    /// Tokens that no key opens.
    private func sealedRecords() throws -> [Finding] {
        var unknownKey: [Violation] = []
        var unreadable: [Violation] = []
        var last: UserID?
        while true {
            let records = try store.withSession { try $0.sealedCredentials(after: last, limit: Self.page) }
            for case let record in records {
                guard case .user(let userID) = record.place else { continue }
                last = userID
                do {
                    _ = try sealer.open(record.bytes, from: .user(userID))
                } catch CryptoError.unknownKey(let identifier) {
                    unknownKey.append(
                        Violation(row: "user \(userID)", detail: "key \(String(identifier, radix: 16))"))
                } catch {
                    unreadable.append(Violation(row: "user \(userID)", detail: "damaged, or from another user"))
                }
            }
            if records.count < Self.page { break }
        }
        return [
            tokens(
                "tokensUnderUnknownKey", "Tokens are sealed with a key that is not in the configuration.",
                unknownKey),
            tokens("tokensUnreadable", "Tokens cannot be opened: their owners have to sign in again.", unreadable),
        ].compactMap(\.self)
    }

    private func tokens(_ code: String, _ meaning: String, _ rows: [Violation]) -> Finding? {
        guard !rows.isEmpty else { return nil }
        return Finding(
            code: code, severity: .error, meaning: meaning, rows: Array(rows.prefix(rowLimit)),
            more: rows.count > rowLimit)
    }

    /// Repairs what can be repaired without loss, each rule in its own transaction.
    /// - Throws: ``StoreError``.
    public func repair(_ findings: [Finding], at now: WireDate) throws -> [FsckReport.Repair] {
        var repairs: [FsckReport.Repair] = []
        for finding in findings {
            guard let repair = Invariant.all.first(where: { $0.code == finding.code })?.repair else { continue }
            let rows = try store.transaction { session in try repair.run(&session, now) }
            repairs.append(FsckReport.Repair(code: finding.code, action: repair.action, rows: rows))
        }
        return repairs
    }
}

/// A rule that the stored rows obey at all times, regardless of requests in progress: how to find violations, their
/// meaning, and their repair.
///
/// The database enforces few of them: foreign keys would make writers block each other (see `0001_initial.sql`).
public struct Invariant: Sendable {
    /// A repair that loses no usable data. It does the same as the server when a member leaves, an invitation ends or
    /// an account is removed; it checks all conditions again, under locks.
    public struct Repair: Sendable {
        /// What it does, for the report.
        public let action: String
        /// Repairs all violations in its own transaction, and returns the number of changed rows or groups.
        let run: @Sendable (inout StoreSession, WireDate) throws(StoreError) -> Int

        init(
            _ action: String, run: @escaping @Sendable (inout StoreSession, WireDate) throws(StoreError) -> Int
        ) {
            self.action = action
            self.run = run
        }
    }

    /// Stable; docs/operations.md lists all.
    public let code: String
    public let severity: Finding.Severity
    /// What a violation means, in one sentence.
    public let meaning: String
    /// `nil` if a person has to decide.
    public let repair: Repair?
    /// Finds the rows that violate the rule, with an explanation for each; its only parameter is a limit.
    private let query: SQL

    init(
        _ code: String, _ severity: Finding.Severity, _ meaning: String, brokenBy query: SQL, repair: Repair? = nil
    ) {
        self.code = code
        self.severity = severity
        self.meaning = meaning
        self.query = query
        self.repair = repair
    }

    public static let all = ofGroups + ofFiles + ofSwitches + ofWork

    /// Rows that violate the rule, at most `limit` of them. It reads whole tables; call it in a snapshot.
    func violations(limit: Int, _ session: inout StoreSession) throws(StoreError) -> [Violation] {
        try session.all(query, [.int(Int64(limit))]) { row throws(StoreError) in
            Violation(row: row.optionalText(0) ?? "?", detail: row.optionalText(1) ?? "")
        }
    }
}

/// A row that violates a rule.
public struct Violation: Equatable, Sendable, Codable {
    /// Identifies the row in terms familiar to operators.
    public var row: String
    public var detail: String

    public init(row: String, detail: String) {
        self.row = row
        self.detail = detail
    }
}

/// A rule that stored rows break, and the remedy.
public struct Finding: Encodable, Equatable, Sendable {
    public enum Severity: String, Encodable, Equatable, Sendable, Comparable {
        /// Information that requires no action.
        case note
        /// Somebody should investigate.
        case warning
        /// Something does not work, or data is lost.
        case error

        public static func < (left: Self, right: Self) -> Bool { left.rank < right.rank }
        private var rank: Int { self == .note ? 0 : self == .warning ? 1 : 2 }
    }

    /// Stable; docs/operations.md lists all.
    public var code: String
    public var severity: Severity
    /// The meaning, in one sentence.
    public var meaning: String
    /// What `--repair` would do; absent if a person has to decide.
    public var repair: String?
    /// The rows, or the first of them.
    public var rows: [Violation]
    /// Whether there are more rows than listed.
    public var more: Bool

    public init(
        code: String, severity: Severity, meaning: String, repair: String? = nil, rows: [Violation], more: Bool = false
    ) {
        self.code = code
        self.severity = severity
        self.meaning = meaning
        self.repair = repair
        self.rows = rows
        self.more = more
    }
}

/// How `fsck` reports a broken rule.
struct Judgement {
    var severity: Finding.Severity
    var meaning: String
    var repair: String?

    init(_ severity: Finding.Severity, _ meaning: String, repair: String? = nil) {
        self.severity = severity
        self.meaning = meaning
        self.repair = repair
    }
}

/// The findings of `fsck`, and its repairs.
public struct FsckReport: Report {
    /// One repair.
    public struct Repair: Encodable, Equatable, Sendable {
        public var code: String
        public var action: String
        /// The number of rows or groups changed.
        public var rows: Int
    }

    /// The findings; after repairs, the remaining ones.
    public var findings: [Finding]
    public var repairs: [Repair]
    /// The number of objects checked in the clouds; absent if that was not requested.
    public var objectsChecked: Int?
    /// The number of owners' folders examined there; absent if only files were.
    public var foldersChecked: Int?

    public init(findings: [Finding], repairs: [Repair] = [], objectsChecked: Int? = nil) {
        self.findings = findings
        self.repairs = repairs
        self.objectsChecked = objectsChecked
    }

    /// Notes are not problems.
    public var isGood: Bool { findings.allSatisfy { $0.severity == .note } }

    public var lines: [String] {
        var lines = repairs.map { "repaired  \($0.code): \($0.action) (\(Quantity.of($0.rows, "row")))" }
        for finding in findings {
            lines.append("\(finding.severity.rawValue.padded(to: 8))  \(finding.code): \(finding.meaning)")
            for row in finding.rows { lines.append("            \(row.row): \(row.detail)") }
            if finding.more { lines.append("            … and more: --rows N") }
            if let repair = finding.repair { lines.append("            --repair \(repair)") }
        }
        if let objectsChecked {
            let folders = foldersChecked.map { ", in \(Quantity.of($0, "folder"))" } ?? ""
            lines.append("\(Quantity.of(objectsChecked, "object")) in the clouds checked\(folders)")
        }
        lines.append(isGood ? "clean" : "NOT CLEAN")
        return lines
    }
}

extension String {
    fileprivate func padded(to width: Int) -> String {
        self + String(repeating: " ", count: max(0, width - count))
    }
}
