import Foundation
import Logging
import Providers
import Store
import SyncProtocol
import Synchronization
import TestSupport
import Testing
import Vault

@testable import SyncService

@Suite("Revocation of removed users' grants")
struct RevocationTests {
    private let server: TestServer
    private let alice = Phone(name: "alice", accountType: .google)
    private let clock = Clock()

    /// A clock that the test moves.
    private final class Clock: Sendable {
        private let seconds = Atomic<Int64>(noon.secondsSince1970)
        var now: WireDate { WireDate(secondsSince1970: seconds.load(ordering: .relaxed)) }
        func advance(bySeconds count: Int64) { seconds.add(count, ordering: .relaxed) }
    }

    init() throws {
        server = try TestServer()
        #expect(addUser(code: "one").status == 200)
        try work()
    }

    private func addUser(code: String) -> FakeConnection {
        server.send(
            AddUserRequest(sharingGroupUUID: SharingGroupUUID(UUID().uuidString)!, cloudFolderName: "F"), as: alice,
            adding: [.authorizationCode: code])
    }

    private func remove() { #expect(server.send(RemoveUserRequest(), as: alice).status == 200) }

    private func removeAnHourAgo() {
        remove()
        clock.advance(bySeconds: 3_600)
    }

    private func work(beforeItem: () -> Void = {}) throws {
        let log = server.log
        let worker = OutboxWorker(
            store: server.store, storage: server.services.storage, warningFile: nil, leaseOwner: "worker",
            now: { [clock] in clock.now }, logger: Logger(label: "jobs", factory: { _ in log }))
        while try worker.run(transport: .unused, beforeItem: beforeItem) > 0 {}
    }

    private var outboxRows: Int { get throws { try server.count("SELECT COUNT(*) FROM outbox") } }

    private func stored() throws -> StoredCredentials {
        let userID = try server.userID(of: alice)
        let sealed = try #require(try server.store.withSession { try $0.credentials(of: userID) })
        return try server.sealer.open(sealed.record, from: .user(userID))
    }

    @Test("A grant is revoked once, an hour after the removal, and without secrets in the log")
    func revoked() throws {
        remove()
        clock.advance(bySeconds: 3_599)
        try work()
        #expect(server.exchanges.revoked.isEmpty)
        clock.advance(bySeconds: 1)

        try work()

        #expect(server.exchanges.revoked.map(\.refreshToken) == ["from one"])
        #expect(try outboxRows == 0)
        #expect(!server.log.text.contains("from one") && !server.log.text.contains("server's"))
    }

    @Test("An unreachable provider is retried for a day")
    func unavailable() throws {
        removeAnHourAgo()
        server.exchanges.fail(.unavailable(detail: "s3cret"))
        try work()
        #expect(try outboxRows == 1)
        clock.advance(bySeconds: 3_600)
        server.exchanges.fail(.misconfigured(detail: "s3cret"))
        try work()
        #expect(try outboxRows == 1)
        server.exchanges.fail(nil)
        clock.advance(bySeconds: 3_600)

        try work()

        #expect(server.exchanges.revoked.count == 1)
        #expect(try outboxRows == 0)
        #expect(!server.log.text.contains("s3cret"))
    }

    @Test("After a day without success the tokens are deleted")
    func dropped() throws {
        removeAnHourAgo()
        server.exchanges.fail(.unavailable(detail: "down"))
        clock.advance(bySeconds: 86_400)

        try work()

        #expect(try outboxRows == 0)
        #expect(server.exchanges.revoked.isEmpty)
    }

    @Test("A new user does not get the result of an old code, whose tokens are revoked")
    func oldCode() throws {
        removeAnHourAgo()
        try work()

        #expect(addUser(code: "one").status == 409)
        #expect(addUser(code: "two").status == 200)

        #expect(server.exchanges.codes == ["one", "two"])
        #expect(try stored().refreshToken == "from two")
    }

    @Test("A user who returns before the revocation keeps the grant")
    func comesBack() throws {
        remove()

        #expect(addUser(code: "one").status == 200)
        try work()

        #expect(server.exchanges.revoked.isEmpty)
        #expect(server.exchanges.codes == ["one"])
        #expect(try stored().refreshToken == "from one")
    }

    @Test("A user who returns between the lease of the work and the call also keeps the grant")
    func comesBackLate() throws {
        removeAnHourAgo()

        var status: Int?
        try work { status = status ?? addUser(code: "one").status }

        #expect(status == 200)
        #expect(server.exchanges.revoked.isEmpty)
        #expect(try stored().refreshToken == "from one")
    }

    @Test("A user who returns with a new sign-in keeps the newer tokens")
    func comesBackWithCode() throws {
        remove()

        #expect(addUser(code: "two").status == 200)
        try work()

        #expect(server.exchanges.revoked.isEmpty)
        #expect(try stored().refreshToken == "from two")
    }

    @Test("A user who returns during the revocation waits until it is complete")
    func comesBackMeanwhile() async throws {
        removeAnHourAgo()
        let waitsBefore = server.waits.count
        let reply = Mutex<Int?>(nil)
        let arrived = Atomic(false)
        let server = server
        server.exchanges.during {
            Thread.detachNewThread {
                let status = addUser(code: "two").status
                reply.withLock { $0 = status }
                arrived.store(true, ordering: .releasing)
            }
            while server.waits.count < waitsBefore + 3 { sched_yield() }
        }

        try work()

        try await eventually("the reply has arrived") { arrived.load(ordering: .acquiring) }
        #expect(reply.withLock { $0 } == 200)
        #expect(server.exchanges.revoked.map(\.refreshToken) == ["from one"])
        #expect(try stored().refreshToken == "from two")
    }
}
