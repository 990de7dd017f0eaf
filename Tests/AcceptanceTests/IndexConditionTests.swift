import Foundation
import TestSupport
import Testing

@Suite("Index: ETag, since and long lists")
struct IndexConditionTests {
    let server: TestServer

    init() throws { server = try TestServer.shared() }

    private func index(
        of alice: TestUser, ifNoneMatch tag: String? = nil, accepting encodings: String? = nil
    ) throws -> HTTPReply {
        try server.call(
            "GET", "Index", ["sharingGroupUUID": alice.group],
            headers: alice.headers + (tag.map { [("If-None-Match", $0)] } ?? [])
                + (encodings.map { [("Accept-Encoding", $0)] } ?? []))
    }

    @Test("Conditional requests get 304 until a commit, then 200 with a new ETag")
    func conditional() throws {
        let alice = try server.signUpOwningUser()
        let first = try index(of: alice)
        let tag = try #require(first.values(of: "etag").first)

        let unchanged = try index(of: alice, ifNoneMatch: tag)
        #expect(unchanged.status == 304 && unchanged.body.isEmpty)
        expectVersion(unchanged)
        #expect(unchanged.values(of: "etag") == [tag])
        #expect(try index(of: alice).status == 200)

        try alice.publish(TestFile(), masterVersion: 0)
        let changed = try index(of: alice, ifNoneMatch: tag)
        #expect(changed.status == 200)
        #expect(changed.values(of: "etag").first.map { $0 != tag } == true)
        expectError(
            try server.call(
                "GET", "Index",
                headers: alice.with(account: alice.account).headers.filter {
                    $0.name != "access_token"
                } + [("If-None-Match", tag)]), 401)
    }

    /// What URLSession sends.
    private static let encodingsOfPhones = "gzip, deflate, br"

    @Test("A list is compressed for clients that accept gzip, and its tags match with and without compression")
    func compressed() throws {
        let alice = try server.signUpOwningUser()
        try giveFiles(20_000, to: alice)

        let plain = try index(of: alice)
        let list = try index(of: alice, accepting: Self.encodingsOfPhones)

        #expect(plain.status == 200 && plain.values(of: "content-encoding").isEmpty)
        #expect(list.status == 200 && list.isComplete && list.values(of: "content-encoding") == ["gzip"])
        expectVersion(list)
        #expect(try list.decoded().body == plain.body)
        #expect(list.body.count < plain.body.count / 5)
        for encodings in ["gzip;q=0", "gzip;q=0, *", "br", "identity"] {
            #expect(try index(of: alice, accepting: encodings).body == plain.body, "\(encodings)")
        }
        let tags = [plain, list].flatMap { $0.values(of: "etag") }
        #expect(tags.count == 2 && tags.last == tags.first.map { "W/\($0)" })
        for encodings in [nil, Self.encodingsOfPhones] {
            for tag in tags {
                let unchanged = try index(of: alice, ifNoneMatch: tag, accepting: encodings)
                #expect(unchanged.status == 304 && unchanged.body.isEmpty)
                #expect(unchanged.values(of: "etag") == (encodings == nil ? [tags[0]] : [tags[1]]))
                #expect(unchanged.values(of: "content-encoding").isEmpty)
                #expect(unchanged.values(of: "vary").map { $0.lowercased() } == ["accept-encoding"])
            }
        }
        let head = try server.call(
            "HEAD", "Index", ["sharingGroupUUID": alice.group], headers: alice.headers + [("Accept-Encoding", "gzip")])
        #expect(head.status == 405 && head.values(of: "content-encoding").isEmpty)
    }

    @Test("A client with HTTP/1.0 gets the same compressed list, and one that disconnects costs others nothing")
    func compressedForOthers() throws {
        let alice = try server.signUpOwningUser()
        try giveFiles(20_000, to: alice)
        let query = ClientQuery.text(["sharingGroupUUID": alice.group])
        let call = HTTPCall("GET", "/Index/\(query)", headers: alice.headers + [("Accept-Encoding", "gzip")])

        for _ in 0..<20 {
            let conversation = try HTTPConversation(to: server.address)
            try conversation.send(call.head(for: server.address))
            conversation.hangUp()
        }
        var old = try HTTPConversation(to: server.address)
        try old.send(call.head(for: server.address).replacing(" HTTP/1.1\r\n", with: " HTTP/1.0\r\n"))
        let list = try old.reply()

        #expect(list.status == 200 && list.values(of: "transfer-encoding").isEmpty)
        #expect(try list.decoded().json?.fileIndex?.array?.count == 20_000)
    }

    @Test("Following the versions in replies with since finds every change and deletion")
    func since() throws {
        let alice = try server.signUpOwningUser()
        let files = (0..<3).map { TestFile("file \($0)") }
        for (version, file) in files.enumerated() { try alice.publish(file, masterVersion: Int64(version)) }
        try alice.deleteAndCommit(files[0], masterVersion: 3)

        func changes(since version: Int64) throws -> JSONValue? {
            try alice.call("GET", "Index", ["sharingGroupUUID": alice.group, "since": String(version)]).json
        }
        #expect(
            try changes(since: 2)?.fileIndex?.array?.compactMap { $0.fileUUID?.text } == [files[2].uuid, files[0].uuid])
        #expect(try changes(since: 2)?["since"] == .integer(2))
        #expect(try changes(since: 4)?.fileIndex?.array?.isEmpty == true)
        #expect(try changes(since: 5)?["since"] == nil)
        #expect(try changes(since: 5)?.fileIndex?.array?.count == 3)
    }

    /// Inserts rows of committed files into the database, since the protocol would take minutes.
    private func giveFiles(_ count: Int, to alice: TestUser) throws {
        let sql = """
            INSERT INTO files
                   (sharing_group_id, file_uuid, owning_user_id, storage_type, device_uuid, created_at, updated_at,
                    mime_type, file_version, check_sum, changed_at_master_version)
            SELECT g.sharing_group_id, UUID(), m.user_id, 'Google', '\(alice.device)', '2026-01-01', '2026-01-01',
                   'text/plain', 0, MD5(seq), 0
              FROM seq_1_to_\(count), sharing_groups g JOIN memberships m USING (sharing_group_id)
             WHERE g.sharing_group_uuid = '\(alice.group)'
            """
        _ = try server.askDatabase(sql)
    }

    @Test("Many phones that do not read their long lists do not occupy database connections")
    func slowPhones() throws {
        let alice = try server.signUpOwningUser()
        try giveFiles(20_000, to: alice)
        let query = ClientQuery.text(["sharingGroupUUID": alice.group])
        let call = HTTPCall("GET", "/Index/\(query)", headers: alice.headers)

        // More phones than API threads, and therefore than database connections.
        var conversations: [Phone] = []
        for _ in 0..<40 {
            let phone = try Phone(to: server.address)
            try phone.ask(call, of: server.address)
            conversations.append(phone)
        }
        // This thread sends the request itself, since nginx closes the phones' connections after a minute.
        let other = try server.call("GET", "HealthCheck")

        #expect(other.status == 200)
        let list = try #require(conversations.last).reply()
        #expect(list.isComplete && list.json?.fileIndex?.array?.count == 20_000)
    }

    /// Holds a noncopyable conversation.
    private final class Phone {
        private var conversation: HTTPConversation
        init(to address: HTTPAddress) throws { conversation = try HTTPConversation(to: address) }
        func ask(_ call: HTTPCall, of address: HTTPAddress) throws { try conversation.send(call.head(for: address)) }
        func reply() throws -> HTTPReply { try conversation.reply() }
    }
}
