import MariaDB
public import Store
public import SyncProtocol

/// The work to list.
public struct OutboxFilter: Sendable {
    public var kind: OutboxItem.Kind?
    public var user: UserID?
    /// Only work that is due now.
    public var isDue: Bool
    /// Only work that has failed at least once.
    public var isFailing: Bool

    public init(kind: OutboxItem.Kind? = nil, user: UserID? = nil, isDue: Bool = false, isFailing: Bool = false) {
        self.kind = kind
        self.user = user
        self.isDue = isDue
        self.isFailing = isFailing
    }
}

/// A row of the outbox as operators see it.
public struct ListedWork: Equatable, Sendable, Encodable {
    /// The state of a row.
    public enum State: String, Equatable, Sendable, Encodable {
        /// Due now.
        case due
        /// Postponed.
        case waiting
        /// In progress.
        case working
        /// Guards an upload in progress: becomes work only if the upload fails.
        case intent
    }

    public var jobID: Int64
    public var kind: OutboxItem.Kind
    public var state: State
    public var userID: UserID
    /// Absent if the user no longer exists.
    public var userName: String?
    public var storageType: CloudStorageType?
    public var objectID: String?
    /// The possible names of the object, or a push service's topic.
    public var objectName: String?
    public var pushTarget: String?
    public var availableAt: WireDate
    public var attempts: Int
    public var lastError: String?
    public var createdAt: WireDate
    /// The request that caused the work; absent if none did, or an older release recorded it.
    public var requestID: String?
}

/// The outcome of an operator's command for one job.
public enum OutboxOrderOutcome: String, Equatable, Sendable, Encodable {
    case done
    case notFound
    /// It is in progress, or guards an upload in progress: left unchanged.
    case inUse
}

extension OutboxItem.Kind: Encodable {}

extension StoreSession {
    /// Work in the order of its numbers, after `after`, at most `limit` rows.
    public mutating func listOutbox(
        _ filter: OutboxFilter, after: Int64?, limit: Int, at now: WireDate
    ) throws(StoreError) -> [ListedWork] {
        let kind = Value.text(orNull: filter.kind?.rawValue)
        let user = Value.int(orNull: filter.user?.rawValue)
        return try all(
            """
            SELECT o.outbox_id, o.kind, o.user_id, u.display_name, o.storage_type, o.object_id, o.object_name,
                   o.push_target, o.available_at, o.attempts, o.last_error, o.created_at, o.request_id,
                   o.lease_owner IS NOT NULL AS is_leased
              FROM outbox o
              LEFT JOIN users u ON u.user_id = o.user_id
             WHERE o.outbox_id > ?
               AND (? IS NULL OR o.kind = ?)
               AND (? IS NULL OR o.user_id = ?)
               AND (NOT ? OR o.available_at <= ?)
               AND (NOT ? OR o.last_error IS NOT NULL)
             ORDER BY o.outbox_id
             LIMIT ?
            """,
            [
                .int(after ?? .min), kind, kind, user, user, .bool(filter.isDue), .date(now),
                .bool(filter.isFailing), .int(Int64(limit)),
            ]
        ) { row throws(StoreError) in try Self.listedWork(from: row, at: now) }
    }

    private static func listedWork(from row: borrowing Row, at now: WireDate) throws(StoreError) -> ListedWork {
        let availableAt = try row.date("available_at")
        let attempts = Int(try row.number("attempts"))
        let state: ListedWork.State
        if availableAt <= now {
            state = .due
        } else if try row.flag("is_leased") {
            // Leasing work counts as an attempt; an upload's own row is inserted together with its lease.
            state = attempts == 0 ? .intent : .working
        } else {
            state = .waiting
        }
        return ListedWork(
            jobID: try row.number("outbox_id"), kind: try row.word("kind"), state: state,
            userID: UserID(try row.number("user_id")), userName: try row.optionalString("display_name"),
            storageType: try row.optionalWord("storage_type"), objectID: try row.optionalString("object_id"),
            objectName: try row.optionalString("object_name"), pushTarget: try row.optionalString("push_target"),
            availableAt: availableAt, attempts: attempts, lastError: try row.optionalString("last_error"),
            createdAt: try row.date("created_at"), requestID: try row.optionalString("request_id"))
    }

    /// Makes postponed work due at once; work in progress, or work that guards an upload, stays unchanged.
    public mutating func retryOutbox(_ jobID: Int64, at now: WireDate) throws(StoreError) -> OutboxOrderOutcome {
        let isFree = try isOutboxFree(jobID, at: now)
        guard isFree == true else { return isFree == nil ? .notFound : .inUse }
        try execute(
            "UPDATE outbox SET available_at = LEAST(available_at, ?), lease_owner = NULL WHERE outbox_id = ?",
            [.date(now), .int(jobID)])
        return .done
    }

