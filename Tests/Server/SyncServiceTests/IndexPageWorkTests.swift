import Foundation
import Logging
import Store
import SyncProtocol
import Synchronization
import Testing

@testable import SyncService

/// The lifecycle of pages, even if writing them is interrupted: in storages where names repeat and we choose
/// identifiers, and in storages where names are unique.
@Suite("Writing the page that lists an owner's files")
struct IndexPageWorkTests {
    private let server: TestServer
    private let alice: Phone
    private let clock = Clock()

    private final class Clock: Sendable {
        let seconds = Atomic<Int64>(noon.secondsSince1970)
    }

    init() throws {
        server = try TestServer()
        alice = try server.signUp()
    }

    /// Adds a page to the outbox and works until nothing is due, an hour later.
    private func work() throws {
        try server.execute(
            """
            INSERT INTO outbox (kind, user_id, storage_type, available_at, created_at)
            SELECT 'writeIndexPage', user_id, 'Google', '2026-01-01', '2026-01-01' FROM users
            """)
        try resume()
    }

    private func resume() throws {
        let log = server.log
        let now = clock.seconds.load(ordering: .relaxed)
        clock.seconds.store(now + 3_600, ordering: .relaxed)
        let worker = OutboxWorker(
            store: server.store, storage: server.services.storage, warningFile: nil, writesIndexPage: true,
            leaseOwner: "worker", now: { WireDate(secondsSince1970: now) },
            logger: Logger(label: "jobs", factory: { _ in log }))
        while try worker.run(transport: .unused) > 0 {}
    }

    /// Works up to the upload of a page. The process records nothing that it learns then, and its lease has expired
    /// afterwards.
    private func workAndDie() throws {
        let server = server
        server.cloud.behaviour.afterUpload = {
            #expect(throws: Never.self) { try server.execute("UPDATE index_pages SET lease_owner = 'other'") }
        }
        try work()
        try server.execute("UPDATE index_pages SET lease_until = '2026-01-01'")
    }

    private var pages: [[UInt8]] {
        server.cloud.objects.values.filter { $0.starts(with: Array("<!DOCTYPE html>".utf8)) }
    }

    private func publish(from version: Int64) {
        #expect(server.upload(someBytes(1), of: someFile(), master: version, by: alice).status == 200)
        #expect(server.commit(from: version, by: alice).status == 200)
    }

    @Test("A page replaces the former one, and an unchanged one is kept", arguments: [false, true])
    func replaced(hasUniqueNames: Bool) throws {
        server.cloud.behaviour.hasUniqueNames = hasUniqueNames
        publish(from: 0)
        try work()
        let first = pages
        try work()
        let unchanged = server.cloud.deleted
        publish(from: 1)
        try work()

        #expect(first.count == 1)
        #expect(unchanged == [])
        #expect(pages.count == 1)
        #expect(pages != first)
        #expect(try server.count("SELECT COUNT(*) FROM outbox") == 0)
    }

    @Test("An attempt that dies after the upload leaves no second page", arguments: [false, true])
    func interrupted(hasUniqueNames: Bool) throws {
        publish(from: 0)
        server.cloud.behaviour.hasUniqueNames = hasUniqueNames
        try work()
        publish(from: 1)

        try workAndDie()
        let recorded = try server.count("SELECT COUNT(*) FROM index_pages WHERE next_provider_hash IS NOT NULL")
        try resume()

        #expect(recorded == 1)
        #expect(pages.count == 1)
        #expect(try server.count("SELECT COUNT(*) FROM index_pages WHERE next_provider_hash IS NOT NULL") == 0)
    }

    @Test(
        "If names are identifiers, an interrupted attempt is recognised by its bytes", arguments: [false, true])
    func interruptedUnderOneName(reportsNoHash: Bool) throws {
        publish(from: 0)
        server.cloud.behaviour.hasUniqueNames = true
        server.cloud.behaviour.namesAreIdentifiers = true
        server.cloud.behaviour.reportsNoHash = reportsNoHash
        try work()
        publish(from: 1)
        try workAndDie()
        try resume()
        let second = pages
        publish(from: 2)

        try work()

        #expect(second.count == 1 && pages.count == 1 && pages != second)
    }

    @Test("While another process writes the page, the work is postponed")
    func occupied() throws {
        publish(from: 0)
        try server.execute(
            """
            INSERT INTO index_pages (user_id, lease_owner, lease_until)
            SELECT user_id, 'other', UTC_TIMESTAMP() + INTERVAL 1 HOUR FROM users
            """)

        try work()
        let whileOccupied = pages.count
        try server.execute("UPDATE index_pages SET lease_until = '2026-01-01'")
        try resume()

        #expect(whileOccupied == 0)
        #expect(pages.count == 1)
    }

    @Test(
        "A file that the owner put in the page's place is kept, even under the same identifier",
        arguments: [false, true])
    func altered(hasUniqueNames: Bool) throws {
        server.cloud.behaviour.hasUniqueNames = hasUniqueNames
        publish(from: 0)
        try work()
        let (id, _) = try #require(server.cloud.objects.first { $0.value == pages.first })
        let own = Array("my own page".utf8)
        server.cloud.replace(id, by: own)
        publish(from: 1)

        try work()

        #expect(server.cloud.objects[id] == own)
        #expect(pages.isEmpty)
        #expect(try server.count("SELECT COUNT(*) FROM outbox") == 0)
    }

    @Test(
        "After its owner's removal the page is deleted, but not a file in its place", arguments: [false, true])
    func removal(isReplaced: Bool) throws {
        publish(from: 0)
        try work()
        let (id, _) = try #require(server.cloud.objects.first { $0.value == pages.first })
        let own = Array("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<title>my own page</title>".utf8)
        if isReplaced { server.cloud.replace(id, by: own) }

        #expect(server.send(RemoveUserRequest(), as: alice).status == 200)
        try resume()

        #expect(server.cloud.objects[id] == (isReplaced ? own : nil))
        #expect(try server.count("SELECT COUNT(*) FROM outbox WHERE kind = 'deleteObject'") == 0)
    }

    @Test("A page that its owner has renamed belongs to the owner")
    func renamed() throws {
        publish(from: 0)
        try work()
        let (id, bytes) = try #require(server.cloud.objects.first { $0.value == pages.first })
        server.cloud.put(id, "my page.html", bytes)
        publish(from: 1)

        try work()

        #expect(server.cloud.names.sorted().suffix(2) == ["index.html", "my page.html"])
        #expect(!server.cloud.deleted.contains(id))
    }
}
