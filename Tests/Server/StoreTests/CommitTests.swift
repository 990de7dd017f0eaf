import MariaDB
import SyncProtocol
import TestSupport
import Testing

@testable import Store

@Suite("Commits")
struct CommitTests {
    private let fixture: StoreFixture
    private var store: MetadataStore { fixture.store }
    private let owner: Member
    private let storage: OwningUser

    init() throws {
        fixture = try StoreFixture()
        owner = try fixture.addOwner()
        storage = OwningUser(userID: owner.user, storageType: .google)
    }

    private func upload(
        _ file: FileUUID, _ version: Int32, _ object: String = someFile().rawValue, kind: StagedChange.Kind = .upload,
        metaData: (version: Int32, contents: String)? = nil, by member: Member? = nil
    ) throws {
        try (member ?? owner).stage(
            .upload(of: file, version: version, object: object, owner: storage, kind: kind, metaData: metaData))
    }

    private var masterVersion: Int64 { get throws { try fixture.masterVersion(of: owner.area.groupID) } }

    // MARK: Effects of each kind

    @Test("A new file is committed with everything that was staged, and belongs to its effective owner [328]")
    func newFile() throws {
        let file = someFile()
        try upload(file, 0, "o1", metaData: (0, "{\"ü\": \"🦉\"}"))

        #expect(try owner.commit() == 1)

        let expected = FileRecord(
            fileUUID: file, owningUser: storage, deviceUUID: owner.area.deviceUUID, createdAt: noon, updatedAt: noon,
            mimeType: MIMEType("text/plain")!, appMetaData: "{\"ü\": \"🦉\"}", appMetaDataVersion: AppMetaDataVersion(0),
            isDeleted: false, fileVersion: .first, checkSum: CheckSum("b10a8db164e0754105b7a99be72e3fe5"),
            sizeBytes: 11,
            objectID: "o1", providerHash: nil)
        #expect(try fields(of: owner.file(file)) == fields(of: expected))
        #expect(try owner.staged() == [])
        #expect(try masterVersion == 1)
        #expect(try owner.objectsToDelete() == [])
        #expect(try fixture.count("SELECT changed_at_master_version FROM files") == 1)
    }

    /// A record without the properties that this test ignores, so that the record may gain fields.
    private func fields(of file: FileRecord?) -> [String] {
        guard let file else { return [] }
        return [
            "\(file.fileUUID)", "\(file.owningUser)", "\(file.deviceUUID)", "\(file.createdAt)", "\(file.updatedAt)",
            "\(file.mimeType)",
            "\(file.appMetaData ?? "-")", "\(file.appMetaDataVersion?.rawValue ?? -1)", "\(file.isDeleted)",
            "\(file.fileVersion)", "\(file.checkSum?.rawValue ?? "-")", "\(file.sizeBytes ?? -1)", file.objectID ?? "-",
            file.providerHash ?? "-",
        ]
    }

    @Test("The next version replaces contents, device and object, keeps the rest, and deletes the old object [328]")
    func nextVersion() throws {
        let file = someFile()
        try upload(file, 0, "o1", metaData: (0, "old"))
        try owner.commit()
        let otherDevice = try fixture.member(owner.user, of: owner.group)
        try upload(file, 1, "o2", by: otherDevice)

        #expect(try otherDevice.commit() == 1)

        let record = try #require(try owner.file(file))
        #expect(record.fileVersion == FileVersion(1))
        #expect(record.deviceUUID == otherDevice.area.deviceUUID)
        #expect(record.objectID == "o2")
        #expect(record.appMetaData == "old")
        #expect(record.createdAt == noon)
        #expect(try owner.objectsToDelete() == ["o1"])
        #expect(try fixture.count("SELECT COUNT(*) FROM files WHERE file_group_uuid = 'group of FILES'") == 1)
    }

    @Test("A version in the same object as the previous one leaves that object in place")
    func sameObject() throws {
        let file = try owner.addFile(object: "o1")
        try upload(file, 1, "o1")

        try owner.commit()

        #expect(try owner.objectsToDelete() == [])
    }

