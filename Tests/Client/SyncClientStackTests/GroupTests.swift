import Foundation
import SyncClient
import Synchronization
import TestSupport
import Testing

@Suite("Sharing groups and their members")
struct GroupTests {
    let server: TestServer

    init() throws { server = try TestServer.shared() }

    @Test(
        "A new group is visible immediately and after an index, with or without a name", arguments: ServerKind.allCases,
        [nil, "Holiday"])
    func creation(kind: ServerKind, name: String?) async throws {
        let phone = try await Device.signedUp(server, kind)
        let group = SharingGroupUUID.random()
        try phone.client.createSharingGroup(sharingGroupUUID: group, sharingGroupName: name)
        #expect(phone.client.sharingGroups.count == 2)
        // A list of groups that does not contain it yet does not remove it.
        try await phone.client.synced()
        #expect(phone.client.sharingGroups.contains { $0.sharingGroupUUID == group })
        #expect(await refusal { try phone.client.createSharingGroup(sharingGroupUUID: group) } == .sharingGroupExists)
        // Each group has its own queue.
        let other = SharingGroupUUID.random()
        try phone.client.createSharingGroup(sharingGroupUUID: other)

        let events = try await phone.events(.sharingGroupUploadOperationCompleted) { try await phone.sync(group) }

        guard case .sharingGroupUploadOperationCompleted(let created, .creation) = events.first else {
            Issue.record("no event")
            return
        }
        #expect(created.sharingGroupUUID == group && created.sharingGroupName == name)
        try await phone.sync(other)
        try await phone.client.synced()
        let listed = try #require(phone.client.sharingGroups.first { $0.sharingGroupUUID == group })
        #expect(listed.sharingGroupName == name && listed.permission == .admin && !listed.syncNeeded)
        #expect(await refusal { try phone.client.createSharingGroup(sharingGroupUUID: group) } == .sharingGroupExists)
        #expect(try phone.leftovers() == [])
        #expect(try phone.user.groups().group(group.rawValue)?.sharingGroupName?.text == name)
    }

    @Test(
        "A new name is sent with the next commit; if there are two, the later one is used",
        arguments: ServerKind.allCases)
    func rename(kind: ServerKind) async throws {
        let phone = try await Device.signedUp(server, kind)
        let tablet = try await phone.another()
        try phone.client.updateSharingGroup(sharingGroupUUID: phone.group, newSharingGroupName: "First")
        let file = try phone.upload("beside it")
        try phone.client.updateSharingGroup(sharingGroupUUID: phone.group, newSharingGroupName: "Second")

        let events = try await phone.events([.sharingGroupUploadOperationCompleted, .contentUploadsCompleted]) {
            try await phone.sync()
        }

        #expect(events.contains(.contentUploadsCompleted(numberOfFiles: 1)))
        guard case .sharingGroupUploadOperationCompleted(let group, .update) = events.last else {
            Issue.record("no event")
            return
        }
        #expect(group.sharingGroupName == "Second")
        #expect(phone.client.sharingGroups.map(\.sharingGroupName) == ["Second"])
        #expect(try phone.row(file) != nil)
        try await tablet.client.synced()
        #expect(tablet.client.sharingGroups.map(\.sharingGroupName) == ["Second"])
        #expect(tablet.app.state.withLock { $0.groups.flatMap(\.updated).map(\.sharingGroupName) } == ["Second"])
    }

