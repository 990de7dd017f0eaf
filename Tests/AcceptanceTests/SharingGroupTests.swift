import Foundation
import TestSupport
import Testing

@Suite("Creating, renaming and removing sharing groups")
struct SharingGroupTests {
    let server: TestServer

    init() throws { server = try TestServer.shared() }

    @Test("A new group is listed with its name and its creator as admin, next to the first one [81] [294]")
    func created() throws {
        let alice = try server.signUpOwningUser(name: "Alice Example")
        let uuid = UUID().uuidString

        let reply = try alice.createGroup(uuid, name: "Tom & Jerry + friends")

        expectJSON(reply)
        #expect(reply.json == .object([:]))
        let index = try alice.index(of: uuid)
        #expect(index.masterVersion == 0 && index.files.isEmpty)
        #expect(index.groups.count == 2)
        for group in [uuid, alice.group] {
            let entry = try #require(index.group(group))
            #expect(entry.permission?.text == "admin")
            #expect(entry.deleted?.bool == false)
            #expect(entry.masterVersion?.integer == 0)
            #expect(entry.sharingGroupUsers?.array?.count == 1)
            #expect(entry.sharingGroupUsers?.array?.first?.name?.text == "Alice Example")
        }
        #expect(index.group(uuid)?.sharingGroupName?.text == "Tom & Jerry + friends")
        #expect(index.group(alice.group)?.sharingGroupName == nil)
    }

    @Test("Files of the second group belong only to that group")
    func secondGroup() throws {
        let alice = try server.signUpOwningUser()
        let group = try alice.newGroup()
        let file = TestFile()

        try alice.publish(file, masterVersion: 0, group: group)

        #expect(try alice.index(of: group).fileUUIDs == [file.uuid])
        #expect(try alice.index().files.isEmpty)
        expectDownload(try alice.download(file, masterVersion: 1, group: group), of: file)
    }

    @Test("An account without storage cannot create a group [295]")
    func sharingAccount() throws {
        let alice = try server.signUpOwningUser()
        let bob = try alice.newMember(.admin)

        let reply = try bob.createGroup(UUID().uuidString)

        expectError(reply, 409)
        #expect(reply.json?.code?.text == "owning_account_required")
        #expect(try bob.groups().groups.count == 1)
    }

