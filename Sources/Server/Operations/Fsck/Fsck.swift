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