    @Test("Leaving a group removes the user locally and on the server, once", arguments: ServerKind.allCases)
    func leaving(kind: ServerKind) async throws {
        let phone = try await Device.signedUp(server, kind)
        let group = SharingGroupUUID.random()
        try phone.client.createSharingGroup(sharingGroupUUID: group)
        try phone.upload("in it", group: group)
        try await phone.sync(group)

        try phone.client.removeFromSharingGroup(sharingGroupUUID: group)
        #expect(phone.client.sharingGroups.map(\.sharingGroupUUID) == [phone.group])
        #expect(await refusal { try phone.client.removeFromSharingGroup(sharingGroupUUID: group) } == .notAMember)
        let events = try await phone.events(.sharingGroupUploadOperationCompleted) { try await phone.sync(group) }

        guard case .sharingGroupUploadOperationCompleted(let left, .userRemoval) = events.first else {
            Issue.record("no event")
            return
        }
        #expect(left.sharingGroupUUID == group)
        try await phone.client.synced()
        #expect(phone.client.sharingGroups.map(\.sharingGroupUUID) == [phone.group])
        #expect(try phone.user.groups().group(group.rawValue) == nil)
        #expect(await refusal { try phone.client.removeFromSharingGroup(sharingGroupUUID: group) } == .notAMember)
        #expect(await refusal { try phone.upload("x", group: group) } == .notAMember)
        #expect(await refusal { try await phone.sync(group) } == .notAMember)
        #expect(!phone.client.isSyncing)
        try phone.client.forget(sharingGroupUUID: group)
        #expect(await refusal { try phone.upload("x", group: group) } == .unknownSharingGroup)
        #expect(try phone.leftovers() == [])
    }

    @Test(
        "A group that another member removes, with a file in it, is reported as deleted",
        arguments: ServerKind.allCases)
    func removedByOthers(kind: ServerKind) async throws {
        let phone = try await Device.signedUp(server, kind)
        let tablet = try await phone.another()
        try await phone.publish("in it")
        let connection = try #require(phone.client.connection)
        _ = try await connection.removeSharingGroup(
            RemoveSharingGroupRequest(sharingGroupUUID: phone.group, masterVersion: MasterVersion(1)))

        try await tablet.client.synced()

        let told = tablet.app.state.withLock { $0.groups }
        #expect(told.flatMap(\.deleted).map(\.sharingGroupUUID) == [phone.group])
        #expect(told.allSatisfy { $0.created.isEmpty && $0.updated.isEmpty })
        #expect(tablet.client.sharingGroups.isEmpty)
        // A sync of the group itself reports it as well.
        #expect(await refusal { try await phone.sync() } == .notAMember)
        #expect(phone.client.sharingGroups.isEmpty)
    }

    @Test("With four groups, each sync transfers only its group's files", arguments: ServerKind.allCases)
    func fourGroups(kind: ServerKind) async throws {
        let phone = try await Device.signedUp(server, kind)
        var groups = [phone.group]
        for _ in 0..<3 {
            let group = SharingGroupUUID.random()
            try phone.client.createSharingGroup(sharingGroupUUID: group)
            try await phone.sync(group)
            groups.append(group)
        }
        let tablet = try await phone.another()
        // One group each: no changes, a download, an upload, both.
        let down = [try phone.upload("down 1", group: groups[1])]
        try await phone.sync(groups[1])
        let other = try phone.upload("down 3", group: groups[3])
        try await phone.sync(groups[3])
        try tablet.upload("up 2", group: groups[2])
        try tablet.client.sync(sharingGroupUUID: groups[2])
        try tablet.upload("up 3", group: groups[3])
        let last = try await tablet.sync(groups[3])

        #expect(last.delivered.map(\.attributes.fileUUID) == [other] && last.uploaded == 1)
        #expect(tablet.app.taken.map(\.attributes.fileUUID) == [other])
        #expect(try await tablet.sync(groups[0]).delivered.isEmpty)
        #expect(try await tablet.sync(groups[1]).delivered.map(\.attributes.fileUUID) == down)
        #expect(try phone.user.index(of: groups[2].rawValue).files.count == 1)
        #expect(try tablet.leftovers() == [])
    }

    @Test(
        "A sync is needed after each kind of change by others, not after the user's own changes",
        arguments: ServerKind.allCases)
    func syncNeeded(kind: ServerKind) async throws {
        let phone = try await Device.signedUp(server, kind)
        let tablet = try await phone.another()
        let file = FileUUID.random()
        let changes: [@Sendable () throws -> Void] = [
            { try phone.client.updateSharingGroup(sharingGroupUUID: phone.group, newSharingGroupName: "New") },
            { try phone.upload("0", as: file) }, { try phone.upload("1", as: file) },
            { try phone.uploadText("text", of: file) }, { try phone.client.delete(fileWithUUID: file) },
        ]
        for change in changes {
            try change()
            try await phone.sync()
            #expect(phone.client.sharingGroups.first?.syncNeeded == false)
            try await tablet.client.synced()
            #expect(tablet.client.sharingGroups.first?.syncNeeded == true)
            try await tablet.sync()
            #expect(tablet.client.sharingGroups.first?.syncNeeded == false)
        }
    }