    @Test("Repeating the request succeeds; UUIDs of other users' groups and of removed groups are rejected [315]")
    func repeated() throws {
        let alice = try server.signUpOwningUser()
        let carol = try server.signUpOwningUser(name: "Carol")
        let uuid = UUID().uuidString
        for _ in 0..<2 { #expect(try alice.createGroup(uuid, name: "Mine").status == 200) }
        #expect(try alice.createGroup(uuid.lowercased()).status == 200)
        #expect(try alice.groups().groups.count == 2)
        let bob = try alice.newMember(.admin, provider: .google)

        for (user, group) in [(carol, uuid), (carol, alice.group), (bob, alice.group)] {
            let reply = try user.createGroup(group)
            expectError(reply, 409)
            #expect(reply.json?.code?.text == "group_exists")
        }
        #expect(try alice.removeGroup(masterVersion: 0, group: uuid).status == 200)
        expectError(try alice.createGroup(uuid), 409)
    }

    @Test("The same new group requested concurrently by one device is created once [315]")
    func createdAtOnce() async throws {
        let alice = try server.signUpOwningUser()
        let uuid = UUID().uuidString

        let replies = try await Threads.run(4) { _ in try alice.createGroup(uuid) }

        for reply in replies { #expect(reply.status == 200, "\(reply)") }
        #expect(try alice.groups().groups.count == 2)
    }

    @Test("An admin can rename the group, and the master version is incremented by one [296]")
    func renamed() throws {
        let alice = try server.signUpOwningUser(groupName: "Old")
        let bob = try alice.newMember(.admin)

        let reply = try bob.rename(to: "Nöw & 100%", masterVersion: 1)

        expectJSON(reply)
        #expect(reply.json == .object([:]))
        for user in [alice, bob] {
            let entry = try user.groups().group(alice.group)
            #expect(entry?.sharingGroupName?.text == "Nöw & 100%")
            #expect(entry?.masterVersion?.integer == 2)
        }
        expectStale(try bob.rename(to: "Nöw & 100%", masterVersion: 1), 2)
    }

    @Test("A stale rename returns the current master version and renames nothing [297]")
    func renamedStale() throws {
        let alice = try server.signUpOwningUser(groupName: "Old")

        for version in [Int64(1), 100] { expectStale(try alice.rename(to: "New", masterVersion: version), 0) }

        let entry = try alice.groups().group(alice.group)
        #expect(entry?.sharingGroupName?.text == "Old")
        #expect(entry?.masterVersion?.integer == 0)
    }

    @Test("A stale removal returns the current master version, and the group is not removed [309]")
    func removedStale() throws {
        let alice = try server.signUpOwningUser()
        let file = TestFile()
        try alice.publish(file, masterVersion: 0)

        for version in [Int64(0), 2] { expectStale(try alice.removeGroup(masterVersion: version), 1) }

        let index = try alice.index()
        #expect(index.masterVersion == 1)
        #expect(index.file(file)?.deleted?.bool == false)
    }

    @Test(
        "Members who are not admins can neither rename nor remove the group, but can leave it [316]",
        arguments: [TestPermission.read, .write])
    func notAdmin(permission: TestPermission) throws {
        let alice = try server.signUpOwningUser(groupName: "Old")
        let bob = try alice.newMember(permission)

        for reply in [
            try bob.rename(to: "New", masterVersion: 1), try bob.removeGroup(masterVersion: 1),
            try bob.removeGroup(masterVersion: 0),
        ] {
            expectError(reply, 409)
            #expect(reply.json?.code?.text == "permission_too_low")
        }
        #expect(try alice.groups().group(alice.group)?.sharingGroupName?.text == "Old")
        let reply = try bob.leave(masterVersion: 1)
        #expect(reply.status == 200 && reply.json == .object([:]))
        #expect(try alice.members() == [alice.userID])
    }

    @Test("A non-member cannot change a group, whether or not it exists [316]")
    func foreignGroups() throws {
        let alice = try server.signUpOwningUser()
        let carol = try server.signUpOwningUser(name: "Carol")

        for group in [carol.group, UUID().uuidString] {
            for reply in [
                try alice.rename(to: "x", masterVersion: 0, group: group),
                try alice.removeGroup(masterVersion: 0, group: group),
                try alice.leave(masterVersion: 0, group: group),
            ] {
                expectError(reply, 410, goneReason: "userRemoved")
            }
        }
        #expect(try carol.index().masterVersion == 0)
    }

    @Test("Missing parameters and names that are too long are rejected as invalid input")
    func parameters() throws {
        let alice = try server.signUpOwningUser()

        expectError(try alice.call("POST", "CreateSharingGroup"), 400)
        expectError(try alice.createGroup(UUID().uuidString, name: String(repeating: "x", count: 256)), 400)
        expectError(try alice.createGroup(String(repeating: "x", count: 37)), 400)
        expectError(try alice.rename(to: nil, masterVersion: 0), 400)
        expectError(try alice.rename(to: String(repeating: "x", count: 256), masterVersion: 0), 400)
        expectError(try alice.call("POST", "RemoveSharingGroup", ["sharingGroupUUID": alice.group]), 400)
        expectError(try alice.call("POST", "RemoveUserFromSharingGroup", ["masterVersion": "0"]), 400)
        #expect(try alice.rename(to: "", masterVersion: 0).status == 200)
        #expect(try alice.groups().group(alice.group)?.sharingGroupName?.text == "")
    }
}
