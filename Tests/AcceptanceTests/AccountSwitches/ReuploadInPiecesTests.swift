import Foundation
import TestSupport
import Testing

@Suite("Uploading files again in pieces, after a switch of accounts")
struct ReuploadInPiecesTests {
    let server: TestServer

    init() throws { server = try TestServer.shared() }

    @Test(
        "After a lost connection the phone resumes at the offset that the new storage has, and the file is live again",
        arguments: [
            (SandboxProvider.google, SandboxProvider.dropbox), (.dropbox, .google), (.google, .google),
            (.microsoft, .google), (.dropbox, .microsoft), (.google, .webdav),
        ])
    func cut(from: SandboxProvider, to: SandboxProvider) async throws {
        let old = TestFile(randomBytes: 1_700_000).stored(at: from)
        let move = try AccountSwitch(on: server, from: from, to: to, files: [old])
        let id = try move.perform()
        let file = old.stored(at: to)
        let known = try move.after.index()
        let created = try move.after.beginReupload(file, overriding: ["switchId": id])
        #expect(created.status == 201, "\(created)")
        let upload = try PieceCalls(created, headers: move.after.headers)

        let conversation = try HTTPConversation(to: server.address)
        try conversation.send(upload.append(from: 0).head(for: server.address, contentLength: file.contents.count))
        try conversation.send(file.contents.prefix(900_000))
        // Unlike an aborted connection this one delivers what was sent.
        conversation.finishSending()
        let offset = try #require(
            try server.address.perform(upload.offset).values(of: "upload-offset").first.flatMap { Int($0) })
        var rest = upload.append(from: offset)
        rest.body = Array(file.contents[offset...])
        let reply = try server.address.perform(rest)

        #expect(offset >= 900_000 - 512 * 1024 && offset <= 900_000, "\(offset)")
        #expect(reply.status == 200, "\(reply)")
        #expect(reply.messageParameters == .object(["result": .string("stored")]), "\(reply)")
        expectDownload(try move.after.download(file, masterVersion: 2), of: file)
        #expect(try move.after.index().masterVersion == known.masterVersion)
        #expect(try move.status(id).json?.numberDone?.integer == 1)
        try await eventually("no other object is left") {
            try server.sandbox.files(of: move.after.account).filter { $0.name.contains(file.uuid) }.count == 1
        }
        #expect(try server.address.perform(rest).messageParameters?.result?.text == "stored", "repeated")
    }

    @Test("Different bytes in any piece are rejected at the end, and leave nothing behind")
    func otherBytes() async throws {
        let file = TestFile(randomBytes: 800_000)
        let move = try AccountSwitch(on: server, files: [file])
        try move.perform()
        for position in [10, 799_990] {
            var forged = file
            forged.contents[position] ^= 1
            forged = forged.stored(at: .dropbox)
            let upload = try PieceCalls(try move.after.beginReupload(forged), headers: move.after.headers)

            var first = upload.append(from: 0, isLast: false)
            first.body = Array(forged.contents[..<400_000])
            #expect(try server.address.perform(first).status == 204)
            var second = upload.append(from: 400_000)
            second.body = Array(forged.contents[400_000...])
            let reply = try server.address.perform(second)

            expectError(reply, 422)
            #expect(reply.json?.code?.text == "content_mismatch", "\(reply)")
            #expect(try server.address.perform(upload.offset).status == 404)
        }
        #expect(try move.after.index().file(file)?.awaitingReupload?.bool == true)
        try await eventually("the rejected objects are deleted") {
            try !server.sandbox.files(of: move.after.account).contains { $0.name.contains(file.uuid) }
        }
    }

    @Test("If another upload is faster, the rest need not be sent, and the first pieces are deleted")
    func overtaken() async throws {
        let file = TestFile(randomBytes: 700_000)
        let move = try AccountSwitch(on: server, files: [file])
        try move.perform()
        let again = file.stored(at: .dropbox)
        let upload = try PieceCalls(try move.after.beginReupload(again), headers: move.after.headers)
        var first = upload.append(from: 0, isLast: false)
        first.body = Array(again.contents[..<300_000])
        #expect(try server.address.perform(first).status == 204)
        #expect(try move.after.onAnotherDevice().reupload(again).messageParameters?.result?.text == "stored")

        var second = upload.append(from: 300_000)
        second.body = Array(again.contents[300_000...])
        let reply = try server.address.perform(second)

        #expect(reply.messageParameters?.result?.text == "alreadyStored", "\(reply)")
        expectDownload(try move.after.download(again, masterVersion: 2), of: again)
        try await eventually("one object is left") {
            try server.sandbox.files(of: move.after.account).filter { $0.name.contains(file.uuid) }.count == 1
        }
    }

    @Test("Invalid uploads are rejected when they begin, and a repeated beginning returns the same upload")
    func beginning() throws {
        let file = TestFile("the bytes")
        let move = try AccountSwitch(on: server, files: [file])
        #expect(
            try move.before.beginReupload(file).messageParameters?.result?.text == "alreadyStored")
        try move.perform()
        let again = file.stored(at: .dropbox)

        let first = try move.after.beginReupload(again)
        #expect(first.messageParameters?.uploadUUID?.text != nil, "\(first)")
        #expect(try move.after.beginReupload(again).messageParameters == first.messageParameters)
        expectError(try move.after.beginReupload(again, ofBytes: 10), 422)
        expectError(try move.after.beginReupload(again, overriding: ["fileVersion": "1"]), 409)
        expectError(try move.after.beginReupload(again, overriding: ["checkSum": file.checkSum]), 422)
        expectError(try move.after.beginReupload(again, body: again.contents), 413)
        expectError(try move.after.beginReupload(again, ofBytes: 1 << 50), 413)
    }
}

extension TestUser {
    /// Calls ReuploadFile to begin an upload in pieces; the reply may be an error.
    fileprivate func beginReupload(
        _ file: TestFile, ofBytes count: Int? = nil, overriding: [String: String?] = [:], body: [UInt8]? = nil
    ) throws -> HTTPReply {
        let parameters: [String: String?] = [
            "fileUUID": file.uuid, "sharingGroupUUID": group, "fileVersion": "\(file.version)",
            "mimeType": file.mimeType, "checkSum": file.checkSum,
        ]
        return try server.call(
            "POST", "ReuploadFile", parameters.merging(overriding) { $1 },
            headers: headers + [("Upload-Length", String(count ?? file.contents.count))], body: body)
    }
}
