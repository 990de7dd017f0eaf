import Foundation
import MariaDB
import SyncProtocol
import TestSupport

@testable import Store

/// The test's own empty, migrated database, with a store over it, and shortcuts for common steps.
struct StoreFixture: Sendable {
    let settings: ConnectionSettings
    let store: MetadataStore

    init(connections: Int = 10, lockWait: Duration = .seconds(10)) throws {
        var settings = try ScratchDatabase.shared().makeDatabase { settings in
            var runner = try MigrationRunner(settings, leaseOwner: "test")
            _ = try runner.migrate()
        }
        settings.lockWaitTimeout = lockWait
        self.settings = settings
        store = MetadataStore(
            pool: ConnectionPool(settings: settings, maximumConnections: connections, leaseTimeout: .seconds(30)),
            pause: { Thread.sleep(forTimeInterval: Double($0.components.attoseconds) / 1e18) })
        store.open()
    }

    /// Every row of every table with users' data, as one comparable value.
    func contents() throws -> [String: Int64] {
        var connection = try Connection(settings)
        var sums: [String: Int64] = [:]
        try connection.query(
            """
            CHECKSUM TABLE users, devices, sharing_groups, memberships, invitations, files, staged_changes, outbox,
                           exchanged_codes, batches, commits, commit_members
            """
        ) { (row) throws(MariaDBError) in sums[try row.text(0)] = try row.int(1) }
        return sums
    }

    /// The number of rows that a query counts.
    func count(_ sql: StaticString, _ values: [Value] = []) throws -> Int {
        var connection = try Connection(settings)
        var count = -1
        try connection.query(SQL(stringLiteral: sql), values) { (row) throws(MariaDBError) in
            count = Int(try row.int(0))
        }
        return count
    }

    // MARK: Users and groups

    func addUser(_ type: AccountType = .google, _ name: String = "Somebody") throws -> UserID {
        try store.transaction { session in
            try session.addUser(
                type, UUID().uuidString, displayName: name, cloudFolderName: type == .google ? "Folder" : nil, at: noon)
        }
    }

    func addGroup(of creator: UserID, name: String? = nil) throws -> SharingGroupUUID {
        let group = SharingGroupUUID(UUID().uuidString)!
        try store.transaction { session in try session.addGroup(group, name: name, creator: creator, at: noon) }
        return group
    }

    func membership(of user: UserID, in group: SharingGroupUUID) throws -> Membership? {
        try store.withSession { try $0.membership(of: user, in: group) }
    }

    func masterVersion(of group: SharingGroupID) throws -> Int64 {
        try store.transaction { try $0.lockMasterVersionExclusive(of: group) }.rawValue
    }

    /// A user with storage, alone in a group, with a device.
    func addOwner(_ type: AccountType = .google) throws -> Member {
        let user = try addUser(type)
        return try member(user, of: addGroup(of: user))
    }

    func member(_ user: UserID, of group: SharingGroupUUID) throws -> Member {
        Member(
            fixture: self, user: user, group: group,
            area: StagingArea(
                userID: user, deviceUUID: DeviceUUID(UUID().uuidString)!,
                groupID: try membership(of: user, in: group)!.groupID))
    }

    /// Adds a user without storage to the group of `inviter`, whose storage they use.
    func addGuest(of inviter: Member, owningUser: UserID? = nil, _ permission: Permission = .write) throws -> Member {
        let user = try addUser(.facebook)
        try store.transaction { session in
            try session.addMember(
                user, to: inviter.area.groupID, permission: permission, owningUserID: owningUser ?? inviter.user,
                invitation: nil, at: noon)
        }
        return try member(user, of: inviter.group)
    }
}

/// A user on one device in one group.
struct Member: Sendable {
    var fixture: StoreFixture
    var user: UserID
    var group: SharingGroupUUID
    var area: StagingArea

    var store: MetadataStore { fixture.store }

    func owningUser() throws -> OwningUser? { try fixture.membership(of: user, in: group)?.owningUser }

    /// Stages `change` as UploadFile does, and returns the replaced change.
    @discardableResult
    func stage(_ change: StagedChange, at time: WireDate = noon) throws -> StagedChange? {
        try store.transaction { session in
            _ = try session.lockMasterVersionShared(of: area.groupID)
            if try session.stageFirst(change, in: area, at: time) { return nil }
            let before = try session.claimStaging(of: change.fileUUID, in: area, at: time)
            try session.stage(change, in: area, at: time)
            return before
        }
    }

