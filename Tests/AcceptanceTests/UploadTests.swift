import Foundation
import TestSupport
import Testing

@Suite("UploadFile")
struct UploadTests {
    let server: TestServer

    init() throws { server = try TestServer.shared() }

    @Test(
        "Files of all known types are staged and committed [91] [92] [93]",
        arguments: [
            "text/plain", "image/jpeg", "application/x-url", "image/heic", "video/quicktime", "application/json",
        ])
    func types(mimeType: String) throws {
        let alice = try server.signUpOwningUser()
        let file = TestFile(randomBytes: 3_000, mimeType: mimeType)

        try alice.publish(file, masterVersion: 0)

        #expect(try alice.index().file(file)?.mimeType?.text == mimeType)
        #expect(try alice.stored(file).map(\.name) == [file.cloudName(device: alice.device)])
        #expect(try alice.stored(file).map(\.checkSum) == [file.checkSum])
    }

    @Test("Success returns both dates in the header, and an empty body [103]")
    func dates() throws {
        let alice = try server.signUpOwningUser()
        let before = try server.clock()

        let reply = try alice.upload(TestFile(), masterVersion: 0)

        #expect(reply.status == 200)
        #expect(reply.body.isEmpty)
        expectVersion(reply)
        let message = try #require(reply.messageParameters)
        #expect(message.names == ["creationDate", "updateDate"])
        #expect(isWireDate(message.creationDate?.text) && isWireDate(message.updateDate?.text))
        let date = try #require(message.creationDate?.text)
        let after = try server.clock()
        #expect(before <= date && date <= after)
    }

    @Test("A device can upload a text and then a picture to the same group [94]")
    func textThenPicture() throws {
        let alice = try server.signUpOwningUser()

        try alice.stage(TestFile(), masterVersion: 0)
        try alice.stage(TestFile(randomBytes: 500_000), masterVersion: 0)

        #expect(try alice.commitStaged(masterVersion: 0) == 2)
    }

    @Test(
        "Bodies of unusual sizes arrive complete [134]",
        arguments: [0, 1, 262_143, 262_144, 262_145, 1_048_576, 5_000_001])
    func sizes(count: Int) throws {
        let alice = try server.signUpOwningUser()
        let file = TestFile(randomBytes: count)

        try alice.publish(file, masterVersion: 0)

        #expect(try alice.stored(file).map(\.size) == [count])
        expectDownload(try alice.download(file, masterVersion: 1), of: file)
    }

    @Test("A body announced as one byte above the limit immediately gets 413 [134]")
    func tooLarge() throws {
        let alice = try server.signUpOwningUser()
        let limit = try Self.maximumUploadBytes(of: server)
        let query = ClientQuery.text(alice.uploadParameters(TestFile(), masterVersion: 0))
        let call = HTTPCall("POST", "/UploadFile/\(query)", headers: alice.headers)

        var conversation = try HTTPConversation(to: server.address, timeout: .seconds(30))
        try conversation.send(call.head(for: server.address, contentLength: limit + 1))

        expectError(try conversation.reply(), 413)
        #expect(try alice.stagedUploads().isEmpty)
    }

    private static func maximumUploadBytes(of server: TestServer) throws -> Int {
        let path = try server.environment.value("CONFIG_FILE")
        let json = JSONValue(try Data(contentsOf: URL(filePath: path)))
        return json?.maximumUploadBytes?.integer.map(Int.init) ?? 5 << 30
    }

    @Test("An unknown type is rejected [98]", arguments: ["text/html", "unknown", "TEXT/PLAIN", "text", ""])
    func unknownType(mimeType: String) throws {
        let alice = try server.signUpOwningUser()

        expectError(try alice.upload(TestFile(), masterVersion: 0, overriding: ["mimeType": mimeType]), 400)
        #expect(try alice.stagedUploads().isEmpty)
    }

