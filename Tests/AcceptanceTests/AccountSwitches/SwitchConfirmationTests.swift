import Foundation
import TestSupport
import Testing

@Suite("Confirming a switch of accounts")
struct SwitchConfirmationTests {
    let server: TestServer

    init() throws { server = try TestServer.shared() }

    @Test("With the new account, the identity keeps its user id, groups, files, versions and metadata")
    func sameIdentity() throws {
        let file = TestFile()
        let move = try AccountSwitch(on: server, files: [file])
        try move.before.publish(file.next("two"), masterVersion: 1, metadata: TestMetadata(0, "meta"))
        let known = try move.before.index()

        let confirmation = try move.confirm(try move.begun())

        #expect(confirmation.json == .object(["accountEpoch": .integer(1), "numberAwaiting": .integer(1)]))
        let identity = try move.after.identity(showing: move.grant)
        #expect(identity.json?.userId?.integer == move.before.userID)
        #expect(identity.json?.userAppId?.text == move.userAppID)
        #expect(identity.json?.accountEpoch?.integer == 1)
        #expect(identity.json?.deviceGrant == nil, "grants stay valid")
        let index = try move.after.index()
        let (old, new) = (known.file(file), index.file(file))
        for name in ["fileVersion", "creationDate", "updateDate", "deviceUUID", "appMetaDataVersion", "owningUserId"] {
            #expect(new?[name] == old?[name] && new?[name] != nil, "\(name)")
        }
        #expect(new?.deleted?.bool == false)
        #expect(new?.cloudStorageType?.text == "Dropbox")
        #expect(new?.awaitingReupload?.bool == true)
        #expect(old?.awaitingReupload == nil)
        #expect(index.masterVersion == (known.masterVersion ?? 0) + 1)
        #expect(index.groups.map { $0.names } == known.groups.map { $0.names })
    }

    @Test("A confirmation repeated after a lost reply returns the same reply and changes nothing")
    func repeated() throws {
        let move = try AccountSwitch(on: server, files: [TestFile()])
        let id = try move.begun()

        let first = try move.confirm(id)
        let known = try move.after.index()
        let second = try move.confirm(id)

        #expect(first.json == second.json)
        #expect(try move.after.index().json == known.json)
        #expect(try move.status(id).json?.state?.text == "reuploading")
    }

    @Test("Two simultaneous identical confirmations switch once")
    func simultaneous() async throws {
        let move = try AccountSwitch(on: server, files: [TestFile()])
        let id = try move.begun()

        let replies = try await Threads.run(4) { _ in try move.confirm(id) }

        #expect(replies.contains { $0.status == 200 })
        #expect(replies.allSatisfy { $0.status == 429 || $0.json?.accountEpoch?.integer == 1 }, "\(replies)")
        #expect(try move.after.identity().json?.accountEpoch?.integer == 1)
        #expect(try move.after.index().masterVersion == 2)
    }

    @Test("A confirmation that expects a different epoch is rejected")
    func epoch() throws {
        let move = try AccountSwitch(on: server)

        let reply = try move.confirm(try move.begun(), epoch: 3)

        expectError(reply, 409)
        #expect(reply.json?.code?.text == "stale_epoch")
        expectJSON(try move.before.checkCredentials())
    }

    @Test("Every endpoint rejects the former account and names the new one's type; the device's files stay untouched")
    func retired() throws {
        let file = TestFile()
        let move = try AccountSwitch(on: server, files: [file])
        let host = try server.signUpOwningUser()
        let invitation = try host.invite(.write)
        try move.perform()
        let old = move.before

        for reply in [
            try old.checkCredentials(), try old.call("GET", "Index"), try old.commit(masterVersion: 1),
            try old.upload(TestFile(), masterVersion: 2), try old.download(file, masterVersion: 2),
            try old.call("POST", "AddUser", ["sharingGroupUUID": UUID().uuidString, "cloudFolderName": "F"]),
            try old.redeem(invitation),
        ] {
            expectError(reply, 401)
            #expect(reply.json?.code?.text == "account_retired", "\(reply)")
            #expect(reply.values(of: "syncserver-active-account-type") == ["Dropbox"], "\(reply)")
        }
    }

    @Test("With acceptRetired, the former account signs up as a separate identity, and the old identity is kept")
    func startingAfresh() throws {
        let move = try AccountSwitch(on: server, files: [TestFile()])
        try move.perform()

        let signedIn = move.before.with(account: try server.sandbox.newAuthorizationCode(of: move.before.account))
        let reply = try signedIn.call(
            "POST", "AddUser",
            [
                "sharingGroupUUID": UUID().uuidString, "cloudFolderName": "F", "acceptRetired": "1",
                "reportIdentity": "1",
            ])

        #expect(reply.json?.userAppId?.text.map { $0 != move.userAppID } == true, "\(reply)")
        #expect(try move.after.identity().json?.userAppId?.text == move.userAppID)
        #expect(try move.before.groups().groups.count == 1)
        #expect(try move.to(move.before.account).begin().json?.code?.text == "account_in_use")
    }

    @Test("Downloads of waiting files report this in values that old clients know, and never report them as deleted")
    func downloads() throws {
        let file = TestFile()
        let move = try AccountSwitch(on: server, files: [file])
        let bob = try move.before.newMember(.read, provider: .google)
        try move.perform()

        for person in [move.after, bob] {
            let reply = try person.download(file, masterVersion: 3)
            #expect(reply.status == 200, "\(reply)")
            #expect(reply.body.isEmpty)
            #expect(reply.messageParameters?.gone?.text == "authTokenExpiredOrRevoked")
            #expect(reply.messageParameters?.goneDetail?.text == "awaitingReupload")
            #expect(reply.messageParameters?.cloudStorageType?.text == "Dropbox")
            #expect(try person.index().file(file)?.awaitingReupload?.bool == true)
            #expect(try person.index().file(file)?.deleted?.bool == false)
        }
    }

