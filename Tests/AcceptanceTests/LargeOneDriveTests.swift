import Foundation
import OpenSSLCrypto
import TestSupport
import Testing

extension GigabyteTests {
    @Suite("Very large files in OneDrive")
    struct LargeOneDriveTests {
        static let size = 2 << 30

        @Test(
            "2 GiB stream up and down in constant memory, through upload sessions", .tags(.large),
            .enabled(if: LargeUploadTests.hasRoom(for: size * 2)))
        func twoGibibytes() async throws {
            let server = try TestServer.forGigabytes()
            let mia = try server.newcomer(.microsoft)
            try #require(try mia.call("POST", "AddUser", ["sharingGroupUUID": mia.group]).status == 200)
            let data = EndlessData(count: Self.size)
            let sha1 = try await Threads.run { Self.sha1(of: data) }
            // A first upload, so that one-time allocations do not count as growth.
            let first = TestFile(randomBytes: 20_000_000)
            try mia.stage(first, masterVersion: 0, overriding: ["checkSum": first.sha1])
            try mia.commitStaged(masterVersion: 0)
            var file = TestFile("")
            file.mimeType = "image/jpeg"

            let before = try Memory(of: server)
            let parameters = mia.uploadParameters(file, masterVersion: 1, overriding: ["checkSum": sha1])
            let upload = try await Threads.run { try LargeUploadTests.upload(data, parameters, by: mia) }
            #expect(upload.status == 200, "\(upload)")
            #expect(try before.growth() <= LargeUploadTests.growthLimit)
            #expect(try mia.commitStaged(masterVersion: 1) == 1)
            #expect(try mia.stored(file).map(\.size) == [Self.size])

            let beforeDownload = try Memory(of: server)
            let wanted = mia.downloadParameters(file, masterVersion: 2)
            let (reply, received) = try await Threads.run { try Self.download(wanted, by: mia) }
            #expect(reply.status == 200 && reply.isComplete)
            #expect(reply.messageParameters?.checkSum?.text == sha1 && received == sha1)
            #expect(reply.messageParameters?.contentsChanged?.bool == false)
            #expect(try beforeDownload.growth() <= LargeUploadTests.growthLimit)
            try server.sandbox.delete(file.cloudName(device: mia.device), in: mia.account)
            #expect(try server.sandbox.violations() == [])
        }

        private static func sha1(of data: EndlessData) -> String {
            var digest = IncrementalDigest(.sha1)
            data.forEachPiece { digest.update($0) }
            return digest.finish().hexUppercase
        }

        private static func download(
            _ parameters: [String: String?], by user: TestUser
        ) throws -> (HTTPReply, String) {
            let call = HTTPCall("GET", "/DownloadFile/\(ClientQuery.text(parameters))", headers: user.headers)
            var conversation = try HTTPConversation(to: user.server.address)
            try conversation.send(call.head(for: user.server.address))
            var digest = IncrementalDigest(.sha1)
            let reply = try conversation.reply { digest.update($0) }
            return (reply, digest.finishAndRestart().hexUppercase)
        }
    }
}
