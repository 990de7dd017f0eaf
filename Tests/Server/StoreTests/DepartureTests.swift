import MariaDB
import SyncProtocol
import TestSupport
import Testing

@testable import Store

@Suite("Leaving members, removed groups and removed users")
struct DepartureTests {
    let fixture: StoreFixture

    init() throws { fixture = try StoreFixture() }

    /// A group with an owner, a second owner, and a guest of the first; each owner has a file.
    private struct Scene {
        let owner: Member
        let second: Member
        let guest: Member
        let ownersFile: FileUUID
        let secondsFile: FileUUID

        init(_ fixture: StoreFixture) throws {
            owner = try fixture.addOwner()
            let user = try fixture.addUser(.google)
            let groupID = owner.area.groupID
            try fixture.store.transaction { session in
                try session.addMember(
                    user, to: groupID, permission: .write, owningUserID: nil, invitation: nil, at: noon(plus: 10))
            }
            second = try fixture.member(user, of: owner.group)
            guest = try fixture.addGuest(of: owner)
            ownersFile = try owner.addFile(object: "owner's")
            secondsFile = try second.addFile(object: "second's")
        }

        func leave(_ member: Member) throws {
            try member.store.transaction { session in
                let version = try session.lockMasterVersionExclusive(of: member.area.groupID)
                _ = try session.advanceMasterVersion(of: member.area.groupID, from: version)
                try session.removeMember(member.user, from: member.area.groupID, as: version.next, at: noon)
            }
        }
    }

    private func changedAt(_ file: FileUUID) throws -> Int {
        try fixture.count(
            "SELECT changed_at_master_version FROM files WHERE file_uuid = ?", [.text(file.rawValue)])
    }

    @Test("A leaving owner's files are marked deleted at that master version, and their object ids are removed")
    func leavingOwner() throws {
        let scene = try Scene(fixture)
        let before = try fixture.masterVersion(of: scene.owner.area.groupID)

        try scene.leave(scene.owner)

        let file = try #require(try scene.second.file(scene.ownersFile))
        #expect(file.isDeleted && file.objectID == nil && file.owningUser.userID == scene.owner.user)
        #expect(try changedAt(scene.ownersFile) == Int(before + 1))
        let other = try #require(try scene.second.file(scene.secondsFile))
        #expect(!other.isDeleted && other.objectID == "second's")
        #expect(try changedAt(scene.secondsFile) == Int(before))
        #expect(try scene.owner.objectsToDelete().isEmpty)
        #expect(try scene.guest.owningUser() == nil)
        #expect(try fixture.membership(of: scene.second.user, in: scene.owner.group)?.permission == .admin)
        #expect(try fixture.membership(of: scene.owner.user, in: scene.owner.group) == nil)
    }

    @Test("Files that were deleted before keep the version of their deletion")
    func deletedBefore() throws {
        let scene = try Scene(fixture)
        try scene.owner.stage(.deletion(of: scene.ownersFile, version: 0))
        try scene.owner.commit()
        let deletedAt = try changedAt(scene.ownersFile)

        try scene.leave(scene.owner)

        #expect(try changedAt(scene.ownersFile) == deletedAt)
    }

