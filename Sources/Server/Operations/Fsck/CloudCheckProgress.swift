import FoundationEssentials
import MariaDB
import OpenSSLCrypto
import Store
import SyncProtocol

/// How far a check of all folders has come, stored after each of them, so that an interrupted check can go on.
struct CloudCheckProgress: Codable {
    /// Tells this check from others.
    private(set) var runUUID: String
    let startedAt: WireDate
    /// The owner whose folder was examined last; `nil` before the first.
    var lastOwner: Int64?
    var findings = CloudFindings()
    var folders = 0
    var objects = 0

    init(startingAt now: WireDate) throws(CryptoError) {
        runUUID = try RandomBytes.uuidText()
        startedAt = now
    }

    /// Makes this another check, which goes on from here: the interrupted one may still be running somewhere.
    mutating func takeOver() throws(CryptoError) { runUUID = try RandomBytes.uuidText() }
}

/// Another check of all folders was begun, and has taken over: this one ends, lest both ask the providers.
public struct CloudCheckSuperseded: Error, CustomStringConvertible {
    public let description = "another check of the clouds has begun since; this one ends"
}

extension StoreSession {
    private static let singleRow = Value.int(1)

    /// The check that was interrupted; `nil` if there is none, or its state is not one of this release.
    mutating func interruptedCloudCheck() throws(StoreError) -> CloudCheckProgress? {
        let state = try first("SELECT state FROM cloud_checks WHERE check_id = ?", [Self.singleRow]) {
            row throws(StoreError) in try row.string(0)
        }
        guard let state else { return nil }
        return try? JSONDecoder().decode(CloudCheckProgress.self, from: Data(state.utf8))
    }

    /// The `runUUID` of the check that is in progress; `nil` if none is.
    mutating func cloudCheckInProgress() throws(StoreError) -> String? {
        try first("SELECT run_uuid FROM cloud_checks WHERE check_id = ?", [Self.singleRow]) {
            row throws(StoreError) in try row.string(0)
        }
    }

    /// Makes a check the one that is in progress, whichever was before.
    mutating func begin(_ check: CloudCheckProgress, at now: WireDate) throws {
        try execute(
            """
            INSERT INTO cloud_checks (check_id, run_uuid, state, changed_at)
            VALUES (?, ?, ?, ?)
                ON DUPLICATE KEY UPDATE run_uuid = VALUES(run_uuid), state = VALUES(state),
                                        changed_at = VALUES(changed_at)
            """, [Self.singleRow, .text(check.runUUID), .text(try Self.text(of: check)), .date(now)])
    }

    /// Stores how far a check has come.
    /// - Throws: ``CloudCheckSuperseded``, ``StoreError``.
    mutating func store(_ check: CloudCheckProgress, at now: WireDate) throws {
        let changed = try execute(
            "UPDATE cloud_checks SET state = ?, changed_at = ? WHERE check_id = ? AND run_uuid = ?",
            [.text(try Self.text(of: check)), .date(now), Self.singleRow, .text(check.runUUID)])
        guard changed == 1 else { throw CloudCheckSuperseded() }
    }

    /// Forgets a check that is complete.
    mutating func end(_ check: CloudCheckProgress) throws(StoreError) {
        try execute(
            "DELETE FROM cloud_checks WHERE check_id = ? AND run_uuid = ?", [Self.singleRow, .text(check.runUUID)])
    }

    private static func text(of check: CloudCheckProgress) throws -> String {
        String(decoding: try JSONEncoder().encode(check), as: UTF8.self)
    }
}