    @Test("The next version may change the metadata to the next version, or empty them")
    func nextVersionWithMetaData() throws {
        let file = try owner.addFile()
        try upload(file, 1, metaData: (0, "first"))
        try owner.commit()
        #expect(try owner.file(file)?.appMetaData == "first")
        try upload(file, 2, metaData: (1, ""))
        try owner.commit()

        #expect(try owner.file(file)?.appMetaData == "")
        #expect(try owner.file(file)?.appMetaDataVersion == AppMetaDataVersion(1))
    }

    @Test("A metadata change changes nothing else")
    func metaData() throws {
        let file = try owner.addFile(object: "o1")
        let before = try #require(try owner.file(file))
        let otherDevice = try fixture.member(owner.user, of: owner.group)
        try otherDevice.stage(.metaData(of: file, version: 0, "new"))

        #expect(try otherDevice.commit() == 1)

        var expected = before
        expected.appMetaData = "new"
        expected.appMetaDataVersion = AppMetaDataVersion(0)
        #expect(try owner.file(file) == expected)
        #expect(try owner.objectsToDelete() == [])
    }

    @Test("A deletion keeps the row and deletes the object; a second one is accepted and does nothing [F52]")
    func deletion() throws {
        let file = try owner.addFile(object: "o1")
        try owner.stage(.deletion(of: file, version: 0))

        #expect(try owner.commit() == 1)

        let record = try #require(try owner.file(file))
        #expect(record.isDeleted)
        #expect(record.objectID == nil)
        #expect(record.fileVersion == .first)
        #expect(record.deviceUUID == owner.area.deviceUUID)
        #expect(try owner.objectsToDelete() == ["o1"])
        try owner.stage(.deletion(of: file, version: 0))
        #expect(try owner.commit() == 1)
        #expect(try fixture.count("SELECT COUNT(*) FROM outbox") == 1)
    }

    @Test("An undelete restores a deleted file with the next version")
    func undelete() throws {
        let file = try owner.addFile(object: "o1")
        try owner.stage(.deletion(of: file, version: 0))
        try owner.commit()
        try upload(file, 1, "o2", kind: .undelete)

        #expect(try owner.commit() == 1)

        let record = try #require(try owner.file(file))
        #expect(!record.isDeleted)
        #expect(record.fileVersion == FileVersion(1))
        #expect(record.objectID == "o2")
        #expect(try owner.objectsToDelete() == ["o1"])
        #expect(try fixture.count("SELECT COUNT(*) FROM outbox") == 1)
    }

    @Test("All changes in one commit are counted, and the changes in other commits stay staged")
    func mixed() throws {
        let files = try (0..<3).map { _ in try owner.addFile() }
        let otherDevice = try fixture.member(owner.user, of: owner.group)
        try upload(someFile(), 0)
        try upload(files[0], 1)
        try owner.stage(.metaData(of: files[1], version: 0))
        try owner.stage(.deletion(of: files[2], version: 0))
        try upload(someFile(), 0, by: otherDevice)

        #expect(try owner.commit() == 4)

        #expect(try owner.staged() == [])
        #expect(try otherDevice.staged().count == 1)
        #expect(try masterVersion == 4)
    }

    @Test("A commit without staged changes counts 0, and the master version is incremented nevertheless")
    func nothingStaged() throws {
        #expect(try owner.commit() == 0)
        #expect(try masterVersion == 1)
    }

    @Test("A sharing user's new file is stored with the owner; the owner of a file never changes")
    func guest() throws {
        let guest = try fixture.addGuest(of: owner)
        let file = someFile()
        try upload(file, 0, by: guest)
        try guest.commit()
        #expect(try owner.file(file)?.owningUser == storage)

        // Without an effective owner, later versions and deletions can still be committed.
        var connection = try Connection(fixture.settings)
        try connection.execute(
            "UPDATE memberships SET owning_user_id = NULL WHERE user_id = ?", [.int(guest.user.rawValue)])
        try upload(file, 1, by: guest)
        #expect(try guest.commit() == 1)
        #expect(try owner.file(file)?.owningUser == storage)
    }

    // MARK: Rejections

    /// Expects that a commit is rejected and changes nothing, not even the master version.
    private func expectRefusal(_ refusal: CommitRefusal, by member: Member? = nil) throws {
        let before = try fixture.contents()
        #expect(throws: refusal) { try (member ?? owner).commit() }
        #expect(try fixture.contents() == before)
    }

