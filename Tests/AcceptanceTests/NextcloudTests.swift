import Foundation
import TestSupport
import Testing

@Suite("Nextcloud users")
struct NextcloudTests {
    let server: TestServer

    init() throws { server = try TestServer.shared() }

    private func text(_ words: String = "Hello World") -> TestFile { TestFile(words).stored(at: .webdav) }

    /// Returns the person with different account details.
    private func with(details: String?, _ person: TestUser) -> TestUser {
        person.with(account: person.account.replacing(header: "X-account-details", with: details))
    }

    @Test("A missing folder, a server that is not allowed, and a wrong password each get their own error")
    func signIn() throws {
        let person = try server.newcomer(.webdav)
        let parameters = ["sharingGroupUUID": UUID().uuidString, "cloudFolderName": "Album"]
        func addUser(_ details: String?) throws -> HTTPReply {
            try with(details: details, person).call("POST", "AddUser", parameters)
        }

        expectError(try addUser(nil), 400)
        expectError(try addUser("{\"address\": \"not an address\"}"), 400)
        for address in ["https://other.sandbox.test/", "https://127.0.0.1/", "http://169.254.169.254/latest/"] {
            expectError(try addUser("{\"address\": \"\(address)\", \"user\": \"a\"}"), 403)
        }
        let stranger = try server.newcomer(.webdav)
        expectError(try addUser(stranger.account.header("X-account-details")), 401)
        // A Nextcloud shows other users' home folders as empty.
        let elsewhere = person.account.header("X-account-details")?.replacing(
            "/files/\(person.account.id)", with: "/files/\(stranger.account.id)")
        let refused = try addUser(elsewhere)
        #expect(refused.status == 403 && refused.json?.code?.text == "storage_unusable", "\(refused)")
        expectError(try person.call("POST", "AddUser", ["sharingGroupUUID": UUID().uuidString]), 400)
        #expect(try person.call("POST", "AddUser", parameters).status == 200)
        expectError(try with(details: nil, person).checkCredentials(), 400)
    }

    @Test(
        "A file is stored in the folder on the owner's server, and friends can download it",
        arguments: [0, 11, 2_000_000, 12_000_000])
    func roundTrip(size: Int) throws {
        let nora = try server.signUpOwningUser(.webdav)
        let friend = try nora.newMember(.write)
        let file = TestFile(randomBytes: size).stored(at: .webdav)

        try friend.publish(file, masterVersion: 1)

        #expect(try nora.index().file(file)?.cloudStorageType?.text == "WebDAV")
        let stored = try nora.stored(file)
        #expect(stored.map(\.name) == [file.cloudName(device: friend.device)] && stored.map(\.folder) == ["Sync Tests"])
        expectDownload(try nora.download(file, masterVersion: 2), of: file)
        expectDownload(try friend.download(file, masterVersion: 2), of: file)
    }

    @Test("An upload of 2 MB takes two requests: one for the bytes, one for the move to the final name")
    func requests() async throws {
        let nora = try server.signUpOwningUser(.webdav)
        try await eventually("the warning file exists") { try !server.sandbox.files(of: nora.account).isEmpty }
        let file = TestFile(randomBytes: 2_000_000).stored(at: .webdav)
        let before = try server.sandbox.lastRequest()

        try nora.stage(file, masterVersion: 0)

        let asked = try server.sandbox.requests(since: before).filter {
            $0.path?.text?.contains(nora.account.id) == true
        }
        // PROPFIND requests are ignored, since the transfer role also verifies the user.
        #expect(asked.map { $0.method?.text }.filter { $0 != "PROPFIND" } == ["PUT", "MOVE"])
    }

