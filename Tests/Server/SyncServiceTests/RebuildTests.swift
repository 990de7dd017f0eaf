import Foundation
import Logging
import OpenSSLCrypto
import Providers
import Store
import SyncProtocol
import TestSupport
import Testing

@testable import SyncService

/// A server without its database, with the cloud, the keys and the people of the lost server.
@Suite("A server rebuilt from manifests")
struct RebuildTests {
    let lost: TestServer
    let alice: Phone
    let file = someFile()

    init() throws {
        lost = try TestServer(watchesMaintenance: true)
        alice = try lost.signUp()
        #expect(lost.upload(someBytes(7), of: file, by: alice).status == 200)
        #expect(lost.commit(from: 0, by: alice).status == 200)
    }

    // MARK: Steps

    private func worker(_ server: TestServer, writesManifests: Bool = false) throws -> OutboxWorker {
        let log = server.log
        let settings = ManifestSettings(
            key: try server.keys.current.manifestKey(), intervalSeconds: 0, serverURL: nil)
        return OutboxWorker(
            store: server.store, storage: server.services.storage, warningFile: nil,
            manifests: writesManifests ? settings : nil, leaseOwner: UUID().uuidString, now: { noon },
            logger: Logger(label: "jobs", factory: { _ in log }))
    }

    /// Writes the manifests of the server that will be lost.
    func writeManifests() throws {
        try ManifestScan(store: lost.store, intervalSeconds: 0, now: { noon }).run()
        let worker = try worker(lost, writesManifests: true)
        while try worker.run(transport: .unused) > 0 {}
    }

    /// A server with an empty database and the same storage, at the beginning of a rebuild.
    /// - Parameter asksAlways: whether it verifies the token of each request with the sign-in service.
    func rebuilt(knowsKey: Bool = true, holds: Bool = false, asksAlways: Bool = false) throws -> TestServer {
        let server = try TestServer(signInTimeToLive: asksAlways ? .zero : .seconds(60), watchesMaintenance: true)
        try server.beginRebuild(of: lost, knowsKey: knowsKey, holds: holds)
        return server
    }

    /// Performs all work that is due.
    func work(_ server: TestServer) throws {
        let worker = try worker(server)
        while try worker.run(transport: .unused) > 0 {}
    }

    func groups(_ phone: Phone, _ server: TestServer) -> [[String: Any]] {
        server.send(IndexRequest(), as: phone).json["sharingGroups"] as? [[String: Any]] ?? []
    }

    private func files(_ phone: Phone, _ server: TestServer) -> [[String: Any]] {
        server.send(IndexRequest(sharingGroupUUID: alice.group), as: phone).json["fileIndex"] as? [[String: Any]] ?? []
    }

    private func download(_ phone: Phone, _ server: TestServer, master: Int64 = 1) -> FakeConnection {
        server.send(
            DownloadFileRequest(
                fileUUID: file, fileVersion: FileVersion(0), masterVersion: MasterVersion(master),
                sharingGroupUUID: alice.group), as: phone)
    }

    /// Another person with storage joins the group.
    func joined(_ name: String, _ accountType: AccountType) throws -> Phone {
        let code =
            lost.send(
                CreateSharingInvitationRequest(permission: .write, sharingGroupUUID: alice.group), as: alice
            ).json["sharingInvitationUUID"] as? String
        var bob = Phone(name: name, accountType: accountType)
        bob.group = alice.group
        let invitation = try #require(code.flatMap { SharingInvitationUUID($0) })
        let redemption = lost.send(
            RedeemSharingInvitationRequest(sharingInvitationUUID: invitation, cloudFolderName: "F"), as: bob)
        try #require(redemption.status == 200, "\(redemption.json)")
        return bob
    }

    /// Another person with storage joins the group, and adds a file.
    private func joinedOwner(from master: Int64) throws -> (phone: Phone, file: FileUUID) {
        let bob = try joined("bob", .google)
        let file = someFile()
        try #require(lost.upload(someBytes(9), of: file, master: master + 1, by: bob).status == 200)
        try #require(lost.commit(from: master + 1, by: bob).status == 200)
        return (bob, file)
    }

    // MARK: Tests

