import Foundation
import SyncProtocol
import TestSupport
import Testing

@testable import SyncService

@Suite("Batches that commit themselves")
struct BatchTests {
    private let server: TestServer
    private let alice: Phone
    private let bytes = someBytes(1_000)
    private let batch = BatchUUID(UUID().uuidString)!

    init() throws {
        server = try TestServer()
        alice = try server.signUp()
    }

    private func member(of count: Int32) -> UploadBatch { UploadBatch(batchUUID: batch, batchCount: count) }

    private func upload(
        _ file: FileUUID, count: Int32, master: Int64 = 0, version: Int32 = 0, _ bytes: [UInt8]? = nil
    ) -> FakeConnection {
        server.upload(
            bytes ?? self.bytes, of: file, version: version, master: master, batch: member(of: count), by: alice)
    }

    private var masterVersion: Int { get throws { try server.count("SELECT master_version FROM sharing_groups") } }
    private var files: Int { get throws { try server.count("SELECT COUNT(*) FROM files WHERE NOT is_deleted") } }
    private var staged: Int { get throws { try server.count("SELECT COUNT(*) FROM staged_changes") } }

    /// Publishes a file outside any batch.
    private func publish(_ file: FileUUID) throws {
        try #require(server.upload(bytes, of: file, by: alice).status == 200)
        try #require(server.commit(from: 0, by: alice).status == 200)
    }