    /// Deletes work; work in progress, or work that guards an upload, stays unchanged.
    public mutating func dropOutbox(_ jobID: Int64, at now: WireDate) throws(StoreError) -> OutboxOrderOutcome {
        let isFree = try isOutboxFree(jobID, at: now)
        guard isFree == true else { return isFree == nil ? .notFound : .inUse }
        try execute("DELETE FROM outbox WHERE outbox_id = ?", [.int(jobID)])
        return .done
    }

    /// Whether a row is not leased; it stays locked until the end of the transaction. `nil` for a missing row.
    private mutating func isOutboxFree(_ jobID: Int64, at now: WireDate) throws(StoreError) -> Bool? {
        try first(
            "SELECT lease_owner IS NULL OR available_at <= ? FROM outbox WHERE outbox_id = ? FOR UPDATE",
            [.date(now), .int(jobID)]
        ) { row throws(StoreError) in try row.flag(0) }
    }
}

extension ListedWork: TableRow {
    public static var noun: String { "jobs" }
    public static var header: [String] {
        ["JOB", "KIND", "STATE", "USER", "NOT BEFORE", "ATTEMPTS", "REQUEST", "LAST ERROR"]
    }

    public var cells: [String] {
        [
            "\(jobID)", kind.rawValue, state.rawValue, "\(userID)", "\(availableAt.iso8601)", "\(attempts)",
            requestID ?? "", lastError ?? "",
        ]
    }
}

extension ListedWork: Report {
    public var lines: [String] {
        let cause = requestID.map { ", for request \($0)" } ?? ""
        var lines = ["job \(jobID): \(sentence)", "  recorded   \(createdAt.iso8601)\(cause)"]
        switch state {
        case .due: lines.append("  state      due since \(availableAt.iso8601): the jobs role will process it next")
        case .waiting: lines.append("  state      postponed until \(availableAt.iso8601)")
        case .working: lines.append("  state      in progress; can be retried from \(availableAt.iso8601)")
        case .intent:
            lines.append("  state      guards an upload in progress; due at \(availableAt.iso8601) if the upload fails")
        }
        lines.append("  attempts   \(attempts)\(lastError.map { ", the last one failed: \($0)" } ?? "")")
        return lines
    }

    /// The work and its user, as a sentence.
    var sentence: String {
        let person = userName.map { "\($0) (user \(userID))" } ?? "user \(userID), who has been removed"
        let storage = storageType.map { " \($0.rawValue)" } ?? ""
        let object = objectID.map { "object \($0)" } ?? "the object named \(objectName ?? "?")"
        return switch kind {
        case .deleteObject: "delete \(object) from the\(storage) storage of \(person), unless something needs it"
        case .hashObject: "read \(object) in the\(storage) storage of \(person) to compute its hash"
        case .writeWarningFile: "write the initial file into the\(storage) storage of \(person)"
        case .writeManifest: "write the manifest of a group into the\(storage) storage of \(person)"
        case .readManifests: "read the manifests in the\(storage) storage of \(person)"
        case .writeIndexPage: "write the page that lists the files in the\(storage) storage of \(person)"
        case .sendPush:
            "notify \(pushTarget == "group" ? "the other members of a group, for" : "a device of") \(person)"
        case .removePushTopic: "remove the SNS topic of \(person)"
        case .revokeGrant: "revoke the former grant of \(person) at the provider"
        }
    }
}

/// The outcomes of retrying or dropping jobs.
public struct JobOrders: Report {
    public struct Order: Encodable {
        public var jobID: Int64
        public var outcome: OutboxOrderOutcome
    }

    public var orders: [Order]
    private let done: String

    private enum CodingKeys: CodingKey { case orders }

    /// - Parameter done: the word for a successful outcome.
    public init(_ outcomes: [(jobID: Int64, outcome: OutboxOrderOutcome)], done: String) {
        orders = outcomes.map { Order(jobID: $0.jobID, outcome: $0.outcome) }
        self.done = done
    }

    public var isGood: Bool { orders.allSatisfy { $0.outcome == .done } }

    public var lines: [String] {
        if orders.isEmpty { return ["no such jobs"] }
        return orders.map { order in
            switch order.outcome {
            case .done: "job \(order.jobID): \(done)"
            case .notFound: "job \(order.jobID): not found; it may have been completed"
            case .inUse: "job \(order.jobID): unchanged, because it is in progress or guards an upload in progress"
            }
        }
    }
}
