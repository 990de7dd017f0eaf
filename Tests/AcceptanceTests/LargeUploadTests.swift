import Foundation
import TestSupport
import Testing

extension GigabyteTests {
    @Suite("Very large files")
    struct LargeUploadTests {
        /// The maximum growth of a responder, in bytes.
        static let growthLimit = 16 << 20
        static let size = 4 << 30

        @Test("4 GiB stream up and down in constant memory [F27]", .tags(.large), .enabled(if: hasRoom(for: size * 2)))
        func fourGibibytes() async throws { try await stream(Self.size, at: .google) }

        @Test(
            "2 GiB stream up and down in constant memory through Dropbox", .tags(.large),
            .enabled(if: hasRoom(for: 4 << 30)))
        func twoGibibytesThroughDropbox() async throws { try await stream(2 << 30, at: .dropbox) }

        @Test(
            "2 GiB stream up and down in constant memory through Nextcloud, in chunks", .tags(.large),
            .enabled(if: hasRoom(for: 4 << 30)))
        func twoGibibytesThroughNextcloud() async throws { try await stream(2 << 30, at: .webdav) }

        @Test(
            "2 GiB stream up and down in constant memory through S3, in parts", .tags(.large),
            .enabled(if: hasRoom(for: 4 << 30)))
        func twoGibibytesThroughS3() async throws {
            let server = try TestServer.forGigabytes()
            let host = "rclone.sandbox.test"
            try server.sandbox.addBackend(host: host, port: try StorageServerProcess.of(.s3Rclone).port)
            let prefix = UUID().uuidString
            let user = try server.signUp(SandboxAccount(inBucketAt: "https://\(host)", prefix: prefix))
            let bucket = try S3Bucket(.s3Rclone)
            try await stream(
                2 << 30, of: user, hash: .google,
                sizes: { name in try bucket.objects(behind: prefix + "/").filter { $0.name == name }.map(\.size) },
                remove: { name in try bucket.remove(prefix + "/" + name) })
        }

        private func stream(_ size: Int, at storage: SandboxProvider) async throws {
            let server = try TestServer.forGigabytes()
            let alice = try server.signUpOwningUser(storage)
            try await stream(
                size, of: alice, hash: storage,
                sizes: { name in try server.sandbox.files(of: alice.account).filter { $0.name == name }.map(\.size) },
                remove: { name in try server.sandbox.delete(name, in: alice.account) })
        }

        private func stream(
            _ size: Int, of alice: TestUser, hash storage: SandboxProvider,
            sizes: (_ name: String) throws -> [Int], remove: (_ name: String) throws -> Void
        ) async throws {
            let server = alice.server
            let data = EndlessData(count: size)
            let checkSum = try await Threads.run { data.checkSum(in: storage) }
            // A first upload, so that one-time allocations do not count as growth.
            try alice.publish(TestFile(randomBytes: 20_000_000).stored(at: storage), masterVersion: 0)
            let before = try Memory(of: server)

            var file = TestFile("").stored(at: storage)
            file.mimeType = "image/jpeg"
            let parameters = alice.uploadParameters(file, masterVersion: 1, overriding: ["checkSum": checkSum])
            let upload = try await Threads.run { try Self.upload(data, parameters, by: alice) }

            #expect(upload.status == 200, "\(upload)")
            let growthOfUpload = try before.growth()
            #expect(growthOfUpload <= Self.growthLimit)
            #expect(try alice.commitStaged(masterVersion: 1) == 1)
            let name = file.cloudName(device: alice.device)
            #expect(try sizes(name) == [size])

            let beforeDownload = try Memory(of: server)
            let parametersOfDownload = alice.downloadParameters(file, masterVersion: 2)
            let (reply, received) = try await Threads.run {
                try Self.download(parametersOfDownload, by: alice, from: storage)
            }

            #expect(reply.status == 200 && reply.isComplete)
            #expect(reply.messageParameters?.checkSum?.text == checkSum)
            #expect(received == checkSum)
            let growthOfDownload = try beforeDownload.growth()
            #expect(growthOfDownload <= Self.growthLimit)
            print("\(alice.account.name): grew by \(growthOfUpload) bytes going up and \(growthOfDownload) coming down")
            try remove(name)
        }

        static func upload(_ data: EndlessData, _ parameters: [String: String?], by user: TestUser) throws -> HTTPReply
        {
            let call = HTTPCall("POST", "/UploadFile/\(ClientQuery.text(parameters))", headers: user.headers)
            var conversation = try HTTPConversation(to: user.server.address)
            try conversation.send(call.head(for: user.server.address, contentLength: data.count))
            try data.forEachPiece { try conversation.send($0) }
            return try conversation.reply()
        }

        static func download(
            _ parameters: [String: String?], by user: TestUser, from storage: SandboxProvider
        ) throws -> (HTTPReply, String) {
            let call = HTTPCall("GET", "/DownloadFile/\(ClientQuery.text(parameters))", headers: user.headers)
            var conversation = try HTTPConversation(to: user.server.address)
            try conversation.send(call.head(for: user.server.address))
            var digest = IncrementalCheckSum(in: storage)
            let reply = try conversation.reply { digest.update($0) }
            return (reply, digest.finish())
        }

        static func hasRoom(for bytes: Int) -> Bool {
            let folder = FileManager.default.temporaryDirectory
            let values = try? FileManager.default.attributesOfFileSystem(forPath: folder.path)
            return (values?[.systemFreeSize] as? NSNumber)?.int64Value ?? 0 > Int64(bytes)
        }
    }
}

/// Data generated on the fly, different in each piece.
struct EndlessData: Sendable {
    let count: Int
    private let pattern = RandomData.bytes(1 << 20)

    init(count: Int) { self.count = count }

    func forEachPiece(_ body: ([UInt8]) throws -> Void) rethrows {
        var piece = pattern
        for number in 0..<(count / pattern.count) {
            for shift in 0..<8 { piece[shift] = UInt8(truncatingIfNeeded: number >> (8 * shift)) }
            try body(piece)
        }
    }

    func checkSum(in storage: SandboxProvider) -> String {
        var digest = IncrementalCheckSum(in: storage)
        forEachPiece { digest.update($0) }
        return digest.finish()
    }
}

/// A snapshot of the memory of the transfer role's processes.
struct Memory {
    private let resident: [StackProcess: Int]

    init(of server: TestServer) throws {
        var resident: [StackProcess: Int] = [:]
        for process in try server.processes("syncd_transfer") {
            try process.forgetPeak()
            resident[process] = try process.residentBytes()
        }
        self.resident = resident
    }

    /// The largest growth of any process since the snapshot, in bytes.
    func growth() throws -> Int {
        try resident.map { process, before in try process.peakResidentBytes() - before }.max() ?? 0
    }
}
