import Foundation
import TestSupport
import Testing

@Suite("Dropbox users")
struct DropboxTests {
    let server: TestServer

    init() throws { server = try TestServer.shared() }

    private func text(_ words: String = "Hello World") -> TestFile { TestFile(words).stored(at: .dropbox) }

    // MARK: Signing in

    @Test("An invalid token gets 401 at every level that requires one [22]")
    func badToken() throws {
        let person = try server.newcomer(.dropbox)
        let junk = person.with(account: person.account.replacing(header: "access_token", with: "junk"))

        expectError(try junk.checkCredentials(), 401)
        expectError(try junk.redeem(UUID().uuidString), 401)
        expectError(try junk.call("POST", "AddUser", ["sharingGroupUUID": UUID().uuidString]), 401)
    }

    @Test("A valid token with its account id suffices at level primary [23]")
    func goodToken() throws {
        let person = try server.newcomer(.dropbox)

        expectError(try person.redeem(UUID().uuidString), 404)
        expectError(try person.checkCredentials(), 401)
    }

    @Test("A token with another account's id, or without an id, is rejected [45] [F17]")
    func otherAccountID() throws {
        let (alice, bob) = (try server.signUpOwningUser(.dropbox), try server.signUpOwningUser(.dropbox))

        for accountID in [bob.account.id, bob.account.id.uppercased(), "", nil] {
            let impostor = alice.with(account: alice.account.replacing(header: "X-account-id", with: accountID))
            expectError(try impostor.checkCredentials(), 401)
            expectError(try impostor.call("GET", "Index"), 401)
        }
        #expect(try alice.checkCredentials().json?.userId?.integer == alice.userID)
    }

    @Test("Unknown paths and wrong methods are errors even with a valid token [24] [25]")
    func wrongRequest() throws {
        let alice = try server.signUpOwningUser(.dropbox)

        expectError(try alice.call("GET", "NoSuchEndpoint"), 404)
        expectError(try alice.call("GET", "AddUser"), 405)
        expectError(try alice.call("POST", "CheckCreds"), 405)
    }

    @Test("A user is created without a folder name, with a code or with a bare token [26]", arguments: [true, false])
    func addUser(hasCode: Bool) throws {
        let person = try server.newcomer(.dropbox, name: "Dora Dropbox")
        let account =
            hasCode ? person.account : person.account.replacing(header: "SyncServer-authorization-code", with: nil)
        let dora = person.with(account: account)

        let added = try dora.call("POST", "AddUser", ["sharingGroupUUID": dora.group])

        expectJSON(added)
        let checked = try dora.checkCredentials()
        expectJSON(checked)
        #expect(checked.json?.userId?.integer == added.json?.userId?.integer)
        let users = try dora.groups().group(dora.group)?.sharingGroupUsers?.array
        #expect(users?.map { $0.name?.text } == ["Dora Dropbox"])
    }

    @Test("The warning file is written into the app's folder")
    func warningFile() async throws {
        let dora = try server.signUpOwningUser(.dropbox)

        try await eventually("the file exists") {
            try server.sandbox.files(of: dora.account).map(\.name) == ["README.txt"]
        }
    }

    // MARK: Files

    @Test(
        "Text and pictures are stored in the app's folder under their names, and can be downloaded [349] [351]",
        arguments: [0, 11, 262_145, 700_000])
    func roundTrip(size: Int) throws {
        let dora = try server.signUpOwningUser(.dropbox)
        let file = TestFile(randomBytes: size).stored(at: .dropbox)

        try dora.publish(file, masterVersion: 0)

        let index = try dora.index()
        #expect(index.file(file)?.cloudStorageType?.text == "Dropbox")
        #expect(index.group(dora.group)?.cloudStorageType == nil, "owning users learn it from the files")
        #expect(try dora.stored(file).map(\.name) == [file.cloudName(device: dora.device)])
        #expect(try dora.stored(file).map(\.checkSum) == [file.checkSum])
        expectDownload(try dora.download(file, masterVersion: 1), of: file)
        expectDownload(try dora.onAnotherDevice().download(file, masterVersion: 1), of: file)
    }

