import Foundation
import MariaDB
import SyncProtocol
import TestSupport
import Testing

@testable import Store

/// The rows that a rebuild writes for groups, members and files.
@Suite("Rows of a rebuild")
struct RebuildTests {
    private let fixture: StoreFixture
    private var store: MetadataStore { fixture.store }
    private let group = SharingGroupUUID(UUID().uuidString)!
    private static let mode = RebuildMode(begunAt: noon, firstNewUser: UserID(1_000_000))

    init() throws {
        fixture = try StoreFixture()
        let store = fixture.store
        try store.withSession { try $0.executeScript("ALTER TABLE users AUTO_INCREMENT = 1000000") }
    }

    private func stand(_ version: Int64, at seconds: Int64 = 0) -> ManifestStand {
        ManifestStand(restoreMark: nil, masterVersion: MasterVersion(version), writtenAt: noon(plus: seconds))
    }

    private func member(
        _ number: Int64, _ permission: Permission = .write, isOwning: Bool = true, owner: Int64? = nil
    ) -> ManifestMember {
        ManifestMember(
            userID: UserID(number), identity: Self.identity(number), account: nil, name: "member \(number)",
            permission: permission, isOwning: isOwning, owningUserID: owner.map { UserID($0) }, joinedAt: noon)
    }

    /// The hash of a former user's account in these tests.
    private static func identity(_ number: Int64) -> [UInt8] { [UInt8](repeating: UInt8(number), count: 16) }

    private func file(
        _ uuid: FileUUID, version: Int32 = 0, owner: Int64 = 1, state: ManifestFile.State = .stored,
        device: DeviceUUID = DeviceUUID("11111111-2222-3333-4444-555555555555")!
    ) -> ManifestFile {
        ManifestFile(
            fileUUID: uuid, fileGroupUUID: FileGroupUUID("g"),
            owner: .init(userID: UserID(owner), storageType: .google), deviceUUID: device,
            fileVersion: FileVersion(version), mimeType: MIMEType("text/plain")!, createdAt: noon,
            updatedAt: noon, sizeBytes: 11, appMetaData: AppMetaData(version: .first, contents: "{}"), state: state,
            checkSumBytes: [1, 2, 3, 4, 5, 6, 7, 8])
    }

    /// Restores the group from a manifest.
    @discardableResult
    private func putBack(
        _ stand: ManifestStand, _ members: [ManifestMember], _ files: [ManifestFile],
        recognising people: [UserID: Int64] = [:]
    ) throws -> SharingGroupID {
        try store.transaction { session in
            let present = try session.rebuildGroup(group)
            let groupID = try session.put(
                back: RebuiltGroup(
                    groupUUID: group, name: "Album", createdAt: noon, stand: stand, salt: [1, 2, 3], isSigned: true),
                over: present?.groupID, mark: RestoreMark(UUID().uuidString)!, at: noon)
            let users = try session.put(
                back: members, storage: [:], in: groupID, otherGroups: { _ in [] },
                newcomers: session.newcomers(since: Self.mode),
                identity: { people[$0.userID].map(Self.identity) ?? [] }, random: { UUID().uuidString }, at: noon)
            for file in files {
                try session.put(
                    back: file, of: users[file.owner.userID] ?? file.owner.userID, in: groupID,
                    as: stand.masterVersion)
            }
            return groupID
        }
    }

    private func addPerson(_ type: AccountType = .google) throws -> UserRecord {
        let id = try fixture.addUser(type)
        return try #require(try store.withSession { try $0.user(id) })
    }

    private func pending(of user: UserID) throws -> [PendingFile] {
        try store.withSession { session in
            try session.pendingFiles(of: OwningUser(userID: user, storageType: .google), after: nil, limit: 10)
        }
    }

    private func attach(_ object: String, to file: PendingFile, of user: UserID) throws -> Bool {
        try store.transaction { session in
            try session.attach(
                FoundObject(
                    objectID: object, sizeBytes: 11, checkSum: CheckSum("b10a8db164e0754105b7a99be72e3fe5"),
                    providerHash: nil, revision: nil), to: file,
                of: OwningUser(userID: user, storageType: .google))
        }
    }

    private func come(_ user: UserRecord) throws {
        try store.transaction { session in
            try session.addRebuildVisit(of: user, isProvisional: false, at: noon)
            try session.endRebuildVisit(of: user.userID, at: noon)
        }
    }

    private func state() throws -> RebuildGroup {
        try #require(try store.transaction { try $0.rebuildGroup(group) })
    }