    @Test(
        "An invitation describes its offer and admits one person; an invalid one admits nobody",
        arguments: ServerKind.allCases
    )
    func invitations(kind: ServerKind) async throws {
        let phone = try await Device.signedUp(server, kind)
        let code = try await phone.client.createSharingInvitation(
            withPermission: .write, sharingGroupUUID: phone.group, allowSharingAcceptance: false)
        let stranger = try Device(server.newcomer(.facebook), kind)
        stranger.credentials.signOut()
        var offer = SyncServer.Invitation(code: code, permission: .write, allowsSocialSharing: false)
        offer.sharingGroupName = "Family"
        offer.invitingUserName = phone.user.account.name
        #expect(try await stranger.client.getSharingInvitationInfo(invitationCode: code) == .invitation(offer))
        let bad = SharingInvitationUUID(UUID().uuidString)!
        #expect(try await stranger.client.getSharingInvitationInfo(invitationCode: bad) == .noInvitationFound)

        let bob = try Device(server.newcomer(.facebook), kind)
        #expect(
            await refusal { try await bob.client.redeemSharingInvitation(invitationCode: code) }
                == .socialAcceptanceNotAllowed)
        // Members cannot redeem an invitation to their own group.
        #expect(await refusal { try await phone.client.redeemSharingInvitation(invitationCode: code) } != nil)
        #expect(phone.client.sharingGroups.map(\.permission) == [.admin])