    @Test("Only staged changes that the departure makes impossible are withdrawn")
    func staged() throws {
        let scene = try Scene(fixture)
        let mine = OwningUser(userID: scene.owner.user, storageType: .google)
        let theirs = OwningUser(userID: scene.second.user, storageType: .google)
        try scene.owner.stage(.upload(of: someFile(), version: 0, object: "leaver, new", owner: mine))
        try scene.owner.stage(.upload(of: scene.secondsFile, version: 1, object: "leaver, next", owner: theirs))
        let new = someFile()
        try scene.guest.stage(.upload(of: new, version: 0, object: "guest, new", owner: mine))
        try scene.guest.stage(.upload(of: scene.ownersFile, version: 1, object: "guest, next", owner: mine))
        try scene.guest.stage(.upload(of: scene.secondsFile, version: 1, object: "guest, second's", owner: theirs))
        try scene.second.stage(.metaData(of: scene.ownersFile, version: 0))
        var phone = scene.second
        phone.area.deviceUUID = DeviceUUID(someFile().rawValue)!
        try phone.stage(.deletion(of: scene.ownersFile, version: 0))

        try scene.leave(scene.owner)

        #expect(try scene.owner.staged().isEmpty)
        #expect(Set(try scene.guest.staged().map(\.fileUUID)) == [new, scene.secondsFile])
        #expect(try scene.guest.staged().first { $0.fileUUID == new }?.content == nil)
        #expect(try scene.second.staged().isEmpty)
        #expect(try phone.staged().map(\.kind) == [.deletion])
        #expect(
            try scene.owner.objectsToDelete() == ["leaver, new", "leaver, next", "guest, next", "guest, new"])
        #expect(try phone.commit() == 1)
        #expect(throws: CommitRefusal.ownerGone) { try scene.guest.commit() }
    }

    @Test("A staged new file without owner blocks commits until its phone has been informed; nothing else does")
    func withoutContent() throws {
        let scene = try Scene(fixture)
        let new = someFile()
        let theirs = OwningUser(userID: scene.second.user, storageType: .google)
        try scene.guest.stage(.upload(of: new, version: 0, object: "new", owner: scene.guest.owningUser()!))
        try scene.guest.stage(.upload(of: scene.secondsFile, version: 1, object: "next", owner: theirs))
        try scene.leave(scene.owner)
        let retryAfter = { (file: FileUUID) in
            try fixture.store.transaction { try $0.withdrawWithoutContent(file, in: scene.guest.area) }
        }

        try retryAfter(scene.secondsFile)
        #expect(throws: CommitRefusal.ownerGone) { try scene.guest.commit() }
        try retryAfter(new)

        #expect(try scene.guest.commit() == 1)
        #expect(try scene.second.file(scene.secondsFile)?.objectID == "next")
    }

    @Test("A new file without owner that was committed by another member is outdated, not a defect")
    func withoutContentOverCommitted() throws {
        let scene = try Scene(fixture)
        let new = someFile()
        try scene.guest.stage(.upload(of: new, version: 0, object: "new", owner: scene.guest.owningUser()!))
        try scene.leave(scene.owner)
        try scene.second.addFile(new)

        #expect(throws: CommitRefusal.outdated(new)) { try scene.guest.commit() }
    }

    @Test("Sharing users of another owner keep their storage when one owner leaves")
    func guestsOfOthers() throws {
        let scene = try Scene(fixture)
        let other = try fixture.addGuest(of: scene.owner, owningUser: scene.second.user)

        try scene.leave(scene.owner)

        #expect(try scene.guest.owningUser() == nil)
        #expect(try other.owningUser()?.userID == scene.second.user)
    }

    @Test("Invitations of a leaving member are removed, as inviter or as owner")
    func invitations() throws {
        let scene = try Scene(fixture)
        let groupID = scene.owner.area.groupID
        let invitations = try (0..<3).map { number in
            let invitation = SharingInvitationUUID(someFile().rawValue)!
            try fixture.store.transaction { session in
                try session.addInvitation(
                    invitation, to: groupID, by: number == 0 ? scene.guest.user : scene.second.user,
                    owningUserID: number == 2 ? scene.second.user : scene.owner.user, permission: .read,
                    allowsSocialAcceptance: true, acceptors: 1, expires: noon(plus: 60))
            }
            return invitation
        }
        let exist = {
            try invitations.map { code in try fixture.store.withSession { try $0.invitation(code, at: noon) != nil } }
        }
        try scene.leave(scene.guest)
        #expect(try exist() == [false, true, true])

        try scene.leave(scene.owner)

        #expect(try exist() == [false, false, true])
    }

    @Test("A non-member cannot leave")
    func stranger() throws {
        let scene = try Scene(fixture)
        let stranger = try fixture.addOwner()
        let before = try fixture.contents()

        #expect(throws: StoreError.self) {
            try fixture.store.transaction { session in
                try session.removeMember(
                    stranger.user, from: scene.owner.area.groupID, as: MasterVersion(9), at: noon)
            }
        }
        #expect(try fixture.contents() == before)
    }

    @Test("When the last member leaves, the group is removed [299] [300]")
    func lastMember() throws {
        let owner = try fixture.addOwner()
        let file = try owner.addFile(object: "committed")
        try owner.stage(.upload(of: someFile(), version: 0, object: "staged", owner: owner.owningUser()!))
        let scene = { (member: Member) in
            try member.store.transaction { session in
                let version = try session.lockMasterVersionExclusive(of: member.area.groupID)
                _ = try session.advanceMasterVersion(of: member.area.groupID, from: version)
                try session.removeMember(member.user, from: member.area.groupID, as: version.next, at: noon)
            }
        }

        try scene(owner)

        #expect(try owner.file(file)?.isDeleted == true)
        #expect(try changedAt(file) == 2)
        #expect(try fixture.count("SELECT COUNT(*) FROM memberships") == 0)
        #expect(try fixture.count("SELECT COUNT(*) FROM staged_changes") == 0)
        #expect(try fixture.count("SELECT COUNT(*) FROM sharing_groups WHERE is_deleted AND master_version = 2") == 1)
        #expect(try owner.objectsToDelete() == ["staged"])
        #expect(throws: StoreError.self) {
            try owner.store.transaction { session in _ = try session.lockMasterVersionExclusive(of: owner.area.groupID)
            }
        }
    }

    @Test(
        "An ended group has no members, invitations or staged changes, and all its files are deleted [299] [300] [301]"
    )
    func ended() throws {
        let scene = try Scene(fixture)
        let groupID = scene.owner.area.groupID
        let other = try fixture.addOwner()
        let untouched = try other.addFile()
        try scene.guest.stage(
            .upload(of: someFile(), version: 0, object: "staged", owner: scene.guest.owningUser()!))

        try fixture.store.transaction { session in
            let version = try session.lockMasterVersionExclusive(of: groupID)
            _ = try session.advanceMasterVersion(of: groupID, from: version)
            try session.endGroup(groupID, as: version.next, at: noon)
        }

        for file in [scene.ownersFile, scene.secondsFile] {
            #expect(try scene.owner.file(file)?.isDeleted == true)
            #expect(try changedAt(file) == 3)
        }
        for member in [scene.owner, scene.second, scene.guest] {
            #expect(try fixture.membership(of: member.user, in: member.group) == nil)
            #expect(try member.staged().isEmpty)
        }
        #expect(try scene.owner.objectsToDelete() == ["staged"])
        #expect(try other.file(untouched)?.isDeleted == false)
        #expect(try fixture.membership(of: other.user, in: other.group) != nil)
    }

    @Test("A removed user leaves nothing but files marked deleted [62] [69]")
    func removedUser() throws {
        let scene = try Scene(fixture)
        let user = scene.owner.user
        let alone = try fixture.member(user, of: fixture.addGroup(of: user))
        let aloneFile = try alone.addFile()
        try fixture.store.transaction { session in
            _ = try session.register(scene.owner.area.deviceUUID, of: user, maximum: nil, at: noon)
            try session.addInvitation(
                SharingInvitationUUID(someFile().rawValue)!, to: scene.owner.area.groupID, by: user, owningUserID: user,
                permission: .read, allowsSocialAcceptance: true, acceptors: 1, expires: noon(plus: 60))
            try session.addWarningFile(for: OwningUser(userID: user, storageType: .google), at: noon)
        }
        var connection = try Connection(fixture.settings)
        try connection.executeScript(
            """
            INSERT INTO commits
            SELECT user_id, device_uuid, 1, device_uuid, UNHEX(SHA2('x', 256)), 1, 1, registered_at FROM devices;
            INSERT INTO commit_members
            SELECT user_id, device_uuid, 1, device_uuid, device_uuid, UNHEX(SHA2('x', 256)), NULL, NULL, registered_at
              FROM devices;
            INSERT INTO batches SELECT user_id, device_uuid, 99, device_uuid, 2, 1, NULL, registered_at FROM devices;
            INSERT INTO content_hashes SELECT user_id, 'object', 'hash', 'sum', registered_at FROM devices;
            """)
        #expect(
            try fixture.count("SELECT COUNT(*) FROM commits JOIN commit_members JOIN batches JOIN content_hashes") == 1)
        let theirs = OwningUser(userID: scene.second.user, storageType: .google)
        try scene.owner.stage(.upload(of: scene.secondsFile, version: 1, object: "into second's", owner: theirs))
        try scene.owner.stage(
            .upload(of: someFile(), version: 0, object: "into their own", owner: scene.owner.owningUser()!))
        let version = try fixture.masterVersion(of: scene.owner.area.groupID)

        #expect(try fixture.store.transaction { try $0.removeUser(user, at: noon) })

        #expect(try fixture.store.withSession { try $0.user(user) } == nil)
        for table: StaticString in [
            "SELECT COUNT(*) FROM devices WHERE user_id = ?", "SELECT COUNT(*) FROM memberships WHERE user_id = ?",
            "SELECT COUNT(*) FROM memberships WHERE owning_user_id = ?",
            "SELECT COUNT(*) FROM invitations WHERE inviting_user_id = ?",
            "SELECT COUNT(*) FROM staged_changes WHERE user_id = ?", "SELECT COUNT(*) FROM outbox WHERE user_id = ?",
            "SELECT COUNT(*) FROM files WHERE owning_user_id = ? AND NOT is_deleted",
            "SELECT COUNT(*) FROM commits WHERE user_id = ?", "SELECT COUNT(*) FROM commit_members WHERE user_id = ?",
            "SELECT COUNT(*) FROM batches WHERE user_id = ?", "SELECT COUNT(*) FROM content_hashes WHERE user_id = ?",
        ] {
            #expect(try fixture.count(table, [.int(user.rawValue)]) == 0, "\(table)")
        }
        #expect(try scene.second.objectsToDelete() == ["into second's"])
        #expect(try fixture.masterVersion(of: scene.owner.area.groupID) == version + 1)
        #expect(try changedAt(scene.ownersFile) == Int(version + 1))
        #expect(try changedAt(aloneFile) == 2)
        #expect(try fixture.count("SELECT COUNT(*) FROM sharing_groups WHERE is_deleted") == 1)
        #expect(try scene.guest.owningUser() == nil)
        #expect(try scene.second.file(scene.secondsFile)?.isDeleted == false)
    }

    @Test("Removing an unknown user changes nothing")
    func removedTwice() throws {
        let scene = try Scene(fixture)
        #expect(try fixture.store.transaction { try $0.removeUser(scene.owner.user, at: noon) })
        let before = try fixture.contents()

        #expect(try !fixture.store.transaction { try $0.removeUser(scene.owner.user, at: noon) })

        #expect(try fixture.contents() == before)
    }

    @Test("Live files in groups that a removed user left long ago are also marked deleted")
    func strayFiles() throws {
        let scene = try Scene(fixture)
        // As may occur in a database taken over from an older server.
        var connection = try Connection(fixture.settings)
        try connection.execute(
            "DELETE FROM memberships WHERE user_id = ?", [.int(scene.second.user.rawValue)])
        let version = try fixture.masterVersion(of: scene.owner.area.groupID)

        #expect(try fixture.store.transaction { try $0.removeUser(scene.second.user, at: noon) })

        #expect(try scene.owner.file(scene.secondsFile)?.isDeleted == true)
        #expect(try fixture.masterVersion(of: scene.owner.area.groupID) == version + 1)
        #expect(try changedAt(scene.secondsFile) == Int(version + 1))
    }

    @Test("Users of the same groups are removed simultaneously, in any order: all succeed, without a deadlock")
    func removedTogether() throws {
        let owner = try fixture.addOwner()
        let users = try (0..<4).map { _ in try fixture.addUser(.google) }
        let groups = try (0..<3).map { _ in try fixture.addGroup(of: owner.user) } + [owner.group]
        for group in groups {
            let groupID = try #require(try fixture.membership(of: owner.user, in: group)).groupID
            for user in users {
                try fixture.store.transaction { session in
                    try session.addMember(
                        user, to: groupID, permission: .admin, owningUserID: nil, invitation: nil, at: noon)
                }
            }
        }

        let results = concurrently(4) { number in
            try fixture.store.transaction { try $0.removeUser(users[number], at: noon) }
        }

        #expect(results.successes() == [true, true, true, true], "\(results.failures())")
        for group in groups {
            let groupID = try #require(try fixture.membership(of: owner.user, in: group)).groupID
            #expect(try fixture.masterVersion(of: groupID) == 4)
        }
    }

    @Test("A device of a removed user is not registered")
    func device() throws {
        let owner = try fixture.addOwner()
        #expect(try fixture.store.transaction { try $0.removeUser(owner.user, at: noon) })

        for maximum in [nil, 3] {
            #expect(
                try fixture.store.transaction { session in
                    try session.register(owner.area.deviceUUID, of: owner.user, maximum: maximum, at: noon)
                } == .userUnknown)
        }
    }

    @Test("A file that is live in another group is neither added nor undeleted by a commit")
    func liveElsewhere() throws {
        let owner = try fixture.addOwner()
        let other = try fixture.member(owner.user, of: fixture.addGroup(of: owner.user))
        let file = try owner.addFile()
        try other.stage(.upload(of: file, version: 0, object: "second", owner: other.owningUser()!))
        #expect(throws: CommitRefusal.belongsElsewhere(file)) { try other.commit() }
        #expect(try other.file(file) == nil)
        try owner.stage(.deletion(of: file, version: 0))
        try owner.commit()
        #expect(try other.commit() == 1)

        try owner.stage(
            .upload(of: file, version: 1, object: "third", owner: owner.owningUser()!, kind: .undelete))

        #expect(throws: CommitRefusal.belongsElsewhere(file)) { try owner.commit() }
        #expect(try owner.file(file)?.isDeleted == true)
    }
}
