import FoundationEssentials
import OpenSSLCrypto
import Providers
public import Store
public import SyncProtocol
public import Vault

/// Imports a SyncServerII database, users first, then one group after the other. It can be interrupted and repeated at
/// any time, even while the server is running: each user and each group is one transaction, and anything that has
/// changed here since its import stays unchanged. docs/operations.md contains the rules.
public struct Importer: Sendable {
    private let store: MetadataStore
    private let sealer: CredentialSealer
    private let isDryRun: Bool
    private let now: @Sendable () -> WireDate
    private let progress: @Sendable (ImportReport) -> Void

    /// - Parameter progress: called after each group.
    public init(
        into store: MetadataStore, sealer: CredentialSealer, isDryRun: Bool, now: @escaping @Sendable () -> WireDate,
        progress: @escaping @Sendable (ImportReport) -> Void = { _ in }
    ) {
        self.store = store
        self.sealer = sealer
        self.isDryRun = isDryRun
        self.now = now
        self.progress = progress
    }

    /// Imports everything that is new or changed.
    /// - Throws: ``SourceError``, ``StoreError``, ``CryptoError``; earlier imports remain.
    public func run(from source: inout SourceDatabase) throws -> ImportReport {
        var report = ImportReport(isDryRun: isDryRun)
        let users = try importUsers(from: &source, &report)
        try importGroups(from: &source, users, &report)
        for orphan in try source.orphans() {
            report.notes.append(
                ImportNote(orphan.table, "\(orphan.count) rows", .skipped, .belongsToNothing))
        }
        for file in try source.filesInSeveralGroups() {
            report.notes.append(ImportNote("FileIndex", file, .adjusted, .fileInTwoGroups))
        }
        return report
    }

    // MARK: Users

    private func importUsers(
        from source: inout SourceDatabase, _ report: inout ImportReport
    ) throws -> [Int64: UserHere] {
        var users: [Int64: UserHere] = [:]
        var accounts: [String: Int64] = [:]
        var seen: Set<Int64> = []
        var displaced: [ConvertedUser] = []
        var last: Int64 = 0
        while true {
            let page = try source.users(after: last)
            guard let end = page.last else { break }
            last = end.userId
            for row in page {
                seen.insert(row.userId)
                let devices = try source.devices(of: row.userId)
                guard let user = UserConversion.user(row, devices: devices, &report.notes) else { continue }
                if let first = accounts.updateValue(row.userId, forKey: "\(user.accountType) \(user.providerUserID)") {
                    report.notes.append(ImportNote("User", "\(row.userId)", .skipped, .accountListedTwice))
                    users[row.userId] = users[first]
                    continue
                }
                let decided = try decide(user)
                if case .add(isNumberFree: false) = decided {
                    displaced.append(user)
                } else if let userID = try takeOver(user, decided, &report) {
                    users[row.userId] = UserHere(userID: userID, accountType: user.accountType)
                }
            }
        }
        // Last, because their new numbers must not be those of other users of the source.
        for user in displaced {
            if let userID = try takeOver(user, .add(isNumberFree: false), &report) {
                users[user.source] = UserHere(userID: userID, accountType: user.accountType)
            }
        }
        let stillHere = try store.withSession { session in try session.importedUsersStillHere() }
        for (source, _) in stillHere where !seen.contains(source) {
            report.notes.append(ImportNote("User", "\(source)", .leftAlone, .removedAtSource))
        }
        return users
    }

    /// Writes one user, unless they have signed in here since the last import.
    /// - Returns: their number on this server; `nil` if they have left since then.
    private func takeOver(
        _ user: ConvertedUser, _ decided: UserPlan, _ report: inout ImportReport
    ) throws -> UserID? {
        let row = "\(user.source)"
        switch decided {
        case .removedHere:
            report.users.leftAlone += 1
            report.notes.append(ImportNote("User", row, .leftAlone, .removedHereSince))
            return nil
        case .signedInHere(let userID):
            report.users.leftAlone += 1
            report.notes.append(ImportNote("User", row, .leftAlone, .signedInHereSince))
            report.users.devicesAdded += try addDevices(of: user, as: userID)
            return userID
        case .unchanged(let userID):
            report.users.unchanged += 1
            report.users.devicesAdded += try addDevices(of: user, as: userID)
            report.users.pushTopics += try takeOverTopic(of: user, as: userID)
            return userID
        case .add(let isNumberFree):
            report.users.added += 1
            if !isNumberFree { report.notes.append(ImportNote("User", row, .adjusted, .userNumberTaken)) }
            report.users.devicesAdded += user.devices.count
            let userID = isDryRun ? UserID(user.source) : try write(user, over: nil)
            report.users.pushTopics += try takeOverTopic(of: user, as: userID)
            return userID
        case .update(let userID):
            report.users.updated += 1
            report.users.devicesAdded += try addDevices(of: user, as: userID)
            report.users.pushTopics += try takeOverTopic(of: user, as: userID)
            return isDryRun ? userID : try write(user, over: userID)
        }
    }

    private enum UserPlan {
        case add(isNumberFree: Bool)
        case update(UserID)
        case unchanged(UserID)
        case signedInHere(UserID)
        case removedHere
    }

    private func decide(_ user: ConvertedUser) throws -> UserPlan {
        try store.withSession { session in try plan(user, &session) }
    }

