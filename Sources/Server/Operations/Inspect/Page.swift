import Store
import SyncProtocol

/// A part of a list.
public struct Page<Item: Encodable>: Encodable {
    public var items: [Item]
    /// The value of `--after` for the next part; absent in the last part.
    public var nextAfter: String?

    /// - Parameters:
    ///   - items: up to one more than `limit`, to detect that there are more.
    ///   - key: the value by which the list is ordered.
    public init(_ items: [Item], limit: Int, key: (Item) -> String) {
        self.items = Array(items.prefix(limit))
        nextAfter = items.count > limit ? self.items.last.map(key) : nil
    }

    /// The table, and the option that continues the list.
    func lines(_ table: TextTable, of noun: String) -> [String] {
        if items.isEmpty { return ["no \(noun)"] }
        guard let nextAfter else { return table.lines }
        return table.lines + ["… more: --after \(nextAfter)"]
    }
}

extension Page: Report {
    public var lines: [String] {
        // By the type, because an empty array matches every element type.
        switch Item.self {
        case is ListedUser.Type: UserText.list(items as? [ListedUser] ?? [], self)
        case is ListedGroup.Type: GroupText.list(items as? [ListedGroup] ?? [], self)
        case is ListedFile.Type: FileText.list(items as? [ListedFile] ?? [], self)
        case is ListedWork.Type: JobText.list(items as? [ListedWork] ?? [], self)
        case is ListedSwitch.Type: SwitchText.list(items as? [ListedSwitch] ?? [], self)
        default: preconditionFailure("there is no table for these items")
        }
    }
}

enum UserText {
    /// Notes about the user: no offline access, limits that are near or reached.
    private static func notes(_ user: ListedUser) -> String {
        let near = user.quotas.filter(\.isNear).map { "\($0.quota) \($0.used)/\($0.limit)" }
        return ((user.hasOfflineAccess == false ? ["no offline access"] : []) + near).joined(separator: ", ")
    }

    static func list(_ users: [ListedUser], _ page: Page<some Encodable>) -> [String] {
        var table = TextTable("USER", "NAME", "ACCOUNT", "PROVIDER ID", "SINCE", "GROUPS", "DEVICES", "NOTES")
        for user in users {
            table.add(
                "\(user.userID)", user.name, user.accountType.rawValue, user.providerUserID,
                "\(user.createdAt.iso8601)",
                "\(user.groups)", "\(user.devices)", notes(user))
        }
        return page.lines(table, of: "users")
    }
}

enum GroupText {
    static func list(_ groups: [ListedGroup], _ page: Page<some Encodable>) -> [String] {
        var table = TextTable("GROUP", "NAME", "VERSION", "MEMBERS", "FILES", "SINCE", "")
        for group in groups {
            table.add(
                "\(group.sharingGroupUUID)", group.name ?? "", "\(group.masterVersion)", "\(group.members)",
                "\(group.files)", "\(group.createdAt.iso8601)", group.deleted ? "ended" : "")
        }
        return page.lines(table, of: "groups")
    }
}

enum FileText {
    static func list(_ files: [ListedFile], _ page: Page<some Encodable>) -> [String] {
        var table = TextTable("FILE", "VERSION", "TYPE", "BYTES", "OWNER", "STORAGE", "UPDATED", "")
        for file in files {
            table.add(
                "\(file.fileUUID)", "\(file.fileVersion)", file.mimeType, file.sizeBytes.map(String.init) ?? "",
                "\(file.owningUserID)", file.storageType.rawValue, "\(file.updatedAt.iso8601)",
                file.deleted ? "deleted" : "")
        }
        return page.lines(table, of: "files")
    }
}

enum JobText {
    static func list(_ jobs: [ListedWork], _ page: Page<some Encodable>) -> [String] {
        var table = TextTable("JOB", "KIND", "STATE", "USER", "NOT BEFORE", "ATTEMPTS", "REQUEST", "LAST ERROR")
        for job in jobs {
            table.add(
                "\(job.jobID)", job.kind.rawValue, job.state.rawValue, "\(job.userID)", "\(job.availableAt.iso8601)",
                "\(job.attempts)", job.requestID ?? "", job.lastError ?? "")
        }
        return page.lines(table, of: "jobs")
    }
}
