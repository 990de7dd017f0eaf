import Foundation
import TestSupport
import Testing

@Suite("Members' rights to files")
struct RightsTests {
    let server: TestServer

    init() throws { server = try TestServer.shared() }

    @Test(
        "A reader can neither upload nor commit, even with a stale version [238]",
        arguments: [SandboxProvider.facebook, .google])
    func reader(provider: SandboxProvider) throws {
        let alice = try server.signUpOwningUser()
        let bob = try alice.newMember(.read, provider: provider)
        let file = TestFile()

        expectError(try bob.upload(file, masterVersion: 1), 409)
        expectError(try bob.upload(file, masterVersion: 0), 409)
        expectError(try bob.commit(masterVersion: 1), 409)

        #expect(try alice.index().masterVersion == 1)
        #expect(try alice.stored(file).isEmpty && bob.stored(file).isEmpty)
    }

    @Test(
        "Writers and admins upload into their own storage or the owner's, as Index shows [241] [246]",
        arguments: [TestPermission.write, .admin], [SandboxProvider.facebook, .google])
    func writer(permission: TestPermission, provider: SandboxProvider) throws {
        let alice = try server.signUpOwningUser()
        let bob = try alice.newMember(permission, provider: provider)
        let owner = provider == .google ? bob : alice
        let file = TestFile()

        try bob.publish(file, masterVersion: 1)

        #expect(try owner.stored(file).map(\.name) == [file.cloudName(device: bob.device)])
        let entry = try alice.index().file(file)
        #expect(entry?.owningUserId == .integer(owner.userID))
        #expect(entry?.cloudStorageType?.text == "Google")
    }

