import SyncProtocol
import TestSupport
import Testing

@testable import SyncService

@Suite("Compressed Index")
struct CompressedIndexTests {
    private let server: TestServer
    private let alice: Phone

    init() throws {
        server = try TestServer()
        alice = try server.signUp()
    }

    private func index(
        accepting encodings: String?, ifNoneMatch tag: String? = nil, withFiles: Bool = true,
        on connection: FakeConnection = FakeConnection()
    ) -> FakeConnection {
        var headers: [RequestHeader: String] = [:]
        headers[.acceptEncoding] = encodings
        headers[.ifNoneMatch] = tag
        return server.send(
            IndexRequest(sharingGroupUUID: withFiles ? alice.group : nil), as: alice, adding: headers, on: connection)
    }

    private func giveFiles(_ count: Int) throws {
        try server.execute(
            """
            INSERT INTO files
                   (sharing_group_id, file_uuid, owning_user_id, storage_type, device_uuid, created_at, updated_at,
                    mime_type, file_version, check_sum, changed_at_master_version)
            SELECT g.sharing_group_id, LEFT(SHA2(seq, 256), 36), m.user_id, 'Google', '00000000-0000-0000-0000-000000000001',
                   '2026-01-01', '2026-01-01', 'text/plain', 0, 'ab', 0
              FROM seq_1_to_\(count), sharing_groups g JOIN memberships m USING (sharing_group_id)
            """)
    }

    @Test(
        "The reply is compressed if the client accepts gzip",
        arguments: [
            ("gzip", true), ("GZIP", true), ("x-gzip", true), ("deflate, gzip;q=0.5, br", true), ("*", true),
            ("gzip ; q=1.000", true), ("identity, gzip", true), ("*;q=0, gzip", true), ("gzip, *;q=0", true),
            ("gzip;q=0", false), ("gzip;q=0.000", false), ("gzip;q=0, *", false), ("*;q=0", false), ("br", false),
            ("gzip;q=0.2, identity;q=0.5", false), ("gzip;q=x", false), ("identity", false), ("", false),
            (",;,", false),
        ])
    func accepted(encodings: String, isCompressed: Bool) throws {
        try giveFiles(30)

        let reply = index(accepting: encodings)

        #expect(reply.status == 200)
        #expect(reply.header("content-encoding") == (isCompressed ? "gzip" : nil))
        #expect(reply.header("etag")?.hasPrefix("W/") == isCompressed)
        #expect(reply.header("vary") == "accept-encoding")
        #expect(reply.header("content-length") == "\(reply.body.count)")
        let plain = index(accepting: nil)
        #expect(plain.header("content-encoding") == nil && plain.header("etag")?.hasPrefix("\"") == true)
        #expect((isCompressed ? try HTTPReply.gunzipped(reply.body) : reply.body) == plain.body)
    }

    @Test("A long reply is sent in small chunks, whether or not the phone keeps up", arguments: [true, false])
    func long(keepsUp: Bool) throws {
        try giveFiles(3_000)
        let phone = FakeConnection()
        phone.keepsUp = keepsUp

        let reply = index(accepting: "gzip", on: phone)

        #expect(reply.status == 200 && reply.end == .finished && reply.starts == 1)
        #expect(reply.header("content-encoding") == "gzip")
        #expect((reply.header("content-length") == nil) == keepsUp)
        #expect(reply.largestWrite <= (keepsUp ? 64 * 1024 : .max))
        #expect(reply.writes > (keepsUp ? 2 : 0))
        let plain = index(accepting: nil)
        #expect(try HTTPReply.gunzipped(reply.body) == plain.body)
        #expect(reply.body.count < plain.body.count / 5)
    }

    @Test("Phones that read with pauses or disconnect get no wrong reply", arguments: [true, false])
    func uneven(hangsUp: Bool) throws {
        try giveFiles(3_000)
        let phone = FakeConnection()
        phone.keepsUpFor = 2
        if hangsUp { phone.takesReplyBytes = 20_000 }

        _ = index(accepting: "gzip", on: phone)

        #expect(phone.end == (hangsUp ? .abandoned : .finished))
        if hangsUp {
            #expect(throws: HTTPReply.CutShort.self) { try HTTPReply.gunzipped(phone.body) }
        } else {
            #expect(try HTTPReply.gunzipped(phone.body) == index(accepting: nil).body)
        }
    }

    @Test("A short list, and a list of groups only, are not compressed")
    func short() throws {
        for reply in [index(accepting: "gzip"), index(accepting: "gzip", withFiles: false)] {
            #expect(reply.status == 200 && reply.header("content-encoding") == nil)
            #expect(reply.header("vary") == "accept-encoding")
            #expect(reply.json["sharingGroups"] != nil)
        }
    }

    @Test("The names of groups and people are not compressed")
    func names() throws {
        try giveFiles(100)
        _ = server.commit(from: 0, by: alice, renaming: "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa")

        let reply = index(accepting: "gzip")

        let tail = index(accepting: nil).body.suffix(150)
        #expect(reply.header("content-encoding") == "gzip")
        // The end of the stream follows: an empty block, checksum and length.
        #expect(reply.body.dropLast(13).suffix(150).elementsEqual(tail))
    }

    @Test("Each tag gets 304, with and without compression")
    func conditional() throws {
        try giveFiles(30)
        let tags = [index(accepting: nil), index(accepting: "gzip")].compactMap { $0.header("etag") }
        try #require(tags.count == 2)
        #expect(tags[1] == "W/\(tags[0])")

        for (encodings, expected) in [(nil, tags[0]), ("gzip", tags[1])] as [(String?, String)] {
            for tag in tags {
                let reply = index(accepting: encodings, ifNoneMatch: tag)
                #expect(reply.status == 304 && reply.body.isEmpty)
                #expect(reply.header("etag") == expected)
                #expect(reply.header("vary") == "accept-encoding" && reply.header("content-encoding") == nil)
            }
        }
    }
}