    @Test("A new file must have version 0")
    func newFileWithOtherVersion() throws {
        let file = someFile()
        try upload(someFile(), 0)
        try upload(file, 1)

        try expectRefusal(.outdated(file))
    }

    @Test("An existing file must get its next version", arguments: [0, 2] as [Int32])
    func wrongNextVersion(version: Int32) throws {
        let file = try owner.addFile()
        try upload(file, version)

        try expectRefusal(.outdated(file))
    }

    @Test("A deleted file rejects plain uploads, metadata, and deletions of another version [F56]")
    func deletedFile() throws {
        let file = try owner.addFile()
        try owner.stage(.deletion(of: file, version: 0))
        try owner.commit()

        try upload(file, 1)
        try expectRefusal(.outdated(file))
        try owner.stage(.metaData(of: file, version: 0))
        try expectRefusal(.outdated(file))
        try owner.stage(.deletion(of: file, version: 1))
        try expectRefusal(.outdated(file))
    }

    @Test("Metadata must have the next version, alone and with an upload", arguments: [0, 2] as [Int32])
    func wrongMetaDataVersion(version: Int32) throws {
        let file = someFile()
        try upload(file, 0, metaData: (0, "first"))
        try owner.commit()

        try owner.stage(.metaData(of: file, version: version))
        try expectRefusal(.outdated(file))
        try upload(file, 1, metaData: (version, "x"))
        try expectRefusal(.outdated(file))
    }

    @Test("Changes to files that are not in the group are rejected", arguments: ["metadata", "deletion", "undelete"])
    func unknownFile(kind: String) throws {
        let file = someFile()
        switch kind {
        case "metadata": try owner.stage(.metaData(of: file, version: 0))
        case "deletion": try owner.stage(.deletion(of: file, version: 0))
        default: try upload(file, 0, kind: .undelete)
        }

        try expectRefusal(.outdated(file))
    }

    @Test("A file that is live in another group is rejected, and accepted once it is deleted there")
    func otherGroup() throws {
        let otherGroup = try fixture.member(owner.user, of: fixture.addGroup(of: owner.user))
        let file = try otherGroup.addFile()
        try upload(file, 0)

        try expectRefusal(.belongsElsewhere(file))
        try otherGroup.stage(.deletion(of: file, version: 0))
        try otherGroup.commit()
        #expect(try owner.commit() == 1)
    }

    @Test("If one of many new files is live in another group, the whole commit is rolled back")
    func oneOfManyInOtherGroup() throws {
        let otherGroup = try fixture.member(owner.user, of: fixture.addGroup(of: owner.user))
        let file = try otherGroup.addFile()
        for other in [someFile(), file, someFile()] { try upload(other, 0) }

        try expectRefusal(.belongsElsewhere(file))
        try otherGroup.stage(.deletion(of: file, version: 0))
        try otherGroup.commit()
        #expect(try owner.commit() == 3)
    }

    @Test("Metadata of a file that an older server keeps in two groups are committed together with new files")
    func fileInTwoGroups() throws {
        let otherGroup = try fixture.member(owner.user, of: fixture.addGroup(of: owner.user))
        let shared = try owner.addFile()
        var connection = try Connection(fixture.settings)
        try connection.execute(
            """
            INSERT INTO files (sharing_group_id, file_uuid, owning_user_id, storage_type, device_uuid, created_at,
                               updated_at, mime_type, file_version, changed_at_master_version)
            SELECT ?, file_uuid, owning_user_id, storage_type, device_uuid, created_at, updated_at, mime_type,
                   file_version, 0
              FROM files
            """, [.int(otherGroup.area.groupID.rawValue)])
        for file in [someFile(), someFile()] { try upload(file, 0) }
        try owner.stage(.metaData(of: shared, version: 0, "new"))

        #expect(try owner.commit() == 3)
        #expect(try owner.file(shared)?.appMetaData == "new")
    }

