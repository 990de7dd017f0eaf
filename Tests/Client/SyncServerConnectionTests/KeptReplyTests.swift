import Foundation
import HTTPTypes
import SyncProtocol
import SyncServerConnection
import Testing

@Suite("Stored replies")
struct KeptReplyTests {
    @Test("A reply survives storage")
    func stored() throws {
        var reply = HTTPReply.reply(
            200, "body", headers: ["syncserver-message-params": #"{"masterVersionUpdate":4}"#, "ETag": "\"x\""])
        reply.fileLength = 7
        let copy = try JSONDecoder().decode(HTTPReply.self, from: JSONEncoder().encode(reply))
        #expect(copy == reply)
        #expect(copy.response.status == .ok)
        #expect(copy.response.headerFields[.eTag] == "\"x\"")
    }

    @Test("The result of an upload")
    func upload() async throws {
        let staged = UploadFileResponse.staged(creationDate: Sample.date, updateDate: Sample.date)
        #expect(
            try await ServerConnection.uploadOutcome(of: .message(staged))
                == .success(StagedFile(creationDate: Sample.date, updateDate: Sample.date)))
        #expect(
            try await ServerConnection.uploadOutcome(
                of: .error(410, "owner_removed", goneReason: .userRemoved))
                == .gone(Gone(.userRemoved, serverCode: .known(.ownerRemoved))))
        let refused = await failure { () throws(ServerConnectionError) in
            try await ServerConnection.uploadOutcome(of: .error(401, "credentials_rejected"))
        }
        #expect(refused?.code == .signInRequired)
    }

    @Test("The result of a download, whose bytes are verified")
    func download() async throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "kept-\(UUID().uuidString)")
        try Data("Hello World".utf8).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        func reply(_ checkSum: String) -> HTTPReply {
            let response = DownloadFileResponse.found(
                appMetaData: nil, cloudStorageType: .google, checkSum: CheckSum(checkSum)!, contentsChanged: false)
            var reply = HTTPReply.message(response)
            reply.fileLength = 11
            return reply
        }
        let outcome = try await ServerConnection.downloadOutcome(
            of: reply("b10a8db164e0754105b7a99be72e3fe5"), in: file)
        #expect(outcome.value?.length == 11)
        let error = await failure { () throws(ServerConnectionError) in
            try await ServerConnection.downloadOutcome(of: reply("d41d8cd98f00b204e9800998ecf8427e"), in: file)
        }
        #expect(error?.code == .contentMismatch)
    }
}
