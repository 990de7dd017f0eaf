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

    /// The `runUUID` of the check in progress, or `nil`.
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

/// The problems that a check of the clouds can find.
enum CloudProblem: String, CaseIterable, Codable {
    case objectMissing
    case objectReplaced
    case objectSizeDiffers
    case objectChanged
    case objectOrphaned
    case objectUnknown
    case objectForeign
    case manifestMissing
    case manifestDamaged
    case manifestDiffers
    case manifestOutdated
    case storageRefused
    case storageUnavailable

    private static let rewriting = "schedules another one, which the jobs role writes"

    var judgement: Judgement {
        switch self {
        case .objectMissing:
            Judgement(
                .error,
                """
                An object is missing from its owner's storage, and phones get the reply that it is gone. The owner may \
                find it in the storage's bin; there is no other way to restore it.
                """)
        case .objectReplaced:
            Judgement(
                .warning,
                "An object is gone, but another one has its name: a copy that its owner has created or restored.",
                repair: "uses that object for the file, as the next download would")
        case .objectSizeDiffers:
            Judgement(.warning, "An object's size differs from the file's: somebody has changed it in the storage.")
        case .objectChanged:
            Judgement(.warning, "An object's hash differs from the file's: somebody has changed it in the storage.")
        case .objectOrphaned:
            Judgement(
                .warning, "An object of a file or device of this server is unused: nothing refers to it.",
                repair: "deletes the object unless something refers to it by then")
        case .objectUnknown:
            Judgement(
                .warning,
                """
                An unreferenced object has a name of this server's form, but may not belong to this server, which \
                therefore does not delete it; each row names the reason.
                """)
        case .objectForeign:
            Judgement(.note, "A folder contains a foreign object. It is never changed.")
        case .manifestMissing:
            Judgement(.warning, "A manifest is missing from its owner's folder.", repair: Self.rewriting)
        case .manifestDamaged:
            Judgement(
                .warning, "A manifest cannot be used: somebody has changed it.",
                repair: "\(Self.rewriting); the damaged one is deleted")
        case .manifestDiffers:
            Judgement(
                .warning, "A manifest does not state what the database contains.", repair: Self.rewriting)
        case .manifestOutdated:
            Judgement(
                .warning,
                """
                An owner has no manifest of the current state of a group, and none is scheduled: manifests were off, or \
                the group is too large.
                """, repair: Self.rewriting)
        case .storageRefused:
            Judgement(.warning, "The storage denies the server access; its owner has to sign in again. Not checked.")
        case .storageUnavailable: Judgement(.warning, "A provider did not answer. Not checked; try again.")
        }
    }
}

/// The findings of a check of the clouds so far: a limited number of rows for each problem, and the repairs.
struct CloudFindings: Codable {
    /// The rows kept for each problem; one more than the limit, to detect that there are more.
    private var rows: [CloudProblem: [Violation]] = [:]
    private var repaired: [CloudProblem: Int] = [:]

    init() {}

    mutating func note(_ problem: CloudProblem, _ violation: Violation, limit: Int) {
        guard rows[problem, default: []].count <= limit else { return }
        rows[problem, default: []].append(violation)
    }

    /// Adds the findings of another part of the check.
    mutating func add(_ other: CloudFindings, limit: Int) {
        for (problem, violations) in other.rows {
            for violation in violations { note(problem, violation, limit: limit) }
        }
        for (problem, count) in other.repaired { repaired[problem, default: 0] += count }
    }

    mutating func noteRepair(_ problem: CloudProblem) { repaired[problem, default: 0] += 1 }

    /// The findings for the report, with at most `limit` rows each.
    func findings(limit: Int) -> [Finding] {
        CloudProblem.allCases.compactMap { problem in
            guard let rows = rows[problem], !rows.isEmpty else { return nil }
            let judgement = problem.judgement
            return Finding(
                code: problem.rawValue, severity: judgement.severity, meaning: judgement.meaning,
                repair: judgement.repair, rows: Array(rows.prefix(limit)), more: rows.count > limit)
        }
    }

    var repairs: [FsckReport.Repair] {
        CloudProblem.allCases.compactMap { problem in
            guard let count = repaired[problem], let action = problem.judgement.repair else { return nil }
            return FsckReport.Repair(code: problem.rawValue, action: action, rows: count)
        }
    }
}
