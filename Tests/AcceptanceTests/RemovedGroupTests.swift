import Foundation
import TestSupport
import Testing

@Suite("A removed sharing group")
struct RemovedGroupTests {
    let server: TestServer

    init() throws { server = try TestServer.shared() }

    /// Two members of a group with a file; the first of them has removed the group.
    private struct Scene {
        let alice: TestUser
        let bob: TestUser
        let file = TestFile()
        var members: [TestUser] { [alice, bob] }

        init(_ server: TestServer) throws {
            alice = try server.signUpOwningUser()
            bob = try alice.newMember(.admin, name: "Bob")
            try alice.publish(file, masterVersion: 1, metadata: TestMetadata(0, "x"))
            try bob.stage(TestFile("staged by Bob"), masterVersion: 2)
        }

        func remove() throws {
            let reply = try alice.removeGroup(masterVersion: 2)
            guard reply.status == 200, reply.json == .object([:]) else {
                throw UnexpectedReply("RemoveSharingGroup", reply)
            }
        }
    }

    @Test("A removed group is no longer listed, and has no members [90] [299] [301]")
    func notListed() throws {
        let scene = try Scene(server)
        let other = try scene.alice.newGroup()

        try scene.remove()

        #expect(try scene.alice.groups().groups.compactMap { $0.sharingGroupUUID?.text } == [other])
        #expect(try scene.bob.groups().groups.isEmpty)
        for member in scene.members {
            expectError(try member.call("GET", "Index", ["sharingGroupUUID": scene.alice.group]), 404)
        }
    }

    @Test(
        "Every request for the group is rejected, with any master version [122] [145] [160] [176] [201] [223] [266] [298] [302] [303] [304] [305] [306] [307] [308]"
    )
    func nothingWorks() throws {
        let scene = try Scene(server)
        try scene.remove()
        let file = scene.file

        for member in scene.members {
            for version in [Int64(2), 3] {
                let replies = [
                    try member.upload(TestFile(), masterVersion: version),
                    try member.upload(file.next("x"), masterVersion: version),
                    try member.changeMetadata(of: file, TestMetadata(1, "y"), masterVersion: version),
                    try member.downloadMetadata(of: file, version: 0, masterVersion: version),
                    try member.delete(file, masterVersion: version),
                    try member.commit(masterVersion: version),
                    try member.download(file, masterVersion: version, metadataVersion: 0),
                    try member.createInvitation(group: scene.alice.group),
                    try member.rename(to: "x", masterVersion: version),
                    try member.removeGroup(masterVersion: version),
                    try member.leave(masterVersion: version),
                    try member.call("GET", "GetUploads", ["sharingGroupUUID": scene.alice.group]),
                ]
                for reply in replies { expectError(reply, 410, goneReason: "userRemoved") }
            }
        }
    }

    @Test("Committed files remain in their owner's storage; staged objects are deleted")
    func storage() async throws {
        let scene = try Scene(server)
        let staged = TestFile("staged by Alice")
        try scene.alice.stage(staged, masterVersion: 2)
        #expect(try scene.alice.stored(staged).count == 1)

        try scene.remove()

        try await eventually("staged objects are deleted") {
            let names = try server.sandbox.files(of: scene.alice.account).map(\.name).filter { $0.hasSuffix(".txt") }
            return names.filter { $0.contains(scene.bob.device) || $0.hasPrefix(staged.uuid) }.isEmpty
        }
        #expect(try scene.alice.stored(scene.file).map(\.name) == [scene.file.cloudName(device: scene.alice.device)])
    }

    @Test("The group's invitations can be neither queried nor redeemed [293] [302] [F16]")
    func invitations() throws {
        let scene = try Scene(server)
        let invitation = try scene.bob.invite(.write, group: scene.alice.group)
        let carol = try server.newcomer(.facebook)

        try scene.remove()

        expectError(
            try server.call("GET", "GetSharingInvitationInfo", ["sharingInvitationUUID": invitation]), 410)
        expectError(try carol.redeem(invitation), 404)
        expectError(try carol.checkCredentials(), 401)
    }

    @Test("Members keep their accounts and other groups, and the files can be uploaded to other groups")
    func lifeGoesOn() throws {
        let scene = try Scene(server)
        let other = try scene.alice.newGroup()
        try scene.remove()

        try scene.alice.publish(scene.file, masterVersion: 0, group: other)

        #expect(try scene.bob.checkCredentials().status == 200)
        #expect(try scene.alice.index(of: other).file(scene.file)?.deleted?.bool == false)
    }
}
