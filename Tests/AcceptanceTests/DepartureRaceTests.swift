import Foundation
import TestSupport
import Testing

/// Users leave and groups end during other requests. Whichever request wins, no operation is left half done.
@Suite("Leaving and removing concurrently with other requests")
struct DepartureRaceTests {
    let server: TestServer
    /// The time limit for deleting a loser's object. The nodes of a cluster do not wait for each other: if one node
    /// stages a row while another removes its user or group, housekeeping finds the row, once a minute.
    private let withdrawal: Duration

    init() throws {
        server = try TestServer.shared()
        let isCluster = try server.environment.processes("mariadb").count > 1
        withdrawal = isCluster ? .seconds(100) : .seconds(30)
    }

    @Test("Simultaneous identical departures take effect once")
    func leavingTwice() async throws {
        let alice = try server.signUpOwningUser()
        for round in 0..<4 {
            let version = Int64(round * 2)
            let bob = try alice.newMember(.write)

            let replies = try await Threads.run(3) { _ in try bob.leave(masterVersion: version + 1) }

            #expect(replies.filter { $0.json == .object([:]) }.count == 1, "\(replies)")
            #expect(replies.allSatisfy { $0.json == .object([:]) || $0.status == 410 || $0.masterVersionUpdate != nil })
            #expect(try alice.index().masterVersion == version + 2)
        }
    }

    @Test("Simultaneous RemoveUser requests take effect once; each gets 200, or 401 for an unknown user")
    func removeUserTwice() async throws {
        let alice = try server.signUpOwningUser()
        for round in 0..<4 {
            let bob = try alice.newMember(.write, provider: round.isMultiple(of: 2) ? .google : .facebook)

            let replies = try await Threads.run(3) { _ in try bob.removeAccount() }

            #expect(replies.allSatisfy { $0.status == 401 || $0.json == .object([:]) }, "\(replies)")
            #expect(replies.contains { $0.status == 200 })
            #expect(try alice.index().masterVersion == Int64(round * 2 + 2))
        }
    }

    @Test("If the last two admins leave simultaneously, one leaves and the other is stale")
    func lastAdmins() async throws {
        let alice = try server.signUpOwningUser()
        let bob = try alice.newMember(.admin, provider: .google)
        let carol = try alice.newMember(.write)

        let replies = try await Threads.run(2) { try [alice, bob][$0].leave(masterVersion: 2) }

        #expect(replies.filter { $0.json == .object([:]) }.count == 1, "\(replies)")
        #expect(replies.filter { $0.masterVersionUpdate == 3 }.count == 1, "\(replies)")
        let stayed = replies[0].masterVersionUpdate == nil ? bob : alice
        #expect(try stayed.leave(masterVersion: 3).status == 200)
        #expect(try carol.groups().group(alice.group)?.permission?.text == "admin")
        #expect(try carol.index().masterVersion == 4)
    }