    /// Commits everything that is staged, from the current master version.
    @discardableResult
    func commit(keepingReplacedFor graceSeconds: Int64 = 0) throws -> Int32 {
        try store.transaction { session in
            let version = try session.lockMasterVersionExclusive(of: area.groupID)
            let owner = try session.membership(of: user, in: group)?.owningUser
            _ = try session.advanceMasterVersion(of: area.groupID, from: version)
            return try session.commitStaged(
                in: area, owningUser: owner, as: MasterVersion(version.rawValue + 1), keepingReplacedFor: graceSeconds,
                at: noon)
        }
    }

    /// Stages and commits version 0 of a new file.
    @discardableResult
    func addFile(_ file: FileUUID = someFile(), object: String = UUID().uuidString) throws -> FileUUID {
        try stage(.upload(of: file, version: 0, object: object, owner: owningUser()!))
        try commit()
        return file
    }

    func file(_ file: FileUUID) throws -> FileRecord? {
        try store.withSession { try $0.file(file, in: area.groupID) }
    }

    func staged() throws -> [StagedChange] { try store.withSession { try $0.stagedChanges(in: area) } }

    /// Objects that the outbox is due to delete.
    func objectsToDelete() throws -> Set<String> {
        var connection = try Connection(fixture.settings)
        var objects: Set<String> = []
        try connection.query("SELECT object_id FROM outbox WHERE kind = 'deleteObject'") { (row) throws(MariaDBError) in
            objects.insert(try row.text(0))
        }
        return objects
    }
}

extension StagedChange {
    /// A staged file version with all properties.
    static func upload(
        of file: FileUUID, version: Int32, object: String, owner: OwningUser, kind: Kind = .upload,
        metaData: (version: Int32, contents: String)? = nil
    ) -> StagedChange {
        var change = StagedChange(fileUUID: file, kind: kind)
        change.createdAt = version == 0 ? noon : nil
        change.updatedAt = noon
        change.mimeType = MIMEType("text/plain")
        change.fileVersion = FileVersion(version)
        change.fileGroupUUID = version == 0 ? FileGroupUUID("Group of files") : nil
        change.content = StoredContent(
            owningUser: owner, checkSum: CheckSum("b10a8db164e0754105b7a99be72e3fe5")!,
            sha256: [UInt8](repeating: 7, count: 32), sizeBytes: 11, objectID: object, objectRevision: "r\(version)",
            providerHash: nil)
        change.appMetaData = metaData?.contents
        change.appMetaDataVersion = metaData.map { AppMetaDataVersion($0.version) }
        return change
    }

    static func metaData(of file: FileUUID, version: Int32, _ contents: String = "{}") -> StagedChange {
        var change = StagedChange(fileUUID: file, kind: .metadata)
        change.appMetaData = contents
        change.appMetaDataVersion = AppMetaDataVersion(version)
        return change
    }

    static func deletion(of file: FileUUID, version: Int32) -> StagedChange {
        var change = StagedChange(fileUUID: file, kind: .deletion)
        change.fileVersion = FileVersion(version)
        return change
    }
}

func someFile() -> FileUUID { FileUUID(UUID().uuidString)! }

/// The fixed time of all tests.
let noon = WireDate(secondsSince1970: 1_800_000_000)

/// The time `seconds` after noon.
func noon(plus seconds: Int64) -> WireDate { WireDate(secondsSince1970: noon.secondsSince1970 + seconds) }

/// The subject of leased work, by kind.
extension OutboxItem {
    var objectID: String? {
        switch work {
        case .inStorage(.deleteObject(let object), _): object.objectID
        case .inStorage(.writeWarningFile(let objectID), _): objectID
        case .inStorage(.hashObject(let objectID), _): objectID
        case .inStorage(.writeIndexPage, _), .inStorage(.writeManifest, _), .inStorage(.readManifests, _), .sendPush,
            .removePushTopic, .revokeGrant, .incomplete:
            nil
        }
    }
    var objectNames: [String] {
        if case .inStorage(.deleteObject(let object), _) = work { object.names } else { [] }
    }
    var push: PushOrder? { if case .sendPush(let order) = work { order } else { nil } }
    var grant: AbandonedGrant? { if case .revokeGrant(let grant) = work { grant } else { nil } }
}