        let carol = try await phone.invited()
        #expect(carol.client.sharingGroups.map(\.sharingGroupUUID) == [phone.group])
        #expect(carol.client.sharingGroups.map(\.permission) == [.write])
        #expect(
            await refusal { try carol.client.createSharingGroup(sharingGroupUUID: .random()) } == .permissionDenied)
        // Her uploads go to her host's storage.
        try await carol.publish("from Carol")
        #expect(try await phone.received().map(\.text) == ["from Carol"])
    }

    // MARK: Members

    /// A group with a file and a second member, who is known to it but not to the admin's list of groups.
    private func shared() async throws -> (admin: Device, bob: Device, bobID: UserID) {
        let admin = try await Device.signedUp(server)
        let bob = try await admin.invited()
        return (admin, bob, UserID(try #require(bob.client.syncServerUserID.flatMap { Int64($0) })))
    }

    @Test("An admin lists the members, changes a permission and removes a member, even if others have made changes")
    func members() async throws {
        let (admin, bob, bobID) = try await shared()
        try await bob.publish("from Bob")
        let group = admin.group

        let members = try await admin.client.members(of: group)
        #expect(members.map(\.permission) == [.admin, .write] && members.map(\.isOwnUser) == [true, false])
        #expect(members.last?.id == bobID && members.allSatisfy { !$0.name.isEmpty })
        #expect(try await bob.client.members(of: group).map(\.isOwnUser) == [false, true])

        // The admin does not know of Bob's file: the first attempt is stale.
        try await admin.client.setPermission(.read, of: bobID, in: group)
        #expect(try await bob.client.members(of: group).last?.permission == .read)
        try await bob.client.synced()
        #expect(bob.client.sharingGroups.map(\.permission) == [.read])

        #expect(await refusal { try await bob.client.removeMember(bobID, from: group) } == .permissionDenied)
        try await admin.client.removeMember(bobID, from: group)
        #expect(try await admin.client.members(of: group).map(\.isOwnUser) == [true])
        #expect(await refusal { try await bob.client.members(of: group) } == .notAMember)
        try await bob.client.synced()
        #expect(bob.client.sharingGroups.isEmpty)
        let own = UserID(try #require(admin.client.syncServerUserID.flatMap { Int64($0) }))
        for (member, code) in [(bobID, ErrorCode.memberUnknown), (own, .lastAdmin)] {
            let error = await #expect(throws: SyncError.self) {
                try await admin.client.setPermission(.read, of: member, in: group)
            }
            #expect(error?.code == .requestRefused && error?.serverCode == code.rawValue)
        }
    }

    @Test("An admin lists the open invitations to a group with the author's name, and withdraws one")
    func openInvitations() async throws {
        let (admin, bob, _) = try await shared()
        let group = admin.group
        #expect(try await admin.client.invitations(to: group).isEmpty)
        let code = try await admin.client.createSharingInvitation(
            withPermission: .read, sharingGroupUUID: group, numberAcceptors: 3, allowSharingAcceptance: false)

        let listed = try await admin.client.invitations(to: group)
        let invitation = try #require(listed.first)
        #expect(listed.count == 1 && invitation.code == code && invitation.permission == .read)
        #expect(!invitation.allowsSocialSharing && invitation.remainingAcceptors == 3)
        #expect(invitation.invitingUserName == (try await admin.client.members(of: group).first?.name))
        let hours = (invitation.expirationDate?.timeIntervalSinceNow ?? 0) / 3_600
        #expect((23...25).contains(hours))
        #expect(await refusal { try await bob.client.withdrawInvitation(code, to: group) } == .permissionDenied)

        try await admin.client.withdrawInvitation(code, to: group)
        try await admin.client.withdrawInvitation(code, to: group)

        #expect(try await admin.client.invitations(to: group).isEmpty)
        #expect(try await bob.client.getSharingInvitationInfo(invitationCode: code) == .noInvitationFound)
    }

    @Test("An admin removes a group for everybody; unsent changes are set aside")
    func removal() async throws {
        let (admin, bob, _) = try await shared()
        try await bob.publish("in it")
        #expect(await refusal { try await bob.client.removeSharingGroup(admin.group) } == .permissionDenied)
        try admin.upload("unsent")

        try await admin.client.removeSharingGroup(admin.group)

        try await eventually("the group disappears") { admin.client.sharingGroups.isEmpty }
        #expect(admin.client.pendingReport().changes.map(\.isDead) == [true])
        #expect(await refusal { try await admin.client.removeSharingGroup(admin.group) } == .notAMember)
        try await bob.client.synced()
        #expect(bob.client.sharingGroups.isEmpty)
    }

    @Test("A server of an older generation has neither lists of members nor lists of invitations")
    func olderServer() async throws {
        let phone = try await Device.signedUp(server, .older)

        #expect(await refusal { try await phone.client.members(of: phone.group) } == .notSupported)
        #expect(await refusal { try await phone.client.invitations(to: phone.group) } == .notSupported)
        try await phone.client.removeSharingGroup(phone.group)
        try await eventually("the group disappears") { phone.client.sharingGroups.isEmpty }
    }

    @Test("A reader gets an error before anything is sent")
    func readOnly() async throws {
        let phone = try await Device.signedUp(server)
        let bob = try await phone.invited(permission: .read)

        #expect(await refusal { try bob.upload("mine") } == .permissionDenied)
        try await bob.sync()

        #expect(bob.executor.count("UploadFile") == 0 && !bob.client.uploadsPending)
        #expect(
            await refusal {
                try bob.client.updateSharingGroup(sharingGroupUUID: phone.group, newSharingGroupName: "x")
            } == .permissionDenied)
    }

    @Test(
        "A store belongs to one user: another user is rejected until everything is reset",
        arguments: ServerKind.allCases
    )
    func differentUser(kind: ServerKind) async throws {
        let phone = try await Device.signedUp(server, kind)
        let other = try await Device.signedUp(server, kind)
        try await phone.publish("mine")
        phone.credentials.signIn(other.user.account)

        #expect(await refusal { try await phone.client.checkForExistingUser() } == .differentUser)
        #expect(await refusal { try await phone.sync() } == .differentUser)
        #expect(phone.client.sharingGroups.map(\.sharingGroupUUID) == [phone.group])

        // The user is also checked in a new process.
        let again = try await phone.relaunched()
        again.credentials.signIn(other.user.account)
        #expect(await refusal { try await again.sync() } == .differentUser)
        #expect(again.executor.count("Index") == 0)

        try again.client.reset(type: .all)
        _ = try await again.client.checkForExistingUser()
        #expect(again.client.sharingGroups.map(\.sharingGroupUUID) == [other.group])
    }
}
