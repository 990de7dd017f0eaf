import Foundation
import Logging
import MariaDB
import Providers
import Store
import SyncProtocol
import Synchronization
import TestSupport
import Testing

@testable import SyncService

/// The work that requests leave to the jobs role, tested together with the requests that leave it.
@Suite("Work after the reply")
struct OutboxWorkerTests {
    private let server: TestServer
    private let alice: Phone
    private let clock = Clock()

    /// A clock that the test moves.
    private final class Clock: Sendable {
        private let seconds = Atomic<Int64>(noon.secondsSince1970)
        var now: WireDate { WireDate(secondsSince1970: seconds.load(ordering: .relaxed)) }
        func advance(bySeconds count: Int64) { seconds.add(count, ordering: .relaxed) }
    }

    init() throws {
        server = try TestServer()
        alice = try server.signUp()
    }

    private func worker(_ name: String = "worker", warningFile: OutboxWorker.WarningFile? = nil) -> OutboxWorker {
        let log = server.log
        return OutboxWorker(
            store: server.store, storage: server.services.storage, warningFile: warningFile, leaseOwner: name,
            now: { [clock] in clock.now }, logger: Logger(label: "jobs", factory: { _ in WholeLines(log) }))
    }

    /// Works until nothing is due.
    private func work(as name: String = "worker") throws {
        while try worker(name).run(transport: .unused) > 0 {}
    }

    private var outboxRows: Int { get throws { try server.count("SELECT COUNT(*) FROM outbox") } }
    private var rowsInStorage: Int {
        get throws { try server.count("SELECT COUNT(*) FROM outbox WHERE kind <> 'revokeGrant'") }
    }

    private func cloud(_ change: (inout FakeCloud.Behaviour) -> Void) {
        var behaviour = FakeCloud.Behaviour()
        change(&behaviour)
        server.cloud.behaviour = behaviour
    }

    @Test("Only the objects of a replaced version and a deleted file are deleted after the commit")
    func replacedVersions() throws {
        let file = someFile()
        #expect(server.upload(someBytes(1), of: file, by: alice).status == 200)
        #expect(server.commit(from: 0, by: alice).status == 200)
        let first = try #require(server.cloud.objects.keys.first)
        #expect(server.upload(someBytes(2), of: file, version: 1, master: 1, by: alice).status == 200)
        try work()
        #expect(server.cloud.deleted == [])
        #expect(server.commit(from: 1, by: alice).status == 200)

        try work()

        #expect(server.cloud.deleted == [first])
        #expect(Array(server.cloud.objects.values) == [someBytes(2)])
        #expect(try outboxRows == 0)
    }

