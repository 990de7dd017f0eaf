import Foundation
import TestSupport
import Testing

@Suite("Finishing a switch of accounts")
struct SwitchEndTests {
    let server: TestServer

    init() throws { server = try TestServer.shared() }

    @Test("Once no file is waiting, the switch can be finished; each group's master version rises by one")
    func finish() throws {
        let file = TestFile()
        let move = try AccountSwitch(on: server, files: [file])
        let other = UUID().uuidString
        expectJSON(try move.before.call("POST", "CreateSharingGroup", ["sharingGroupUUID": other]))
        let id = try move.perform()
        let again = file.stored(at: .dropbox)
        #expect(try move.after.reupload(again).messageParameters?.result?.text == "stored")

        for _ in 0..<2 {
            let reply = try move.finish(id)
            #expect(reply.json == .object(["accountEpoch": .integer(1)]), "\(reply)")
        }

        #expect(try move.after.index().masterVersion == 3)
        #expect(try move.after.index(of: other).masterVersion == 0)
        #expect(try move.status(id).json?.state?.text == "finished")
        let changes = try move.after.call(
            "GET", "Index", ["sharingGroupUUID": move.after.group, "since": "2"])
        #expect(changes.json?.fileIndex?.array?.compactMap { $0.fileUUID?.text } == [file.uuid])
        expectDownload(try move.after.download(again, masterVersion: 3), of: again)
    }

    @Test("Downloads report abandoned files as gone, and the files can still be uploaded again")
    func keepGone() throws {
        let file = TestFile()
        let move = try AccountSwitch(on: server, files: [file])
        let id = try move.perform()

        expectJSON(try move.finish(id, missing: "keepGone"))

        let reply = try move.after.download(file, masterVersion: 3)
        #expect(reply.messageParameters?.gone?.text == "fileRemovedOrRenamed", "\(reply)")
        #expect(reply.messageParameters?.goneDetail == nil)
        #expect(try move.after.index().file(file)?.deleted?.bool == false)
        #expect(try move.after.index().file(file)?.awaitingReupload == nil)
        let again = file.stored(at: .dropbox)
        #expect(try move.after.reupload(again).messageParameters?.result?.text == "stored")
        expectDownload(try move.after.download(again, masterVersion: 3), of: again)
    }

    @Test("Abandoned files are deleted on request; files with contents are kept")
    func markDeleted() throws {
        let (lost, kept) = (TestFile("lost"), TestFile("kept"))
        let move = try AccountSwitch(on: server, files: [lost, kept])
        let id = try move.perform()
        #expect(try move.after.reupload(kept.stored(at: .dropbox)).messageParameters?.result?.text == "stored")

        expectJSON(try move.finish(id, missing: "markDeleted"))

        let index = try move.after.index()
        #expect(index.file(lost)?.deleted?.bool == true)
        #expect(index.file(kept)?.deleted?.bool == false)
        #expect(index.masterVersion == 4)
    }

    @Test("Only the caller's own confirmed switch can be finished")
    func notYours() throws {
        let move = try AccountSwitch(on: server, files: [TestFile()])
        let proposed = try move.begun()
        expectError(try move.before.call("POST", "FinishAccountSwitch", ["switchId": proposed]), 404)
        expectJSON(try move.confirm(proposed))
        let mallory = try server.signUpOwningUser()

        expectError(try mallory.call("POST", "FinishAccountSwitch", ["switchId": proposed]), 404)
        expectError(try move.finish(proposed, missing: "burn"), 400)
        #expect(try move.status().json?.state?.text == "reuploading")
    }

    @Test("Another switch leads back to an account that the same identity has left")
    func wayBack() throws {
        let file = TestFile()
        let move = try AccountSwitch(on: server, files: [file])
        try move.perform()
        let back = move.to(try server.sandbox.account(move.before.account.id))

        let id = try back.begun()
        let confirmed = try back.confirm(id, epoch: 1)

        #expect(confirmed.json?.accountEpoch?.integer == 2, "\(confirmed)")
        let refused = try move.after.checkCredentials()
        #expect(refused.json?.code?.text == "user_unknown", "no user has signed up with it")
        #expect(try back.after.identity().json?.userAppId?.text == move.userAppID)
        #expect(try back.after.reupload(file).messageParameters?.result?.text == "stored")
        expectDownload(try back.after.download(file, masterVersion: 3), of: file)
    }

    @Test("Another device keeps its changes, and syncs them after signing in with the new account")
    func otherDevice() throws {
        let file = TestFile()
        let move = try AccountSwitch(on: server, files: [file])
        let tablet = move.before.onAnotherDevice()
        let unsent = TestFile("written offline")
        try move.perform()
        expectError(try tablet.stageReply(unsent, masterVersion: 1), 401)
        let signedIn = tablet.with(account: move.after.account)
        func index(_ epoch: String) throws -> HTTPReply {
            try server.call(
                "GET", "Index", ["sharingGroupUUID": signedIn.group],
                headers: signedIn.headers + [("SyncServer-Account-Epoch", epoch)])
        }

        let stale = try index("0")
        let present = try index("1")

        expectError(stale, 409)
        #expect(stale.json?.code?.text == "stale_epoch")
        expectJSON(present)
        try signedIn.publish(unsent.stored(at: .dropbox), masterVersion: 2)
        #expect(try move.after.index().fileUUIDs == [file.uuid, unsent.uuid])
    }

    @Test("Removing the user frees both accounts: each of them can sign up again")
    func removal() throws {
        let move = try AccountSwitch(on: server, files: [TestFile()])
        try move.perform()

        expectJSON(try move.after.call("POST", "RemoveUser"))

        expectError(try move.after.checkCredentials(), 401)
        #expect(try move.before.checkCredentials().json?.code?.text == "user_unknown")
        expectJSON(
            try move.before.call(
                "POST", "AddUser", ["sharingGroupUUID": UUID().uuidString, "cloudFolderName": "F"]))
    }

    @Test("Files for new owners, such as the warning file, appear in the new storage")
    func initialFile() async throws {
        let move = try AccountSwitch(on: server)
        try move.perform()

        try await eventually("the warning file exists") {
            try !server.sandbox.files(of: move.after.account).isEmpty
        }
    }
}

extension TestUser {
    /// Calls UploadFile; the reply may be an error.
    fileprivate func stageReply(_ file: TestFile, masterVersion: Int64) throws -> HTTPReply {
        try upload(file, masterVersion: masterVersion)
    }
}