    @Test("Owners' changes: a renamed file is served, a changed one is marked, a deleted one is gone")
    func ownerTouches() throws {
        let nora = try server.signUpOwningUser(.webdav)
        var file = text()
        try nora.publish(file, masterVersion: 0)
        let name = file.cloudName(device: nora.device)
        try server.sandbox.move(name, to: "Our holiday.txt", in: nora.account)
        expectDownload(try nora.download(file, masterVersion: 1), of: file)

        file.contents = Array("Changed by hand".utf8)
        try server.sandbox.store(file.contents, as: "Our holiday.txt", in: nora.account)
        expectDownload(try nora.download(file, masterVersion: 1), of: file, contentsChanged: true)

        try server.sandbox.delete("Our holiday.txt", in: nora.account)
        let gone = try nora.download(file, masterVersion: 1)
        #expect(gone.status == 200 && gone.messageParameters?.gone?.text == "fileRemovedOrRenamed", "\(gone)")
    }

    @Test("If another file of the same size replaces the object, it is served each time, marked as changed")
    func replacedByAnother() throws {
        let nora = try server.signUpOwningUser(.webdav)
        var file = text()
        try nora.publish(file, masterVersion: 0)
        let name = file.cloudName(device: nora.device)
        file.contents = file.contents.map { $0 ^ 1 }
        try server.sandbox.delete(name, in: nora.account)
        try server.sandbox.store(file.contents, as: name, in: nora.account, folder: nora.folder)

        for _ in 0..<2 {
            expectDownload(try nora.download(file, masterVersion: 1), of: file, contentsChanged: true)
        }
    }

    @Test(
        "An address that temporarily offers no storage is an outage for an existing user, and an error for a new one",
        arguments: [
            (200, "<html><title>Welcome to our hotel</title></html>"), (302, ""), (405, ""),
            (207, "<?xml version=\"1.0\"?><d:multistatus xmlns:d=\"DAV:\"><d:resp"),
        ])
    func disturbed(status: Int, body: String) async throws {
        let nora = try server.signUpOwningUser(.webdav)
        // No other work may meet the fault.
        try await eventually("the initial file exists") {
            try server.askDatabase("SELECT COUNT(*) FROM outbox WHERE user_id = \(nora.userID)") == "0"
        }
        let newcomer = try server.newcomer(.webdav)
        for person in [nora, newcomer] {
            var fault = SandboxFault(
                host: "nextcloud.sandbox.test", pathPrefix: "/remote.php/dav/files/\(person.account.id)/",
                method: "PROPFIND", status: status, times: 1)
            fault.body = body
            try server.sandbox.inject(fault)
        }

        // Spelled differently from the details that the server has cached.
        let details = try #require(nora.account.header("X-account-details")).replacing("{", with: "{ ")
        let known = try with(details: details, nora).checkCredentials()
        let parameters = ["sharingGroupUUID": UUID().uuidString, "cloudFolderName": "Album"]
        let unknown = try newcomer.call("POST", "AddUser", parameters)

        #expect(known.status == 502 && known.json?.code?.text == "provider_unavailable", "\(known)")
        #expect(unknown.status == 400 && unknown.json?.code?.text == "malformed_header", "\(unknown)")
        #expect(try nora.checkCredentials().status == 200)
        #expect(try newcomer.call("POST", "AddUser", parameters).status == 200)
    }

    @Test("A withdrawn app password is rarely tried and affects only its user's requests; a new one restores access")
    func withdrawn() throws {
        let nora = try server.signUpOwningUser(.webdav)
        let friend = try nora.newMember(.write)
        let other = try server.signUpOwningUser(.webdav)
        let file = text()
        try friend.publish(file, masterVersion: 1)

        try server.sandbox.revoke(nora.account)
        let before = try server.sandbox.lastRequest()
        for _ in 0..<5 { expectError(try friend.download(file, masterVersion: 2), 502) }

        let asked = try server.sandbox.requests(since: before).filter {
            $0.path?.text?.contains(nora.account.id) == true
        }
        // Two requests establish the rejection, and a process that has not seen the account asks for the server's
        // capabilities. A cached rejection is not repeated.
        #expect((1...3).contains(asked.count), "\(asked)")
        try other.publish(text("of somebody else"), masterVersion: 0)

        // The sandbox signs them in again, which issues a new app password.
        let again = nora.with(account: try server.sandbox.account(nora.account.id))
        #expect(try again.checkCredentials().status == 200)
        expectDownload(try friend.download(file, masterVersion: 2), of: file)
    }
}
