import MariaDB
import SyncProtocol
import TestSupport
import Testing

@testable import Store

@Suite("Sharing groups, members and master versions")
struct SharingGroupTests {
    private let fixture: StoreFixture
    private var store: MetadataStore { fixture.store }

    init() throws { fixture = try StoreFixture() }

    // MARK: Groups and memberships

    @Test("A group is found with and without a name; a missing one is not [331]", arguments: [nil, "Family 👪"])
    func group(name: String?) throws {
        let user = try fixture.addUser()
        let group = try fixture.addGroup(of: user, name: name)

        let membership = try #require(try fixture.membership(of: user, in: group))
        #expect(membership.groupUUID.rawValue == group.rawValue)
        #expect(membership.groupName == name)
        #expect(membership.masterVersion == MasterVersion(0))
        #expect(membership.permission == .admin)
        #expect(membership.owningUser == OwningUser(userID: user, storageType: .google))
        #expect(membership.invitation == nil)
        #expect(try fixture.membership(of: user, in: SharingGroupUUID("no such group")!) == nil)
        #expect(try fixture.membership(of: fixture.addUser(), in: group) == nil)
    }

    @Test("A group is found in any letter case and keeps its creator's; a second one with that UUID is rejected [331]")
    func letterCase() throws {
        let user = try fixture.addUser()
        try store.transaction { session in
            try session.addGroup(SharingGroupUUID("Group-a")!, name: nil, creator: user, at: noon)
        }

        #expect(try fixture.membership(of: user, in: SharingGroupUUID("GROUP-A")!)?.groupUUID.rawValue == "Group-a")
        #expect(try fixture.membership(of: user, in: SharingGroupUUID("Group-a ")!) == nil)
        #expect {
            try store.transaction { session in
                try session.addGroup(SharingGroupUUID("group-A")!, name: nil, creator: user, at: noon)
            }
        } throws: { $0.isDuplicate(of: "sharing_group_uuid") }
        #expect(try fixture.count("SELECT COUNT(*) FROM memberships") == 1)
    }

    @Test("A deleted group no longer has members")
    func deletedGroup() throws {
        let owner = try fixture.addOwner()
        var connection = try Connection(fixture.settings)
        try connection.execute("UPDATE sharing_groups SET is_deleted = TRUE")

        #expect(try fixture.membership(of: owner.user, in: owner.group) == nil)
        #expect(try store.withSession { try $0.groups(of: owner.user) } == [])
        #expect(throws: StoreError.self) { try fixture.masterVersion(of: owner.area.groupID) }
        let advance = {
            try store.transaction { try $0.advanceMasterVersion(of: owner.area.groupID, from: MasterVersion(0)) }
        }
        #expect { try advance() } throws: { if case StoreError.notFound = $0 { true } else { false } }
    }

    @Test("The same user cannot join twice [330]")
    func joinedTwice() throws {
        let owner = try fixture.addOwner()
        let guest = try fixture.addGuest(of: owner)

        #expect {
            try store.transaction { session in
                try session.addMember(
                    guest.user, to: owner.area.groupID, permission: .read, owningUserID: nil, invitation: nil, at: noon)
            }
        } throws: { $0.isDuplicate(of: "PRIMARY") }
        #expect(try store.withSession { try $0.isMember(guest.user, of: owner.area.groupID) })
        #expect(try fixture.membership(of: guest.user, in: owner.group)?.permission == .write)
    }

    @Test("New files go to a member's own storage, or to the inviter's owner's, or nowhere after the owner has left")
    func effectiveOwner() throws {
        let owner = try fixture.addOwner(.dropbox)
        let guest = try fixture.addGuest(of: owner)
        let fellow = try fixture.addUser(.google)
        try store.transaction { session in
            // An owning account uses its own storage, even if the row names another owner.
            try session.addMember(
                fellow, to: owner.area.groupID, permission: .write, owningUserID: owner.user, invitation: nil, at: noon)
        }

        #expect(try owner.owningUser() == OwningUser(userID: owner.user, storageType: .dropbox))
        #expect(try guest.owningUser() == OwningUser(userID: owner.user, storageType: .dropbox))
        #expect(try fixture.membership(of: fellow, in: owner.group)?.owningUser?.userID == fellow)
        var connection = try Connection(fixture.settings)
        try connection.execute(
            "UPDATE memberships SET owning_user_id = NULL WHERE user_id = ?", [.int(guest.user.rawValue)])
        #expect(try guest.owningUser() == nil)
    }

    @Test("A membership whose owner has no storage is reported as corrupt, with its place")
    func damagedOwner() throws {
        let owner = try fixture.addOwner()
        let guest = try fixture.addGuest(of: owner)
        var connection = try Connection(fixture.settings)
        try connection.execute(
            "UPDATE memberships SET owning_user_id = ? WHERE user_id = ?",
            [.int(guest.user.rawValue), .int(guest.user.rawValue)])

        #expect {
            try guest.owningUser()
        } throws: { error in
            guard case StoreError.corrupt(table: "memberships", column: "owning_user_id") = error else { return false }
            return true
        }
    }

    @Test("A user's groups are listed with names, versions, members and the storage of sharing users [330]")
    func groupsOfUser() throws {
        let owner = try fixture.addOwner()
        let guest = try fixture.addGuest(of: owner, .read)
        let second = try fixture.addGroup(of: owner.user, name: "Second")
        _ = try fixture.addOwner()
        try owner.commit()

        let groups = try store.withSession { try $0.groups(of: owner.user) }
        #expect(groups.map(\.sharingGroupUUID) == [owner.group, second])
        #expect(groups.map(\.sharingGroupName) == [nil, "Second"])
        #expect(groups.map(\.masterVersion) == [MasterVersion(1), MasterVersion(0)])
        #expect(groups.map(\.permission) == [.admin, .admin])
        #expect(groups.map(\.cloudStorageType) == [nil, nil])
        #expect(groups[0].sharingGroupUsers.map(\.userId) == [owner.user, guest.user])
        #expect(groups[1].sharingGroupUsers.map(\.userId) == [owner.user])
        let ofGuest = try store.withSession { try $0.groups(of: guest.user) }
        #expect(ofGuest.map(\.cloudStorageType) == [.google])
        #expect(ofGuest.map(\.permission) == [.read])
        #expect(try store.withSession { try $0.groups(of: fixture.addUser()) } == [])
    }

    @Test("A group is renamed")
    func rename() throws {
        let owner = try fixture.addOwner()

        try store.transaction { try $0.rename(owner.area.groupID, to: "Ünïcode 🙂") }

        #expect(try fixture.membership(of: owner.user, in: owner.group)?.groupName == "Ünïcode 🙂")
    }

    // MARK: Master version

    private func advance(_ group: SharingGroupID, from version: Int64) throws -> MasterVersionAdvance {
        try store.transaction { try $0.advanceMasterVersion(of: group, from: MasterVersion(version)) }
    }

    @Test("A master version starts at 0 and is incremented by one with each advance [327]")
    func masterVersion() throws {
        let group = try fixture.addOwner().area.groupID

        #expect(try fixture.masterVersion(of: group) == 0)
        #expect(try advance(group, from: 0) == .advanced(to: MasterVersion(1)))
        #expect(try advance(group, from: 1) == .advanced(to: MasterVersion(2)))
        #expect(try fixture.masterVersion(of: group) == 2)
    }

    @Test(
        "An advance from any version but the current one is rejected and changes nothing [327]",
        arguments: [-1, 1, 99])
    func staleMasterVersion(version: Int64) throws {
        let group = try fixture.addOwner().area.groupID

        #expect(try advance(group, from: version) == .stale(current: MasterVersion(0)))
        #expect(try fixture.masterVersion(of: group) == 0)
    }

    @Test("If threads advance from the same version, exactly one succeeds, and the others learn the new version")
    func advanceRace() throws {
        let owner = try fixture.addOwner()
        let group = owner.area.groupID

        let outcomes = concurrently(8) { _ in
            try store.transaction { session in
                // The version in the snapshot of an earlier read must not count.
                _ = try session.membership(of: owner.user, in: owner.group)
                return try session.advanceMasterVersion(of: group, from: MasterVersion(0))
            }
        }

        #expect(outcomes.failures().isEmpty)
        #expect(outcomes.successes().filter { $0 == .advanced(to: MasterVersion(1)) }.count == 1)
        #expect(outcomes.successes().filter { $0 == .stale(current: MasterVersion(1)) }.count == 7)
    }

    @Test("Advances that are retried when stale lose none and repeat none")
    func advanceUntilDone() throws {
        let group = try fixture.addOwner().area.groupID

        let outcomes = concurrently(6) { _ in
            var version = MasterVersion(0)
            var won: [Int64] = []
            while won.count < 10 {
                switch try store.transaction({ try $0.advanceMasterVersion(of: group, from: version) }) {
                case .advanced(let next): (version, won) = (next, won + [next.rawValue])
                case .stale(let current): version = current
                }
            }
            return won
        }

        #expect(outcomes.successes().flatMap { $0 }.sorted() == Array(1...60))
    }

    @Test("While a version has a shared lock it cannot be advanced, but others may also lock it")
    func lockMasterVersionShared() throws {
        let group = try fixture.addOwner().area.groupID
        var impatient = fixture.settings
        impatient.lockWaitTimeout = .seconds(1)
        let pool = ConnectionPool(settings: impatient, maximumConnections: 2, leaseTimeout: .seconds(5))
        let other = MetadataStore(pool: pool, pause: { _ in })
        other.open()

        try store.transaction { session throws in
            #expect(try session.lockMasterVersionShared(of: group) == MasterVersion(0))
            #expect(try other.transaction { try $0.lockMasterVersionShared(of: group) } == MasterVersion(0))
            #expect {
                try other.withSession { try $0.advanceMasterVersion(of: group, from: MasterVersion(0)) }
            } throws: { if case StoreError.contention = $0 { true } else { false } }
        }
        #expect(try advance(group, from: 0) == .advanced(to: MasterVersion(1)))
    }
}
