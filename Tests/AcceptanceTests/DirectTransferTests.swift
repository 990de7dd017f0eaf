import Foundation
import TestSupport
import Testing

extension PrivateStackTests {
    @Suite("Direct transfers between phones and the owner's storage", .serialized)
    final class DirectTransferTests: Sendable {
        private static let stack = Result {
            try TestServer(PrivateStack("direct", responders: 1, overrides: #"{"directTransfers": true}"#))
        }
        private static let storages: [SandboxProvider] = [.google, .dropbox, .microsoft]

        private let server: TestServer

        init() throws {
            server = try Self.stack.get()
            try server.sandbox.clearFaults()
        }

        deinit {
            try? server.sandbox.clearFaults()
            try? server.sandbox.setClock(offsetSeconds: 0)
            try? server.sandbox.changeSettings(["oneDriveHashDelayMs": 0])
        }

        // MARK: The phone's requests

        private func headers(_ user: TestUser, _ more: [(name: String, value: String)]) -> [(
            name: String, value: String
        )] {
            user.headers + [(name: "Upload-Draft-Interop-Version", value: "6")] + more
        }

        private func create(
            _ file: TestFile, _ user: TestUser, masterVersion: Int64 = 0, direct: String? = "true",
            overriding: [String: String?] = [:]
        ) throws -> HTTPReply {
            let more: [String: String?] = [
                "direct": direct, "storageHash": file.storage == .microsoft ? Checksum.quickXor(file.contents) : nil,
            ]
            return try server.call(
                "POST", "CreateUpload",
                user.uploadParameters(
                    file, masterVersion: masterVersion, overriding: more.merging(overriding) { $1 }),
                headers: headers(user, [(name: "Upload-Length", value: "\(file.contents.count)")]))
        }

        /// Begins an upload, and requires that the server offers an address.
        private func begin(
            _ file: TestFile, _ user: TestUser, masterVersion: Int64 = 0, overriding: [String: String?] = [:]
        ) throws -> Begun {
            let reply = try create(file, user, masterVersion: masterVersion, overriding: overriding)
            #expect(reply.status == 201, "\(reply)")
            return Begun(
                uuid: try #require(reply.messageParameters?.uploadUUID?.text),
                address: try #require(reply.messageParameters?.directUpload))
        }

        private struct Begun {
            let uuid: String
            let address: JSONValue
        }

        /// Sends a piece of the upload through the server.
        private func piece(
            _ upload: String, at offset: Int, _ bytes: ArraySlice<UInt8>, isLast: Bool, _ user: TestUser,
            _ parameters: [String: String?] = [:]
        ) throws -> HTTPReply {
            try server.call(
                "PATCH", "Upload", ["uploadUUID": upload].merging(parameters) { $1 },
                headers: headers(
                    user,
                    [
                        (name: "Upload-Offset", value: "\(offset)"),
                        (name: "Upload-Complete", value: isLast ? "?1" : "?0"),
                        (name: "Content-Type", value: "application/partial-upload"),
                    ]), body: Array(bytes))
        }

        /// Tells the server that all bytes are in the storage.
        private func confirm(
            _ upload: Begun, _ file: TestFile, _ user: TestUser, masterVersion: Int64? = nil
        ) throws -> HTTPReply {
            try piece(
                upload.uuid, at: file.contents.count, [], isLast: true, user,
                ["direct": "true", "masterVersion": masterVersion.map { "\($0)" }])
        }

        private func abandon(_ upload: Begun, _ user: TestUser) throws -> HTTPReply {
            try server.call("DELETE", "Upload", ["uploadUUID": upload.uuid], headers: headers(user, []))
        }

        /// - Returns: the status; OneDrive's 201 counts as 200.
        private func send(_ bytes: [UInt8], to address: JSONValue) throws -> Int {
            let status = try server.send(bytes, toStorage: address)
            return status == 201 ? 200 : status
        }

        /// Sends the beginning of a file with a Content-Range header.
        private func send(_ bytes: ArraySlice<UInt8>, of file: TestFile, to address: JSONValue) throws -> Int {
            let folder = try ScratchFolder("direct-part")
            let part = folder.url.appending(path: "part")
            try Data(bytes).write(to: part)
            return try curl(
                [
                    "--upload-file", part.path, "--header",
                    "Content-Range: bytes \(bytes.startIndex)-\(bytes.endIndex - 1)/\(file.contents.count)",
                ], address
            ).status
        }

        private func curl(_ arguments: [String], _ address: JSONValue) throws -> (status: Int, body: [UInt8]) {
            try server.curl(arguments, toStorage: address)
        }

        private func file(_ storage: SandboxProvider, bytes: Int = 700_000) -> TestFile {
            TestFile(randomBytes: bytes).stored(at: storage)
        }

        /// Waits until the owner's storage contains no object of the file, and no work is due there.
        private func expectNothingLeft(of file: TestFile, _ user: TestUser) async throws {
            try await eventually("nothing is left") {
                try user.stored(file).isEmpty
                    && server.askDatabase(
                        "SELECT COUNT(*) FROM outbox WHERE user_id = \(user.userID) AND available_at <= UTC_TIMESTAMP()"
                    ) == "0"
            }
        }

        // MARK: Uploads

        @Test(
            "The file is staged once the storage has the announced bytes; repeated requests get the same reply",
            arguments: storages)
        func upload(storage: SandboxProvider) async throws {
            let alice = try server.signUpOwningUser(storage)
            let file = file(storage)
            let upload = try begin(file, alice)
            #expect(try begin(file, alice).address == upload.address, "a repeated request returns the same address")
            let sent = try send(file.contents, to: upload.address)
            #expect(sent == 200)
            #expect(try alice.stagedUploads().isEmpty)

            let reply = try confirm(upload, file, alice)
            #expect(reply.status == 200 && reply.messageParameters?.creationDate?.text != nil, "\(reply)")
            #expect(try confirm(upload, file, alice).messageParameters == reply.messageParameters)
            #expect(try alice.commitStaged(masterVersion: 0) == 1)
            expectDownload(try alice.download(file, masterVersion: 1), of: file)
            try await eventually("one object exists") { try alice.stored(file).count == 1 }
            let intents = "SELECT COUNT(*) FROM outbox WHERE kind = 'deleteObject' AND user_id = \(alice.userID)"
            #expect(try server.askDatabase(intents) == "0")
            // The address cannot be used again.
            let again = try send(file.contents, to: upload.address)
            #expect(again == [.google: 200, .dropbox: 410][storage, default: 404])
            #expect(try alice.stored(file).count == 1)
        }

        @Test("Two simultaneous requests begin one upload with one object", arguments: storages)
        func simultaneous(storage: SandboxProvider) async throws {
            let alice = try server.signUpOwningUser(storage)
            for round in 0..<3 {
                let file = file(storage)
                let master = Int64(round)
                let replies = try await Threads.run(2) { _ in try self.create(file, alice, masterVersion: master) }
                #expect(replies.allSatisfy { $0.status == 201 }, "\(replies)")
                let uploads = Set(replies.compactMap { $0.messageParameters?.uploadUUID?.text })
                #expect(uploads.count == 1, "\(replies)")
                // One of them may have met the other in progress, and then has no address.
                let begun = try begin(file, alice, masterVersion: master)
                #expect([begun.uuid] == uploads)
                let addresses = replies.compactMap { $0.messageParameters?.directUpload }
                #expect(!addresses.isEmpty && addresses.allSatisfy { $0 == begun.address }, "\(replies)")

                #expect(try send(file.contents, to: begun.address) == 200)
                #expect(try confirm(begun, file, alice).status == 200)
                #expect(try alice.commitStaged(masterVersion: master) == 1)
                expectDownload(try alice.download(file, masterVersion: master + 1), of: file)
                try await eventually("one object exists") { try alice.stored(file).count == 1 }
            }
            // Only the late request's reservation is deleted.
            let intents = "SELECT COUNT(*) FROM outbox WHERE kind = 'deleteObject' AND user_id = \(alice.userID)"
            try await eventually("no deletion is pending") {
                try server.hastenOutbox()
                return try server.askDatabase(intents) == "0"
            }
            let checked = try OperatorTool(server).run([
                "fsck", "--clouds", "--json", "--owner", "\(alice.userID)",
            ])
            #expect(checked.status == 0, "\(checked.output)")
        }

        @Test("Bytes that differ from the announcement are rejected and deleted", arguments: storages, [0, -1, 1])
        func wrongBytes(storage: SandboxProvider, difference: Int) async throws {
            let alice = try server.signUpOwningUser(storage)
            let file = file(storage)
            let upload = try begin(file, alice)
            let sent = try send(RandomData.bytes(file.contents.count + difference), to: upload.address)
            // Google and OneDrive know the announced number of bytes.
            guard sent == 200 else {
                #expect(storage != .dropbox && difference != 0 && sent == 400)
                try server.sandbox.clearViolations()
                expectError(try confirm(upload, file, alice), 409)
                #expect(try abandon(upload, alice).status == 204)
                return try await expectNothingLeft(of: file, alice)
            }
            let reply = try confirm(upload, file, alice)
            expectError(reply, 422)
            #expect(reply.json?.code?.text == "checksum_mismatch")
            expectError(try confirm(upload, file, alice), 404)
            #expect(try alice.stagedUploads().isEmpty)
            try await expectNothingLeft(of: file, alice)
            // The same file can be uploaded afterwards.
            let second = try begin(file, alice)
            #expect(try send(file.contents, to: second.address) == 200)
            #expect(try confirm(second, file, alice).status == 200)
        }

        @Test("Without bytes nothing is staged; the bytes can still be sent through the server", arguments: storages)
        func nothingSent(storage: SandboxProvider) throws {
            let alice = try server.signUpOwningUser(storage)
            let file = file(storage)
            let upload = try begin(file, alice)
            let reply = try confirm(upload, file, alice)
            expectError(reply, 409)
            #expect(reply.json?.code?.text == "upload_offset_mismatch")
            #expect(reply.values(of: "upload-offset") == ["0"])

            // Sends the bytes through the server, in one piece.
            let sent = try piece(upload.uuid, at: 0, file.contents[...], isLast: true, alice)
            #expect(sent.status == 200 && sent.messageParameters?.creationDate?.text != nil, "\(sent)")
            #expect(try alice.commitStaged(masterVersion: 0) == 1)
            expectDownload(try alice.download(file, masterVersion: 1), of: file)
        }

        @Test(
            "An upload begun at its address can continue through the server",
            arguments: [SandboxProvider.google, .microsoft])
        func mixed(storage: SandboxProvider) throws {
            let alice = try server.signUpOwningUser(storage)
            let file = file(storage, bytes: 1_500_000)
            let upload = try begin(file, alice)
            let granule = Int(try #require(upload.address.granularityBytes?.integer))
            #expect(
                try send(file.contents[..<(2 * granule)], of: file, to: upload.address)
                    == (storage == .google ? 308 : 202))
            let sent = try piece(upload.uuid, at: 0, file.contents[...], isLast: true, alice)
            #expect(sent.status == 200, "\(sent)")
            #expect(try alice.commitStaged(masterVersion: 0) == 1)
            expectDownload(try alice.download(file, masterVersion: 1), of: file)
            #expect(try alice.stored(file).count == 1)
        }

        @Test("An upload partly sent through the server no longer has an address")
        func begunThroughUs() throws {
            let alice = try server.signUpOwningUser(.google)
            let file = file(.google, bytes: 1_500_000)
            let created = try create(file, alice, direct: nil)
            #expect(created.messageParameters?.directUpload == nil)
            let upload = try #require(created.messageParameters?.uploadUUID?.text)
            #expect(try piece(upload, at: 0, file.contents[..<1_048_576], isLast: false, alice).status == 204)
            let repeated = try create(file, alice)
            #expect(repeated.status == 201 && repeated.messageParameters?.uploadUUID?.text == upload)
            #expect(repeated.messageParameters?.directUpload == nil)
            // The server does not trust a false confirmation.
            expectError(
                try piece(upload, at: file.contents.count, [], isLast: true, alice, ["direct": "true"]), 409)
        }

        @Test(
            "With a stale master version, the bytes are kept; a request with the current one stages them",
            arguments: storages)
        func stale(storage: SandboxProvider) throws {
            let alice = try server.signUpOwningUser(storage)
            let file = file(storage)
            let upload = try begin(file, alice)
            #expect(try send(file.contents, to: upload.address) == 200)
            try alice.publish(TestFile("another").stored(at: storage), masterVersion: 0)

            expectStale(try confirm(upload, file, alice), 1)
            let reply = try confirm(upload, file, alice, masterVersion: 1)
            #expect(reply.status == 200 && reply.messageParameters?.creationDate?.text != nil, "\(reply)")
            #expect(try alice.commitStaged(masterVersion: 1) == 1)
            expectDownload(try alice.download(file, masterVersion: 2), of: file)
        }

        @Test(
            "An abandoned upload leaves nothing behind, with or without bytes", arguments: storages,
            [true, false])
        func abandoned(storage: SandboxProvider, isSent: Bool) async throws {
            let alice = try server.signUpOwningUser(storage)
            let file = file(storage)
            let upload = try begin(file, alice)
            if isSent { #expect(try send(file.contents, to: upload.address) == 200) }
            #expect(try abandon(upload, alice).status == 204)
            expectError(try confirm(upload, file, alice), 404)
            try await expectNothingLeft(of: file, alice)
            guard !isSent else { return }
            // If the phone sends bytes nevertheless, Google rejects them; Dropbox accepts them until the link expires.
            let late = try send(file.contents, to: upload.address)
            #expect(storage == .dropbox ? late == 200 : late == 404)
            _ = try server.askDatabase(
                "UPDATE outbox SET available_at = UTC_TIMESTAMP() WHERE user_id = \(alice.userID)")
            try await expectNothingLeft(of: file, alice)
        }

        @Test("A removed owner leaves nothing behind", arguments: storages)
        func departure(storage: SandboxProvider) async throws {
            let alice = try server.signUpOwningUser(storage)
            let file = file(storage)
            let upload = try begin(file, alice)
            #expect(try send(file.contents, to: upload.address) == 200)
            #expect(try alice.call("POST", "RemoveUser").status == 200)
            try await expectNothingLeft(of: file, alice)
        }

        @Test("An expired link is replaced")
        func expired() throws {
            let alice = try server.signUpOwningUser(.dropbox)
            let file = file(.dropbox)
            let upload = try begin(file, alice)
            try server.sandbox.setClock(offsetSeconds: 3_700)
            #expect(try send(file.contents, to: upload.address) == 410)
            expectError(try confirm(upload, file, alice), 409)
            _ = try server.askDatabase(
                "UPDATE resumable_uploads SET direct_until = UTC_TIMESTAMP() WHERE upload_uuid = '\(upload.uuid)'")
            let second = try begin(file, alice)
            #expect(second.uuid == upload.uuid && second.address != upload.address)
            #expect(try send(file.contents, to: second.address) == 200)
            #expect(try confirm(second, file, alice).status == 200)
        }

        @Test("A user without write permission gets no address, and another user cannot confirm the upload")
        func strangers() throws {
            let alice = try server.signUpOwningUser(.google)
            let bob = try server.signUpOwningUser(.google)
            let file = file(.google)
            let reply = try server.call(
                "POST", "CreateUpload",
                bob.uploadParameters(file, masterVersion: 0, group: alice.group, overriding: ["direct": "true"]),
                headers: headers(bob, [(name: "Upload-Length", value: "\(file.contents.count)")]))
            #expect(reply.status >= 400)
            let upload = try begin(file, alice)
            #expect(try send(file.contents, to: upload.address) == 200)
            expectError(try confirm(upload, file, bob), 404)
        }

        @Test("After a direct upload, fsck finds no difference between storage and database", arguments: storages)
        func checked(storage: SandboxProvider) throws {
            let alice = try server.signUpOwningUser(storage)
            let file = file(storage)
            let upload = try begin(file, alice)
            #expect(try send(file.contents, to: upload.address) == 200)
            #expect(try confirm(upload, file, alice).status == 200)
            try alice.commitStaged(masterVersion: 0)
            let tool = try OperatorTool(server)
            let checked = try tool.run(["fsck", "--clouds", "--json", "--owner", "\(alice.userID)"])
            #expect(checked.status == 0, "\(checked.output)")
        }

        // MARK: OneDrive

        @Test("Without OneDrive's own hash there is no address, and the bytes are sent through the server")
        func withoutHash() throws {
            let alice = try server.signUpOwningUser(.microsoft)
            let file = file(.microsoft)
            let created = try create(file, alice, overriding: ["storageHash": nil])
            #expect(created.status == 201 && created.messageParameters?.directUpload == nil, "\(created)")
            let upload = try #require(created.messageParameters?.uploadUUID?.text)
            expectError(
                try piece(upload, at: file.contents.count, [], isLast: true, alice, ["direct": "true"]), 409)
            #expect(try piece(upload, at: 0, file.contents[...], isLast: true, alice).status == 200)
        }

        @Test("A malformed hash is rejected for every storage; storages other than OneDrive ignore a well-formed one")
        func hashForm() throws {
            let alice = try server.signUpOwningUser(.google)
            let file = file(.google)
            let wrongs = [
                "", "AAAA", Checksum.sha1(file.contents), "AAAAAAAAAAAAAAAAAAAAAAAAAAB=",
                "AAAAAAAAAAAAAAAAAAAAAAAAA-A=",
            ]
            for wrong in wrongs {
                expectError(try create(file, alice, overriding: ["storageHash": wrong]), 400)
            }
            let upload = try begin(file, alice, overriding: ["storageHash": "AAAAAAAAAAAAAAAAAAAAAAAAAAA="])
            #expect(try send(file.contents, to: upload.address) == 200)
            #expect(try confirm(upload, file, alice).status == 200)
        }

        @Test("Bytes without the announced hash are rejected and deleted")
        func wrongHash() async throws {
            let alice = try server.signUpOwningUser(.microsoft)
            let file = file(.microsoft)
            let upload = try begin(
                file, alice, overriding: ["storageHash": Checksum.quickXor(RandomData.bytes(700_000))])
            #expect(try send(file.contents, to: upload.address) == 200)
            let reply = try confirm(upload, file, alice)
            expectError(reply, 422)
            #expect(reply.json?.code?.text == "checksum_mismatch")
            try await expectNothingLeft(of: file, alice)
        }

        @Test("The latest announced hash counts; without one, the bytes must be sent through the server")
        func announcedAgain() throws {
            let alice = try server.signUpOwningUser(.microsoft)
            let file = file(.microsoft)
            let upload = try begin(file, alice, overriding: ["storageHash": "AAAAAAAAAAAAAAAAAAAAAAAAAAA="])
            let again = try create(file, alice, overriding: ["storageHash": nil])
            #expect(again.messageParameters?.uploadUUID?.text == upload.uuid)
            #expect(again.messageParameters?.directUpload == nil)
            #expect(try send(file.contents, to: upload.address) == 200)
            expectError(try confirm(upload, file, alice), 409)

            #expect(try begin(file, alice).address == upload.address)
            #expect(try confirm(upload, file, alice).status == 200)
        }

        @Test("If OneDrive's hash is not available yet, the phone must repeat the request")
        func lateHash() async throws {
            let alice = try server.signUpOwningUser(.microsoft)
            let file = file(.microsoft)
            let upload = try begin(file, alice)
            try server.sandbox.changeSettings(["oneDriveHashDelayMs": 3_600_000])
            #expect(try send(file.contents, to: upload.address) == 200)
            let early = try confirm(upload, file, alice)
            expectError(early, 502)
            #expect(early.json?.retryable?.bool == true)
            #expect(try alice.stagedUploads().isEmpty)

            try server.sandbox.changeSettings(["oneDriveHashDelayMs": 1_000])
            #expect(try confirm(upload, file, alice).status == 200)
            #expect(try alice.commitStaged(masterVersion: 0) == 1)
            expectDownload(try alice.download(file, masterVersion: 1), of: file)
        }

        @Test(
            "The first download detects a false checksum; later downloads announce the correct one",
            arguments: [1_000, 700_000])
        func lie(bytes: Int) throws {
            let alice = try server.signUpOwningUser(.microsoft)
            let bob = try server.signUpInvitedUser(try alice.invite(.read))
            let file = file(.microsoft, bytes: bytes)
            let lie = Checksum.sha1(RandomData.bytes(bytes))
            let upload = try begin(file, alice, masterVersion: 1, overriding: ["checkSum": lie])
            #expect(try send(file.contents, to: upload.address) == 200)
            #expect(try confirm(upload, file, alice).status == 200)
            #expect(try alice.commitStaged(masterVersion: 1) == 1)

            let first = try bob.download(file, masterVersion: 2, group: alice.group)
            #expect(first.status != 200 || !first.isComplete, "\(first)")
            #expect(first.status != 200 || first.messageParameters?.checkSum?.text == lie)
            for reader in [bob, alice] {
                expectDownload(
                    try reader.download(file, masterVersion: 2, group: alice.group), of: file, contentsChanged: true)
            }
            // Like a file that its owner has changed, this requires no repair.
            let checked = try OperatorTool(server).run([
                "fsck", "--clouds", "--json", "--owner", "\(alice.userID)",
            ])
            #expect(checked.status == 0, "\(checked.output)")
        }

        @Test("A correct checksum stays unchanged, even after a damaged download")
        func damagedDownload() throws {
            let alice = try server.signUpOwningUser(.microsoft)
            let file = file(.microsoft)
            let upload = try begin(file, alice)
            #expect(try send(file.contents, to: upload.address) == 200)
            #expect(try confirm(upload, file, alice).status == 200)
            #expect(try alice.commitStaged(masterVersion: 0) == 1)
            var damage = SandboxFault(host: "my.microsoftpersonalcontent.com", method: "GET", times: 1)
            damage.corruptAtByte = 100
            try server.sandbox.inject(damage)

            let damaged = try alice.download(file, masterVersion: 1)
            #expect(damaged.status != 200 || !damaged.isComplete, "\(damaged)")
            let before = try server.sandbox.lastRequest()
            expectDownload(try alice.download(file, masterVersion: 1), of: file)
            // The server does not read the object again to verify it.
            let readings = try server.sandbox.requests(since: before).count {
                $0.path?.text?.hasSuffix("/download.aspx") == true
            }
            #expect(readings == 1)
        }

        // MARK: Downloads

        @Test(
            "A phone that asks for an address can read the bytes from it",
            arguments: [SandboxProvider.dropbox, .microsoft])
        func download(storage: SandboxProvider) throws {
            let alice = try server.signUpOwningUser(storage)
            let file = file(storage)
            try alice.publish(file, masterVersion: 0)
            let reply = try server.call(
                "GET", "DownloadFile",
                alice.downloadParameters(file, masterVersion: 1).merging(["direct": "true"]) { $1 },
                headers: alice.headers)
            #expect(reply.status == 200 && reply.body.isEmpty, "\(reply)")
            #expect(reply.messageParameters?.checkSum?.text == file.checkSum)
            let address = try #require(reply.messageParameters?.directDownload)
            let received = try curl([], address)
            #expect(received.status == 200)
            #expect(received.body == file.contents)
            // Without the parameter, the reply contains the bytes.
            expectDownload(try alice.download(file, masterVersion: 1), of: file)
        }

        @Test(
            "Once a file is replaced, its download can be resumed only from a storage without direct addresses",
            arguments: [(SandboxProvider.google, true), (.dropbox, false)])
        func continued(storage: SandboxProvider, isForUs: Bool) throws {
            let alice = try server.signUpOwningUser(storage)
            let file = file(storage)
            try alice.publish(file, masterVersion: 0)
            // Otherwise the jobs role would delete the replaced object.
            let jobs = try server.processes("syncd_jobs")
            for process in jobs { process.freeze() }
            defer { for process in jobs { process.thaw() } }
            try alice.publish(file.next("new"), masterVersion: 1)
            let reply = try server.call(
                "GET", "DownloadFile",
                alice.downloadParameters(file, masterVersion: 1).merging(["direct": "true"]) { $1 },
                headers: alice.headers + [
                    (name: "Range", value: "bytes=10-"), (name: "If-Range", value: "\"0-\(file.checkSum)\""),
                ])
            guard isForUs else { return expectStale(reply, 2) }
            #expect(reply.status == 206 && reply.body == Array(file.contents[10...]), "\(reply)")
        }

        @Test("Without addresses for downloads, the server sends the bytes, and reports a stale master version")
        func downloadThroughUs() throws {
            let alice = try server.signUpOwningUser(.google)
            let file = file(.google)
            try alice.publish(file, masterVersion: 0)
            let parameters = alice.downloadParameters(file, masterVersion: 1).merging(["direct": "true"]) { $1 }
            expectDownload(try server.call("GET", "DownloadFile", parameters, headers: alice.headers), of: file)
            expectStale(
                try server.call(
                    "GET", "DownloadFile", parameters.merging(["masterVersion": "7"]) { $1 }, headers: alice.headers),
                1)
        }
    }
}

@Suite("Direct transfers that the operator has disabled")
struct ForbiddenDirectTransferTests {
    @Test("A client that asks for an address gets none, and its transfers work as usual")
    func notAllowed() throws {
        let server = try TestServer.shared()
        let alice = try server.signUpOwningUser(.dropbox)
        let file = TestFile(randomBytes: 1_000).stored(at: .dropbox)
        let created = try server.call(
            "POST", "CreateUpload",
            alice.uploadParameters(file, masterVersion: 0, overriding: ["direct": "true"]),
            headers: alice.headers + [(name: "Upload-Length", value: "1000")])
        #expect(created.status == 201 && created.messageParameters?.directUpload == nil, "\(created)")
        try alice.publish(file, masterVersion: 0)
        let reply = try server.call(
            "GET", "DownloadFile",
            alice.downloadParameters(file, masterVersion: 1).merging(["direct": "true"]) { $1 },
            headers: alice.headers)
        expectDownload(reply, of: file)
    }
}
