import MariaDB
import SyncProtocol
import TestSupport
import Testing

@testable import Store

@Suite("Staged changes")
struct StagingTests {
    private let fixture: StoreFixture
    private var store: MetadataStore { fixture.store }
    private let owner: Member
    private let storage: OwningUser

    init() throws {
        fixture = try StoreFixture()
        owner = try fixture.addOwner()
        storage = OwningUser(userID: owner.user, storageType: .google)
    }

    @Test("A staged upload is read back with every field, present or absent [333] [335]")
    func everyField() throws {
        let file = someFile()
        var change = StagedChange.upload(of: file, version: 0, object: "o1", owner: storage, metaData: (0, "{\"ü\":1}"))
        change.content?.providerHash = "quick"
        #expect(try owner.stage(change) == nil)
        #expect(try owner.staged() == [change])
        #expect(try store.withSession { try $0.stagedChange(of: file, in: owner.area) } == change)

        // Without each optional field, one at a time.
        change.appMetaData = nil
        change.appMetaDataVersion = nil
        change.fileGroupUUID = nil
        change.createdAt = nil
        change.content?.objectRevision = nil
        change.content?.providerHash = nil
        change.content?.sha256 = nil
        change.content?.sizeBytes = nil
        try owner.stage(change)
        #expect(try owner.staged() == [change])
    }

    @Test("Metadata changes and deletions have no content [333]")
    func withoutContent() throws {
        let changes = [StagedChange.metaData(of: someFile(), version: 3), .deletion(of: someFile(), version: 2)]
        for change in changes { try owner.stage(change) }

        #expect(try owner.staged() == changes.sorted { $0.fileUUID < $1.fileUUID })
    }

