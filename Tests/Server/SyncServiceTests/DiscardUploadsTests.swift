import Foundation
import SyncProtocol
import TestSupport
import Testing

@Suite("DiscardUploads")
struct DiscardUploadsTests {
    private let server: TestServer
    private let alice: Phone
    private let bytes = someBytes(1_000)

    init() throws {
        server = try TestServer()
        alice = try server.signUp()
    }

    private func discard(_ files: [FileUUID]? = nil, batch: BatchUUID? = nil, by phone: Phone? = nil) -> Any? {
        server.send(
            DiscardUploadsRequest(sharingGroupUUID: alice.group, fileUUIDs: files, batchUUID: batch),
            as: phone ?? alice
        ).json["numberUploadsDiscarded"]
    }

    @Test("DiscardUploads discards named files, a batch, or everything of this device, and nothing the second time")
    func parts() throws {
        let (named, batch) = (someFile(), BatchUUID(UUID().uuidString)!)
        var tablet = alice
        tablet.device = DeviceUUID(UUID().uuidString)!
        for file in [named, someFile()] { _ = server.upload(bytes, of: file, by: alice) }
        _ = server.upload(
            bytes, of: someFile(), batch: UploadBatch(batchUUID: batch, batchCount: 2), by: alice)
        _ = server.upload(bytes, of: someFile(), by: tablet)

        #expect(discard([named]) as? Int == 1)
        #expect(discard([named]) as? Int == 0)
        #expect(discard(batch: batch) as? Int == 1)
        #expect(discard() as? Int == 1)
        #expect(discard() as? Int == 0)
        #expect(try server.count("SELECT COUNT(*) FROM staged_changes") == 1)
        #expect(
            try server.count("SELECT COUNT(*) FROM outbox WHERE kind = 'deleteObject' AND lease_owner IS NULL") == 3)
        #expect(server.commit(from: 0, by: alice).json["numberUploadsTransferred"] as? Int == 0)
    }

    @Test("Readers and non-members may not discard uploads")
    func rights() throws {
        let reader = try server.join(alice, as: "bob", .read)
        let stranger = try server.signUp("eve")
        let request = DiscardUploadsRequest(sharingGroupUUID: alice.group)

        #expect(server.send(request, as: reader).code == "permission_too_low")
        #expect(server.send(request, as: stranger).code == "not_a_member")
    }

    @Test("Concurrently with a commit, each row is either committed or discarded")
    func race() throws {
        let (server, alice) = (server, alice)
        for _ in 0..<5 { _ = server.upload(bytes, of: someFile(), by: alice) }

        let counts = concurrently(2) { index in
            let reply =
                index == 0
                ? server.commit(from: 0, by: alice)
                : server.send(DiscardUploadsRequest(sharingGroupUUID: alice.group), as: alice)
            return reply.json.values.compactMap { $0 as? Int }.reduce(0, +)
        }

        #expect(try counts.map { try $0.get() }.sorted() == [0, 5])
        #expect(try server.count("SELECT COUNT(*) FROM staged_changes") == 0)
        #expect(
            try server.count("SELECT COUNT(*) FROM files f JOIN outbox o ON o.object_id = f.object_id") == 0)
    }
}