    @Test(
        "The next version of the owner's file stays in the owner's storage and ownership [242]",
        arguments: [SandboxProvider.facebook, .google])
    func nextVersion(provider: SandboxProvider) async throws {
        let alice = try server.signUpOwningUser()
        let file = TestFile("Alice's")
        try alice.publish(file, masterVersion: 0)
        let bob = try alice.newMember(.write, provider: provider)
        let next = file.next("changed by Bob")

        try bob.publish(next, masterVersion: 2)

        #expect(try bob.index().file(file)?.owningUserId == .integer(alice.userID))
        expectDownload(try alice.download(next, masterVersion: 3), of: next)
        try await eventually("the owner's storage has only Bob's version") {
            try alice.stored(file).map(\.name) == [next.cloudName(device: bob.device)]
        }
        if provider == .google { #expect(try bob.stored(file).isEmpty) }
    }

    @Test("The owner can replace a sharing user's file, and vice versa")
    func inTurns() throws {
        let alice = try server.signUpOwningUser()
        let bob = try alice.newMember(.write)
        var file = TestFile("Bob's")
        try bob.publish(file, masterVersion: 1)
        for (turn, user) in [alice, bob, alice].enumerated() {
            file = file.next("turn \(turn)")
            try user.publish(file, masterVersion: Int64(2 + turn))
        }

        expectDownload(try bob.download(file, masterVersion: 5), of: file)
        #expect(try bob.index().file(file)?.owningUserId == .integer(alice.userID))
    }

    @Test("A member cannot commit what another member staged")
    func foreignRows() throws {
        let alice = try server.signUpOwningUser()
        let bob = try alice.newMember(.write)
        try alice.stage(TestFile(), masterVersion: 1)

        #expect(try bob.commitStaged(masterVersion: 1) == 0)
        #expect(try alice.stagedUploads().count == 1)
        #expect(try alice.index().files.isEmpty)
    }

    @Test("Another user on the same device does not see the first user's staged rows")
    func sharedDevice() throws {
        let alice = try server.signUpOwningUser()
        var bob = try alice.newMember(.write)
        bob.device = alice.device
        let file = TestFile()
        try alice.stage(file, masterVersion: 1)

        #expect(try bob.stagedUploads().isEmpty)
        #expect(try bob.commitStaged(masterVersion: 1) == 0)
        #expect(try alice.commitStaged(masterVersion: 2) == 1)
    }

    @Test("A reader can neither delete nor commit, but sees others' deletions [239] [240]")
    func readerAndDeletions() throws {
        let alice = try server.signUpOwningUser()
        let bob = try alice.newMember(.read)
        let file = TestFile()
        try alice.publish(file, masterVersion: 1)

        let reply = try bob.delete(file, masterVersion: 2)
        expectError(reply, 409)
        #expect(reply.json?.code?.text == "permission_too_low")
        expectError(try bob.commit(masterVersion: 2), 409)
        #expect(try bob.index().file(file)?.deleted?.bool == false)

        try alice.deleteAndCommit(file, masterVersion: 2)
        #expect(try bob.index().file(file)?.deleted?.bool == true)
    }

    @Test(
        "Writers and admins can delete files and see deletions [243] [247] [248]",
        arguments: [TestPermission.write, .admin], [SandboxProvider.facebook, .google])
    func deletions(permission: TestPermission, provider: SandboxProvider) async throws {
        let alice = try server.signUpOwningUser()
        let bob = try alice.newMember(permission, provider: provider)
        let files = [TestFile("deleted by Bob"), TestFile("deleted by Alice")]
        for (number, file) in files.enumerated() { try alice.publish(file, masterVersion: Int64(1 + number)) }

        try bob.deleteAndCommit(files[0], masterVersion: 3)
        try alice.deleteAndCommit(files[1], masterVersion: 4)

        for user in [alice, bob] {
            let index = try user.index()
            #expect(index.masterVersion == 5)
            for file in files { #expect(index.file(file)?.deleted?.bool == true) }
        }
        try await eventually("both objects are gone") { try files.allSatisfy { try alice.stored($0).isEmpty } }
    }

    @Test("The owner can delete a file whose current version a sharing user uploaded [244]")
    func ownerDeletes() async throws {
        let alice = try server.signUpOwningUser()
        let bob = try alice.newMember(.write)
        let file = TestFile("Alice's")
        try alice.publish(file, masterVersion: 1)
        let next = file.next("Bob's")
        try bob.publish(next, masterVersion: 2)

        try alice.deleteAndCommit(next, masterVersion: 3)

        #expect(try bob.index().file(file)?.deleted?.bool == true)
        try await eventually("the object is deleted") { try alice.stored(file).isEmpty }
    }

    @Test("An invitee's deleted file is removed from the right storage [245]")
    func inviteeDeletes() async throws {
        let alice = try server.signUpOwningUser()
        let bob = try alice.newMember(.write, provider: .google)
        let carol = try alice.newMember(.write)
        let files = [TestFile("Bob's"), TestFile("Carol's, kept by Alice")]
        try bob.publish(files[0], masterVersion: 2)
        try carol.publish(files[1], masterVersion: 3)
        #expect(try bob.stored(files[0]).count == 1 && alice.stored(files[1]).count == 1)

        try bob.deleteAndCommit(files[0], masterVersion: 4)
        try carol.deleteAndCommit(files[1], masterVersion: 5)

        try await eventually("both objects are gone") {
            try bob.stored(files[0]).isEmpty && alice.stored(files[1]).isEmpty
        }
    }

    @Test("A third member can delete files of two owners in one commit [203]")
    func twoOwners() async throws {
        let alice = try server.signUpOwningUser()
        let bob = try alice.newMember(.write, provider: .google)
        let carol = try alice.newMember(.write)
        let files = [TestFile("Alice's"), TestFile("Bob's")]
        try alice.publish(files[0], masterVersion: 2)
        try bob.publish(files[1], masterVersion: 3)
        for file in files { try carol.stageDeletion(of: file, masterVersion: 4) }

        #expect(try carol.commitStaged(masterVersion: 4) == 2)

        for file in files { #expect(try alice.index().file(file)?.deleted?.bool == true) }
        try await eventually("both objects are gone") {
            try alice.stored(files[0]).isEmpty && bob.stored(files[1]).isEmpty
        }
    }
}