    @Test("A staged upload without a checksum is reported as corrupt, and ignored everywhere [333]")
    func uploadWithoutCheckSum() throws {
        try owner.stage(.upload(of: someFile(), version: 0, object: "o", owner: storage))
        var connection = try Connection(fixture.settings)
        try connection.execute("UPDATE staged_changes SET check_sum = NULL")

        #expect { try owner.staged() } throws: { error in
            guard case StoreError.corrupt(table: "staged_changes", column: "check_sum") = error else { return false }
            return true
        }
    }

    @Test("An incomplete row cannot be written [333]")
    func missingFields() throws {
        var connection = try Connection(fixture.settings)
        #expect(throws: MariaDBError.self) {
            try connection.execute(
                "INSERT INTO staged_changes (user_id, device_uuid, sharing_group_id) VALUES (1, 'd', 1)")
        }
        #expect(throws: MariaDBError.self) {
            try connection.execute(
                """
                INSERT INTO staged_changes (user_id, device_uuid, sharing_group_id, file_uuid, kind, staged_at)
                VALUES (1, 'd', 1, 'f', 'other', '2026-01-01 00:00:00')
                """)
        }
    }

    @Test("A listing contains only one user's changes on one device in one group [333]")
    func areas() throws {
        let otherDevice = try fixture.member(owner.user, of: owner.group)
        let otherGroup = try fixture.member(owner.user, of: fixture.addGroup(of: owner.user))
        let guest = try fixture.addGuest(of: owner)
        let areas = [owner, otherDevice, otherGroup, guest]
        #expect(try owner.staged() == [])

        let file = someFile()
        for (number, member) in areas.enumerated() {
            try member.stage(.upload(of: file, version: 0, object: "o\(number)", owner: storage))
            try member.stage(.deletion(of: someFile(), version: Int32(number)))
        }

        for (number, member) in areas.enumerated() {
            let staged = try member.staged()
            #expect(staged.count == 2)
            #expect(staged.compactMap(\.content?.objectID) == ["o\(number)"])
        }
        try store.transaction { try $0.unstage(file, in: owner.area) }
        #expect(try areas.map { try $0.staged().count } == [1, 2, 2, 2])
    }

    @Test("A claim returns the previously staged change; a claim that is rolled back leaves no trace")
    func claim() throws {
        let file = someFile()
        let first = StagedChange.upload(of: file, version: 0, object: "first", owner: storage)
        struct Undo: Error {}

        #expect(throws: Undo.self) {
            try store.transaction { session in
                #expect(try session.claimStaging(of: file, in: owner.area, at: noon) == nil)
                throw Undo()
            }
        }
        #expect(try owner.staged() == [])
        #expect(try owner.stage(first) == nil)
        let inOtherCase = FileUUID(file.rawValue.lowercased())!
        #expect(try owner.stage(.deletion(of: inOtherCase, version: 0)) == first)
        #expect(try owner.staged().map(\.kind) == [.deletion])
    }

    @Test("If several requests stage the same file at once, each sees what the previous one staged")
    func twins() throws {
        for _ in 0..<5 {
            let file = someFile()

            let outcomes = concurrently(6) { number in
                try owner.stage(.upload(of: file, version: 0, object: "object \(number)", owner: storage))?
                    .content?.objectID
            }

            #expect(outcomes.failures().isEmpty)
            // A chain: one begins, and each of the others replaces another's object.
            let replaced = outcomes.successes()
            #expect(replaced.filter { $0 == nil }.count == 1)
            #expect(Set(replaced).count == 6)
            let last = try store.withSession { try $0.stagedChange(of: file, in: owner.area)?.content?.objectID }
            #expect(!replaced.contains(last))
        }
    }

    @Test("The first staging writes only if nothing is staged, in any letter case of the file's UUID")
    func stageFirst() throws {
        let file = FileUUID("ABCDEF01-2345-4678-9abc-def012345678")!
        let first = StagedChange.upload(of: file, version: 0, object: "first", owner: storage)
        let second = StagedChange.deletion(of: FileUUID(file.rawValue.lowercased())!, version: 0)

        #expect(try store.transaction { try $0.stageFirst(first, in: owner.area, at: noon) })
        #expect(try !store.transaction { try $0.stageFirst(second, in: owner.area, at: noon) })

        #expect(try owner.staged() == [first])
    }

    @Test("Staging for a master version writes only if the group has that version, and holds it")
    func stageFirstFromVersion() throws {
        let change = { StagedChange.upload(of: someFile(), version: 0, object: someFile().rawValue, owner: storage) }
        let first = change()
        var settings = fixture.settings
        settings.lockWaitTimeout = .seconds(1)
        let other = MetadataStore(
            pool: ConnectionPool(settings: settings, maximumConnections: 2, leaseTimeout: .seconds(10)),
            pause: { _ in })
        other.open()

        try store.transaction { session throws in
            #expect(try session.stageFirst(first, in: owner.area, from: MasterVersion(0), at: noon))
            #expect(try !session.stageFirst(first, in: owner.area, from: MasterVersion(0), at: noon))
            #expect(try !session.stageFirst(change(), in: owner.area, from: MasterVersion(1), at: noon))
            // Others may stage meanwhile, but not commit.
            try other.transaction { session throws in
                #expect(try session.stageFirst(change(), in: owner.area, from: MasterVersion(0), at: noon))
            }
            #expect {
                try other.withSession { try $0.advanceMasterVersion(of: owner.area.groupID, from: MasterVersion(0)) }
            } throws: { if case StoreError.contention = $0 { true } else { false } }
        }

        #expect(try owner.staged().count == 2)
        try store.withSession { _ = try $0.execute("UPDATE sharing_groups SET is_deleted = TRUE", []) }
        #expect(
            try !store.transaction { try $0.stageFirst(change(), in: owner.area, from: MasterVersion(0), at: noon) })
    }

    @Test("Different files are staged concurrently without blocking each other")
    func differentFiles() throws {
        var settings = fixture.settings
        settings.lockWaitTimeout = .seconds(3)
        // Without retries: any deadlock or lock timeout is an error here.
        let pool = ConnectionPool(settings: settings, maximumConnections: 8, leaseTimeout: .seconds(10))
        let single = MetadataStore(pool: pool, pause: { _ in Issue.record("an attempt was repeated") })
        single.open()

        let outcomes = concurrently(8) { number in
            for round in 0..<10 {
                let change = StagedChange.upload(
                    of: someFile(), version: 0, object: "\(number)/\(round)", owner: storage)
                try single.transaction { session in
                    _ = try session.membership(of: owner.user, in: owner.group)
                    _ = try session.lockMasterVersionShared(of: owner.area.groupID)
                    _ = try session.file(change.fileUUID, in: owner.area.groupID)
                    if round.isMultiple(of: 2) {
                        #expect(try session.stageFirst(change, in: owner.area, at: noon))
                    } else {
                        _ = try session.claimStaging(of: change.fileUUID, in: owner.area, at: noon)
                        try session.stage(change, in: owner.area, at: noon)
                    }
                }
            }
        }

        #expect(outcomes.failures().isEmpty)
        #expect(try owner.staged().count == 80)
    }

    @Test("While a transaction stages one file, another file is staged from start to end")
    func otherFileMeanwhile() throws {
        let storage = storage
        try store.transaction { session in
            _ = try session.lockMasterVersionShared(of: owner.area.groupID)
            _ = try session.claimStaging(of: someFile(), in: owner.area, at: noon)
            // Uses another connection; blocking would end in its lock timeout.
            for _ in 0..<10 {
                try owner.stage(.upload(of: someFile(), version: 0, object: "o", owner: storage))
            }
        }
        #expect(try owner.staged().count == 11)
    }

    // MARK: Abandoned changes

    private func withdraw(before time: WireDate, limit: Int = 100) throws -> Int {
        try store.transaction { try $0.withdrawAbandoned(stagedBefore: time, limit: limit, at: noon(plus: 500)) }
    }

    @Test("Uncommitted changes are withdrawn once they are old, and their objects are deleted")
    func abandoned() throws {
        try owner.stage(.upload(of: someFile(), version: 0, object: "old", owner: storage), at: noon)
        try owner.stage(.metaData(of: someFile(), version: 0), at: noon)
        let young = StagedChange.upload(of: someFile(), version: 0, object: "young", owner: storage)
        try owner.stage(young, at: noon(plus: 10))

        #expect(try withdraw(before: noon) == 0)
        #expect(try withdraw(before: noon(plus: 10)) == 2)

        #expect(try owner.staged() == [young])
        #expect(try owner.objectsToDelete() == ["old"])
    }

    @Test("A withdrawal processes a bounded number of changes, and skips those that are being staged")
    func abandonedBounds() throws {
        let files = (0..<4).map { _ in someFile() }
        for file in files { try owner.stage(.metaData(of: file, version: 0)) }

        try store.transaction { session in
            _ = try session.claimStaging(of: files[0], in: owner.area, at: noon)
            #expect(try withdraw(before: noon(plus: 1), limit: 2) == 2)
            #expect(try withdraw(before: noon(plus: 1), limit: 2) == 1)
            #expect(try withdraw(before: noon(plus: 1), limit: 2) == 0)
        }
        #expect(try owner.staged().map(\.fileUUID) == [files[0]])
    }

    @Test("A change staged on another node during its user's removal is withdrawn, and nothing else")
    func stagedByStrangers() throws {
        let staying = StagedChange.upload(of: someFile(), version: 0, object: "staying", owner: storage)
        try owner.stage(staying, at: noon(plus: 5))
        let guest = try fixture.addGuest(of: owner)
        try guest.stage(.upload(of: someFile(), version: 0, object: "early", owner: storage), at: noon)
        try guest.stage(.upload(of: someFile(), version: 0, object: "late", owner: storage), at: noon(plus: 5))
        func withdraw() throws -> Int {
            try store.transaction { try $0.withdrawStagedByStrangers(since: noon(plus: 5), limit: 100, at: noon) }
        }
        #expect(try withdraw() == 0)

        // The result of the other node's transaction, which excludes changes staged meanwhile.
        _ = try store.transaction { session in
            try session.execute("DELETE FROM memberships WHERE user_id = ?", [.int(guest.area.userID.rawValue)])
        }

        #expect(try withdraw() == 1)
        #expect(try owner.objectsToDelete() == ["late"])
        #expect(try owner.staged() == [staying])
        #expect(try withdraw() == 0)
    }
}