    @Test("The owner is held until their folder has been read, and then has the same number, group and files")
    func owner() throws {
        try writeManifests()
        let number = try lost.userID(of: alice)
        let server = try rebuilt()

        let held = server.send(CheckCredsRequest(), as: alice)
        #expect(held.status == 503 && held.code == "restoring")
        #expect(held.header("retry-after") == "5")
        #expect(server.send(IndexRequest(), as: alice).status == 503)
        #expect(try server.count("SELECT COUNT(*) FROM outbox WHERE kind = 'readManifests'") == 1)
        try work(server)

        #expect(try server.userID(of: alice) == number)
        let group = try #require(groups(alice, server).first)
        #expect(group["sharingGroupUUID"] as? String == alice.group.rawValue)
        #expect(group["masterVersion"] as? Int64 == 1)
        #expect(group["restoredMasterVersion"] as? Int64 == 1)
        #expect(group["restoreMark"] is String)
        // The only owner has returned, so the group can be changed.
        #expect(group["permission"] as? String == "admin")
        let row = try #require(files(alice, server).first)
        #expect(row["fileUUID"] as? String == file.rawValue)
        #expect(row["owningUserId"] as? Int64 == number.rawValue)
        #expect(row["awaitingReupload"] == nil)
        let reply = download(alice, server)
        #expect(reply.body == someBytes(7))
        #expect(reply.messageParams["checkSum"] as? String == md5(someBytes(7)))

        #expect(server.upload(someBytes(8), of: file, version: 1, master: 1, by: alice).status == 200)
        #expect(server.commit(from: 1, by: alice).status == 200)
        #expect(try server.count("SELECT COUNT(*) FROM outbox WHERE kind = 'readManifests'") == 0)
        #expect(try server.count("SELECT COUNT(*) FROM rebuild_files") == 0)
    }

    @Test("A member without storage is held until a manifest names them, and keeps number and permission")
    func member() throws {
        let bob = try lost.join(alice, as: "bob", .write)
        let number = try lost.userID(of: bob)
        try writeManifests()
        let server = try rebuilt()

        #expect(server.send(CheckCredsRequest(), as: bob).code == "restoring")
        #expect(server.send(CheckCredsRequest(), as: alice).code == "restoring")
        try work(server)
        // Bob is in the list, although he has not returned.
        let members = groups(alice, server).first?["sharingGroupUsers"] as? [[String: Any]]
        #expect(members?.compactMap { $0["name"] as? String }.sorted() == ["alice", "bob"])

        #expect(try server.userID(of: bob) == number)
        #expect(groups(bob, server).first?["permission"] as? String == "write")
        #expect(files(bob, server).count == 1)
        #expect(try server.count("SELECT COUNT(*) FROM users") == 2)
        #expect(try server.count("SELECT COUNT(*) FROM memberships WHERE owning_user_id IS NOT NULL") == 1)
    }

    @Test("Until all owners of live files have returned, everybody may read and nobody may write")
    func absentOwner() throws {
        let (bob, bobsFile) = try joinedOwner(from: 1)
        try writeManifests()
        let server = try rebuilt()
        #expect(server.send(CheckCredsRequest(), as: alice).code == "restoring")
        try work(server)

        #expect(groups(alice, server).first?["permission"] as? String == "read")
        #expect(files(alice, server).count == 2)
        #expect(download(alice, server, master: 3).body == someBytes(7))
        let refused = server.upload(someBytes(8), of: file, version: 1, master: 3, by: alice)
        #expect(refused.status == 409 && refused.code == "permission_too_low")

        #expect(server.send(CheckCredsRequest(), as: bob).code == "restoring")
        try work(server)
        #expect(groups(alice, server).first?["permission"] as? String == "admin")
        #expect(groups(bob, server).first?["permission"] as? String == "write")
        let request = DownloadFileRequest(
            fileUUID: bobsFile, fileVersion: FileVersion(0), masterVersion: MasterVersion(3),
            sharingGroupUUID: alice.group)
        #expect(server.send(request, as: alice).body == someBytes(9))
        #expect(try server.count("SELECT COUNT(*) FROM rebuild_groups WHERE state = 'complete'") == 1)
        #expect(try server.count("SELECT COUNT(*) FROM users") == 2)
    }

    @Test("A file whose object is gone or differs waits for its bytes", arguments: [false, true])
    func missingObject(differs: Bool) throws {
        try writeManifests()
        let server = try rebuilt()
        let object = try #require(server.cloud.objects.first { $0.value == someBytes(7) }?.key)
        server.cloud.replace(object, by: differs ? someBytes(6) : nil)
        _ = server.send(CheckCredsRequest(), as: alice)
        try work(server)
        let row = try #require(files(alice, server).first)
        #expect(row["awaitingReupload"] as? Bool == true)
        // The file does not keep the group read-only.
        #expect(groups(alice, server).first?["permission"] as? String == "admin")
    }