    @Test("The last upload commits the batch, and returns the master version")
    func complete() throws {
        let first = upload(someFile(), count: 3)
        let second = upload(someFile(), count: 3)
        #expect(try files == 0 && masterVersion == 0)
        let last = upload(someFile(), count: 3)

        for reply in [first, second] { #expect(Set(reply.messageParams.keys) == ["creationDate", "updateDate"]) }
        #expect(Set(last.messageParams.keys) == ["creationDate", "updateDate", "committedMasterVersion"])
        #expect(last.messageParams["committedMasterVersion"] as? Int == 1)
        #expect(try files == 3 && staged == 0 && masterVersion == 1)
        #expect(try server.count("SELECT COUNT(*) FROM outbox WHERE kind = 'deleteObject'") == 0)
    }

    @Test("Uploads, metadata and deletions form one batch, whichever comes last", arguments: [0, 1, 2])
    func kinds(last: Int) throws {
        let (deleted, described, added) = (someFile(), someFile(), someFile())
        try #require(server.upload(bytes, of: deleted, by: alice).status == 200)
        try publish(described)
        let requests: [() -> Int?] = [
            {
                server.send(
                    UploadDeletionRequest(
                        fileUUID: deleted, fileVersion: .first, masterVersion: MasterVersion(1),
                        sharingGroupUUID: alice.group, batch: member(of: 3)), as: alice
                ).json["committedMasterVersion"] as? Int
            },
            {
                server.send(
                    UploadAppMetaDataRequest(
                        fileUUID: described, appMetaData: AppMetaData(version: .first, contents: "new"),
                        masterVersion: MasterVersion(1), sharingGroupUUID: alice.group, batch: member(of: 3)),
                    as: alice
                ).json["committedMasterVersion"] as? Int
            },
            { upload(added, count: 3, master: 1).messageParams["committedMasterVersion"] as? Int },
        ]

        for (index, request) in requests.enumerated() where index != last { #expect(request() == nil) }
        #expect(requests[last]() == 2)
        for request in requests { #expect(request() == 2) }

        #expect(try masterVersion == 2 && files == 2 && staged == 0)
        #expect(try server.count("SELECT COUNT(*) FROM files WHERE app_metadata = 'new'") == 1)
    }

    @Test("Repeated members count once, and after the commit return their first dates and the commit")
    func repeated() throws {
        let (first, last) = (someFile(), someFile())
        let staged = upload(first, count: 2)
        #expect(upload(first, count: 2).messageParams["committedMasterVersion"] == nil)
        let committed = upload(last, count: 2)
        _ = server.commit(from: 1, by: alice)

        let again = upload(first, count: 2)

        #expect(
            upload(last, count: 2).header("syncserver-message-params") == committed.header("syncserver-message-params"))
        #expect(again.messageParams["committedMasterVersion"] as? Int == 1)
        #expect(again.messageParams["updateDate"] as? String == staged.messageParams["updateDate"] as? String)
        #expect(again.readBytes == 1_000)
        #expect(server.cloud.objects.count == 2)
        #expect(try masterVersion == 2)
    }

    @Test("Last members that arrive concurrently commit once, and all get the result")
    func concurrent() throws {
        let (server, alice, bytes, batch) = (server, alice, bytes, member(of: 4))
        let files = (0..<4).map { _ in someFile() }

        // Each file twice.
        let outcomes = concurrently(8) { index in
            server.upload(bytes, of: files[index / 2], batch: batch, by: alice).messageParams["committedMasterVersion"]
                as? Int ?? -1
        }
        let versions = try outcomes.map { try $0.get() }
        let repeated = files.map { server.upload(bytes, of: $0, batch: batch, by: alice) }

        #expect(versions.contains(1) && Set(versions).isSubset(of: [1, -1]))
        #expect(repeated.allSatisfy { $0.messageParams["committedMasterVersion"] as? Int == 1 })
        #expect(try masterVersion == 1)
        #expect(try self.files == 4)
        // Only the duplicates' own objects are due for deletion.
        #expect(
            try server.count(
                "SELECT COUNT(*) FROM outbox o JOIN files f ON f.object_id = o.object_id") == 0)
    }

    @Test("A stale member stages nothing, and all members must be sent again for the new master version")
    func stale() throws {
        let (first, last) = (someFile(), someFile())
        _ = upload(first, count: 2)
        _ = server.commit(from: 0, by: alice)

        let stale = upload(last, count: 2)
        #expect(stale.messageParams as? [String: Int] == ["masterVersionUpdate": 1])
        #expect(upload(last, count: 2, master: 1).messageParams["committedMasterVersion"] == nil)
        #expect(try files == 0)
        let objects = server.cloud.objects.count
        #expect(upload(first, count: 2, master: 1).messageParams["committedMasterVersion"] as? Int == 2)

        // Content that was staged before was not stored a second time.
        #expect(server.cloud.objects.count == objects)
        #expect(try files == 2)
    }

    @Test("DoneUploads ignores an incomplete batch, and a request without the batch removes the file from it")
    func plain() throws {
        let file = someFile()
        _ = upload(file, count: 2)

        #expect(server.commit(from: 0, by: alice).json["numberUploadsTransferred"] as? Int == 0)
        let listed = server.send(GetUploadsRequest(sharingGroupUUID: alice.group), as: alice)
        #expect((listed.json["uploads"] as? [[String: Any]])?.first?["batchUUID"] as? String == batch.rawValue)

        _ = server.upload(bytes, of: file, master: 1, by: alice)
        #expect(server.commit(from: 1, by: alice).json["numberUploadsTransferred"] as? Int == 1)
        #expect(server.cloud.objects.count == 1)
    }

    @Test("A change staged without a batch can join one without being stored again")
    func joining() throws {
        let file = someFile()
        _ = server.upload(bytes, of: file, by: alice)

        #expect(upload(file, count: 1).messageParams["committedMasterVersion"] as? Int == 1)
        #expect(server.cloud.objects.count == 1)
        #expect(try files == 1)
    }

    @Test("A different count is rejected, as is another file or content with the id of a committed batch")
    func mismatch() throws {
        let file = someFile()
        _ = upload(file, count: 2)
        #expect(upload(someFile(), count: 3).code == "batch_mismatch")
        #expect(try staged == 1)
        _ = upload(someFile(), count: 2)

        #expect(upload(someFile(), count: 2).code == "batch_mismatch")
        #expect(upload(file, count: 2, someBytes(7)).code == "batch_mismatch")
        #expect(try files == 2 && staged == 0)
    }

    @Test("If one member cannot be committed, none is, and the last is not staged")
    func refused() throws {
        let file = someFile()
        _ = upload(file, count: 2)
        // A defect or a damaged row, against which the commit has its own checks.
        try server.execute("UPDATE staged_changes SET file_version = 5")

        let reply = upload(someFile(), count: 2)

        #expect(reply.status == 409 && reply.code == "file_version_mismatch")
        #expect(try files == 0 && staged == 1 && masterVersion == 0)
        #expect(
            try server.count("SELECT COUNT(*) FROM outbox WHERE kind = 'deleteObject' AND lease_owner IS NULL") == 1)
    }

    @Test("Batch ids and commit ids share one namespace")
    func sameNamespace() throws {
        _ = upload(someFile(), count: 1)

        let reply = server.send(
            DoneUploadsRequest(
                masterVersion: MasterVersion(0), sharingGroupUUID: alice.group, commitID: batch.commitID), as: alice)

        #expect(reply.code == "commit_id_reused")
    }
}
