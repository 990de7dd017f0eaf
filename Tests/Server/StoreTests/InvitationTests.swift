import MariaDB
import SyncProtocol
import TestSupport
import Testing

@testable import Store

@Suite("Invitations")
struct InvitationTests {
    private let fixture: StoreFixture
    private var store: MetadataStore { fixture.store }
    private let owner: Member

    init() throws {
        fixture = try StoreFixture()
        owner = try fixture.addOwner()
    }

    private func invite(
        acceptors: Int = 1, expires: WireDate = noon(plus: 60), social: Bool = true, _ permission: Permission = .write
    ) throws -> SharingInvitationUUID {
        let invitation = SharingInvitationUUID(someFile().rawValue)!
        try store.transaction { session in
            try session.addInvitation(
                invitation, to: owner.area.groupID, by: owner.user, owningUserID: owner.user, permission: permission,
                allowsSocialAcceptance: social, acceptors: acceptors, expires: expires)
        }
        return invitation
    }

    private func find(_ invitation: SharingInvitationUUID, at time: WireDate = noon) throws -> InvitationRecord? {
        try store.withSession { try $0.invitation(invitation, at: time) }
    }

    private func use(_ invitation: SharingInvitationUUID, at time: WireDate = noon) throws -> Bool {
        try store.transaction { session in
            _ = try session.lockMasterVersionExclusive(of: owner.area.groupID)
            return try session.useAcceptance(of: invitation, at: time)
        }
    }

    @Test(
        "An invitation is read back completely, in any letter case [332]",
        arguments: Permission.allCases)
    func readBack(permission: Permission) throws {
        let invitation = try invite(acceptors: 7, social: permission == .read, permission)

        let expected = InvitationRecord(
            groupID: owner.area.groupID, groupUUID: owner.group, invitingUserID: owner.user, owningUserID: owner.user,
            permission: permission, allowsSocialAcceptance: permission == .read, remainingAcceptors: 7,
            groupName: nil, invitingUserName: "Somebody")
        #expect(try find(invitation) == expected)
        #expect(try find(SharingInvitationUUID(invitation.rawValue.lowercased())!) == expected)
        #expect(try find(SharingInvitationUUID(someFile().rawValue)!) == nil)
    }

    @Test("An invitation has the group's name and the inviter's, and exists without an inviter")
    func names() throws {
        let zoe = try fixture.addUser(.dropbox, "Zoë")
        let admin = try fixture.member(zoe, of: fixture.addGroup(of: zoe, name: "Summer"))
        let names = try [zoe, UserID(987_654)].map { inviter in
            let invitation = SharingInvitationUUID(someFile().rawValue)!
            try store.transaction { session in
                try session.addInvitation(
                    invitation, to: admin.area.groupID, by: inviter, owningUserID: zoe, permission: .read,
                    allowsSocialAcceptance: true, acceptors: 1, expires: noon(plus: 60))
            }
            let found = try find(invitation)
            return [found?.groupName, found?.invitingUserName]
        }

        #expect(names == [["Summer", "Zoë"], ["Summer", nil]])
    }

    @Test("An invitation cannot be used from its expiry on [332]")
    func expiry() throws {
        let invitation = try invite(expires: noon(plus: 60))

        #expect(try find(invitation, at: noon(plus: 59)) != nil)
        #expect(try find(invitation, at: noon(plus: 60)) == nil)
        #expect(try !use(invitation, at: noon(plus: 60)))
        #expect(try use(invitation, at: noon(plus: 59)))
    }

    @Test("An invitation to a deleted group does not exist")
    func deletedGroup() throws {
        let invitation = try invite()
        var connection = try Connection(fixture.settings)
        try connection.execute("UPDATE sharing_groups SET is_deleted = TRUE")

        #expect(try find(invitation) == nil)
    }

    @Test("Clean-up removes expired invitations, the oldest first, and keeps the rest [332]")
    func cleanUp() throws {
        let valid = try invite(expires: noon(plus: 1))
        let expired = try [-2, -1, 0].map { try invite(expires: noon(plus: $0)) }

        #expect(try store.transaction { try $0.removeExpiredInvitations(at: noon, limit: 2) } == 2)
        #expect(try expired.map { try find($0, at: noon(plus: -100)) != nil } == [false, false, true])
        #expect(try store.transaction { try $0.removeExpiredInvitations(at: noon, limit: 2) } == 1)
        #expect(try store.transaction { try $0.removeExpiredInvitations(at: noon, limit: 2) } == 0)
        #expect(try find(valid) != nil)
    }

    @Test("The first of two acceptances leaves one, the last one removes the invitation, and a third is rejected [332]")
    func acceptances() throws {
        let invitation = try invite(acceptors: 2)

        #expect(try use(invitation))
        #expect(try find(invitation)?.remainingAcceptors == 1)
        #expect(try use(invitation))
        #expect(try find(invitation) == nil)
        #expect(try fixture.count("SELECT COUNT(*) FROM invitations") == 0)
        #expect(try !use(invitation))
    }

    @Test("A corrupt invitation without acceptances cannot be redeemed")
    func noAcceptances() throws {
        let invitation = try invite()
        var connection = try Connection(fixture.settings)
        try connection.execute("UPDATE invitations SET remaining_acceptors = 0")

        #expect(try !use(invitation))
        #expect(try fixture.count("SELECT remaining_acceptors FROM invitations") == 0)
    }

    @Test("An admin of one group cannot revoke invitations of another")
    func otherGroup() throws {
        let invitation = try invite()
        let other = try fixture.addOwner()

        try store.transaction { try $0.removeInvitation(invitation, to: other.area.groupID) }
        #expect(try find(invitation) != nil)
        try store.transaction { try $0.removeInvitation(invitation, to: owner.area.groupID) }
        #expect(try find(invitation) == nil)
    }

    @Test("Exactly one of several concurrent threads gets the last acceptance")
    func lastAcceptanceRace() throws {
        for _ in 0..<5 {
            let invitation = try invite()

            let outcomes = concurrently(8) { _ in try use(invitation) }

            #expect(outcomes.failures().isEmpty)
            #expect(outcomes.successes().filter { $0 }.count == 1)
        }
    }

    @Test("Even without the group's lock, no more acceptances are used than exist")
    func acceptancesRaceUnlocked() throws {
        let invitation = try invite(acceptors: 3)

        let outcomes = concurrently(8) { _ in try store.transaction { try $0.useAcceptance(of: invitation, at: noon) } }

        #expect(outcomes.failures().isEmpty)
        #expect(outcomes.successes().filter { $0 }.count == 3)
    }

    @Test("A group joined through an invitation is found again until the member has left")
    func joinedThrough() throws {
        let invitation = try invite()
        let guest = try fixture.addUser(.facebook)
        #expect(try store.withSession { try $0.group(joinedBy: guest, through: invitation) } == nil)

        try store.transaction { session in
            try session.addMember(
                guest, to: owner.area.groupID, permission: .read, owningUserID: owner.user, invitation: invitation,
                at: noon)
        }
        #expect(try store.withSession { try $0.group(joinedBy: guest, through: invitation) } == owner.group)
        #expect(try fixture.membership(of: guest, in: owner.group)?.invitation == invitation)
        var connection = try Connection(fixture.settings)
        try connection.execute("DELETE FROM memberships WHERE user_id = ?", [.int(guest.rawValue)])
        #expect(try store.withSession { try $0.group(joinedBy: guest, through: invitation) } == nil)
    }
}
