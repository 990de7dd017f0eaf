import Foundation
import SyncProtocol
import TestSupport
import Testing

@testable import SyncService

@Suite("Conditional, incremental and long Index")
struct IndexConditionTests {
    private let server: TestServer
    private let alice: Phone

    init() throws {
        server = try TestServer()
        alice = try server.signUp()
    }

    private func index(
        since: Int64? = nil, ifNoneMatch tag: String? = nil, by phone: Phone? = nil,
        on connection: FakeConnection = FakeConnection()
    ) -> FakeConnection {
        server.send(
            IndexRequest(sharingGroupUUID: alice.group, since: since.map { MasterVersion($0) }),
            as: phone ?? alice, adding: tag.map { [.ifNoneMatch: $0] } ?? [:], on: connection)
    }

    private func tag() throws -> String { try #require(index().header("etag")) }

    private func publish(_ file: FileUUID, version: Int32 = 0, from master: Int64) throws {
        try #require(
            server.upload(someBytes(10 + Int(version)), of: file, version: version, master: master, by: alice).status
                == 200)
        try #require(server.commit(from: master, by: alice).status == 200)
    }

    @Test("The current tag gets 304 without a body, and a request without a tag gets 200 [F51]")
    func unchanged() throws {
        let tag = try tag()

        for header in [tag, "W/\(tag)", "\"x\", \(tag)", "*"] {
            let reply = index(ifNoneMatch: header)
            #expect(reply.status == 304, "\(header)")
            #expect(reply.body.isEmpty && reply.end == .finished)
            #expect(reply.header("etag") == tag)
            #expect(reply.header("syncserver-version") == "1.2.3")
            #expect(reply.header("content-length") == nil)
        }
        for header in ["\"x\"", tag.replacing("\"", with: ""), ""] {
            #expect(index(ifNoneMatch: header).status == 200, "\(header)")
        }
        #expect(index().header("cache-control") == "no-store")
    }

    @Test("Every change to the reply's contents changes the tag, regardless of the user")
    func changes() throws {
        var tags: [String] = [try tag()]
        func expectNew(_ what: String) throws {
            let tag = try tag()
            #expect(!tags.contains(tag), "\(what)")
            #expect(index(ifNoneMatch: tags.last).status == 200, "\(what)")
            tags.append(tag)
        }

        try publish(someFile(), from: 0)
        try expectNew("a file")
        _ = server.commit(from: 1, by: alice, renaming: "Another name")
        try expectNew("the group's name")
        let bob = try server.join(alice, as: "bob")
        try expectNew("a member")
        let bobsTag = try #require(index(by: bob).header("etag"))
        #expect(bobsTag != tags.last)
        _ = server.send(
            UpdateSharingGroupMemberRequest(
                sharingGroupUUID: alice.group, masterVersion: MasterVersion(3), userID: try server.userID(of: bob),
                permission: .read), as: alice)
        try expectNew("a permission")
        try server.execute("UPDATE users SET display_name = 'Robert' WHERE account_type = 'Facebook'")
        try expectNew("a member's name")
        _ = server.send(CreateSharingGroupRequest(sharingGroupUUID: SharingGroupUUID("other")!), as: alice)
        try expectNew("another group")
        try server.execute("UPDATE sharing_groups SET restore_mark = 'first'")
        try expectNew("a restoration")
        try server.execute("UPDATE sharing_groups SET restore_mark = 'second'")
        try expectNew("another restoration")
        try server.execute("UPDATE sharing_groups SET restored_master_version = 3")
        try expectNew("the version of a restoration")
        // Staging changes no other user's view.
        _ = server.upload(someBytes(9), of: someFile(), master: 4, by: alice)
        #expect(try tag() == tags.last)
    }

    @Test("since lists later changes, in the order of the changes, deletions included")
    func since() throws {
        let (old, changed, deleted, new) = (someFile(), someFile(), someFile(), someFile())
        for (master, file) in [old, changed, deleted].enumerated() { try publish(file, from: Int64(master)) }
        try publish(changed, version: 1, from: 3)
        _ = server.send(
            UploadDeletionRequest(
                fileUUID: deleted, fileVersion: .first, masterVersion: MasterVersion(4),
                sharingGroupUUID: alice.group), as: alice)
        _ = server.commit(from: 4, by: alice)
        try publish(new, from: 5)
        func files(_ reply: FakeConnection) -> [String] {
            ((reply.json["fileIndex"] as? [[String: Any]]) ?? []).compactMap { $0["fileUUID"] as? String }
        }

        let reply = index(since: 3)
        #expect(files(reply) == [changed, deleted, new].map(\.rawValue))
        #expect(reply.json["since"] as? Int == 3)
        #expect(reply.json["masterVersion"] as? Int == 6)
        #expect((reply.json["sharingGroups"] as? [Any])?.count == 1)
        #expect((reply.json["fileIndex"] as? [[String: Any]])?[1]["deleted"] as? Bool == true)
        #expect(files(index(since: 6)) == [])
        #expect(files(index(since: 0)).count == 4)
        #expect(index().json["since"] == nil)
    }

