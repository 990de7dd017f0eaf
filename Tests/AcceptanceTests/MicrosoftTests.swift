import Foundation
import TestSupport
import Testing

@Suite("Microsoft accounts and OneDrive")
struct MicrosoftTests {
    let server: TestServer

    init() throws { server = try TestServer.shared() }

    private func signUp(
        name: String = "Mia Microsoft", quotaBytes: Int? = nil, tokenType: String? = nil, sendsIDToken: Bool = true
    ) throws -> TestUser {
        var user = try server.newcomer(
            .microsoft, name: name, quotaBytes: quotaBytes, tokenType: tokenType, sendsIDToken: sendsIDToken)
        let reply = try user.call("POST", "AddUser", ["sharingGroupUUID": user.group])
        guard reply.status == 200, let userID = reply.json?.userId?.integer else {
            throw UnexpectedReply("AddUser", reply)
        }
        user.userID = userID
        return user
    }

    private func publish(_ file: TestFile, masterVersion: Int64, by user: TestUser, group: String? = nil) throws {
        try user.stage(file, masterVersion: masterVersion, group: group, overriding: ["checkSum": file.sha1])
        #expect(try user.commitStaged(masterVersion: masterVersion, group: group) == 1)
    }

    private func expectDownload(
        _ reply: HTTPReply, of file: TestFile, sourceLocation: SourceLocation = #_sourceLocation
    ) {
        #expect(reply.status == 200 && reply.isComplete, "\(reply)", sourceLocation: sourceLocation)
        #expect(reply.messageParameters?.checkSum?.text == file.sha1, sourceLocation: sourceLocation)
        #expect(reply.messageParameters?.cloudStorageType?.text == "Microsoft", sourceLocation: sourceLocation)
        #expect(reply.body == file.contents, sourceLocation: sourceLocation)
    }

    @Test("A large file is stored in an organisation's drive, which does not accept its size in advance")
    func organisation() throws {
        let mia = try signUp(tokenType: "WORK")
        let file = TestFile(randomBytes: 6_000_000)

        try publish(file, masterVersion: 0, by: mia)

        expectDownload(try mia.download(file, masterVersion: 1), of: file)
    }

    // MARK: Signing in

    @Test(
        "An access token for the app's own API can sign up where Microsoft accepts no id token as an assertion",
        arguments: ["USER", "WORK"])
    func accessTokenForOurAPI(tokenType: String) throws {
        let mia = try signUp(tokenType: tokenType, sendsIDToken: false)
        let file = TestFile(randomBytes: 400_000)

        try publish(file, masterVersion: 0, by: mia)
        try server.sandbox.expireAccessTokens(of: mia.account, .server)

        expectDownload(try mia.download(file, masterVersion: 1), of: file)
        #expect(try mia.checkCredentials().status == 200)
    }

    @Test("A valid id token with an invalid access token, and vice versa, get 401 [32] [44]")
    func badTokens() throws {
        let mia = try signUp()
        let other = try server.newcomer(.microsoft, name: "Other Person")
        let otherToken = other.account.header("X-microsoft-access-token")
        for account in [
            mia.account.replacing(header: "X-microsoft-access-token", with: "EwBjunk"),
            mia.account.replacing(header: "X-microsoft-access-token", with: nil),
            mia.account.replacing(header: "X-microsoft-access-token", with: otherToken),
            mia.account.replacing(header: "access_token", with: "junk"),
            mia.account.replacing(header: "access_token", with: other.account.header("access_token")),
            mia.account.replacing(header: "access_token", with: mia.account.header("X-microsoft-access-token")),
        ] {
            expectError(try mia.with(account: account).checkCredentials(), 401)
        }
        #expect(try mia.checkCredentials().status == 200)
    }