    @Test("Members of the same groups can remove their accounts simultaneously, and no group is left behind")
    func removedTogether() async throws {
        for _ in 0..<3 {
            let people = try (0..<3).map { try server.signUpOwningUser(name: "Person \($0)") }
            for person in people {
                for other in people where other.userID != person.userID {
                    #expect(try other.redeem(person.invite(.admin)).status == 200)
                }
                try person.publish(TestFile(), masterVersion: 2)
            }
            let witness = try people[0].newMember(.read)

            let replies = try await Threads.run(3) { try people[$0].removeAccount() }

            for reply in replies { #expect(reply.json == .object([:]), "\(reply)") }
            let index = try witness.index(of: people[0].group)
            #expect(index.masterVersion == 7)
            #expect(index.files.allSatisfy { $0.deleted?.bool == true } && index.files.count == 1)
            #expect(index.groups.first?.permission?.text == "admin")
            let newcomer = try server.signUpOwningUser()
            for person in people.dropFirst() { expectError(try newcomer.createGroup(person.group), 409) }
        }
    }

    @Test("An account removed during its upload leaves nothing in the owner's storage")
    func removedWhileUploading() async throws {
        let alice = try server.signUpOwningUser()
        for size in [1_000, 300_000, 2_000_000] {
            let bob = try alice.newMember(.write)
            let version = try #require(try alice.index().masterVersion)
            let file = TestFile(randomBytes: size)

            let replies = try await Threads.run(2) { number in
                number == 0 ? try bob.upload(file, masterVersion: version) : try bob.removeAccount()
            }

            #expect([200, 401, 409, 410].contains(replies[0].status), "\(replies[0])")
            #expect(replies[1].status == 200, "\(replies[1])")
            try await eventually("the object is deleted", within: withdrawal) { try alice.stored(file).isEmpty }
            #expect(try alice.members() == [alice.userID])
        }
    }

    @Test("If an owner's account is removed while a member commits a file to their storage, no live file remains")
    func ownerRemovedWhileCommitting() async throws {
        for _ in 0..<4 {
            let alice = try server.signUpOwningUser()
            let bob = try alice.newMember(.write)
            let file = TestFile()
            try bob.stage(file, masterVersion: 1)

            let replies = try await Threads.run(2) { number in
                number == 0 ? try bob.commit(masterVersion: 1) : try alice.removeAccount()
            }

            #expect(replies[1].status == 200, "\(replies[1])")
            let index = try bob.index()
            if replies[0].json?.numberUploadsTransferred != nil {
                #expect(index.masterVersion == 3)
                #expect(index.file(file)?.deleted?.bool == true)
            } else {
                #expect(replies[0].masterVersionUpdate == 2 || replies[0].status == 410, "\(replies[0])")
                #expect(index.masterVersion == 2 && index.files.isEmpty)
            }
        }
    }

    @Test("If a group is removed twice during an upload and a commit, one wins, and no other bytes are left behind")
    func groupRemovedAtWork() async throws {
        for size in [1_000, 300_000, 1_500_000] {
            let alice = try server.signUpOwningUser()
            let bob = try alice.newMember(.write)
            let committed = TestFile("staged before")
            let uploaded = TestFile(randomBytes: size)
            try bob.stage(committed, masterVersion: 1)

            let replies = try await Threads.run(4) { number in
                switch number {
                case 0: try bob.commit(masterVersion: 1)
                case 1: try bob.upload(uploaded, masterVersion: 1)
                default: try alice.removeGroup(masterVersion: 1)
                }
            }

            let isCommitted = replies[0].json?.numberUploadsTransferred != nil
            let removals = replies[2...].filter { $0.json == .object([:]) }.count
            #expect(removals == (isCommitted ? 0 : 1), "\(replies)")
            #expect(replies.allSatisfy { $0.status == 200 || $0.status == 410 }, "\(replies)")
            if isCommitted { #expect(try alice.removeGroup(masterVersion: 2).json == .object([:])) }
            #expect(try bob.groups().groups.isEmpty)
            // The upload may have been staged in time for the commit.
            let isUploadCommitted = replies[0].json?.numberUploadsTransferred == .integer(2)
            try await eventually("uncommitted objects are deleted", within: withdrawal) {
                try alice.stored(uploaded).count == (isUploadCommitted ? 1 : 0)
            }
            try await eventually("committed objects stay") {
                try alice.stored(committed).count == (isCommitted ? 1 : 0)
            }
        }
    }

    @Test("Of two simultaneous renames, one is applied and the other is stale")
    func twoNames() async throws {
        let alice = try server.signUpOwningUser()
        for version in Int64(0)..<4 {
            let replies = try await Threads.run(2) { try alice.rename(to: "name \($0)", masterVersion: version) }

            #expect(replies.filter { $0.json == .object([:]) }.count == 1, "\(replies)")
            #expect(replies.filter { $0.masterVersionUpdate == version + 1 }.count == 1, "\(replies)")
            let winner = replies[0].masterVersionUpdate == nil ? "name 0" : "name 1"
            #expect(try alice.groups().group(alice.group)?.sharingGroupName?.text == winner)
        }
    }

    @Test("If a group is removed during a redemption, either it is gone or the removal was stale")
    func removedWhileRedeeming() async throws {
        for round in 0..<6 {
            let alice = try server.signUpOwningUser()
            let invitation = try alice.invite(.write)
            let bob = try server.newcomer(round.isMultiple(of: 2) ? .facebook : .google)

            let replies = try await Threads.run(2) { number in
                number == 0 ? try bob.redeem(invitation) : try alice.removeGroup(masterVersion: 0)
            }

            if replies[1].json == .object([:]) {
                #expect([404, 410].contains(replies[0].status), "\(replies)")
                expectError(try bob.checkCredentials(), 401)
                #expect(try alice.groups().groups.isEmpty)
            } else {
                #expect(replies[1].masterVersionUpdate == 1, "\(replies)")
                #expect(replies[0].status == 200, "\(replies)")
                #expect(try alice.members().count == 2)
            }
        }
    }

    @Test("If an inviter leaves while inviting and during a redemption, no member gets an owner outside the group")
    func inviterLeavesMeanwhile() async throws {
        for _ in 0..<5 {
            let alice = try server.signUpOwningUser()
            let dora = try alice.newMember(.admin, provider: .google, name: "Dora")
            let invitation = try dora.invite(.write, group: alice.group)
            let bob = try server.newcomer(.facebook)

            let replies = try await Threads.run(3) { number in
                switch number {
                case 0: try bob.redeem(invitation)
                case 1: try dora.leave(masterVersion: 1)
                default: try dora.createInvitation(group: alice.group)
                }
            }

            let hasLeft = replies[1].json == .object([:])
            if let code = replies[2].json?.sharingInvitationUUID?.text, hasLeft {
                expectError(
                    try server.call("GET", "GetSharingInvitationInfo", ["sharingInvitationUUID": code]), 410)
            }
            if replies[0].status == 200 {
                // Either Bob was first and Dora's departure was stale, or her departure left him without an owner.
                let storage = try bob.groups().group(alice.group)?.cloudStorageType?.text
                #expect(storage == (hasLeft ? nil : "Google"))
            } else {
                #expect([404, 409, 410].contains(replies[0].status), "\(replies[0])")
            }
        }
    }

    @Test("If an account is removed while it joins and creates groups, it is in none of them afterwards")
    func removedWhileJoining() async throws {
        for _ in 0..<4 {
            let alice = try server.signUpOwningUser()
            let bob = try server.signUpOwningUser(name: "Bob")
            let invitation = try alice.invite(.write)
            let created = UUID().uuidString

            let replies = try await Threads.run(4) { number in
                switch number {
                case 0: try bob.redeem(invitation)
                case 1: try bob.createGroup(created)
                case 2: try bob.onAnotherDevice().checkCredentials()
                default: try bob.removeAccount()
                }
            }

            for reply in replies { #expect(reply.status < 500, "\(reply)") }
            #expect(replies[3].status == 200, "\(replies[3])")
            let members = try alice.members()
            // A redemption after the removal creates a new user; the old one is not a member.
            #expect(!members.contains(bob.userID))
            if members.count > 1 { #expect(try bob.checkCredentials().status == 200) }
        }
    }

    @Test("If a file is deleted during its download, it arrives completely or the reply is stale [F29]")
    func deletedWhileDownloading() async throws {
        let alice = try server.signUpOwningUser()
        let phone = alice.onAnotherDevice()
        for round in 0..<4 {
            let file = TestFile(randomBytes: 1_500_000)
            let version = Int64(round * 2)
            try alice.publish(file, masterVersion: version)
            try phone.stageDeletion(of: file, masterVersion: version + 1)

            let replies = try await Threads.run(3) { number in
                number == 0
                    ? try phone.commit(masterVersion: version + 1)
                    : try alice.download(file, masterVersion: version + 1)
            }

            #expect(replies[0].json?.numberUploadsTransferred?.integer == 1, "\(replies[0])")
            for reply in replies.dropFirst() where reply.status == 200 {
                if reply.masterVersionUpdate != nil || !reply.isComplete { continue }
                #expect(reply.messageParameters?.gone == nil, "\(reply)")
                #expect(reply.body == file.contents)
            }
        }
    }

    @Test("A new file committed to two groups simultaneously is added to one of them")
    func sameFileInTwoGroups() async throws {
        let alice = try server.signUpOwningUser()
        for _ in 0..<5 {
            let groups = [try alice.newGroup(), try alice.newGroup()]
            let file = TestFile()
            for group in groups { try alice.stage(file, masterVersion: 0, group: group) }

            let replies = try await Threads.run(2) { try alice.commit(masterVersion: 0, group: groups[$0]) }

            #expect(replies.filter { $0.status == 200 }.count == 1, "\(replies)")
            for reply in replies where reply.status != 200 {
                expectError(reply, 409, 429)
            }
            let live = try groups.filter { try alice.index(of: $0).files.count == 1 }
            #expect(live.count == 1)
        }
    }
}