    @Test("A group is restored read-only with all members; absent members have accounts that no person can have")
    func create() throws {
        let alice = try addPerson()
        try putBack(
            stand(50), [member(1, .admin), member(2, .read, isOwning: false, owner: 1)], [file(someFile())],
            recognising: [alice.userID: 1])
        let present = try state()
        #expect(present.masterVersion == MasterVersion(50) && present.state == .restoring)
        #expect(present.applied == stand(50) && present.isUnchangedHere)
        let membership = try #require(try fixture.membership(of: alice.userID, in: group))
        // The member becomes an admin again once the group is complete.
        #expect(membership.permission == .read)
        #expect(try fixture.count("SELECT COUNT(*) FROM memberships WHERE permission = 'admin'") == 1)
        #expect(try fixture.count("SELECT COUNT(*) FROM users WHERE provider_user_id LIKE 'absent %'") == 1)
        #expect(
            try fixture.count(
                "SELECT COUNT(*) FROM sharing_groups WHERE restored_master_version = 50 AND restore_mark IS NOT NULL")
                == 1)
        #expect(try pending(of: alice.userID).count == 1)
    }

    @Test("A newer manifest keeps the objects of unchanged versions; changed versions wait for theirs")
    func advance() throws {
        let alice = try addPerson()
        let (kept, changed, ended) = (someFile(), someFile(), someFile())
        let people = [alice.userID: Int64(1)]
        let groupID = try putBack(
            stand(50), [member(1, .admin), member(2)], [file(kept), file(changed), file(ended)], recognising: people)
        for (index, file) in try pending(of: alice.userID).enumerated() {
            #expect(try attach("object \(index)", to: file, of: alice.userID))
        }
        try putBack(
            stand(52), [member(1, .admin)], [file(kept), file(changed, version: 1), file(ended, state: .deleted)],
            recognising: people)

        #expect(try state().masterVersion == MasterVersion(52))
        func record(_ uuid: FileUUID) throws -> FileRecord? {
            try store.withSession { try $0.file(uuid, in: groupID) }
        }
        #expect(try record(kept)?.objectID != nil)
        #expect(try record(changed)?.objectID == nil && record(changed)?.fileVersion == FileVersion(1))
        #expect(try record(ended)?.isDeleted == true && record(ended)?.objectID == nil)
        #expect(try pending(of: alice.userID).map(\.fileUUID) == [changed])
        // Devices that request the changes since the first manifest get these two files.
        #expect(try fixture.count("SELECT COUNT(*) FROM files WHERE changed_at_master_version > 50") == 2)
        #expect(try fixture.count("SELECT COUNT(*) FROM sharing_groups WHERE restored_master_version = 50") == 1)
        // The second member is gone, and so is the user who represented them.
        #expect(try fixture.count("SELECT COUNT(*) FROM memberships") == 1)
        #expect(try fixture.count("SELECT COUNT(*) FROM users") == 1)
    }

    @Test("A person takes the place of an absent member: membership, files, and those who use their storage")
    func seat() throws {
        let groupID = try putBack(
            stand(50), [member(1, .admin), member(2, isOwning: false, owner: 1)], [file(someFile())])
        let alice = try addPerson()
        let place = try #require(
            try store.withSession { try $0.absentMember(Self.identity(1), in: groupID) })
        #expect(place.formerUserID == UserID(1))
        #expect(try store.transaction { try $0.seat(alice, as: place) })
        // A place can be taken only once.
        #expect(try !store.transaction { try $0.seat(alice, as: place) })
        #expect(try store.withSession { try $0.absentMember(Self.identity(1), in: groupID) } == nil)
        #expect(try pending(of: alice.userID).count == 1)
        let membership = try #require(try fixture.membership(of: alice.userID, in: group))
        #expect(membership.owningUser?.userID == alice.userID)
        let values: [Value] = [.int(alice.userID.rawValue)]
        #expect(try fixture.count("SELECT COUNT(*) FROM memberships WHERE owning_user_id = ?", values) == 1)
        #expect(try fixture.count("SELECT COUNT(*) FROM users WHERE provider_user_id LIKE 'absent %'") == 1)
    }

    @Test("A member who was removed while absent gets no place when they return")
    func removedMeanwhile() throws {
        let groupID = try putBack(stand(50), [member(1, .admin), member(2)], [])
        let bob = try addPerson()
        let place = try #require(try store.withSession { try $0.absentMember(Self.identity(2), in: groupID) })
        try store.transaction { session in
            guard case .advanced(let next) = try session.advanceMasterVersion(of: groupID, from: MasterVersion(50))
            else {
                return
            }
            try session.removeMember(place.userID, from: groupID, as: next, at: noon)
        }
        #expect(try store.transaction { try $0.seat(bob, as: place) })
        #expect(try fixture.membership(of: bob.userID, in: group) == nil)
        #expect(try !state().isUnchangedHere)
    }

    @Test("A group is complete when all owners have returned, and each file has its object or waits for its bytes")
    func completion() throws {
        let (alice, bob) = (try addPerson(), try addPerson())
        let groupID = try putBack(
            stand(50), [member(1, .admin), member(2)], [file(someFile()), file(someFile(), owner: 2)],
            recognising: [alice.userID: 1, bob.userID: 2])
        func complete() throws -> Bool {
            try store.transaction { try $0.completeIfAllHaveCome(groupID, at: noon) }
        }
        #expect(try attach("a", to: #require(try pending(of: alice.userID).first), of: alice.userID))
        try come(alice)
        #expect(try !complete())
        try come(bob)
        #expect(try !complete())
        let waiting = try #require(try pending(of: bob.userID).first)
        try store.transaction { try $0.awaitContent(of: waiting, checkSum: nil) }
        #expect(try complete())
        #expect(try state().state == .complete)
        #expect(try fixture.membership(of: alice.userID, in: group)?.permission == .admin)
        #expect(try !complete())
    }

    @Test("An object of another file, or one that is about to be deleted, is not attached")
    func takenObjects() throws {
        let alice = try addPerson()
        let groupID = try putBack(
            stand(50), [member(1, .admin)], [file(someFile()), file(someFile())], recognising: [alice.userID: 1])
        let files = try pending(of: alice.userID)
        #expect(try attach("same", to: files[0], of: alice.userID))
        #expect(try !attach("same", to: files[1], of: alice.userID))
        _ = try store.transaction { session in
            try session.addDeletion(
                of: "doomed", in: OwningUser(userID: alice.userID, storageType: .google), availableAt: noon, at: noon)
        }
        #expect(try !attach("doomed", to: files[1], of: alice.userID))
        #expect(try fixture.count("SELECT COUNT(*) FROM files WHERE object_id IS NOT NULL") == 1)
        _ = groupID
    }

    @Test("A file that is live in another group gets no contents")
    func twoGroups() throws {
        let owner = try fixture.addOwner()
        let shared = try owner.addFile()
        let alice = try addPerson()
        let groupID = try putBack(
            stand(50), [member(1, .admin)], [file(shared), file(someFile())], recognising: [alice.userID: 1])
        #expect(try store.transaction { try $0.withholdContentsOfOtherGroups(from: groupID) } == 1)
        #expect(try pending(of: alice.userID).count == 1)
    }

    @Test("A provisional user gets a free former number with their work; another person's number is never taken")
    func formerNumbers() throws {
        let (alice, other) = (try addPerson(), try addPerson())
        try store.transaction { try $0.addRebuildVisit(of: alice, isProvisional: true, at: noon) }
        func recognise(_ user: UserID, as former: UserID) throws -> Bool {
            try store.transaction { session in
                try session.recognise(provisional: user, as: former) { $0.record }
            }
        }
        #expect(try !recognise(alice.userID, as: other.userID))
        #expect(try !recognise(other.userID, as: UserID(7)))
        #expect(try recognise(alice.userID, as: UserID(7)))
        let user = try #require(try store.withSession { try $0.user(.google, alice.providerUserID, device: nil)?.user })
        #expect(user.userID == UserID(7))
        let visit = try #require(try store.withSession { try $0.rebuildVisit(of: UserID(7)) })
        #expect(visit.state == .waiting && !visit.isProvisional)
        #expect(try fixture.count("SELECT COUNT(*) FROM outbox WHERE user_id = 7 AND kind = 'readManifests'") == 1)
        // The number now belongs to that user.
        #expect(try !recognise(UserID(7), as: UserID(8)))
    }

    @Test("After a change by people, a newer manifest makes the group read-only until the operator decides")
    func divergence() throws {
        let alice = try addPerson()
        let groupID = try putBack(stand(50), [member(1, .admin)], [], recognising: [alice.userID: 1])
        #expect(try store.transaction { try $0.completeIfAllHaveCome(groupID, at: noon) })
        try store.transaction { session in
            _ = try session.advanceMasterVersion(of: groupID, from: MasterVersion(50))
        }
        #expect(try !state().isUnchangedHere)
        try store.transaction { try $0.noteDivergence(of: groupID, at: noon) }
        #expect(try fixture.membership(of: alice.userID, in: group)?.permission == .read)
        #expect(try store.transaction { try $0.open(groupID, as: .finished, from: [.diverged], at: noon) })
        #expect(try fixture.membership(of: alice.userID, in: group)?.permission == .admin)
        // The operator's decision remains in force.
        try store.transaction { try $0.noteDivergence(of: groupID, at: noon) }
        #expect(try state().state == .finished)
    }

    @Test("Strangers are removed unless they have claims; members are not visitors")
    func endOfVisit() throws {
        let (stranger, claimant) = (try addPerson(), try addPerson())
        for user in [stranger, claimant] {
            try store.transaction { try $0.addRebuildVisit(of: user, isProvisional: true, at: noon) }
        }
        try store.transaction { session in
            try session.note(
                RebuildClaim(
                    groupUUID: group, userID: claimant.userID, digest: [UInt8](repeating: 1, count: 32),
                    groupName: nil, masterVersion: MasterVersion(1), writtenAt: noon, members: 1, adminNames: "a",
                    liveFiles: 1), at: noon)
            try session.endRebuildVisit(of: stranger.userID, at: noon)
            try session.endRebuildVisit(of: claimant.userID, at: noon)
        }
        func visit(_ user: UserRecord) throws -> RebuildVisit? {
            try store.withSession { try $0.rebuildVisit(of: .google, user.providerUserID) }
        }
        #expect(try visit(stranger) == RebuildVisit(state: .stranger, userID: nil, isProvisional: false))
        #expect(try visit(claimant)?.state == .waiting)
        #expect(try store.withSession { try $0.user(stranger.userID) } == nil)
        #expect(try store.withSession { try $0.user(claimant.userID) } != nil)
    }
}
