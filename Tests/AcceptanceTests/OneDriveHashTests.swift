import TestSupport
import Testing

extension PrivateStackTests {
    /// According to Microsoft Graph, hashes "may not be available" right after an upload; only reading the bytes
    /// reveals their contents.
    @Suite("OneDrive's hashes when delayed or changed by the owner")
    struct OneDriveHashTests {
        private let server: TestServer
        private let mia: TestUser

        init() throws {
            server = try TestServer.withFaults()
            var user = try server.newcomer(.microsoft)
            let reply = try user.call("POST", "AddUser", ["sharingGroupUUID": user.group])
            user.userID = try #require(reply.json?.userId?.integer)
            mia = user
        }

        private func publish(_ file: TestFile) throws {
            try mia.stage(file, masterVersion: 0, overriding: ["checkSum": file.sha1])
            #expect(try mia.commitStaged(masterVersion: 0) == 1)
        }

        /// The number of downloads from OneDrive since a request.
        private func readings(since request: Int64) throws -> Int {
            try server.sandbox.requests(since: request).count { $0.path?.text?.hasSuffix("/download.aspx") == true }
        }

        private func expectDownload(_ reply: HTTPReply, of file: TestFile, isChanged: Bool) {
            #expect(reply.status == 200 && reply.isComplete, "\(reply)")
            #expect(reply.messageParameters?.checkSum?.text == file.sha1)
            #expect(reply.messageParameters?.contentsChanged?.bool == isChanged)
            #expect(reply.body == file.contents)
        }

        @Test("The jobs role fills in a delayed hash; before and afterwards, the file is served as unchanged")
        func lateHash() async throws {
            try server.sandbox.changeSettings(["oneDriveHashDelayMs": 3_600_000])
            defer { try? server.sandbox.changeSettings(["oneDriveHashDelayMs": 0]) }
            let file = TestFile(randomBytes: 300_000)
            try publish(file)
            expectDownload(try mia.download(file, masterVersion: 1), of: file, isChanged: false)

            try server.sandbox.changeSettings(["oneDriveHashDelayMs": 0])
            let before = try server.sandbox.lastRequest()
            // The jobs role asks for the first time half a minute after the upload.
            try await eventually("the jobs role has read the object", within: .seconds(60)) {
                try server.hastenOutbox()
                return try readings(since: before) > 0
            }

            try await eventually("the hash is stored: a download reads the object once") {
                let before = try server.sandbox.lastRequest()
                expectDownload(try mia.download(file, masterVersion: 1), of: file, isChanged: false)
                return try readings(since: before) == 1
            }
        }

        @Test("A file is delivered completely although its drive reports a wrong size", arguments: [1_000, 600_000])
        func otherSize(bytes: Int) throws {
            let file = TestFile(randomBytes: bytes)
            let changed = TestFile(randomBytes: bytes + 7)
            try publish(file)
            try server.sandbox.changeSettings(["oneDriveExtraBytes": 1_234])
            defer { try? server.sandbox.changeSettings(["oneDriveExtraBytes": 0]) }

            expectDownload(try mia.download(file, masterVersion: 1), of: file, isChanged: false)
            try server.sandbox.store(changed.contents, as: file.cloudName(device: mia.device), in: mia.account)
            expectDownload(try mia.download(file, masterVersion: 1), of: changed, isChanged: true)
        }

        @Test("A file that its owner replaced with more than 100 MiB gets 502 until the jobs role has read it")
        func largeChange() async throws {
            var file = TestFile("small at first")
            try publish(file)
            file.contents = RandomData.bytes(101 << 20)
            let sha1 = file.sha1
            try server.sandbox.store(file.contents, as: file.cloudName(device: mia.device), in: mia.account)

            let first = try mia.download(file, masterVersion: 1)

            expectError(first, 502)
            #expect(first.json?.retryable?.bool == true)
            var reply = first
            try await eventually("the checksum has been computed", within: .seconds(100)) {
                reply = try mia.download(file, masterVersion: 1)
                return reply.status == 200
            }
            #expect(reply.isComplete && reply.messageParameters?.checkSum?.text == sha1)
            #expect(reply.messageParameters?.contentsChanged?.bool == true)
            #expect(reply.body == file.contents)
        }
    }
}