    @Test("The checksum of text and of a web address is Dropbox's own [350]")
    func checkSums() throws {
        let dora = try server.signUpOwningUser(.dropbox)
        var address = text("[InternetShortcut]\nURL=https://example.com/\n")
        address.mimeType = "application/x-url"
        let hello = text()
        #expect(hello.checkSum == "42a873ac3abd02122d27e80486c6fa1ef78694e8505fcec9cbcc8a7728ba8949")

        try dora.stage(hello, masterVersion: 0)
        try dora.stage(address, masterVersion: 0)
        #expect(try dora.commitStaged(masterVersion: 0) == 2)

        #expect(try dora.stored(hello).map(\.checkSum) == [hello.checkSum])
        #expect(try dora.stored(address).map(\.checkSum) == [address.checkSum])
    }

    @Test("An MD5, or a hash of different bytes, is rejected and leaves nothing behind")
    func wrongCheckSum() async throws {
        let dora = try server.signUpOwningUser(.dropbox)
        for wrong in [Checksum.md5(text().contents), text("Other").checkSum] {
            let file = text()
            expectError(
                try dora.upload(file, masterVersion: 0, overriding: ["checkSum": wrong]), 422)
            #expect(try dora.stored(file).isEmpty)
        }
    }

    @Test("An existing object with the same name and contents is adopted [132]")
    func adopted() throws {
        let dora = try server.signUpOwningUser(.dropbox)
        let file = text()
        let name = file.cloudName(device: dora.device)
        try server.sandbox.store(file.contents, as: name, in: dora.account)

        try dora.publish(file, masterVersion: 0)

        #expect(try dora.stored(file).map(\.name) == [name])
        expectDownload(try dora.download(file, masterVersion: 1), of: file)
    }

    @Test("An existing object with different contents is kept, and the upload gets its spare name [350]")
    func spareName() throws {
        let dora = try server.signUpOwningUser(.dropbox)
        let file = text()
        let name = file.cloudName(device: dora.device)
        try server.sandbox.store(Array("Mine".utf8), as: name, in: dora.account)

        try dora.publish(file, masterVersion: 0)

        #expect(try server.sandbox.contents(of: name, in: dora.account) == Array("Mine".utf8))
        #expect(try dora.stored(file).count == 2)
        expectDownload(try dora.download(file, masterVersion: 1), of: file)
    }

    @Test("A staged version with replaced contents is committed once, and its first object is deleted")
    func replacedStaging() async throws {
        let dora = try server.signUpOwningUser(.dropbox)
        var file = text("first")
        try dora.stage(file, masterVersion: 0)
        file.contents = Array("second".utf8)

        try dora.stage(file, masterVersion: 0)
        #expect(try dora.commitStaged(masterVersion: 0) == 1)

        expectDownload(try dora.download(file, masterVersion: 1), of: file)
        try await eventually("one object is left") {
            try dora.stored(file).map(\.checkSum) == [file.checkSum]
        }
    }

    @Test("Many simultaneous identical uploads result in one row and one object")
    func twins() async throws {
        let dora = try server.signUpOwningUser(.dropbox)
        let file = TestFile(randomBytes: 300_000).stored(at: .dropbox)

        let replies = try await Threads.run(6) { _ in try dora.upload(file, masterVersion: 0) }

        #expect(replies.contains { $0.status == 200 })
        #expect(replies.allSatisfy { [200, 409, 429].contains($0.status) }, "\(replies.map(\.status))")
        #expect(try dora.commitStaged(masterVersion: 0) == 1)
        try await eventually("one object is left") { try dora.stored(file).count == 1 }
        expectDownload(try dora.download(file, masterVersion: 1), of: file)
    }

    @Test("A new version replaces the old one's object [352]")
    func nextVersion() async throws {
        let dora = try server.signUpOwningUser(.dropbox)
        let file = text()
        try dora.publish(file, masterVersion: 0)

        try dora.publish(file.next("Hello again"), masterVersion: 1)

        expectDownload(try dora.download(file.next("Hello again"), masterVersion: 2), of: file.next("Hello again"))
        try await eventually("the old object is deleted") {
            try dora.stored(file).map(\.name) == [file.next("").cloudName(device: dora.device)]
        }
    }

    @Test("Owners' changes: a renamed file is served, a changed one is marked, a deleted one is gone [351] [353]")
    func ownerTouches() throws {
        let dora = try server.signUpOwningUser(.dropbox)
        var file = text()
        try dora.publish(file, masterVersion: 0)
        let name = file.cloudName(device: dora.device)

        file.contents = Array("Changed by hand".utf8)
        try server.sandbox.store(file.contents, as: name, in: dora.account)
        expectDownload(try dora.download(file, masterVersion: 1), of: file, contentsChanged: true)

        try server.sandbox.delete(name, in: dora.account)
        let gone = try dora.download(file, masterVersion: 1)
        #expect(gone.status == 200 && gone.messageParameters?.gone?.text == "fileRemovedOrRenamed", "\(gone)")
    }