    @Test("While a provider does not reply to one worker, other workers do the other due work")
    func hangingProvider() throws {
        try work()
        for number in 1...3 { #expect(server.upload(someBytes(number), of: someFile(), by: alice).status == 200) }
        #expect(server.send(DiscardUploadsRequest(sharingGroupUUID: alice.group), as: alice).status == 200)
        let (cloud, other) = (server.cloud, worker("other"))
        let deletedMeanwhile = Mutex(0)
        self.cloud { behaviour in
            behaviour.beforeDelete = {
                #expect(throws: Never.self) { while try other.run(transport: .unused) > 0 {} }
                deletedMeanwhile.withLock { $0 = cloud.deleted.count }
            }
        }

        try work()

        #expect(deletedMeanwhile.withLock { $0 } == 2)
        #expect(server.cloud.objects.isEmpty)
    }

    @Test("After identical uploads the discarded object is deleted, never the staged one")
    func twins() throws {
        let (server, alice, file) = (server, alice, someFile())
        _ = concurrently(5) { _ in server.upload(someBytes(9), of: file, by: alice).status ?? 0 }

        try work()

        #expect(server.cloud.objects.count == 1)
        #expect(server.commit(from: 0, by: alice).status == 200)
        try work()
        let reply = server.send(
            DownloadFileRequest(
                fileUUID: file, fileVersion: .first, masterVersion: MasterVersion(1), sharingGroupUUID: alice.group),
            as: alice)
        #expect(reply.body == someBytes(9))
    }

    @Test("An upload in progress is not touched; a dead one is cleaned up once its lease has expired")
    func leases() throws {
        let (server, alice) = (server, alice)
        cloud { behaviour in
            behaviour.afterUpload = { [worker = worker()] in _ = try? worker.run(transport: .unused) }
        }
        #expect(server.upload(someBytes(5), of: someFile(), by: alice).status == 200)
        #expect(server.cloud.deleted == [])

        // As after a crash between the cloud's reply and the staging.
        let owner = OwningUser(
            userID: UserID(Int64(try server.count("SELECT user_id FROM users"))), storageType: .google)
        server.cloud.put("orphan", "name", [1])
        _ = try server.store.transaction { session in
            try session.addIntent(
                toStore: "orphan", named: ["name"], in: owner, at: AccountEpoch(0), leaseOwner: "dead",
                until: WireDate(secondsSince1970: noon.secondsSince1970 + 90), at: noon)
        }
        try work()
        #expect(server.cloud.deleted == [])
        clock.advance(bySeconds: 90)
        try work()
        #expect(server.cloud.deleted == ["orphan"])
    }

    @Test(
        "A deletion waits for an earlier upload, because that upload may have found the same object",
        arguments: [true, false])
    func olderUpload(isAdopted: Bool) throws {
        try work()
        let owner = OwningUser(userID: try server.userID(of: alice), storageType: .google)
        server.cloud.put("found", "name", [1])
        let upload = try server.store.transaction { session in
            try session.addIntent(
                toStore: nil, named: ["name"], in: owner, at: AccountEpoch(0), leaseOwner: "upload",
                until: WireDate(secondsSince1970: noon.secondsSince1970 + 90), at: noon)
        }
        try server.store.transaction { session in
            _ = try session.addDeletion(of: "found", in: owner, availableAt: noon, at: noon)
        }
        try work()
        #expect(server.cloud.deleted == [])
        #expect(try server.count("SELECT COUNT(*) FROM outbox WHERE last_error = 'unavailable'") == 1)

        if isAdopted {
            #expect(server.upload(someBytes(1), of: someFile(), by: alice).status == 200)
            try server.execute("UPDATE staged_changes SET object_id = 'found'")
            #expect(try server.store.transaction { try $0.complete(upload, by: "upload") })
        }
        // The remains of an upload that died are cleared first, and the deletion also waits for that.
        for _ in 0..<2 {
            clock.advance(bySeconds: 90)
            try work()
        }

        #expect(server.cloud.deleted.contains("found") == !isAdopted)
        #expect(try outboxRows == 0)
    }

    @Test("A removed user's uncommitted objects are deleted from their storage, then the tokens are deleted")
    func removedUser() throws {
        try work()
        let committed = someBytes(1)
        #expect(server.upload(committed, of: someFile(), by: alice).status == 200)
        #expect(server.commit(from: 0, by: alice).status == 200)
        #expect(server.upload(someBytes(2), of: someFile(), master: 1, by: alice).status == 200)

        #expect(server.send(RemoveUserRequest(), as: alice).status == 200)
        #expect(try server.count("SELECT COUNT(*) FROM departed_users") == 1)
        try work()

        #expect(Array(server.cloud.objects.values) == [committed])
        #expect(try server.count("SELECT COUNT(*) FROM departed_users") == 0)
        #expect(try rowsInStorage == 0)
    }

    @Test("A new sign-up during the clean-up of a storage completes it, and deletes nothing of the new user")
    func backAgainMeanwhile() throws {
        try work()
        for number in 1...5 { #expect(server.upload(someBytes(number), of: someFile(), by: alice).status == 200) }
        #expect(server.send(RemoveUserRequest(), as: alice).status == 200)
        let server = server
        cloud { behaviour in
            // The worker has leased one of the five by now.
            behaviour.beforeDelete = { #expect(throws: Never.self) { _ = try server.signUp() } }
        }

        try work()

        #expect(server.cloud.objects.isEmpty, "\(server.cloud.names)")
        #expect(try server.count("SELECT COUNT(*) FROM users") == 1)
        #expect(try server.count("SELECT COUNT(*) FROM departed_users") == 0)
        #expect(try outboxRows == 0)
        #expect(!server.log.lines("Outbox item passed on: its account has a new user").isEmpty)
    }

    @Test("A deletion during which its owner is removed is retried soon, with the tokens kept for clean-up")
    func removedMeanwhile() throws {
        try work()
        #expect(server.upload(someBytes(1), of: someFile(), by: alice).status == 200)
        #expect(
            server.send(DiscardUploadsRequest(sharingGroupUUID: alice.group), as: alice).status == 200)
        let (server, alice) = (server, alice)
        cloud { behaviour in
            behaviour.beforeDelete = { #expect(server.send(RemoveUserRequest(), as: alice).status == 200) }
        }

        try work()
        #expect(server.cloud.objects.count == 1)
        #expect(try server.count("SELECT COUNT(*) FROM departed_users") == 1)
        clock.advance(bySeconds: 60)
        try work()

        #expect(server.cloud.objects.isEmpty)
        #expect(try server.count("SELECT COUNT(*) FROM departed_users") == 0)
        #expect(try rowsInStorage == 0)
    }

    @Test("For a removed user, errors that only the user could fix are not postponed for a day")
    func refusedWhileRemoved() throws {
        try work()
        #expect(server.upload(someBytes(1), of: someFile(), by: alice).status == 200)
        let (server, alice) = (server, alice)
        #expect(server.send(RemoveUserRequest(), as: alice).status == 200)
        cloud { $0.deleteFailure = .authorizationRevoked }

        try work()
        cloud { _ in }
        clock.advance(bySeconds: 600)
        try work()

        #expect(server.cloud.objects.isEmpty)
    }

    @Test("If the storage of a removed user is unreachable for an hour, the tokens are deleted nevertheless")
    func unreachableStorage() throws {
        try work()
        #expect(server.upload(someBytes(2), of: someFile(), by: alice).status == 200)
        #expect(server.send(RemoveUserRequest(), as: alice).status == 200)
        cloud { $0.deleteFailure = .unavailable(detail: "") }
        let log = server.log
        let housekeeper = Housekeeper(
            store: server.store, stagingLifetimeDays: 7, now: { [clock] in clock.now },
            logger: Logger(label: "jobs", factory: { _ in log }))

        try work()
        try housekeeper.run()
        #expect(try server.count("SELECT COUNT(*) FROM departed_users") == 1)
        clock.advance(bySeconds: 3_600)
        try housekeeper.run()

        #expect(try server.count("SELECT COUNT(*) FROM departed_users") == 0)
        #expect(try rowsInStorage == 0)
    }

    @Test("A row whose object is still referenced is dropped, and the object is kept")
    func referenced() throws {
        #expect(server.upload(someBytes(5), of: someFile(), by: alice).status == 200)
        let object = try #require(server.cloud.objects.keys.first)
        try work()
        let owner = OwningUser(
            userID: UserID(Int64(try server.count("SELECT user_id FROM users"))), storageType: .google)
        for _ in 0..<2 {
            try server.store.transaction { session in
                _ = try session.addDeletion(of: object, in: owner, availableAt: noon, at: noon)
            }
            try work()
            #expect(server.cloud.deleted == [])
            #expect(try outboxRows == 0)
            #expect(server.commit(from: 0, by: alice).status == 200)
        }
    }

    @Test("Failed work is retried with an increasing back-off, and succeeds when the cloud is available")
    func retried() throws {
        cloud { $0.uploadFailure = .unavailable(detail: "s3cret") }
        #expect(server.upload(someBytes(5), of: someFile(), by: alice).status == 502)
        try work()
        cloud { $0.deleteFailure = .unavailable(detail: "s3cret") }
        #expect(try outboxRows == 0, "an object that was never created counts as deleted")
        let owner = OwningUser(
            userID: UserID(Int64(try server.count("SELECT user_id FROM users"))), storageType: .google)
        try server.store.transaction { session in
            _ = try session.addDeletion(of: "o", in: owner, availableAt: noon, at: noon)
        }

        var waits: [Int] = []
        for _ in 0..<5 {
            let now = clock.now.secondsSince1970
            #expect(try worker().run(transport: .unused) == 1)
            #expect(try worker().run(transport: .unused) == 0)
            let wait = try server.count("SELECT UNIX_TIMESTAMP(available_at) FROM outbox") - Int(now)
            waits.append(wait)
            clock.advance(bySeconds: Int64(wait))
        }
        #expect(waits == waits.sorted() && Set(waits).count == waits.count, "\(waits)")
        #expect(try server.count("SELECT COUNT(*) FROM outbox WHERE last_error = 'unavailable'") == 1)
        cloud { _ in }
        try work()
        #expect(server.cloud.deleted.last == "o")
        #expect(try outboxRows == 0)
    }

    @Test("Errors that only a user can fix are retried daily, and a provider's Retry-After is respected")
    func waits() throws {
        try work()
        let owner = OwningUser(
            userID: UserID(Int64(try server.count("SELECT user_id FROM users"))), storageType: .google)
        for (failure, seconds) in [
            (CloudStorageError.authorizationRevoked, 86_400), (.rateLimited(retryAfter: .seconds(5_000)), 5_002),
        ] {
            cloud { $0.deleteFailure = failure }
            try server.store.transaction { session in
                _ = try session.addDeletion(of: "o", in: owner, availableAt: noon, at: noon)
            }
            try work()
            #expect(
                try server.count("SELECT MIN(UNIX_TIMESTAMP(available_at)) FROM outbox")
                    == Int(noon.secondsSince1970) + seconds)
        }
    }

    @Test("Any number of concurrent workers delete each object once")
    func manyWorkers() throws {
        try work()
        let owner = OwningUser(
            userID: UserID(Int64(try server.count("SELECT user_id FROM users"))), storageType: .google)
        try server.store.transaction { session in
            for number in 0..<60 {
                _ = try session.addDeletion(of: "object \(number)", in: owner, availableAt: noon, at: noon)
            }
        }

        let outcomes = concurrently(4) { number in
            while try outboxRows > 0 { try work(as: "worker \(number)") }
        }

        #expect(outcomes.failures().map { "\($0)" } == [])
        #expect(server.cloud.deleted.sorted() == (0..<60).map { "object \($0)" }.sorted())
    }

    @Test("A new owner gets the warning file once, even if the worker dies after writing it")
    func warningFile() throws {
        let file = OutboxWorker.WarningFile(name: "README.txt", contents: Array("Do not touch.".utf8))
        // The lease expires while the file is being written, so that the work is done twice.
        let (server, clock, second) = (server, clock, worker("second", warningFile: file))
        cloud { behaviour in
            behaviour.afterUpload = {
                clock.advance(bySeconds: 601)
                #expect(throws: Never.self) { _ = try second.run(transport: .unused) }
            }
        }

        #expect(try worker("first", warningFile: file).run(transport: .unused) == 1)

        #expect(Array(server.cloud.objects.values) == [file.contents])
        #expect(try outboxRows == 0)
    }

    @Test("Housekeeping withdraws uncommitted changes, and their objects are deleted [F3]")
    func housekeeping() throws {
        #expect(server.upload(someBytes(5), of: someFile(), by: alice).status == 200)
        let log = server.log
        let housekeeper = Housekeeper(
            store: server.store, stagingLifetimeDays: 7, now: { [clock] in clock.now },
            logger: Logger(label: "jobs", factory: { _ in log }))

        clock.advance(bySeconds: 7 * 86_400)
        try housekeeper.run()
        #expect(try server.count("SELECT COUNT(*) FROM staged_changes") == 1)
        clock.advance(bySeconds: 1)
        try housekeeper.run()
        #expect(try server.count("SELECT COUNT(*) FROM staged_changes") == 0)
        try work()
        #expect(server.cloud.objects.isEmpty)
    }

    @Test("A change staged on another node during its user's removal is withdrawn by the next housekeeping")
    func stagedByStranger() throws {
        #expect(server.upload(someBytes(5), of: someFile(), by: alice).status == 200)
        let housekeeper = Housekeeper(
            store: server.store, stagingLifetimeDays: 7, now: { [clock] in clock.now },
            logger: Logger(label: "jobs", factory: { [log = server.log] _ in log }))
        clock.advance(bySeconds: 60)
        try housekeeper.run()
        #expect(try server.count("SELECT COUNT(*) FROM staged_changes") == 1)

        try server.execute("DELETE FROM memberships")
        try housekeeper.run()
        #expect(try server.count("SELECT COUNT(*) FROM staged_changes") == 0)
        try work()

        #expect(server.cloud.objects.isEmpty)
    }

    @Test(
        "Commits, results of codes, notices, hashes and similar records expire at their age, not a second earlier"
    )
    func lifetimes() throws {
        try server.execute(
            """
            INSERT INTO commits VALUES (1, 'd', 1, 'c', REPEAT('h', 32), 1, 1, '\(noon)');
            INSERT INTO commit_members VALUES (1, 'd', 1, 'c', 'f', REPEAT('h', 32), NULL, NULL, '\(noon)');
            INSERT INTO exchanged_codes (code_hash, credentials, exchanged_at) VALUES (REPEAT('h', 32), 'x', '\(noon)');
            INSERT INTO apple_notices VALUES (REPEAT('h', 32), '\(noon)');
            INSERT INTO content_hashes VALUES (1, 'o', 'h', 'c', '\(noon)');
            INSERT INTO batches VALUES (1, 'd', 1, 'b', 2, 1, NULL, '\(noon)');
            INSERT INTO gone_contents VALUES (1, 'f', 'fileRemovedOrRenamed', 0, '\(noon)', '\(noon)', 1, NULL);
            INSERT INTO key_holders VALUES ('p', 'host', 'api', 1, 'feedbeef', '', '\(noon)');
            """)
        let housekeeper = Housekeeper(
            store: server.store, stagingLifetimeDays: 3, now: { [clock] in clock.now },
            logger: Logger(label: "jobs", factory: { [log = server.log] _ in log }))
        let day: Int64 = 86_400
        let lifetimes: [(rows: () throws -> Int, seconds: Int64)] = [
            ({ try server.count("SELECT COUNT(*) FROM exchanged_codes") }, day),
            ({ try server.count("SELECT COUNT(*) FROM key_holders") }, day),
            ({ try server.count("SELECT COUNT(*) FROM batches") }, 3 * day),
            ({ try server.count("SELECT COUNT(*) FROM commits") }, 7 * day),
            ({ try server.count("SELECT COUNT(*) FROM commit_members") }, 7 * day),
            ({ try server.count("SELECT COUNT(*) FROM apple_notices") }, 60 * day),
            ({ try server.count("SELECT COUNT(*) FROM content_hashes") }, 90 * day),
            ({ try server.count("SELECT COUNT(*) FROM gone_contents") }, 90 * day),
        ]

        for (rows, seconds) in lifetimes {
            let passed = clock.now.secondsSince1970 - noon.secondsSince1970
            if passed < seconds { clock.advance(bySeconds: seconds - passed) }
            guard passed <= seconds else { continue }
            try housekeeper.run()
            #expect(try rows() == 1, "after \(seconds) s")
        }
        for (rows, seconds) in lifetimes {
            #expect(try rows() == (seconds == 90 * day ? 1 : 0), "after 90 days")
        }
        clock.advance(bySeconds: 1)
        try housekeeper.run()
        for (rows, _) in lifetimes { #expect(try rows() == 0) }
    }

    @Test("Work is logged with the id of the request that caused it, if any")
    func requestIDs() throws {
        let housekeeper = Housekeeper(
            store: server.store, stagingLifetimeDays: 7, now: { [clock] in clock.now },
            logger: Logger(label: "jobs", factory: { [log = server.log] _ in log }))
        #expect(server.upload(someBytes(5), of: someFile(), by: alice).status == 200)
        clock.advance(bySeconds: 7 * 86_400 + 1)
        try housekeeper.run()

        try work()

        var requests: [String: String?] = [:]
        for line in server.log.lines("Outbox item done") { requests[line["reason"] ?? "?"] = line["request_id"] }
        #expect(requests == ["writeWarningFile": "request-1", "deleteObject": nil])
    }
}
