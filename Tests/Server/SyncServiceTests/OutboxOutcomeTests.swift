import Logging
import Providers
import Store
import SyncProtocol
import TestSupport
import Testing

@testable import SyncService

@Suite("Work that is impossible or unnecessary")
struct OutboxOutcomeTests {
    private let server: TestServer
    private let alice: Phone

    init() throws {
        server = try TestServer()
        alice = try server.signUp()
    }

    private func work(warningFile: OutboxWorker.WarningFile? = nil) throws {
        let worker = OutboxWorker(
            store: server.store, storage: server.services.storage, warningFile: warningFile, leaseOwner: "worker",
            now: { noon }, logger: Logger(label: "jobs", factory: { [log = server.log] _ in log }))
        while try worker.run(transport: .unused) > 0 {}
    }

    @Test(
        "Work that only a user can repair is dropped after sixty attempts and logged; other work is never abandoned",
        arguments: [
            (.authorizationRevoked, 59, 1), (.authorizationRevoked, 60, 0), (.unavailable(detail: ""), 1_000, 1),
        ] as [(CloudStorageError, Int, Int)])
    func hopeless(failure: CloudStorageError, attempts: Int, rows: Int) throws {
        try work()
        let owner = OwningUser(userID: try server.userID(of: alice), storageType: .google)
        _ = try server.store.transaction { session in
            try session.addDeletion(of: "o", in: owner, availableAt: noon, at: noon)
        }
        try server.execute("UPDATE outbox SET attempts = \(attempts)")
        var behaviour = FakeCloud.Behaviour()
        behaviour.deleteFailure = failure
        server.cloud.behaviour = behaviour

        try work()

        #expect(try server.count("SELECT COUNT(*) FROM outbox") == rows)
        #expect(server.log.lines("Outbox item dropped").count == 1 - rows)
    }

    @Test("An existing file with the warning file's name is not overwritten")
    func foreignWarningFile() throws {
        server.cloud.put("theirs", "README.txt", [1, 2, 3])

        try work(warningFile: OutboxWorker.WarningFile(name: "README.txt", contents: Array("Do not touch.".utf8)))

        #expect(server.cloud.objects == ["theirs": [1, 2, 3]])
        #expect(try server.count("SELECT COUNT(*) FROM outbox") == 0)
    }

    @Test("Housekeeping deletes only expired invitations")
    func invitations() throws {
        for _ in 0..<2 {
            let invited = server.send(
                CreateSharingInvitationRequest(permission: .read, sharingGroupUUID: alice.group), as: alice)
            try #require(invited.status == 200)
        }
        try server.execute("UPDATE invitations SET expires_at = '\(noon)' LIMIT 1")
        let housekeeper = Housekeeper(
            store: server.store, stagingLifetimeDays: 7, now: { noon },
            logger: Logger(label: "jobs", factory: { [log = server.log] _ in log }))

        try housekeeper.run()

        #expect(try server.count("SELECT COUNT(*) FROM invitations") == 1)
        #expect(try server.count("SELECT COUNT(*) FROM invitations WHERE expires_at > '2027-01-15 08:00:00'") == 1)
    }
}
