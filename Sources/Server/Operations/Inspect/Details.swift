import Store
import SyncProtocol

extension UserDetails: Report {
    public var lines: [String] {
        var lines = [
            "user \(user.userID): \(user.name), \(user.accountType.rawValue) account \(user.providerUserID), since "
                + "\(user.createdAt.iso8601)",
            "  devices    \(deviceUUIDs.map(\.rawValue).joined(separator: ", "))",
            "  tokens     "
                + (hasCredentials
                    ? "stored, sealed, version \(credentialsVersion)"
                    : "none: the user has to sign in again")
                + (user.hasOfflineAccess == false ? "; no refresh token: no offline access" : ""),
        ]
        if let cloudFolderName {
            lines.append("  folder     \(cloudFolderName)\(cloudFolderID.map { ", object \($0)" } ?? "")")
        }
        lines.append(
            "  own files  \(ownedFiles.live) of \(Quantity.bytes(ownedFiles.bytes)), and \(ownedFiles.deleted) deleted")
        lines += switches
        lines.append(
            "  waiting    \(Quantity.of(stagedChanges, "staged change")), \(Quantity.of(outboxRows, "job")) in the outbox"
        )
        if !pushRegistrations.isEmpty {
            let kinds = pushRegistrations.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }
            lines.append("  notified   \(kinds.joined(separator: ", "))")
        }
        let used = user.quotas.filter { $0.used > 0 }.map { "\($0.quota) \($0.used) of \($0.limit)" }
        if !used.isEmpty { lines.append("  limits     \(used.joined(separator: ", "))") }
        for group in groups {
            let storage =
                switch group.owningUserID {
                case user.userID?: "own storage"
                case let owner?: "files go to user \(owner)"
                case nil: "no storage for new files"
                }
            lines.append(
                "  group      \(group.sharingGroupUUID) \(group.name ?? "")".trimmed
                    + ": \(group.permission.rawValue), "
                    + "since \(group.joinedAt.iso8601), \(storage)")
        }
        return lines
    }

    /// Lines about account switches; empty for most users.
    private var switches: [String] {
        var lines: [String] = []
        if let userAppID {
            lines.append(
                "  identity   \(userAppID), \(Quantity.of(Int(accountEpoch.rawValue), "switch", "switches")) so far; "
                    + "\(Quantity.of(devicesWithGrant, "device")) with a grant")
        }
        for account in retiredAccounts {
            lines.append(
                "  former     \(account.accountType.rawValue) account \(account.providerUserID), until "
                    + "\(account.retiredAt.iso8601)")
        }
        for open in openSwitches {
            lines.append(
                "  switch     \(open.switchID) to a \(open.toAccountType.rawValue) account, begun \(open.begunAt.iso8601): "
                    + open.state)
        }
        if ownedFiles.withoutBytes > 0 {
            lines.append(
                "  no bytes   \(Quantity.of(ownedFiles.withoutBytes, "file")), until they are uploaded again")
        }
        return lines
    }
}

extension GroupDetails: Report {
    public var lines: [String] {
        var lines = [
            "group \(group.sharingGroupUUID)\(group.name.map { " “\($0)”" } ?? ""): master version "
                + "\(group.masterVersion), since \(group.createdAt.iso8601)"
                + (group.deleted ? "; ENDED" : "") + (imported ? "; imported from an older server" : ""),
            "  files      \(group.files) of \(Quantity.bytes(fileBytes)), and \(deletedFiles) deleted",
            "  waiting    \(Quantity.of(stagedChanges, "staged change")), "
                + Quantity.of(invitations.count, "open invitation"),
        ]
        if let restoreMark {
            let version = restoredMasterVersion.map { " at master version \($0)" } ?? ""
            lines.append("  restored   to an earlier state\(version): devices check the mark \(restoreMark)")
        }
        if let lastCommit {
            lines.append(
                "  last       commit of \(Quantity.of(lastCommit.changes, "change")) by user \(lastCommit.userID) on "
                    + "device \(lastCommit.deviceUUID)")
        }
        for member in members {
            let storage =
                switch member.owningUserID {
                case member.userID?: "own storage"
                case let owner?: "files go to user \(owner)"
                case nil: "no storage for new files"
                }
            lines.append(
                "  member     \(member.userID) \(member.name), \(member.accountType.rawValue): "
                    + "\(member.permission.rawValue), since \(member.joinedAt.iso8601), \(storage)")
        }
        for invitation in invitations {
            lines.append(
                "  invitation by user \(invitation.invitingUserID), \(invitation.permission.rawValue), for "
                    + "\(invitation.remainingAcceptors), until \(invitation.expiresAt.iso8601)")
        }
        return lines
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

extension String {
    /// The text without trailing blanks.
    fileprivate var trimmed: String {
        var text = self
        while text.last == " " { text.removeLast() }
        return text
    }
}
