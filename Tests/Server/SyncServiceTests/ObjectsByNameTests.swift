import Logging
import Providers
import Store
import SyncProtocol
import Testing

@testable import SyncService

/// Files stored by an older server have no object id, and are found by their names.
@Suite("Objects known only by name")
struct ObjectsByNameTests {
    private let server: TestServer
    private let alice: Phone
    private let file = someFile()

    init() throws {
        server = try TestServer()
        alice = try server.signUp()
        #expect(server.upload(someBytes(1), of: file, by: alice).status == 200)
        #expect(server.commit(from: 0, by: alice).status == 200)
        try server.execute("UPDATE files SET object_id = NULL, object_revision = NULL, sha256 = NULL")
    }

    private func work() throws {
        let log = server.log
        let worker = OutboxWorker(
            store: server.store, storage: server.services.storage, warningFile: nil, leaseOwner: "worker",
            now: { noon }, logger: Logger(label: "jobs", factory: { _ in log }))
        while try worker.run(transport: .unused) > 0 {}
    }

    private func download(version: Int32 = 0, master: Int64 = 1) -> FakeConnection {
        server.send(
            DownloadFileRequest(
                fileUUID: file, fileVersion: FileVersion(version), masterVersion: MasterVersion(master),
                sharingGroupUUID: alice.group), as: alice)
    }

    @Test("A download finds the object and remembers it")
    func adoption() throws {
        #expect(download().body == someBytes(1))
        #expect(try server.count("SELECT COUNT(*) FROM files WHERE object_id IS NOT NULL") == 1)
    }

    @Test("The object of a replaced version is found and deleted, and the new one is kept")
    func replaced() throws {
        #expect(server.upload(someBytes(2), of: file, version: 1, master: 1, by: alice).status == 200)
        #expect(server.commit(from: 1, by: alice).status == 200)

        try work()

        #expect(Array(server.cloud.objects.values) == [someBytes(2)])
        #expect(try server.count("SELECT COUNT(*) FROM outbox WHERE kind = 'deleteObject'") == 0)
    }

    @Test("A file in two groups keeps its object until neither group needs it")
    func twoGroups() throws {
        try server.execute(
            """
            INSERT INTO sharing_groups (sharing_group_uuid, master_version, created_at) VALUES ('other', 1, NOW());
            INSERT INTO files (sharing_group_id, file_uuid, owning_user_id, storage_type, device_uuid, created_at,
                               updated_at, mime_type, file_version, check_sum, changed_at_master_version)
            SELECT LAST_INSERT_ID(), file_uuid, owning_user_id, storage_type, device_uuid, created_at, updated_at,
                   mime_type, file_version, check_sum, 1 FROM files;
            """)
        #expect(server.upload(someBytes(2), of: file, version: 1, master: 1, by: alice).status == 200)
        #expect(server.commit(from: 1, by: alice).status == 200)
        try work()
        #expect(server.cloud.objects.count == 2)

        try server.execute("UPDATE files SET is_deleted = TRUE WHERE object_id IS NULL")
        let owner = OwningUser(userID: try server.userID(of: alice), storageType: .google)
        let name = try #require(server.cloud.names.first { $0.contains(".0.") })
        try server.execute(
            """
            INSERT INTO outbox (kind, user_id, storage_type, object_name, available_at, created_at)
            VALUES ('deleteObject', \(owner.userID), 'Google', '\(name)', '2020-01-01', '2020-01-01')
            """)
        try work()
        #expect(Array(server.cloud.objects.values) == [someBytes(2)])
    }

    @Test("If one of two groups finds the object, so does the other, and each may change it independently")
    func foundTogether() throws {
        try server.execute(
            """
            INSERT INTO sharing_groups (sharing_group_uuid, master_version, created_at) VALUES ('other', 1, NOW());
            INSERT INTO files (sharing_group_id, file_uuid, owning_user_id, storage_type, device_uuid, created_at,
                               updated_at, mime_type, file_version, check_sum, changed_at_master_version)
            SELECT LAST_INSERT_ID(), file_uuid, owning_user_id, storage_type, device_uuid, created_at, updated_at,
                   mime_type, file_version, check_sum, 1 FROM files;
            """)
        #expect(download().body == someBytes(1))
        #expect(try server.count("SELECT COUNT(DISTINCT object_id) FROM files") == 1)
        #expect(try server.count("SELECT COUNT(*) FROM files WHERE object_id IS NOT NULL") == 2)

        #expect(server.upload(someBytes(2), of: file, version: 1, master: 1, by: alice).status == 200)
        #expect(server.commit(from: 1, by: alice).status == 200)
        try work()
        #expect(server.cloud.objects.count == 2)
    }
}