    @Test("A `since` beyond the group's version gets the complete list, and the reply states this")
    func future() throws {
        try publish(someFile(), from: 0)

        let reply = index(since: 2)

        #expect(reply.json["since"] == nil)
        #expect((reply.json["fileIndex"] as? [Any])?.count == 1)
    }

    @Test(
        "The version of the last restoration is reported only together with its mark",
        arguments: [(mark: nil, version: 1), ("mark", nil), ("mark", 1)] as [(mark: String?, version: Int?)])
    func restoredVersion(mark: String?, version: Int?) throws {
        try publish(someFile(), from: 0)
        try publish(someFile(), from: 1)
        try server.execute(
            """
            UPDATE sharing_groups
               SET restore_mark = \(mark.map { "'\($0)'" } ?? "NULL"),
                   restored_master_version = \(version.map(String.init) ?? "NULL")
            """)

        let group = try #require((index().json["sharingGroups"] as? [[String: Any]])?.first)

        #expect(group["restoreMark"] as? String == mark)
        #expect(group["restoredMasterVersion"] as? Int == (mark == nil ? nil : version))
        #expect(group.keys.contains("restoredMasterVersion") == (mark != nil && version != nil))
        #expect(group["masterVersion"] as? Int == 2)
    }

    /// Adds enough files to Alice's group that the reply has many chunks.
    private func giveFiles(_ count: Int) throws {
        try server.execute(
            """
            INSERT INTO files
                   (sharing_group_id, file_uuid, owning_user_id, storage_type, device_uuid, created_at, updated_at,
                    mime_type, file_version, check_sum, changed_at_master_version)
            SELECT g.sharing_group_id, CONCAT('00000000-0000-0000-0000-', LPAD(seq, 12, '0')), m.user_id, 'Google',
                   '00000000-0000-0000-0000-000000000001', '2026-01-01', '2026-01-01', 'text/plain', 0, 'ab', 0
              FROM seq_1_to_\(count), sharing_groups g JOIN memberships m USING (sharing_group_id)
            """)
    }

    @Test(
        "A long reply is sent in chunks without an announced length, and is the same whether or not the phone keeps up"
    )
    func long() throws {
        try giveFiles(3_000)

        let quick = index()
        let slow = FakeConnection()
        slow.keepsUp = false
        _ = index(on: slow)

        #expect(quick.status == 200 && quick.starts == 1 && quick.end == .finished)
        #expect(quick.header("content-length") == nil)
        #expect(quick.header("content-type") == "application/json")
        #expect(quick.header("etag") != nil)
        #expect((quick.json["fileIndex"] as? [Any])?.count == 3_000)
        #expect(quick.largestWrite <= 64 * 1024)
        #expect(slow.body == quick.body)
        // All rows were read before the server waited for the slow phone.
        #expect(slow.writes <= 1)
        #expect(slow.header("content-length") != nil)
    }

    @Test(
        "A phone that reads with pauses gets everything, and a disconnected one is detected", arguments: [true, false])
    func uneven(hangsUp: Bool) throws {
        try giveFiles(3_000)
        let phone = FakeConnection()
        phone.keepsUpFor = 3
        if hangsUp { phone.takesReplyBytes = 100_000 }

        _ = index(on: phone)

        #expect(phone.end == (hangsUp ? .abandoned : .finished))
        if !hangsUp { #expect(phone.body == index().body) }
        #expect(server.log.request?["status"] == (hangsUp ? "499" : "200"))
    }

    @Test("If the database fails in the middle of a reply, the connection is aborted")
    func failing() throws {
        try giveFiles(3_000)
        // A value that no file can have, near the end of the list.
        try server.execute(
            "UPDATE files SET app_metadata_version = 0, file_version = -1 WHERE file_uuid LIKE '%2999'")
        try server.execute("ALTER TABLE files MODIFY file_version BIGINT NOT NULL")
        try server.execute("UPDATE files SET file_version = 99999999999 WHERE file_uuid LIKE '%2999'")

        let reply = index()

        #expect(reply.status == 200 && reply.end == .abandoned)
        #expect(server.log.request?["code"] == "reply_interrupted")
    }
}