    private func plan(_ user: ConvertedUser, _ session: inout StoreSession) throws -> UserPlan {
        let memory = try session.importedUser(user.source)
        guard let here = try session.user(user.accountType, user.providerUserID, device: nil)?.user else {
            if memory != nil { return .removedHere }
            return .add(isNumberFree: try session.user(UserID(user.source)) == nil)
        }
        // A user who signed up here without the import, or again, needs no data from the older server.
        guard let memory, memory.userID == here.userID,
            try session.credentialsVersion(of: here.userID) == memory.credentialsVersion
        else { return .signedInHere(here.userID) }
        var stored: StoredCredentials?
        if let sealed = try session.credentials(of: here.userID) {
            // A record that cannot be opened counts as absent: the older server's record replaces it.
            stored = try? sealer.open(sealed.record, from: .user(here.userID))
        }
        let isSame =
            (user.credentials == nil || stored == user.credentials) && here.displayName == user.displayName
            && here.cloudFolderName == user.cloudFolderName
        return isSame ? .unchanged(here.userID) : .update(here.userID)
    }

    private func write(_ user: ConvertedUser, over known: UserID?) throws -> UserID {
        try store.transaction { session in
            let userID: UserID
            if let known {
                userID = known
                try session.updateImportedUser(
                    known, displayName: user.displayName, cloudFolderName: user.cloudFolderName)
            } else {
                userID = try session.addImportedUser(
                    user.accountType, user.providerUserID, displayName: user.displayName,
                    cloudFolderName: user.cloudFolderName, preferred: UserID(user.source), at: now())
            }
            if let credentials = user.credentials {
                let record = try sealer.seal(credentials, for: .user(userID))
                try session.storeCredentials(
                    NewCredentials(record, hasOfflineAccess: credentials.hasOfflineAccess, replaced: .obsolete),
                    of: userID)
            }
            _ = try session.addImportedDevices(user.devices, of: userID, at: now())
            try session.rememberImport(of: user.source, as: userID, at: now())
            return userID
        }
    }

    private func addDevices(of user: ConvertedUser, as userID: UserID) throws -> Int {
        guard !isDryRun, !user.devices.isEmpty else { return 0 }
        return try store.transaction { session in
            try session.addImportedDevices(user.devices, of: userID, at: now())
        }
    }

    /// Imports the topic through which SNS notifies the user's devices.
    /// - Returns: 1 if there is such a topic; otherwise 0.
    private func takeOverTopic(of user: ConvertedUser, as userID: UserID) throws -> Int {
        guard let topic = user.pushTopicARN else { return 0 }
        if !isDryRun { try store.transaction { session in try session.storePushTopic(topic, of: userID) } }
        return 1
    }

    // MARK: Groups

    private func importGroups(
        from source: inout SourceDatabase, _ users: [Int64: UserHere], _ report: inout ImportReport
    ) throws {
        var seen: Set<SharingGroupUUID> = []
        var last = ""
        while true {
            let page = try source.groups(after: last)
            guard let end = page.last else { break }
            last = end.sharingGroupUUID
            for row in page {
                if let uuid = SharingGroupUUID(row.sharingGroupUUID), !seen.insert(uuid).inserted {
                    report.notes.append(
                        ImportNote("SharingGroup", row.sharingGroupUUID, .skipped, .groupListedTwice))
                    continue
                }
                try takeOver(try source.contents(of: row), users, &report)
                progress(report)
            }
        }
    }

    private func takeOver(
        _ source: SourceGroupContents, _ users: [Int64: UserHere], _ report: inout ImportReport
    ) throws {
        var conversion = GroupConversion(source, users: users)
        guard let group = conversion.group() else {
            report.notes += conversion.notes
            return
        }
        var workConversion = WorkConversion(of: group, source, users: users, at: now())
        let work = workConversion.work()
        let digest = try Self.digest(of: group)
        let outcome = try write(group, work, digest)
        switch outcome.takeover {
        case .added: report.groups.added += 1
        case .updated: report.groups.updated += 1
        case .unchanged: report.groups.unchanged += 1
        case .changedHere, .foreign:
            report.groups.leftAlone += 1
            report.notes.append(
                ImportNote(
                    "SharingGroup", group.groupUUID.rawValue, .leftAlone,
                    outcome.takeover == .foreign ? .groupMadeHere : .changedHereSince))
            return
        }
        if outcome.takeover != .unchanged { report.groups.filesWritten += group.files.count }
        report.groups.stagedChangesAdded += outcome.uploads
        report.groups.invitationsAdded += outcome.invitations
        report.notes += conversion.notes + workConversion.notes
    }

    private func write(
        _ group: ImportedGroup, _ work: ImportedWork, _ digest: [UInt8]
    ) throws -> (takeover: GroupTakeover, uploads: Int, invitations: Int) {
        guard !isDryRun else {
            let takeover = try store.withSession { try $0.takeover(of: group.groupUUID, digest: digest) }
            let isNew = takeover == .added
            return (takeover, isNew ? work.uploads.count : 0, isNew ? work.invitations.count : 0)
        }
        return try store.transaction { session in
            try session.takeOver(group, work, digest: digest, at: now())
        }
    }

    /// A digest that changes when anything visible to members changes at the source.
    private static func digest(of group: ImportedGroup) throws -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys]
        return IncrementalDigest.digest(of: [UInt8](try encoder.encode(group)), .sha256)
    }
}
