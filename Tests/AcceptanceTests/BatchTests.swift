import Foundation
import TestSupport
import Testing

@Suite("Batches")
struct BatchTests {
    let server: TestServer

    init() throws { server = try TestServer.shared() }

    @Test("The last of several uploads commits all of them; other users see none before and all after")
    func uploads() throws {
        let alice = try server.signUpOwningUser()
        let batch = TestBatch(of: 3)
        let files = (0..<3).map { TestFile("file \($0)") }

        for file in files.dropLast() {
            let reply = try alice.upload(file, masterVersion: 0, overriding: batch.parameters)
            #expect(reply.status == 200 && reply.committedMasterVersion == nil, "\(reply)")
            #expect(try alice.index().files.isEmpty)
        }
        let last = try alice.upload(files[2], masterVersion: 0, overriding: batch.parameters)

        #expect(last.committedMasterVersion == 1)
        let index = try alice.onAnotherDevice().index()
        #expect(index.masterVersion == 1 && index.files.count == 3)
        for file in files { expectDownload(try alice.download(file, masterVersion: 1), of: file) }
        #expect(try alice.stagedUploads().isEmpty)
    }

    @Test("If all members arrive at once, each twice, the result is one commit with one object per file")
    func concurrent() async throws {
        let alice = try server.signUpOwningUser()
        let batch = TestBatch(of: 4)
        let files = (0..<4).map { _ in TestFile(randomBytes: 100_000) }

        let replies = try await Threads.run(8) { number in
            try alice.upload(files[number / 2], masterVersion: 0, overriding: batch.parameters)
        }

        for reply in replies { #expect(reply.status == 200, "\(reply)") }
        #expect(replies.contains { $0.committedMasterVersion == 1 })
        #expect(try alice.index().masterVersion == 1)
        #expect(try alice.index().files.count == 4)
        for file in files {
            expectDownload(try alice.download(file, masterVersion: 1), of: file)
            try await eventually("one object exists") { try alice.stored(file).count == 1 }
        }
    }

    @Test("After lost replies, each member can be sent again until its reply contains the commit")
    func lostReplies() async throws {
        let alice = try server.signUpOwningUser()
        let batch = TestBatch(of: 2)
        let files = (0..<2).map { _ in TestFile(randomBytes: 50_000) }
        for file in files {
            let query = ClientQuery.text(
                alice.uploadParameters(file, masterVersion: 0, overriding: batch.parameters))
            let call = HTTPCall("POST", "/UploadFile/\(query)", headers: alice.headers)
            let conversation = try HTTPConversation(to: server.address)
            try conversation.send(call.head(for: server.address, contentLength: file.contents.count))
            try conversation.send(file.contents)
            conversation.hangUp()
        }

        // Some requests may be lost, since nginx drops a request if the phone disconnects before the server has it.
        try await eventually("the members are committed") {
            let replies = try files.map { file in
                try alice.upload(file, masterVersion: 0, overriding: batch.parameters)
            }
            return replies.allSatisfy { $0.committedMasterVersion == 1 }
        }

        #expect(try alice.index().masterVersion == 1)
        for file in files { expectDownload(try alice.download(file, masterVersion: 1), of: file) }
    }

    @Test("Uploads, metadata and deletions are one batch; a stale one must be sent again as a whole")
    func mixed() throws {
        let alice = try server.signUpOwningUser()
        let (described, deleted, added) = (TestFile("described"), TestFile("deleted"), TestFile("added"))
        for file in [described, deleted] { try alice.stage(file, masterVersion: 0) }
        try alice.commitStaged(masterVersion: 0)
        let batch = TestBatch(of: 3)
        func requests(_ version: Int64) -> [() throws -> HTTPReply] {
            [
                { try alice.upload(added, masterVersion: version, overriding: batch.parameters) },
                { try alice.delete(deleted, masterVersion: version, overriding: batch.parameters) },
                {
                    try alice.call(
                        "POST", "UploadAppMetaData",
                        batch.parameters.merging([
                            "fileUUID": described.uuid, "appMetaData": TestMetadata(0, "text & more").parameter,
                            "masterVersion": String(version), "sharingGroupUUID": alice.group,
                        ]) { $1 })
                },
            ]
        }

        for request in requests(1).dropLast() { #expect(try request().committedMasterVersion == nil) }
        try alice.onAnotherDevice().commitStaged(masterVersion: 1)
        expectStale(try requests(1)[2](), 2)
        expectStale(try requests(1)[0](), 2)
        #expect(try requests(2)[2]().committedMasterVersion == nil)
        #expect(try requests(2)[1]().committedMasterVersion == nil)
        #expect(try requests(2)[0]().committedMasterVersion == 3)

        let index = try alice.index()
        #expect(index.masterVersion == 3)
        #expect(index.file(deleted)?.deleted == .bool(true))
        #expect(index.file(described)?.appMetaDataVersion?.integer == 0)
        expectDownload(try alice.download(added, masterVersion: 3), of: added)
    }

    @Test("DoneUploads and DiscardUploads distinguish batches from other changes")
    func separate() async throws {
        let alice = try server.signUpOwningUser()
        let batch = TestBatch(of: 2)
        let (member, plain) = (TestFile("member"), TestFile("plain"))
        _ = try alice.upload(member, masterVersion: 0, overriding: batch.parameters)
        try alice.stage(plain, masterVersion: 0)

        #expect(try alice.commitStaged(masterVersion: 0) == 1)
        #expect(try alice.index().fileUUIDs == [plain.uuid])
        let staged = try alice.stagedUploads()
        #expect(staged.count == 1 && staged[0]["batchUUID"] == .string(batch.uuid))
        func discard(_ parameters: [String: String?]) throws -> JSONValue? {
            try alice.call("POST", "DiscardUploads", parameters.merging(["sharingGroupUUID": alice.group]) { $1 }).json
        }
        #expect(try discard(["fileUUIDs": plain.uuid]) == .object(["numberUploadsDiscarded": .integer(0)]))
        #expect(try discard(["batchUUID": batch.uuid]) == .object(["numberUploadsDiscarded": .integer(1)]))
        #expect(try discard([:]) == .object(["numberUploadsDiscarded": .integer(0)]))
        try await eventually("the object is deleted") { try alice.stored(member).isEmpty }
        #expect(try alice.stored(plain).count == 1)
    }

    @Test("Concurrent uploads and discards of a batch leave no partial commit and no stray object")
    func discardedInBetween() async throws {
        let alice = try server.signUpOwningUser()
        let batch = TestBatch(of: 3)
        let files = (0..<3).map { _ in TestFile(randomBytes: 20_000) }

        _ = try await Threads.run(6) { number in
            number < 3
                ? try alice.upload(files[number], masterVersion: 0, overriding: batch.parameters)
                : try alice.call("POST", "DiscardUploads", ["sharingGroupUUID": alice.group])
        }
        _ = try alice.call("POST", "DiscardUploads", ["sharingGroupUUID": alice.group])

        let index = try alice.index()
        let isCommitted = index.masterVersion == 1
        #expect(index.files.count == (isCommitted ? 3 : 0))
        for file in files {
            try await eventually("only the committed objects exist") {
                try alice.stored(file).count == (isCommitted ? 1 : 0)
            }
        }
    }
}

extension PrivateStackTests {
    @Suite("Batches and killed responders")
    struct BatchResilienceTests {
        let server: TestServer
        let stack: PrivateStack

        init() throws {
            server = try TestServer.toBreak()
            stack = try #require(server.stack)
        }

        @Test("If responders are killed between the members, a retry commits the batch completely and once")
        func killed() async throws {
            for round in 0..<3 {
                let alice = try server.signUpOwningUser()
                let batch = TestBatch(of: 4)
                let files = (0..<4).map { _ in TestFile(randomBytes: 300_000 * (round + 1)) }
                let responders = try server.processes("syncd_transfer")

                async let attempts: [Void] = Threads.run(4) { number in
                    _ = try? alice.upload(files[number], masterVersion: 0, overriding: batch.parameters)
                }
                try await eventually("a member is staged or committed") {
                    try !alice.stagedUploads().isEmpty || alice.index().masterVersion == 1
                }
                for responder in responders { responder.send(SIGKILL) }
                _ = try await attempts
                try await Threads.run { try stack.restore() }

                #expect([0, 4].contains(try alice.index().files.count))
                for file in files + files {
                    try await eventually("the member is staged") {
                        try alice.upload(file, masterVersion: 0, overriding: batch.parameters).status == 200
                    }
                }
                let index = try alice.index()
                #expect(index.masterVersion == 1 && index.files.count == 4)
                for file in files { expectDownload(try alice.download(file, masterVersion: 1), of: file) }
            }
        }
    }
}
