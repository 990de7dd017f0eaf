import Foundation
import TestSupport
import Testing

@Suite("Phones that disconnect, are slow or announce a wrong length")
struct HangUpTests {
    let server: TestServer

    init() throws { server = try TestServer.shared() }

    @Test(
        "A disconnection during an upload leaves no file and no staged row, and the next attempt succeeds [129]",
        arguments: [0, 1, 300_000, 999_999])
    func hangUp(after count: Int) async throws {
        let alice = try server.signUpOwningUser()
        let file = TestFile(randomBytes: 1_000_000)

        for _ in 0..<5 { try alice.beginUpload(file, sending: count).hangUp() }

        // Nothing may appear later either, so the test waits by sending another upload through the same stages.
        try alice.stage(TestFile(randomBytes: 1_000_000), masterVersion: 0)
        #expect(try alice.stored(file).isEmpty)
        #expect(try alice.stagedUploads().count == 1)
        try alice.stage(file, masterVersion: 0)
        #expect(try alice.commitStaged(masterVersion: 0) == 2)
        expectDownload(try alice.download(file, masterVersion: 1), of: file)
    }

    @Test("An orderly close before the announced end leaves nothing behind")
    func politeClose() throws {
        let alice = try server.signUpOwningUser()
        let file = TestFile(randomBytes: 600_000)
        var conversation = try alice.beginUpload(file, sending: 500_000)

        conversation.finishSending()

        if let reply = try? conversation.reply() { #expect(reply.status == 400) }
        #expect(try alice.stored(file).isEmpty)
        #expect(try alice.stagedUploads().isEmpty)
    }

    @Test("An upload with more bytes than announced fails its checksum and leaves nothing behind")
    func tooManyBytes() throws {
        let alice = try server.signUpOwningUser()
        let file = TestFile(randomBytes: 50_000)
        let query = ClientQuery.text(alice.uploadParameters(file, masterVersion: 0))
        let call = HTTPCall("POST", "/UploadFile/\(query)", headers: alice.headers)
        var conversation = try HTTPConversation(to: server.address)

        try conversation.send(call.head(for: server.address, contentLength: 40_000))
        try conversation.send(file.contents)

        expectError(try conversation.reply(), 422)
        #expect(try alice.stored(file).isEmpty)
        #expect(try alice.stagedUploads().isEmpty)
    }

    @Test("A body in small pieces with pauses arrives completely")
    func slowBody() async throws {
        let alice = try server.signUpOwningUser()
        let file = TestFile(randomBytes: 20_000)

        let reply = try await Threads.run {
            var conversation = try alice.beginUpload(file, sending: 0)
            for start in stride(from: 0, to: file.contents.count, by: 1_000) {
                try conversation.send(file.contents[start..<start + 1_000])
                Thread.sleep(forTimeInterval: 0.05)
            }
            return try conversation.reply()
        }

        #expect(reply.status == 200, "\(reply)")
        try alice.commitStaged(masterVersion: 0)
        expectDownload(try alice.download(file, masterVersion: 1), of: file)
    }

    @Test("If a phone disconnects before the reply, repeating the upload succeeds with one object [95]")
    func goneBeforeReply() async throws {
        let alice = try server.signUpOwningUser()
        let file = TestFile(randomBytes: 100_000)

        try alice.beginUpload(file, sending: file.contents.count).hangUp()
        try alice.stage(file, masterVersion: 0)

        #expect(try alice.commitStaged(masterVersion: 0) == 1)
        expectDownload(try alice.download(file, masterVersion: 1), of: file)
        try await eventually("one object exists") { try alice.stored(file).count == 1 }
    }

    @Test("An aborted download can be repeated")
    func downloadCutOff() throws {
        let alice = try server.signUpOwningUser()
        let file = TestFile(randomBytes: 8_000_000)
        try alice.publish(file, masterVersion: 0)
        let query = ClientQuery.text(alice.downloadParameters(file, masterVersion: 1))
        let call = HTTPCall("GET", "/DownloadFile/\(query)", headers: alice.headers)

        for _ in 0..<5 {
            let conversation = try HTTPConversation(to: server.address)
            try conversation.send(call.head(for: server.address))
            conversation.hangUp()
        }

        expectDownload(try alice.download(file, masterVersion: 1), of: file)
    }

    @Test("An error reply reaches a phone that is still sending a large body", arguments: [1_000, 3_000_000])
    func earlyErrors(count: Int) throws {
        let alice = try server.signUpOwningUser()
        let junk = alice.with(account: alice.account.replacing(header: "access_token", with: "junk"))
        let file = TestFile(randomBytes: count)

        expectError(try junk.upload(file, masterVersion: 0), 401)
        expectError(try alice.upload(file, masterVersion: 0, overriding: ["mimeType": "text/html"]), 400)
        expectStale(try alice.upload(file, masterVersion: 3), 0)
    }
}
