import Foundation
import SyncProtocol
import TestSupport
import Testing

@Suite("Commits with an id")
struct CommitIDTests {
    private let server: TestServer
    private let alice: Phone
    private let bytes = someBytes(1_000)
    private let commitID = CommitID(UUID().uuidString)!

    init() throws {
        server = try TestServer()
        alice = try server.signUp()
    }

    private func commit(
        from master: Int64, as commitID: CommitID? = nil, by phone: Phone? = nil, message: String? = nil
    ) -> FakeConnection {
        server.send(
            DoneUploadsRequest(
                masterVersion: MasterVersion(master), sharingGroupUUID: alice.group,
                pushNotificationMessage: message, commitID: commitID ?? self.commitID), as: phone ?? alice)
    }

    private var masterVersion: Int { get throws { try server.count("SELECT master_version FROM sharing_groups") } }

    @Test("A repeated id gets the first reply, even after others have committed and the device has staged again")
    func repeated() throws {
        _ = server.upload(bytes, of: someFile(), by: alice)
        let first = commit(from: 0)
        _ = server.commit(from: 1, by: try server.join(alice, as: "bob"))
        _ = server.upload(bytes, of: someFile(), master: 2, by: alice)
        let again = commit(from: 0)

        #expect(first.status == 200 && first.json["numberUploadsTransferred"] as? Int == 1)
        #expect(again.body == first.body)
        #expect(try server.count("SELECT COUNT(*) FROM staged_changes") == 1)
    }

    @Test("Of many identical concurrent requests one commits, and all get its reply")
    func concurrent() throws {
        let (server, alice, commitID) = (server, alice, commitID)
        _ = server.upload(bytes, of: someFile(), by: alice)

        let outcomes = concurrently(6) { _ in
            server.send(
                DoneUploadsRequest(
                    masterVersion: MasterVersion(0), sharingGroupUUID: alice.group, commitID: commitID), as: alice
            ).body
        }

        let replies = try outcomes.map { try $0.get() }
        #expect(Set(replies).count == 1)
        #expect(String(decoding: replies[0], as: UTF8.self) == #"{"numberUploadsTransferred":1}"#)
        #expect(try masterVersion == 1)
    }

    @Test("The same id with other parameters is rejected and changes nothing")
    func reused() throws {
        _ = commit(from: 0, message: "Hi")

        for reply in [commit(from: 1, message: "Hi"), commit(from: 0, message: "Ho"), commit(from: 0)] {
            #expect(reply.status == 409)
            #expect(reply.code == "commit_id_reused")
        }
        #expect(try masterVersion == 1)
    }

    @Test("Ids are separate for each device and each user")
    func scope() throws {
        var tablet = alice
        tablet.device = DeviceUUID(UUID().uuidString)!

        #expect(commit(from: 0).json["numberUploadsTransferred"] as? Int == 0)
        #expect(commit(from: 1, by: tablet).json["numberUploadsTransferred"] as? Int == 0)
        #expect(try masterVersion == 2)
    }

    @Test("An id whose commit was rejected or stale can be used again")
    func notCommitted() throws {
        #expect(commit(from: 7).json["masterVersionUpdate"] as? Int == 0)
        #expect(commit(from: 0).json["numberUploadsTransferred"] as? Int == 0)
    }
}
