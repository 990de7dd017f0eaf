import Foundation
import TestSupport
import Testing

extension PrivateStackTests {
    @Suite("Uploads in pieces and killed responders")
    struct PieceResilienceTests {
        let server: TestServer
        let stack: PrivateStack

        init() throws {
            server = try TestServer.toBreak()
            stack = try #require(server.stack)
        }

        private func offset(of upload: PieceCalls) throws -> Int {
            let reply = try server.address.perform(upload.offset)
            #expect(reply.status == 204, "\(reply)")
            return try #require(reply.values(of: "upload-offset").first.flatMap { Int($0) })
        }

        @Test("Another process resumes the upload at the provider's offset, and nothing is left over")
        func killed() async throws {
            let alice = try server.signUpOwningUser()
            let file = TestFile(randomBytes: 9_000_000)
            let created = try server.call(
                "POST", "CreateUpload", alice.uploadParameters(file, masterVersion: 0),
                headers: alice.headers + [("Upload-Length", "\(file.contents.count)")])
            let upload = try PieceCalls(created, headers: alice.headers)

            var offset = 0
            for sent in [3_000_000, 6_000_000] {
                let responders = try server.processes("syncd_transfer")
                let call = upload.append(from: offset)
                let conversation = try HTTPConversation(to: server.address)
                try conversation.send(call.head(for: server.address, contentLength: file.contents.count - offset))
                try conversation.send(file.contents[offset..<sent])
                // Confirmed and recorded bytes need not be sent again, whichever process is killed.
                var recorded = 0
                try await eventually("a part is recorded") {
                    recorded =
                        Int(
                            try server.askDatabase(
                                "SELECT stored_bytes FROM resumable_uploads WHERE upload_uuid = '\(upload.uploadUUID)'")
                        ) ?? 0
                    return recorded > offset || sent - offset < 5_000_000
                }
                for responder in responders { responder.send(SIGKILL) }
                try await eventually("the responders have ended") { !responders.contains(where: \.isRunning) }
                conversation.hangUp()
                try await Threads.run { try stack.restore() }
                offset = try self.offset(of: upload)
                #expect(offset >= recorded && offset <= sent)
            }

            let call = upload.append(from: offset)
            var conversation = try HTTPConversation(to: server.address)
            try conversation.send(call.head(for: server.address, contentLength: file.contents.count - offset))
            try conversation.send(file.contents[offset...])
            let reply = try conversation.reply()
            #expect(
                reply.status == 200
                    && reply.values(of: "syncserver-message-params").first?.contains("creationDate") == true, "\(reply)"
            )
            #expect(try alice.commit(masterVersion: 0).status == 200)
            expectDownload(try alice.download(file, masterVersion: 1), of: file)
            try await eventually("one object exists") { try alice.stored(file).count == 1 }
        }
    }
}