    @Test("If the same two files are committed to two groups at once, one gets both, and the other is rejected")
    func sameFilesAtOnce() throws {
        for _ in 0..<5 {
            let groups = try (0..<2).map { _ in try fixture.member(owner.user, of: fixture.addGroup(of: owner.user)) }
            let files = [someFile(), someFile()]
            for group in groups { for file in files { try upload(file, 0, by: group) } }

            let outcomes = concurrently(2) { number in
                do { return try groups[number].commit() } catch CommitRefusal.belongsElsewhere { return 0 }
            }

            #expect(outcomes.failures().isEmpty)
            #expect(outcomes.successes().sorted() == [0, 2])
        }
    }

    @Test("A new file without an effective owner, or in another owner's storage, is rejected")
    func ownerGone() throws {
        let guest = try fixture.addGuest(of: owner)
        let successor = try fixture.addUser()
        try upload(someFile(), 0, by: guest)
        var connection = try Connection(fixture.settings)

        try connection.execute(
            "UPDATE memberships SET owning_user_id = NULL WHERE user_id = ?", [.int(guest.user.rawValue)])
        try expectRefusal(.ownerGone, by: guest)
        try connection.execute(
            "UPDATE memberships SET owning_user_id = ? WHERE user_id = ?",
            [.int(successor.rawValue), .int(guest.user.rawValue)])
        try expectRefusal(.ownerGone, by: guest)
    }

    @Test("The next version of a file whose owner has left is rejected")
    func ownerOfFileGone() throws {
        let other = try fixture.addUser()
        let file = try owner.addFile()
        var connection = try Connection(fixture.settings)
        try connection.execute("UPDATE files SET owning_user_id = ?", [.int(other.rawValue)])
        try owner.stage(
            .upload(of: file, version: 1, object: "o", owner: OwningUser(userID: other, storageType: .google)))
        try connection.execute("DELETE FROM users WHERE user_id = ?", [.int(other.rawValue)])

        try expectRefusal(.ownerGone)
    }

    @Test("The next version of a file stays in its owner's storage; one in another member's is rejected")
    func otherOwner() throws {
        let other = try fixture.addUser()
        try store.transaction { session in
            try session.addMember(
                other, to: owner.area.groupID, permission: .write, owningUserID: nil, invitation: nil, at: noon)
        }
        let file = try owner.addFile()
        try owner.stage(
            .upload(of: file, version: 1, object: "o", owner: OwningUser(userID: other, storageType: .google)))

        try expectRefusal(.ownerGone)

        #expect(try owner.file(file)?.fileVersion == .first)
    }

    @Test("One invalid change rolls back the changes before and after it")
    func allOrNothing() throws {
        let files = [someFile(), someFile(), someFile()].sorted()
        let present = try owner.addFile(object: "present")
        try upload(files[0], 0)
        try upload(files[1], 3)
        try upload(files[2], 0)
        try upload(present, 1)

        try expectRefusal(.outdated(files[1]))
        #expect(try owner.staged().count == 4)
    }

    // MARK: Concurrency

    @Test("A change staged after the commit's first read is part of the commit")
    func stagedDuringCommit() throws {
        let file = someFile()
        let count = try store.transaction { session in
            // The first read determines what plain reads see.
            let membership = try session.membership(of: owner.user, in: owner.group)
            if try owner.staged().isEmpty { try upload(file, 0) }
            _ = try session.advanceMasterVersion(of: owner.area.groupID, from: MasterVersion(0))
            return try session.commitStaged(
                in: owner.area, owningUser: membership?.owningUser, as: MasterVersion(1), at: noon)
        }

        #expect(count == 1)
        #expect(try owner.file(file) != nil)
    }

    @Test("If devices commit next versions of the same file at once, exactly one succeeds, and nothing is lost")
    func commitRace() throws {
        let file = try owner.addFile(object: "v0")
        let devices = try (0..<6).map { _ in try fixture.member(owner.user, of: owner.group) }
        for (number, device) in devices.enumerated() { try upload(file, 1, "v1 of \(number)", by: device) }

        let outcomes = concurrently(6) { number in
            try store.transaction { session in
                let membership = try session.membership(of: owner.user, in: owner.group)
                guard
                    case .advanced(let version) = try session.advanceMasterVersion(
                        of: owner.area.groupID, from: MasterVersion(1))
                else { return false }
                _ = try session.commitStaged(
                    in: devices[number].area, owningUser: membership?.owningUser, as: version, at: noon)
                return true
            }
        }

        #expect(outcomes.failures().isEmpty)
        let winner = try #require(outcomes.successes().firstIndex(of: true))
        #expect(outcomes.successes().filter { $0 }.count == 1)
        #expect(try owner.file(file)?.objectID == "v1 of \(winner)")
        #expect(try owner.objectsToDelete() == ["v0"])
        #expect(try fixture.count("SELECT COUNT(*) FROM staged_changes") == 5)
    }