    // MARK: Tokens

    @Test("An expired access token is refreshed with the code's refresh token")
    func renewed() throws {
        let dora = try server.signUpOwningUser(.dropbox)
        let file = text()
        try dora.publish(file, masterVersion: 0)

        try server.sandbox.expireAccessTokens(of: dora.account, .server)

        expectDownload(try dora.download(file, masterVersion: 1), of: file)
        try dora.publish(text("More"), masterVersion: 1)
    }

    @Test("After a revocation uploads and downloads are rejected; the file is kept [354]")
    func revoked() throws {
        let dora = try server.signUpOwningUser(.dropbox)
        let friend = try dora.newMember(.write)
        let file = text()
        try friend.publish(file, masterVersion: 1)

        try server.sandbox.revoke(dora.account)

        let download = try friend.download(file, masterVersion: 2)
        #expect(download.status == 200 && download.messageParameters?.gone?.text == "authTokenExpiredOrRevoked")
        expectError(
            try friend.upload(text(), masterVersion: 2), 410, goneReason: "authTokenExpiredOrRevoked")
        #expect(try dora.stored(file).count == 1)
    }

    @Test("An expired bare token cannot be refreshed; the next one from the app replaces it")
    func healed() async throws {
        let newcomer = try server.newcomer(.dropbox)
        let bare = { (account: SandboxAccount) in
            account.replacing(header: "SyncServer-authorization-code", with: nil)
        }
        var dora = newcomer.with(account: bare(newcomer.account))
        expectJSON(try dora.call("POST", "AddUser", ["sharingGroupUUID": dora.group]))
        let friend = try dora.newMember(.read)
        let file = text()
        try dora.publish(file, masterVersion: 1)
        expectDownload(try friend.download(file, masterVersion: 2), of: file)

        try server.sandbox.revoke(dora.account)
        let gone = try friend.download(file, masterVersion: 2)
        #expect(gone.messageParameters?.gone?.text == "authTokenExpiredOrRevoked", "\(gone)")
        dora = dora.with(account: bare(try server.sandbox.account(dora.account.id)))
        expectJSON(try dora.checkCredentials())

        expectDownload(try friend.download(file, masterVersion: 2), of: file)
    }

    // MARK: Groups with several storages

    @Test("In a group, each owner's files are in their own storage, and every member can read all of them")
    func mixedGroup() throws {
        let alice = try server.signUpOwningUser(.google)
        let dora = try alice.newMember(.write, provider: .dropbox, name: "Dora Dropbox")
        let bob = try dora.server.signUpInvitedUser(alice.invite(.write), provider: .facebook)
        let (ofAlice, ofDora, ofBob) = (TestFile("Alice's"), text("Dora's"), TestFile("Bob's, at Alice's"))

        try alice.publish(ofAlice, masterVersion: 2)
        try dora.publish(ofDora, masterVersion: 3)
        try bob.publish(ofBob, masterVersion: 4)

        for person in [alice, dora, bob] {
            for file in [ofAlice, ofDora, ofBob] {
                expectDownload(try person.download(file, masterVersion: 5), of: file)
            }
        }
        #expect(try dora.stored(ofDora).count == 1 && alice.stored(ofDora).isEmpty)
        #expect(try alice.stored(ofBob).count == 1 && dora.stored(ofBob).isEmpty)
        // The next version goes to the file's storage, with that storage's checksum, regardless of the uploader.
        let next = ofDora.next("Alice's version of Dora's")
        try alice.publish(next, masterVersion: 5)
        #expect(try dora.stored(ofDora).contains { $0.checkSum == next.checkSum })
        expectDownload(try bob.download(next, masterVersion: 6), of: next)
    }

    @Test("The files of a sharing user invited by a Dropbox user are stored in that Dropbox")
    func sharingUser() throws {
        let dora = try server.signUpOwningUser(.dropbox)
        let bob = try dora.newMember(.write)
        let file = text("Bob's")

        #expect(try bob.groups().group(dora.group)?.cloudStorageType?.text == "Dropbox")
        try bob.publish(file, masterVersion: 1)

        #expect(try dora.stored(file).count == 1)
        expectDownload(try dora.download(file, masterVersion: 2), of: file)
    }
}
