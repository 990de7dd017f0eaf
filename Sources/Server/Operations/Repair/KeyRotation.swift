public import OpenSSLCrypto
public import Store
import SyncProtocol
import Vault

/// Reseals all tokens with the current key, so that former keys can be discarded. It can run while the server is
/// running, and can be interrupted and repeated: each transaction replaces one page of records, only those unchanged
/// since they were opened, and skips those under the current key.
public struct KeyRotation: Sendable {
    /// Records per transaction.
    public static let page = 100

    private let store: MetadataStore
    private let keys: KeyRing
    private let sealer: CredentialSealer

    /// - Parameter keys: the current key and all former ones.
    public init(store: MetadataStore, keys: KeyRing) {
        self.store = store
        self.keys = keys
        sealer = CredentialSealer(keys: keys)
    }

    /// Reseals every record that is not under the current key.
    ///
    /// - Parameter beforePage: called before each page; tests interrupt there.
    /// - Throws: ``StoreError``, `CryptoError` if OpenSSL has no randomness.
    public func run(beforePage: () throws -> Void = {}) throws -> KeyRotationReport {
        var report = KeyRotationReport(currentKey: keys.current.name)
        // Users may be removed meanwhile, or switch accounts: their tokens then move to a place later in this order.
        for read in Self.sources {
            var last: SealedRecord?
            repeat {
                try beforePage()
                last = try reseal(&report) { session in try read(&session, last) }
            } while last != nil
        }
        return report
    }

    /// For each kind of place, a function that reads the page after a record.
    private static let sources: [@Sendable (inout StoreSession, SealedRecord?) throws -> [SealedRecord]] = [
        { try $0.sealedSwitches(after: $1?.switchID, limit: page) },
        { try $0.sealedCredentials(after: $1?.userID, limit: page) },
        { try $0.sealedFormerCredentials(after: $1?.userID, limit: page) },
        { try $0.sealedMoves(after: $1?.switchID, limit: page) },
        { try $0.sealedDepartures(after: $1?.userID, limit: page) },
        { try $0.sealedGrants(after: $1?.outboxID, limit: page) },
        { try $0.sealedCodes(after: $1?.codeHash, limit: page) },
    ]

    /// Reseals one page.
    /// - Returns: the last record of the page; `nil` if there was none.
    private func reseal(
        _ report: inout KeyRotationReport, _ read: (inout StoreSession) throws -> [SealedRecord]
    ) throws -> SealedRecord? {
        let outcome = try store.transaction { session in
            // The transaction may be retried, so it starts from the initial counts.
            var page = report
            let records = try read(&session)
            for record in records { try reseal(record, &session, &page) }
            return (report: page, last: records.last)
        }
        report = outcome.report
        return outcome.last
    }

    private func reseal(
        _ record: SealedRecord, _ session: inout StoreSession, _ report: inout KeyRotationReport
    ) throws {
        guard SealedBox.keyIdentifier(of: record.bytes) != keys.current.identifier else {
            report.alreadyCurrent += 1
            return
        }
        let fresh: [UInt8]
        do {
            let credentials = try sealer.open(record.bytes, from: record.sealedPlace)
            fresh = try sealer.seal(credentials, for: record.sealedPlace)
        } catch {
            report.unreadable.append(record.name)
            return
        }
        if try session.reseal(record, as: fresh) {
            report.resealed += 1
        } else {
            // A process has stored newer tokens meanwhile, sealed with its own current key.
            report.changedMeanwhile += 1
        }
    }
}

/// The result of resealing.
public struct KeyRotationReport: Report, Equatable {
    /// The key's name; not secret.
    public var currentKey: String
    public var resealed = 0
    public var alreadyCurrent = 0
    /// Records that changed while they were being resealed; run the command again.
    public var changedMeanwhile = 0
    /// Records that no key in the configuration can open.
    public var unreadable: [String] = []

    public var isGood: Bool { changedMeanwhile == 0 && unreadable.isEmpty }

    public var lines: [String] {
        var lines = ["\(resealed) resealed with key \(currentKey), \(alreadyCurrent) were current already"]
        if changedMeanwhile > 0 {
            lines.append("\(changedMeanwhile) changed in the meantime: run syncctl keys reseal again")
        }
        for record in unreadable { lines.append("no key opens the tokens of \(record): they have to sign in again") }
        lines.append(
            isGood
                ? "no record needs a former key: after every server has loaded the new one, remove "
                    + "sealing.formerKeyFiles"
                : "KEEP the former keys")
        return lines
    }
}

extension SealedRecord {
    fileprivate var userID: UserID? {
        switch place {
        case .user(let userID), .formerOfUser(let userID), .departedUser(let userID), .grant(_, let userID): userID
        case .accountSwitch, .accountMove, .code: nil
        }
    }
    fileprivate var switchID: AccountSwitchID? {
        switch place {
        case .accountSwitch(let id, _), .accountMove(let id, _, _): id
        default: nil
        }
    }
    fileprivate var outboxID: OutboxID? { if case .grant(let item, _) = place { item } else { nil } }
    fileprivate var codeHash: [UInt8]? { if case .code(let hash) = place { hash } else { nil } }

    fileprivate var sealedPlace: CredentialSealer.Place {
        switch place {
        case .user(let userID), .formerOfUser(let userID), .departedUser(let userID), .grant(_, let userID),
            .accountSwitch(_, let userID):
            .user(userID)
        case .accountMove(_, let userID, let epoch): .formerAccount(userID, epoch)
        case .code(let hash): .code(hash)
        }
    }

    fileprivate var name: String {
        switch place {
        case .user(let userID): "user \(userID)"
        case .formerOfUser(let userID): "user \(userID), set aside"
        case .departedUser(let userID), .grant(_, let userID): "user \(userID), who was removed"
        case .accountSwitch(_, let userID): "user \(userID), for a proposed new account"
        case .accountMove(_, let userID, _): "user \(userID), for the former account"
        case .code: "an authorization code"
        }
    }
}