    @Test("A stale reply never contains the master version of the request")
    func namedVersionComesWhileWaiting() throws {
        for version in stride(from: Int64(0), to: 400, by: 2) {
            // The second names the version that the first is about to create.
            let outcomes = concurrently(2) { number in
                try store.transaction { session in
                    try session.advanceMasterVersion(
                        of: owner.area.groupID, from: MasterVersion(version + Int64(number)))
                }
            }.successes()

            #expect(outcomes.first == .advanced(to: MasterVersion(version + 1)))
            #expect(outcomes.last != .stale(current: MasterVersion(version + 1)))
            guard case .stale? = outcomes.last else { continue }
            _ = try store.transaction { session in
                try session.advanceMasterVersion(of: owner.area.groupID, from: MasterVersion(version + 1))
            }
        }
    }

    @Test("Devices that stage and commit in one group at the same time all succeed [F46] [F47]")
    func stageAndCommitTogether() throws {
        let devices = try (0..<4).map { _ in try fixture.member(owner.user, of: owner.group) }

        let outcomes = concurrently(4) { number in
            var committed: Int32 = 0
            for _ in 0..<5 {
                try upload(someFile(), 0, by: devices[number])
                committed += try devices[number].commit()
            }
            return committed
        }

        #expect(outcomes.failures().map { "\($0)" } == [])
        #expect(outcomes.successes() == [5, 5, 5, 5])
        #expect(try fixture.count("SELECT COUNT(*) FROM files") == 20)
        #expect(try masterVersion == 20)
    }

    // MARK: The stored commit

    private func remember(_ version: Int64, hash: UInt8 = 1) throws {
        try store.transaction { session in
            try session.remember(
                LastCommit(
                    userID: owner.user, deviceUUID: owner.area.deviceUUID,
                    requestHash: [UInt8](repeating: hash, count: 32), masterVersion: MasterVersion(version),
                    transferred: 3), of: owner.area.groupID)
        }
    }

    private func remembered() throws -> LastCommit? {
        try store.transaction { try $0.lastCommit(of: owner.area.groupID) }
    }

    @Test("The newest commit is stored with all its properties")
    func lastCommit() throws {
        #expect(try remembered() == nil)
        try owner.commit()
        try remember(1)

        #expect(
            try remembered()
                == LastCommit(
                    userID: owner.user, deviceUUID: owner.area.deviceUUID,
                    requestHash: [UInt8](repeating: 1, count: 32), masterVersion: MasterVersion(1), transferred: 3))
    }

    @Test("A stored commit becomes invalid as soon as another change has incremented the master version")
    func rememberedCommitVoid() throws {
        try owner.commit()
        try remember(1)
        _ = try store.transaction { try $0.advanceMasterVersion(of: owner.area.groupID, from: MasterVersion(1)) }

        #expect(try remembered() == nil)
        try remember(2, hash: 2)
        #expect(try remembered()?.requestHash == [UInt8](repeating: 2, count: 32))
    }

    @Test("A request that waited for an identical commit finds that commit")
    func rememberedDuringTransaction() throws {
        let found = try store.transaction { session in
            // The first read determines what plain reads see.
            _ = try session.membership(of: owner.user, in: owner.group)
            if try masterVersion == 0 {
                try owner.commit()
                try remember(1)
            }
            let advance = try session.advanceMasterVersion(of: owner.area.groupID, from: MasterVersion(0))
            #expect(advance == .stale(current: MasterVersion(1)))
            return try session.lastCommit(of: owner.area.groupID)
        }

        #expect(found?.masterVersion == MasterVersion(1))
        #expect(found?.transferred == 3)
    }
}