    @Test("A deleted file stays deleted")
    func deletion() throws {
        let other = someFile()
        #expect(lost.upload(someBytes(9), of: other, master: 1, by: alice).status == 200)
        #expect(lost.commit(from: 1, by: alice).status == 200)
        let deletion = UploadDeletionRequest(
            fileUUID: other, fileVersion: FileVersion(0), masterVersion: MasterVersion(2), sharingGroupUUID: alice.group
        )
        #expect(lost.send(deletion, as: alice).status == 200)
        #expect(lost.commit(from: 2, by: alice).status == 200)
        try writeManifests()
        let server = try rebuilt()
        _ = server.send(CheckCredsRequest(), as: alice)
        try work(server)
        let row = try #require(files(alice, server).first { $0["fileUUID"] as? String == other.rawValue })
        #expect(row["deleted"] as? Bool == true)
    }

    @Test("A manifest without a known signature is shown, and applied only when the operator trusts these bytes")
    func unsigned() throws {
        try writeManifests()
        let server = try rebuilt(knowsKey: false)
        _ = server.send(CheckCredsRequest(), as: alice)
        try work(server)
        #expect(server.send(IndexRequest(), as: alice).code == "restoring")
        #expect(try server.count("SELECT COUNT(*) FROM sharing_groups") == 0)
        #expect(try server.count("SELECT COUNT(*) FROM rebuild_claims WHERE admin_names = 'alice'") == 1)

        try server.execute("UPDATE rebuild_claims SET is_trusted = TRUE")
        let storage = OwningUser(
            userID: try #require(
                try server.store.withSession { try $0.rebuildVisit(of: .google, "alice")?.userID }),
            storageType: .google)
        try server.store.transaction { try $0.scheduleManifestReading(storage, at: noon) }
        try work(server)
        #expect(groups(alice, server).first?["permission"] as? String == "admin")
        #expect(download(alice, server).body == someBytes(7))
        #expect(try server.count("SELECT COUNT(*) FROM rebuild_groups WHERE is_signed") == 0)
    }

    @Test("Reading a folder again changes nothing")
    func repeated() throws {
        _ = try joinedOwner(from: 1)
        try writeManifests()
        let server = try rebuilt()
        _ = server.send(CheckCredsRequest(), as: alice)
        try work(server)
        func tag() -> String? {
            server.send(IndexRequest(sharingGroupUUID: alice.group), as: alice).header("etag")
        }
        let before = try #require(tag())
        let owner = OwningUser(userID: try server.userID(of: alice), storageType: .google)
        try server.store.transaction { try $0.scheduleManifestReading(owner, at: noon) }
        try work(server)
        #expect(tag() == before)
    }

    @Test(
        "After an interruption at any step, the next attempt completes the rebuild",
        arguments: [
            "UPDATE ON users", "UPDATE ON rebuild_visits", "INSERT ON sharing_groups", "INSERT ON rebuild_groups",
            "INSERT ON rebuild_members", "INSERT ON memberships", "INSERT ON files", "INSERT ON rebuild_files",
            "INSERT ON manifests", "UPDATE ON files", "DELETE ON rebuild_files", "UPDATE ON rebuild_groups",
            "DELETE ON outbox",
        ])
    func interrupted(step: String) throws {
        try writeManifests()
        let server = try rebuilt()
        _ = server.send(CheckCredsRequest(), as: alice)
        try server.execute("CREATE TRIGGER fault BEFORE \(step) FOR EACH ROW SIGNAL SQLSTATE '45000'")
        #expect(throws: (any Error).self) { try work(server) }
        // The process is gone, and its lease expires.
        try server.execute("DROP TRIGGER fault")
        try server.execute("UPDATE outbox SET lease_owner = NULL, available_at = '2026-01-01'")
        try work(server)

        #expect(groups(alice, server).first?["permission"] as? String == "admin")
        #expect(groups(alice, server).count == 1 && files(alice, server).count == 1)
        #expect(download(alice, server).body == someBytes(7))
        #expect(try server.count("SELECT COUNT(*) FROM users") == 1)
        #expect(try server.count("SELECT COUNT(*) FROM outbox") == 0)
    }

    @Test("A restored backup advances to the state of the newer manifest")
    func backup() throws {
        let newer = someFile()
        #expect(lost.upload(someBytes(9), of: newer, master: 1, by: alice).status == 200)
        #expect(lost.commit(from: 1, by: alice).status == 200)
        try writeManifests()
        // The state after syncctl backup restore and rebuild begin.
        try lost.execute(
            """
            DELETE FROM files WHERE file_uuid = '\(newer.rawValue)';
            UPDATE sharing_groups
               SET master_version = 1, restore_mark = 'restored', restored_master_version = 1, is_restoring = TRUE;
            DELETE FROM manifests;
            DELETE FROM manifest_scans;
            INSERT INTO rebuild_groups (sharing_group_id, state, left_at_version, changed_at)
            SELECT sharing_group_id, 'restoring', 1, '2027-01-15 08:00:00' FROM sharing_groups;
            INSERT INTO rebuilds (rebuild_id, begun_at, holds_everyone, first_new_user_id)
            VALUES (1, '2027-01-15 08:00:00', FALSE, 1000000000)
            """)
        lost.services.maintenance?.refresh()
        #expect(lost.send(CheckCredsRequest(), as: alice).code == "restoring")
        try work(lost)

        let group = try #require(groups(alice, lost).first)
        #expect(group["masterVersion"] as? Int64 == 2 && group["restoredMasterVersion"] as? Int64 == 1)
        #expect(group["restoreMark"] as? String != "restored")
        #expect(group["permission"] as? String == "admin")
        // Devices that know the lost state receive the changes since the backup, and find that they have them.
        let changed =
            lost.send(
                IndexRequest(sharingGroupUUID: alice.group, since: MasterVersion(1)), as: alice
            ).json["fileIndex"] as? [[String: Any]]
        #expect(changed?.compactMap { $0["fileUUID"] as? String } == [newer.rawValue])
        let request = DownloadFileRequest(
            fileUUID: newer, fileVersion: FileVersion(0), masterVersion: MasterVersion(2), sharingGroupUUID: alice.group
        )
        #expect(lost.send(request, as: alice).body == someBytes(9))
        #expect(download(alice, lost, master: 2).body == someBytes(7))
    }

    @Test("A failed reading is retried, with tokens that arrive in the meantime")
    func failure() throws {
        try writeManifests()
        let server = try rebuilt(asksAlways: true)
        _ = server.send(CheckCredsRequest(), as: alice)
        server.cloud.behaviour.listFailure = .authorizationRevoked
        try work(server)
        #expect(try server.count("SELECT COUNT(*) FROM outbox WHERE attempts = 1") == 1)
        #expect(server.send(IndexRequest(), as: alice).code == "restoring")
        server.cloud.behaviour.listFailure = nil
        // Now the person signs in again.
        let fresh: [RequestHeader: String] = [.authorizationCode: "new code"]
        _ = server.send(CheckCredsRequest(), as: alice, adding: fresh)
        try work(server)
        #expect(groups(alice, server).count == 1)
    }

    @Test("No manifest is written while a group is restoring; afterwards absent members keep their hashes")
    func manifestsAfterwards() throws {
        _ = try lost.join(alice, as: "bob")
        try writeManifests()
        let server = try rebuilt()
        _ = server.send(CheckCredsRequest(), as: alice)
        try work(server)
        #expect(try server.count("SELECT COUNT(*) FROM manifests") == 1)
        try server.execute("UPDATE sharing_groups SET is_restoring = TRUE")
        #expect(try ManifestScan(store: server.store, intervalSeconds: 0, now: { noon }).run() == 0)
        try server.execute("UPDATE sharing_groups SET is_restoring = FALSE")

        #expect(server.upload(someBytes(8), of: file, version: 1, master: 2, by: alice).status == 200)
        #expect(server.commit(from: 2, by: alice).status == 200)
        #expect(try ManifestScan(store: server.store, intervalSeconds: 0, now: { noon }).run() == 1)
        let worker = try worker(server, writesManifests: true)
        while try worker.run(transport: .unused) > 0 {}
        let keys = [try server.keys.current.manifestKey().publicKey]
        let newest = try server.cloud.objects.values.filter { $0.starts(with: [0x1F, 0x8B]) }
            .map { try ReadManifest($0, keys: keys) }
            .max { $0.header.masterVersion < $1.header.masterVersion }
        let manifest = try #require(newest)
        #expect(manifest.isSigned && manifest.header.masterVersion == MasterVersion(3))
        let bobs = ManifestIdentity.hash(.facebook, "bob", salt: manifest.header.salt)
        #expect(manifest.members.contains { $0.identity == bobs && $0.name == "bob" })
    }
}
