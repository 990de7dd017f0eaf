import Foundation
import TestSupport
import Testing

@Suite("What members may do with files")
struct RightsTests {
    let server: TestServer

    init() throws { server = try TestServer.shared() }

    @Test(
        "A reader can neither upload nor commit, and a stale version does not hide that [238]",
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
        "Writers and admins upload into their own storage or the owner's, and Index says which [241] [246]",
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
        "The next version of the owner's file stays in the owner's storage and stays theirs [242]",
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
        try await eventually("the owner's storage has just Bob's version") {
            try alice.stored(file).map(\.name) == [next.cloudName(device: bob.device)]
        }
        if provider == .google { #expect(try bob.stored(file).isEmpty) }
    }

    @Test("The owner replaces what a sharing user uploaded, and the reverse")
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

    @Test("Another user on the same device sees nothing of the first one's staged rows")
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
}
