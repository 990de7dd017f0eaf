import Foundation
import TestSupport
import Testing

@Suite("Uploading files again after an account switch")
struct ReuploadTests {
    let server: TestServer

    init() throws { server = try TestServer.shared() }

    @Test(
        "The new storage receives the bytes; the file is live again with unchanged version, dates and master version",
        arguments: [
            (SandboxProvider.google, SandboxProvider.dropbox), (.dropbox, .google), (.google, .google),
            (.microsoft, .dropbox), (.dropbox, .microsoft), (.google, .webdav), (.webdav, .microsoft),
        ])
    func stored(from: SandboxProvider, to: SandboxProvider) throws {
        let old = TestFile(randomBytes: 70_000).stored(at: from)
        let move = try AccountSwitch(on: server, from: from, to: to, files: [old])
        let id = try move.perform()
        let file = old.stored(at: to)
        let known = try move.after.index()

        let reply = try move.after.reupload(file, overriding: ["switchId": id])

        #expect(reply.messageParameters == .object(["result": .string("stored")]), "\(reply)")
        expectDownload(try move.after.download(file, masterVersion: 2), of: file)
        let index = try move.after.index()
        #expect(index.masterVersion == known.masterVersion)
        for name in ["fileVersion", "creationDate", "updateDate", "cloudStorageType"] {
            #expect(index.file(file)?[name] == known.file(file)?[name], "\(name)")
        }
        #expect(index.file(file)?.awaitingReupload == nil)
        let names = try server.sandbox.files(of: move.after.account).map(\.name)
        #expect(names.contains(file.cloudName(device: move.after.device)), "\(names)")
        #expect(try move.status(id).json?.numberDone?.integer == 1)
    }

    @Test("A client's cached index is outdated once a file is live again")
    func entityTag() throws {
        let move = try AccountSwitch(on: server, files: [TestFile()])
        let file = TestFile().stored(at: .dropbox)
        _ = file
        let published = try #require(try move.before.index().files.first?.fileUUID?.text)
        try move.perform()
        func index(_ tag: String?) throws -> HTTPReply {
            try server.call(
                "GET", "Index", ["sharingGroupUUID": move.after.group],
                headers: move.after.headers + (tag.map { [("If-None-Match", $0)] } ?? []))
        }
        let tag = try #require(try index(nil).values(of: "etag").first)
        #expect(try index(tag).status == 304)
        var again = TestFile().stored(at: .dropbox)
        again.uuid = published

        let reply = try move.after.reupload(again)

        #expect(reply.messageParameters?.result?.text == "stored", "\(reply)")
        #expect(try index(tag).status == 200)
    }

