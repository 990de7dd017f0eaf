import Foundation
import TestSupport
import Testing

@Suite("DownloadFile")
struct DownloadTests {
    let server: TestServer

    init() throws { server = try TestServer.shared() }

    @Test(
        "A download returns a committed file with its checksum [213] [214] [326]",
        arguments: ["text/plain", "application/x-url"])
    func committed(mimeType: String) throws {
        let alice = try server.signUpOwningUser()
        let file = TestFile(randomBytes: 10_000, mimeType: mimeType)
        try alice.publish(file, masterVersion: 0)

        let reply = try alice.download(file, masterVersion: 1)

        expectDownload(reply, of: file)
        #expect(reply.messageParameters?.names == ["checkSum", "contentsChanged", "cloudStorageType"])
        #expect(reply.values(of: "content-type") == ["application/octet-stream"])
    }

    @Test("A picture of several megabytes arrives on the other device unchanged")
    func picture() throws {
        let alice = try server.signUpOwningUser()
        let file = TestFile(randomBytes: 3_456_789)
        try alice.publish(file, masterVersion: 0)

        expectDownload(try alice.onAnotherDevice().download(file, masterVersion: 1), of: file)
    }

    @Test("A stale master version returns the current one and no bytes [217] [233]")
    func stale() throws {
        let alice = try server.signUpOwningUser()
        let file = TestFile()
        try alice.publish(file, masterVersion: 0)

        expectStale(try alice.download(file, masterVersion: 0), 1)
        expectStale(try alice.download(file, masterVersion: 2), 1)
    }

    @Test("A request is valid only with the metadata's version, and then returns the metadata [218] [222] [235]")
    func metadataVersion() throws {
        let alice = try server.signUpOwningUser()
        let file = TestFile("with")
        let plain = TestFile("without")
        try alice.stage(file, masterVersion: 0, metadata: TestMetadata(0, "{\"a\":1}"))
        try alice.stage(plain, masterVersion: 0)
        try alice.commitStaged(masterVersion: 0)

        expectDownload(
            try alice.download(file, masterVersion: 1, metadataVersion: 0), of: file, metadata: "{\"a\":1}")
        expectDownload(try alice.download(plain, masterVersion: 1), of: plain)
        expectError(try alice.download(file, masterVersion: 1, metadataVersion: 1), 409)
        expectError(try alice.download(file, masterVersion: 1), 409)
        expectError(try alice.download(plain, masterVersion: 1, metadataVersion: 0), 404, 409)
    }

    @Test("A version that is not the current one is rejected without a message header [219]")
    func otherVersion() throws {
        let alice = try server.signUpOwningUser()
        let file = TestFile()
        try alice.publish(file, masterVersion: 0)

        expectError(try alice.download(file.next(""), masterVersion: 1), 409)
        try alice.publish(file.next("next"), masterVersion: 1)
        expectError(try alice.download(file, masterVersion: 2), 409)
    }

    @Test("A file that is unknown, only staged, or in another group is a 404")
    func unknownFile() throws {
        let alice = try server.signUpOwningUser()
        let carol = try server.signUpOwningUser(name: "Carol")
        let foreign = TestFile("carol's")
        try carol.publish(foreign, masterVersion: 0)
        let staged = TestFile("staged")
        try alice.stage(staged, masterVersion: 0)

        for file in [TestFile(), staged, foreign] {
            expectError(try alice.download(file, masterVersion: 0), 404)
        }
    }

    @Test("Another user's group is a 410, whether or not the file exists")
    func foreignGroup() throws {
        let alice = try server.signUpOwningUser()
        let stranger = try server.signUpOwningUser()
        let file = TestFile()
        try stranger.publish(file, masterVersion: 0)

        for group in [stranger.group, UUID().uuidString] {
            expectError(
                try alice.download(file, masterVersion: 1, group: group), 410, goneReason: "userRemoved")
        }
    }

    @Test("Members with any permission may download [224] [225] [226]", arguments: TestPermission.allCases)
    func members(permission: TestPermission) throws {
        let alice = try server.signUpOwningUser()
        let file = TestFile()
        try alice.publish(file, masterVersion: 0)
        let bob = try alice.newMember(permission)

        expectDownload(try bob.download(file, masterVersion: 2), of: file)
    }

    @Test("The owner and another sharing user can download a sharing user's file [227] [228]")
    func betweenMembers() throws {
        let alice = try server.signUpOwningUser()
        let bob = try alice.newMember(.write)
        let dora = try alice.newMember(.read, name: "Dora")
        let file = TestFile("from Bob")
        try bob.publish(file, masterVersion: 2)

        for user in [alice, bob, dora] { expectDownload(try user.download(file, masterVersion: 3), of: file) }
    }

    @Test("An owning invitee's file is in the invitee's storage, and both users can download it [229]")
    func inviteesStorage() throws {
        let alice = try server.signUpOwningUser()
        let carol = try alice.newMember(.write, provider: .google, name: "Carol")
        let file = TestFile("from Carol")
        try carol.publish(file, masterVersion: 1)

        #expect(try carol.stored(file).count == 1)
        #expect(try alice.stored(file).isEmpty)
        for user in [alice, carol] { expectDownload(try user.download(file, masterVersion: 2), of: file) }
    }

    @Test("A sharing user can also download in their second group [231] [252]")
    func secondGroup() throws {
        let alice = try server.signUpOwningUser()
        let carol = try server.signUpOwningUser(name: "Carol")
        let bob = try alice.newMember(.read)
        let file = TestFile("carol's")
        try carol.publish(file, masterVersion: 0)
        #expect(try bob.redeem(carol.invite(.write)).status == 200)

        expectDownload(try bob.download(file, masterVersion: 2, group: carol.group), of: file)
        try bob.publish(TestFile("for Carol"), masterVersion: 2, group: carol.group)
        #expect(try carol.index().files.count == 2)
    }

    @Test("60 KB of metadata are returned through nginx [237]")
    func longMetadata() throws {
        let alice = try server.signUpOwningUser()
        let file = TestFile()
        // Digits need no escaping; the query and the headers together have room for 60,000 bytes.
        let text = String(repeating: "0123456789", count: 5_500)
        try alice.publish(file, masterVersion: 0, metadata: TestMetadata(0, text))

        expectDownload(try alice.download(file, masterVersion: 1, metadataVersion: 0), of: file, metadata: text)
    }

    @Test("Repeated and concurrent downloads return the same bytes")
    func repeated() async throws {
        let alice = try server.signUpOwningUser()
        let file = TestFile(randomBytes: 700_000)
        try alice.publish(file, masterVersion: 0)

        let replies = try await Threads.run(8) { _ in try alice.download(file, masterVersion: 1) }

        for reply in replies { expectDownload(reply, of: file) }
    }
}