    @Test("The former storage stays unchanged, including objects due for deletion")
    func formerStorage() async throws {
        let move = try AccountSwitch(on: server, files: [TestFile("kept")])
        func settled() async throws {
            try await eventually("no work is left to do") {
                try server.askDatabase("SELECT COUNT(*) FROM outbox WHERE user_id = \(move.before.userID)") == "0"
            }
        }
        try await settled()
        try move.before.stage(TestFile("staged"), masterVersion: 1)
        let names = try server.sandbox.files(of: move.before.account).map(\.name).sorted()

        try move.perform()
        try await settled()

        #expect(names.count >= 2)
        #expect(try server.sandbox.files(of: move.before.account).map(\.name).sorted() == names)
    }

    @Test("The identity's staged changes are withdrawn, and can be staged again with the new account")
    func ownStaged() throws {
        let move = try AccountSwitch(on: server)
        let file = TestFile()
        try move.before.stage(file, masterVersion: 0)
        try move.perform()

        #expect(try move.after.stagedUploads().isEmpty)
        let again = file.stored(at: .dropbox)
        try move.after.publish(again, masterVersion: 1)

        expectDownload(try move.after.download(again, masterVersion: 2), of: again)
    }

    @Test("Changes that others staged into the former storage are never committed without contents")
    func othersStaged() throws {
        let file = TestFile()
        let move = try AccountSwitch(on: server, files: [file])
        let bob = try move.before.newMember(.write, provider: .facebook)
        let (next, new) = (file.next("two"), TestFile("new"))
        try bob.stage(next, masterVersion: 2)
        try bob.stage(new, masterVersion: 2)

        try move.perform()

        expectStale(try bob.commit(masterVersion: 2), 3)
        // The first staged change determines the error: 409 for a next version, 410 for a new file.
        #expect([409, 410].contains(try bob.commit(masterVersion: 3).status))
        #expect(try bob.index().masterVersion == 3)
        for file in [next, new] { try bob.stage(file.stored(at: .dropbox), masterVersion: 3) }
        #expect(try bob.commitStaged(masterVersion: 3) == 2)
        for file in [next, new] {
            expectDownload(
                try bob.download(file.stored(at: .dropbox), masterVersion: 4), of: file.stored(at: .dropbox))
        }
    }

    @Test("An upload in progress during the switch of its storage is not staged")
    func uploadInProgress() throws {
        let move = try AccountSwitch(on: server, to: .google)
        let file = TestFile(randomBytes: 200_000)
        var upload = try move.before.beginUpload(file, sending: 100_000)
        let id = try move.begun()
        expectJSON(try move.confirm(id))

        try upload.send(file.contents.dropFirst(100_000))
        let reply = try upload.reply()

        #expect([409, 429, 401].contains(reply.status), "\(reply)")
        #expect(try move.after.stagedUploads().isEmpty)
    }

    @Test("Hosted members are not interrupted: their new files go to the new storage")
    func hosted() throws {
        let move = try AccountSwitch(on: server)
        let bob = try move.before.newMember(.write, provider: .facebook)
        let old = TestFile("old")
        try bob.publish(old, masterVersion: 1)
        try move.perform()

        #expect(try bob.groups().group(bob.group)?.cloudStorageType?.text == "Dropbox")
        #expect(try bob.index().file(old)?.awaitingReupload?.bool == true)
        let new = TestFile("new").stored(at: .dropbox)
        try bob.publish(new, masterVersion: 3)

        expectDownload(try move.after.download(new, masterVersion: 4), of: new)
        #expect(try server.sandbox.files(of: move.after.account).contains { $0.name.contains(new.uuid) })
    }

    @Test("A user without storage who switches to an account with storage has nothing to upload again")
    func sharingToOwning() throws {
        let host = try server.signUpOwningUser()
        let bob = try host.newMember(.write, provider: .facebook)
        let old = TestFile("at the host's")
        try bob.publish(old, masterVersion: 1)
        let move = try AccountSwitch(of: bob, to: server.newcomer(.dropbox).account)

        let begun = try move.begin()
        let id = try #require(begun.json?.switchId?.text)
        let confirmed = try move.confirm(id)

        #expect(begun.json?.reuploadRequired?.bool == false)
        #expect(confirmed.json?.numberAwaiting?.integer == 0)
        #expect(try move.status(id).json?.state?.text == "finished")
        expectDownload(try move.after.download(old, masterVersion: 2), of: old)
        let new = TestFile("own").stored(at: .dropbox)
        try move.after.publish(new, masterVersion: 2)
        #expect(try server.sandbox.files(of: move.after.account).contains { $0.name.contains(new.uuid) })
    }

    @Test("A confirmed switch cannot be cancelled")
    func noCancelling() throws {
        let move = try AccountSwitch(on: server, files: [TestFile()])
        let id = try move.perform()

        let reply = try move.after.call("POST", "CancelAccountSwitch", ["switchId": id])

        expectError(reply, 409)
        #expect(reply.json?.code?.text == "switch_confirmed")
    }

    @Test("If another user has signed up with the proposed account in the meantime, they keep it")
    func takenMeanwhile() throws {
        let move = try AccountSwitch(on: server, files: [TestFile()])
        let id = try move.begun()
        expectJSON(try move.after.call("POST", "AddUser", ["sharingGroupUUID": UUID().uuidString]))
        let known = try move.before.index().json

        let reply = try move.confirm(id)

        expectError(reply, 409)
        #expect(reply.json?.code?.text == "account_in_use")
        #expect(try move.before.index().json == known)
    }
}