    @Test("Different bytes are rejected regardless of their checksum, and leave nothing behind")
    func otherBytes() async throws {
        let file = TestFile("the real thing")
        let move = try AccountSwitch(on: server, files: [file])
        try move.perform()
        var forged = file.stored(at: .dropbox)
        forged.contents = Array("the fake thing".utf8)
        let known = try server.sandbox.files(of: move.after.account).map(\.name).filter { $0.contains(file.uuid) }

        let forgery = try move.after.reupload(forged)
        let shorter = try move.after.reupload(
            TestFile("short").stored(at: .dropbox), overriding: ["fileUUID": file.uuid])
        let wrongSum = try move.after.reupload(
            file.stored(at: .dropbox), overriding: ["checkSum": forged.checkSum])
        let wrongHash = try move.after.reupload(
            file.stored(at: .dropbox), overriding: ["contentSHA256": String(repeating: "a", count: 64)])

        for (reply, code) in [
            (forgery, "content_mismatch"), (shorter, "content_mismatch"), (wrongSum, "checksum_mismatch"),
            (wrongHash, "content_mismatch"),
        ] {
            expectError(reply, 422)
            #expect(reply.json?.code?.text == code, "\(reply)")
        }
        #expect(try move.after.index().file(file)?.awaitingReupload?.bool == true)
        #expect(
            try server.sandbox.files(of: move.after.account).map(\.name).filter { $0.contains(file.uuid) } == known)
    }

    @Test("If both storages use the same kind of checksum, a wrong one is rejected before the body")
    func sameFlavour() throws {
        let file = TestFile("the real thing")
        let move = try AccountSwitch(on: server, to: .google, files: [file])
        try move.perform()
        var forged = file
        forged.contents = Array("the fake thing".utf8)

        let reply = try move.after.reupload(forged)

        expectError(reply, 422)
        #expect(reply.json?.code?.text == "content_mismatch", "\(reply)")
    }

    @Test("Any member who may write can upload a file again, into the owner's storage; others may not")
    func members() throws {
        let file = TestFile()
        let move = try AccountSwitch(on: server, files: [file])
        let writer = try move.before.newMember(.write, provider: .google)
        let reader = try move.before.newMember(.read, provider: .google)
        try move.perform()
        let again = file.stored(at: .dropbox)
        var stranger = try server.signUpOwningUser()
        stranger.group = move.after.group

        expectError(try reader.reupload(again), 409)
        expectError(try stranger.reupload(again), 410, goneReason: "userRemoved")
        let reply = try writer.reupload(again)

        #expect(reply.messageParameters?.result?.text == "stored", "\(reply)")
        #expect(try server.sandbox.files(of: move.after.account).contains { $0.name.contains(file.uuid) })
        #expect(try !server.sandbox.files(of: writer.account).contains { $0.name.contains(file.uuid) })
        expectDownload(try reader.download(again, masterVersion: 4), of: again)
    }

    @Test("Of several simultaneous uploads of a file, one is stored; the others report it as already stored")
    func simultaneous() async throws {
        let file = TestFile(randomBytes: 50_000)
        let move = try AccountSwitch(on: server, files: [file])
        try move.perform()
        let again = file.stored(at: .dropbox)
        let devices = (0..<4).map { _ in move.after.onAnotherDevice() }

        let replies = try await Threads.run(4) { try devices[$0].reupload(again) }

        let results = replies.compactMap { $0.messageParameters?.result?.text }.sorted()
        #expect(results == ["alreadyStored", "alreadyStored", "alreadyStored", "stored"], "\(replies)")
        expectDownload(try move.after.download(again, masterVersion: 2), of: again)
        try await eventually("the other objects are gone") {
            try server.sandbox.files(of: move.after.account).filter { $0.name.contains(file.uuid) }.count == 1
        }
        #expect(try move.after.reupload(again).messageParameters?.result?.text == "alreadyStored")
    }

    @Test("A device with a different version receives the current one")
    func versions() throws {
        let file = TestFile()
        let move = try AccountSwitch(on: server, files: [file])
        try move.before.publish(file.next("two"), masterVersion: 1)
        try move.perform()

        let older = try move.after.reupload(file.stored(at: .dropbox))
        let newer = try move.after.reupload(file.next("two").next("three").stored(at: .dropbox))
        let other = try move.after.reupload(
            file.next("two").stored(at: .dropbox), overriding: ["mimeType": "image/jpeg"])

        #expect(
            older.messageParameters
                == .object(["result": .string("versionAdvanced"), "currentVersion": .integer(1)]), "\(older)")
        expectError(newer, 409)
        expectError(other, 409)
    }

    @Test("Committing a next version, or deleting the file, ends the wait")
    func ordinaryChanges() throws {
        let (changed, deleted) = (TestFile("one"), TestFile("gone"))
        let move = try AccountSwitch(on: server, files: [changed, deleted])
        let id = try move.perform()
        let next = changed.next("two").stored(at: .dropbox)

        try move.after.publish(next, masterVersion: 3)
        expectJSON(try move.after.delete(deleted, masterVersion: 4))
        try move.after.commitStaged(masterVersion: 4)

        expectDownload(try move.after.download(next, masterVersion: 5), of: next)
        let index = try move.after.index()
        #expect(index.file(changed)?.awaitingReupload == nil)
        #expect(index.file(deleted)?.deleted?.bool == true)
        #expect(try move.status(id).json?.numberAwaiting?.integer == 0)
        #expect(try move.status(id).json?.numberDone?.integer == 2)
        #expect(try move.after.reupload(deleted.stored(at: .dropbox)).messageParameters?.result?.text == "deleted")
    }

    @Test("A member who knows only the file's former storage uploads the next version with that storage's checksum")
    func formerFlavour() throws {
        let file = TestFile("one")
        let move = try AccountSwitch(on: server, files: [file])
        try move.perform()
        let next = file.next("two")

        let upload = try move.after.upload(next, masterVersion: 2)
        let wrong = try move.after.upload(
            next, masterVersion: 2, overriding: ["checkSum": TestFile("other").checkSum])

        #expect(upload.status == 200, "\(upload)")
        expectError(wrong, 422)
        try move.after.commitStaged(masterVersion: 2)
        expectDownload(
            try move.after.download(next.stored(at: .dropbox), masterVersion: 3), of: next.stored(at: .dropbox))
    }

    @Test("With the former storage's checksum, an upload in pieces is rejected early, since it would fail at the end")
    func formerFlavourInPieces() throws {
        let file = TestFile("one")
        let move = try AccountSwitch(on: server, files: [file])
        try move.perform()
        let next = file.next("two")
        func create(_ file: TestFile, direct: Bool) throws -> HTTPReply {
            var parameters = move.after.uploadParameters(file, masterVersion: 2)
            parameters["direct"] = direct ? "true" : nil
            return try server.call(
                "POST", "CreateUpload", parameters,
                headers: move.after.headers + [("Upload-Length", String(file.contents.count))])
        }

        for direct in [false, true] {
            let reply = try create(next, direct: direct)
            expectError(reply, 422)
            #expect(reply.json?.code?.text == "checksum_mismatch", "\(reply)")
            #expect(try create(next.stored(at: .dropbox), direct: direct).status == 201)
        }
    }

    @Test("If the new storage fails, files keep waiting, and the account may be switched again")
    func further() throws {
        let files = [TestFile("one"), TestFile("two")]
        let move = try AccountSwitch(on: server, files: files)
        let first = try move.perform()
        #expect(
            try move.after.reupload(files[0].stored(at: .dropbox)).messageParameters?.result?.text == "stored")
        let next = move.to(try server.newcomer(.google).account)

        let begun = try next.begin()
        let id = try #require(begun.json?.switchId?.text)
        let confirmed = try next.confirm(id, epoch: 1)

        #expect(begun.json?.fromAccountType?.text == "Dropbox", "\(begun)")
        #expect(confirmed.json == .object(["accountEpoch": .integer(2), "numberAwaiting": .integer(2)]))
        #expect(try next.status(first).json?.state?.text == "finished")
        for file in files {
            #expect(try next.after.reupload(file).messageParameters?.result?.text == "stored")
            expectDownload(try next.after.download(file, masterVersion: 4), of: file)
        }
    }

    @Test("A file deleted before the switch can be undeleted into the new storage")
    func undelete() throws {
        let file = TestFile("one")
        let move = try AccountSwitch(on: server, files: [file])
        try move.before.deleteAndCommit(file, masterVersion: 1)
        try move.before.publish(TestFile("other"), masterVersion: 2)
        try move.perform()
        let next = file.next("back").stored(at: .dropbox)

        try move.after.stage(next, masterVersion: 4, overriding: ["undeleteServerFile": "1"])
        try move.after.commitStaged(masterVersion: 4)

        expectDownload(try move.after.download(next, masterVersion: 5), of: next)
        #expect(try move.after.index().file(next)?.cloudStorageType?.text == "Dropbox")
    }

    @Test("If the new storage is revoked or full, files keep waiting; they can be uploaded once it works again")
    func failures() throws {
        let file = TestFile(randomBytes: 300_000)
        let alice = try server.signUpOwningUser()
        try alice.publish(file, masterVersion: 0)
        let small = try server.newcomer(.dropbox, quotaBytes: 100_000)
        let move = try AccountSwitch(of: alice, to: small.account)
        try move.perform()
        let again = file.stored(at: .dropbox)

        expectError(try move.after.reupload(again), 507)
        try server.sandbox.revoke(move.after.account)
        let returned = try move.after.signedInAgain()
        let download = try alice.with(account: returned.account).download(again, masterVersion: 2)

        #expect(download.messageParameters?.goneDetail?.text == "awaitingReupload", "\(download)")
        #expect(try returned.index().file(again)?.awaitingReupload?.bool == true)
        #expect(try server.sandbox.files(of: move.after.account).allSatisfy { !$0.name.contains(file.uuid) })
    }

    @Test("The list of waiting files is paginated, and contains everything needed to upload them")
    func list() throws {
        var file = TestFile()
        file.fileGroup = UUID().uuidString
        let move = try AccountSwitch(on: server, files: [file])
        _ = try server.askDatabase(
            """
            INSERT INTO files (sharing_group_id, file_uuid, owning_user_id, storage_type, device_uuid, created_at,
                               updated_at, mime_type, file_version, check_sum, size_bytes, object_id,
                               changed_at_master_version)
            SELECT f.sharing_group_id, UUID(), f.owning_user_id, f.storage_type, f.device_uuid, f.created_at,
                   f.updated_at, f.mime_type, 0, f.check_sum, f.size_bytes, UUID(), f.changed_at_master_version
              FROM files f JOIN seq_1_to_500 s
             WHERE f.owning_user_id = \(move.before.userID)
            """)
        let id = try move.perform()

        let first = try move.status(id)
        let second = try move.status(cursor: first.json?.nextCursor?.text)

        let pages = [first, second].map { $0.json?.awaiting?.array ?? [] }
        #expect(pages.map(\.count) == [500, 1], "\(first.status)")
        #expect(Set(pages.joined().compactMap { $0.fileUUID?.text }).count == 501)
        #expect(first.json?.numberAwaiting?.integer == 501)
        #expect(second.json?.nextCursor == nil)
        let entry = pages.joined().first { $0.fileUUID?.text == file.uuid }
        #expect(
            entry
                == .object([
                    "fileUUID": .string(file.uuid), "sharingGroupUUID": .string(move.after.group),
                    "fileGroupUUID": .string(file.fileGroup ?? ""), "fileVersion": .integer(0),
                    "mimeType": .string(file.mimeType), "owningUserId": .integer(move.before.userID),
                ]))
    }
}
