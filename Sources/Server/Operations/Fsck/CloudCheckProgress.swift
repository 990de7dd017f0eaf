import FoundationEssentials
import MariaDB
import OpenSSLCrypto
import Store
import SyncProtocol

/// The progress of a check of all folders, stored after each folder, so that an interrupted check can continue.
struct CloudCheckProgress: Codable {
    /// Distinguishes this check from others.
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

    /// Turns this into a new check that continues from here: the interrupted one may still be running somewhere.
    mutating func takeOver() throws(CryptoError) { runUUID = try RandomBytes.uuidText() }
}

/// Another check of all folders has begun and taken over: this one ends, so that only one sends requests to the
/// providers.
public struct CloudCheckSuperseded: Error, CustomStringConvertible {
    public let description = "another check of the clouds has begun; this one ends"
}

extension StoreSession {
    private static let singleRow = Value.int(1)

    /// The interrupted check; `nil` if there is none, or if its state is from a different release.
    mutating func interruptedCloudCheck() throws(StoreError) -> CloudCheckProgress? {
        let state = try first("SELECT state FROM cloud_checks WHERE check_id = ?", [Self.singleRow]) {
            row throws(StoreError) in try row.string(0)
        }
        guard let state else { return nil }
        return try? JSONDecoder().decode(CloudCheckProgress.self, from: Data(state.utf8))
    }

    /// The `runUUID` of the check in progress; `nil` if there is none.
    mutating func cloudCheckInProgress() throws(StoreError) -> String? {
        try first("SELECT run_uuid FROM cloud_checks WHERE check_id = ?", [Self.singleRow]) {
            row throws(StoreError) in try row.string(0)
        }
    }

    /// Makes a check the one in progress, and replaces any other.
    mutating func begin(_ check: CloudCheckProgress, at now: WireDate) throws {
        try execute(
            """
            INSERT INTO cloud_checks (check_id, run_uuid, state, changed_at)
            VALUES (?, ?, ?, ?)
                ON DUPLICATE KEY UPDATE run_uuid = VALUES(run_uuid), state = VALUES(state),
                                        changed_at = VALUES(changed_at)
            """, [Self.singleRow, .text(check.runUUID), .text(try Self.text(of: check)), .date(now)])
    }

    /// Stores the progress of a check.
    /// - Throws: ``CloudCheckSuperseded``, ``StoreError``.
    mutating func store(_ check: CloudCheckProgress, at now: WireDate) throws {
        let changed = try execute(
            "UPDATE cloud_checks SET state = ?, changed_at = ? WHERE check_id = ? AND run_uuid = ?",
            [.text(try Self.text(of: check)), .date(now), Self.singleRow, .text(check.runUUID)])
        guard changed == 1 else { throw CloudCheckSuperseded() }
    }

    /// Deletes the state of a completed check.
    mutating func end(_ check: CloudCheckProgress) throws(StoreError) {
        try execute(
            "DELETE FROM cloud_checks WHERE check_id = ? AND run_uuid = ?", [Self.singleRow, .text(check.runUUID)])
    }

    private static func text(of check: CloudCheckProgress) throws -> String {
        String(decoding: try JSONEncoder().encode(check), as: UTF8.self)
    }
}