    @Test("A missing checksum gets 400, a wrong one 422, and nothing is left behind [99] [100]")
    func checkSums() throws {
        let alice = try server.signUpOwningUser()
        let file = TestFile(randomBytes: 400_000)
        let other = TestFile("something else").checkSum

        expectError(try alice.upload(file, masterVersion: 0, overriding: ["checkSum": nil]), 400)
        expectError(try alice.upload(file, masterVersion: 0, overriding: ["checkSum": other]), 422)

        #expect(try alice.stagedUploads().isEmpty)
        #expect(try alice.stored(file).isEmpty)
        try alice.publish(file, masterVersion: 0)
    }

    @Test("The checksum may be in upper case [124]")
    func upperCaseCheckSum() throws {
        let alice = try server.signUpOwningUser()
        let file = TestFile()

        try alice.stage(file, masterVersion: 0, overriding: ["checkSum": file.checkSum.uppercased()])
        try alice.commitStaged(masterVersion: 0)

        expectDownload(try alice.download(file, masterVersion: 1), of: file)
    }

    @Test("An unknown group, or another user's, is a 410 [101] [102]")
    func foreignGroups() throws {
        let alice = try server.signUpOwningUser()
        let stranger = try server.signUpOwningUser()

        for group in [UUID().uuidString, stranger.group] {
            expectError(try alice.upload(TestFile(), masterVersion: 0, group: group), 410, goneReason: "userRemoved")
        }
        #expect(try stranger.index().files.isEmpty)
    }

    @Test(
        "A malformed file or group UUID is rejected [125] [320]",
        arguments: ["foobar", "", "1234", "../../etc/passwd"])
    func notAUUID(text: String) throws {
        let alice = try server.signUpOwningUser()

        expectError(try alice.upload(TestFile(), masterVersion: 0, overriding: ["fileUUID": text]), 400)
        expectError(try alice.upload(TestFile(), masterVersion: 0, overriding: ["sharingGroupUUID": text]), 400)
    }

    @Test("After another device's commit, the old master version is stale, and nothing is staged [104]")
    func stale() throws {
        let alice = try server.signUpOwningUser()
        let phone = alice.onAnotherDevice()
        try phone.publish(TestFile("first"), masterVersion: 0)
        let file = TestFile("second")

        expectStale(try alice.upload(file, masterVersion: 0), 1)
        expectStale(try alice.upload(file, masterVersion: 2), 1)

        #expect(try alice.stagedUploads().isEmpty)
        #expect(try alice.stored(file).isEmpty)
    }

    @Test("A query in the client's encoding is accepted [317]")
    func clientQuery() throws {
        let alice = try server.signUpOwningUser()
        let parameters = alice.uploadParameters(TestFile(), masterVersion: 0)
        let query = ClientQuery.text(parameters)

        #expect(query.contains("&mimeType=text%2Fplain&"))
        expectJSONHeader(try alice.call("POST", "UploadFile", parameters, body: TestFile().contents))
    }

    private func expectJSONHeader(_ reply: HTTPReply) {
        #expect(reply.status == 200, "\(reply)")
        #expect(reply.messageParameters != nil)
    }

    @Test(
        "The request's Content-Type is ignored",
        arguments: ["multipart/form-data; boundary=x", "application/json", ""])
    func contentType(type: String) throws {
        let alice = try server.signUpOwningUser()
        let file = TestFile()
        let reply = try server.call(
            "POST", "UploadFile", alice.uploadParameters(file, masterVersion: 0),
            headers: alice.headers + [("Content-Type", type)], body: file.contents)

        expectJSONHeader(reply)
    }

    @Test("Object names keep the letter case of UUIDs, but it does not distinguish files")
    func letterCase() throws {
        let alice = try server.signUpOwningUser()
        var file = TestFile()
        file.uuid = file.uuid.lowercased()
        try alice.publish(file, masterVersion: 0)
        var same = file.next("newer")
        same.uuid = file.uuid.uppercased()

        #expect(try alice.stored(file).map(\.name) == [file.cloudName(device: alice.device)])
        try alice.publish(same, masterVersion: 1)
        #expect(try alice.index().files.count == 1)
    }
}