    @Test("An id token for another app gets 401, although Graph accepts its access token")
    func foreignApp() throws {
        let reply = try server.sandbox.address.perform(
            HTTPCall(
                "POST", "/sandbox/accounts", headers: [("Content-Type", "application/json")],
                body: Array(
                    #"""
                    {"provider": "microsoft", "name": "F", "audience": "99999999-0000-0000-0000-000000000000",
                     "idTokenAssertions": true}
                    """#.utf8)))
        var user = try server.newcomer(.microsoft)
        let headers = try #require(reply.json?.headers)
        for name in ["access_token", "X-microsoft-access-token"] {
            user.account = user.account.replacing(header: name, with: headers[name]?.text)
        }
        expectError(try user.call("POST", "AddUser", ["sharingGroupUUID": user.group]), 401)
    }

    @Test("Two valid tokens suffice at level primary; level secondary also requires a user [33]")
    func goodTokens() throws {
        let user = try server.newcomer(.microsoft)
        expectError(try user.checkCredentials(), 401)
        expectError(try user.redeem(UUID().uuidString), 404)
    }

    @Test("Unknown paths and wrong methods are errors even with valid tokens [34] [35]")
    func wrongPath() throws {
        let mia = try signUp()
        expectError(try mia.call("GET", "NoSuchPath"), 404)
        expectError(try mia.call("POST", "CheckCreds"), 405)
    }

    @Test("A user is created without a folder name, and CheckCreds returns the id [36] [38]")
    func checkCredentials() throws {
        let mia = try signUp()
        let reply = try mia.checkCredentials()
        #expect(reply.json?.userId == .integer(mia.userID))
        let index = try mia.groups()
        #expect(index.group(mia.group)?.cloudStorageType == nil)
    }

    @Test(
        "Sign-up without a OneDrive fails after one request with a final error, and leaves nothing behind",
        arguments: [("unprovisioned", 404), ("unlicensed", 400)] as [(String, Int64)])
    func missingDrive(state: String, status: Int64) throws {
        var mia = try server.newcomer(.microsoft, tokenType: "WORK", sendsIDToken: false, oneDrive: state)
        let before = try server.sandbox.lastRequest()

        let reply = try mia.call("POST", "AddUser", ["sharingGroupUUID": mia.group])

        expectError(reply, 502)
        #expect(reply.json?.code?.text == "cloud_refused" && reply.json?.retryable?.bool == false)
        #expect(reply.json?.error?.text == "the account has no cloud storage: never set up, or not licensed")
        // No other test's account gets this status for this path.
        let requests = try server.sandbox.requests(since: before).filter {
            $0.path?.text == "/v1.0/me/drive/special/approot" && $0.status?.integer == status
        }
        #expect(requests.count == 1)
        expectError(try mia.checkCredentials(), 401)

        try server.sandbox.setOneDrive(of: mia.account, "ready")
        let second = try mia.call("POST", "AddUser", ["sharingGroupUUID": mia.group])
        #expect(second.status == 200)
        mia.userID = try #require(second.json?.userId?.integer)
        let file = TestFile()
        try publish(file, masterVersion: 0, by: mia)
        expectDownload(try mia.download(file, masterVersion: 1), of: file)
    }

    @Test("If an owner's OneDrive disappears, downloads get a 502, and files are not reported as gone")
    func lostDrive() async throws {
        let mia = try signUp(tokenType: "WORK")
        try await eventually("the initial file is stored") { try !server.sandbox.files(of: mia.account).isEmpty }
        let file = TestFile()
        try publish(file, masterVersion: 0, by: mia)
        for state in ["unprovisioned", "unlicensed"] {
            try server.sandbox.setOneDrive(of: mia.account, state)
            let reply = try mia.download(file, masterVersion: 1)
            expectError(reply, 502)
            #expect(reply.json?.code?.text == "cloud_refused")
        }
        try server.sandbox.setOneDrive(of: mia.account, "ready")
        expectDownload(try mia.download(file, masterVersion: 1), of: file)
    }

    // MARK: Files

    @Test("Text, picture and URL upload, simply or by session, and download with their SHA-1 [356] [357] [359]")
    func files() throws {
        let mia = try signUp()
        var masterVersion: Int64 = 0
        let pictures = [0, 1, 327_679, 327_680, 327_681, 700_000, 5_000_000].map { TestFile(randomBytes: $0) }
        var url = TestFile("[InternetShortcut]\nURL=https://example.com/\n")
        url.mimeType = "application/x-url"
        for file in [TestFile(), url] + pictures {
            try publish(file, masterVersion: masterVersion, by: mia)
            masterVersion += 1
            expectDownload(try mia.download(file, masterVersion: masterVersion), of: file)
            #expect(try mia.stored(file).map(\.name) == [file.cloudName(device: mia.device)])
            #expect(try mia.stored(file).map(\.folder) == ["Apps/Sandbox App"])
        }
    }

    @Test("A checksum in lower case is accepted; a wrong one is a 422 and leaves nothing behind")
    func checkSums() throws {
        let mia = try signUp()
        let file = TestFile(randomBytes: 400_000)
        expectError(try mia.upload(file, masterVersion: 0), 422)
        expectError(
            try mia.upload(file, masterVersion: 0, overriding: ["checkSum": TestFile("other").sha1]), 422)
        #expect(try mia.stored(file).isEmpty)
        try mia.stage(file, masterVersion: 0, overriding: ["checkSum": file.sha1.lowercased()])
        try mia.commitStaged(masterVersion: 0)
        expectDownload(try mia.download(file, masterVersion: 1), of: file)
    }

    @Test("The next version replaces the object, which is deleted by its id [358]")
    func nextVersion() async throws {
        let mia = try signUp()
        let file = TestFile(randomBytes: 500_000)
        let keeper = TestFile("stays")
        try publish(file, masterVersion: 0, by: mia)
        try publish(keeper, masterVersion: 1, by: mia)
        var next = file.next("")
        next.contents = RandomData.bytes(600_000)

        try publish(next, masterVersion: 2, by: mia)

        expectDownload(try mia.download(next, masterVersion: 3), of: next)
        try await eventually("the replaced object is deleted") {
            try mia.stored(file).map(\.name) == [next.cloudName(device: mia.device)]
        }
        expectDownload(try mia.download(keeper, masterVersion: 3), of: keeper)
    }

    @Test("An expired token is refreshed transparently each time, with a new refresh token [37] [360]")
    func expired() throws {
        let mia = try signUp()
        for version in 0..<3 {
            let file = TestFile(randomBytes: version == 1 ? 700_000 : 100)
            try server.sandbox.expireAccessTokens(of: mia.account, .server)
            try publish(file, masterVersion: Int64(version), by: mia)
            try server.sandbox.expireAccessTokens(of: mia.account, .server)
            expectDownload(try mia.download(file, masterVersion: Int64(version) + 1), of: file)
        }
    }

    @Test("After a revocation, uploads get 410, and downloads report gone [360]")
    func revoked() throws {
        let mia = try signUp()
        let file = TestFile()
        try publish(file, masterVersion: 0, by: mia)
        try server.sandbox.revoke(mia.account, .server)

        let upload = TestFile("more")
        expectError(
            try mia.upload(upload, masterVersion: 1, overriding: ["checkSum": upload.sha1]), 410,
            goneReason: "authTokenExpiredOrRevoked")
        let reply = try mia.download(file, masterVersion: 1)
        #expect(reply.status == 200 && reply.messageParameters?.gone?.text == "authTokenExpiredOrRevoked")
    }

    @Test("A file deleted by its owner is gone; a changed one is marked and has its current SHA-1")
    func changed() throws {
        let mia = try signUp()
        var (changed, deleted) = (TestFile(randomBytes: 300_000), TestFile("away"))
        try publish(changed, masterVersion: 0, by: mia)
        try publish(deleted, masterVersion: 1, by: mia)
        deleted.version = 0
        try server.sandbox.delete(deleted.cloudName(device: mia.device), in: mia.account)
        let bytes = RandomData.bytes(400_000)
        try server.sandbox.store(bytes, as: changed.cloudName(device: mia.device), in: mia.account)
        changed.contents = bytes

        for _ in 0..<2 {
            let reply = try mia.download(changed, masterVersion: 2)
            expectDownload(reply, of: changed)
            #expect(reply.messageParameters?.contentsChanged?.bool == true)
        }
        let gone = try mia.download(deleted, masterVersion: 2)
        #expect(gone.messageParameters?.gone?.text == "fileRemovedOrRenamed")
    }

    @Test(
        "An existing object with the same name is adopted if the contents match, otherwise kept [132] [356]",
        arguments: [true, false])
    func present(isEqual: Bool) throws {
        let mia = try signUp()
        let file = TestFile(randomBytes: 400_000)
        let old = isEqual ? file.contents : RandomData.bytes(400_000)
        try server.sandbox.store(old, as: file.cloudName(device: mia.device), in: mia.account)

        try publish(file, masterVersion: 0, by: mia)

        expectDownload(try mia.download(file, masterVersion: 1), of: file)
        #expect(try mia.stored(file).count == (isEqual ? 1 : 2))
        #expect(
            try server.sandbox.contents(of: file.cloudName(device: mia.device), in: mia.account) == old)
    }

    @Test("In a mixed group, each file is in its owner's storage, with that storage's kind of checksum")
    func mixedGroup() throws {
        let alice = try server.signUpOwningUser()
        let mia = try alice.newMember(.write, provider: .microsoft, name: "Mia Microsoft")
        let bob = try alice.newMember(.write)
        let (hers, his) = (TestFile(randomBytes: 350_000), TestFile("of Bob"))
        // Each new member raised the master version.
        try publish(hers, masterVersion: 2, by: mia, group: alice.group)
        try bob.publish(his, masterVersion: 3, group: alice.group)

        for user in [alice, mia, bob] {
            expectDownload(try user.download(hers, masterVersion: 4, group: alice.group), of: hers)
            let reply = try user.download(his, masterVersion: 4, group: alice.group)
            #expect(reply.body == his.contents && reply.messageParameters?.checkSum?.text == his.checkSum)
        }
        #expect(try mia.stored(hers).count == 1 && alice.stored(hers).isEmpty && alice.stored(his).count == 1)
    }

    @Test("A full OneDrive is a 507 at the beginning of the upload")
    func full() throws {
        let mia = try signUp(quotaBytes: 200_000)
        for size in [250_000, 700_000] {
            let file = TestFile(randomBytes: size)
            expectError(try mia.upload(file, masterVersion: 0, overriding: ["checkSum": file.sha1]), 507)
        }
    }
}
