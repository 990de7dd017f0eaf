import Dispatch
import MariaDB
import SyncProtocol
import Synchronization
import TestSupport
import Testing

@testable import Store

@Suite("Transactions, and an unavailable database")
struct TransactionTests {
    private struct Undo: Error {}

    @Test("A store that was not opened is unavailable")
    func closedStore() throws {
        let fixture = try StoreFixture()
        let pool = ConnectionPool(settings: fixture.settings, maximumConnections: 1, leaseTimeout: .seconds(1))
        let store = MetadataStore(pool: pool, pause: { _ in })

        #expect { try store.check() } throws: { $0.isUnavailable }
        #expect { try store.transaction { _ in } } throws: { $0.isUnavailable }
        #expect { try store.snapshot { _ in } } throws: { $0.isUnavailable }
        #expect(pool.statistics.connectionsMade == 0)
        store.open()
        try store.check()
    }

    @Test("Only a change that the server rejects counts as refused, not a lost connection")
    func refusals() throws {
        func isRefusal(_ code: UInt32) -> Bool {
            WriteRecord.isRefusal(.unavailable(code: code, message: ""))
        }
        for code: UInt32 in [1_290, 1_792, 1_036, 1_836, 1_874, 1_021, 1_114, 1_026, 1_030] {
            #expect(isRefusal(code), "\(code)")
            // The server's real reply, although without its cause.
            let fixture = try StoreFixture(connections: 1)
            #expect(throws: StoreError.self) {
                try fixture.store.repeatedStatement { session in
                    try session.execute("SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = \(Int(code))", [])
                }
            }
            #expect(fixture.store.writes.areRefused, "\(code)")
        }
        for code: UInt32 in [1_927, 1_077, 1_053, 1_129, 1_152, 1_158, 1_161, 1_040, 1_203, 1_047, 1_041, 2_013] {
            #expect(!isRefusal(code), "\(code)")
        }
    }

    @Test("An error thrown in a transaction rolls it back, and its connection remains usable")
    func undo() throws {
        let fixture = try StoreFixture(connections: 1)
        let before = try fixture.contents()

        #expect(throws: Undo.self) {
            try fixture.store.transaction { session in
                _ = try session.addUser(.google, "x", displayName: "", cloudFolderName: nil, at: noon)
                throw Undo()
            }
        }

        #expect(try fixture.contents() == before)
        try fixture.store.check()
    }

    @Test("A deadlock repeats the whole transaction, and both succeed in the end [F8]")
    func deadlock() throws {
        let fixture = try StoreFixture()
        let users = [try fixture.addUser(), try fixture.addUser()]
        let counts = Counters()
        // Each locks one row before it requests the other one: both first attempts meet in a deadlock.
        let meeting = [DispatchSemaphore(value: 0), DispatchSemaphore(value: 0)]

        let outcomes = concurrently(2) { number in
            var isFirst = true
            try fixture.store.transaction { session in
                counts.add()
                _ = try session.storeCredentials([UInt8(number)], of: users[number])
                if isFirst {
                    isFirst = false
                    meeting[number].signal()
                    meeting[1 - number].wait()
                }
                _ = try session.storeCredentials([UInt8(number)], of: users[1 - number])
            }
        }

        #expect(outcomes.failures().isEmpty)
        #expect(counts.value >= 3)
        let credentials = try users.map { user in try fixture.store.withSession { try $0.credentials(of: user) } }
        #expect(credentials[0]?.record == credentials[1]?.record, "they ran one after the other")
        #expect(credentials.map { $0?.version } == [2, 2], "the rolled back attempt left nothing")
    }

    @Test("A transaction that always conflicts fails with contention after a bounded number of attempts")
    func contention() throws {
        let fixture = try StoreFixture(lockWait: .seconds(1))
        let attempts = Counters()

        #expect {
            try fixture.store.transaction { _ in
                attempts.add()
                throw StoreError.contention(.contention(code: 1213, message: ""))
            }
        } throws: { if case StoreError.contention = $0 { true } else { false } }

        #expect(attempts.value == MetadataStore.maximumAttempts)
    }

    @Test("A repeated attempt is a transaction like the first: an error rolls it back")
    func undoneRepetition() throws {
        let fixture = try StoreFixture(connections: 1)
        let before = try fixture.contents()
        var attempts = 0

        #expect(throws: Undo.self) {
            try fixture.store.transaction { session in
                attempts += 1
                _ = try session.addUser(.google, "x", displayName: "", cloudFolderName: nil, at: noon)
                if attempts < 3 { throw StoreError.contention(.contention(code: 1213, message: "")) }
                throw Undo()
            }
        }

        #expect(attempts == 3)
        #expect(try fixture.contents() == before)
    }

    @Test("Permanent errors are not retried")
    func notRepeated() throws {
        let fixture = try StoreFixture()
        let attempts = Counters()

        #expect {
            try fixture.store.transaction { _ in
                attempts.add()
                throw StoreError.notFound
            }
        } throws: { if case StoreError.notFound = $0 { true } else { false } }

        #expect(attempts.value == 1)
    }

    @Test("If all connections stay in use, the store is busy, and nothing is changed")
    func busy() throws {
        let fixture = try StoreFixture()
        let pool = ConnectionPool(settings: fixture.settings, maximumConnections: 1, leaseTimeout: .milliseconds(20))
        let store = MetadataStore(pool: pool, pause: { _ in })
        store.open()

        _ = try store.withSession { _ in
            #expect { try store.check() } throws: { if case StoreError.busy = $0 { true } else { false } }
        }
        try store.check()
    }

    @Test("While MariaDB is down the store is unavailable, and afterwards the first use succeeds")
    func restart() throws {
        let database = try ScratchDatabase()
        let settings = try database.makeDatabase()
        var runner = try MigrationRunner(settings, leaseOwner: "test")
        _ = try runner.migrate()
        let pool = ConnectionPool(settings: settings, maximumConnections: 4, leaseTimeout: .seconds(5))
        let store = MetadataStore(pool: pool, pause: { _ in })
        store.open()
        let user = try store.transaction { session in
            try session.addUser(.google, "me", displayName: "", cloudFolderName: nil, at: noon)
        }

        // In the middle of a transaction: the holder of the session gets the error, and nothing is changed.
        #expect {
            try store.transaction { session in
                _ = try session.storeCredentials([1], of: user)
                try database.stop()
                _ = try session.storeCredentials([2], of: user)
            }
        } throws: { $0.isUnavailable }
        #expect { try store.check() } throws: { $0.isUnavailable }
        #expect { try store.transaction { _ in } } throws: { $0.isUnavailable }
        #expect(throws: StoreError.self) { _ = try MigrationRunner(settings, leaseOwner: "test") }
        try database.start()
        #expect(try store.transaction { try $0.credentials(of: user) } == nil)
        #expect(try store.withSession { try $0.user(user)?.providerUserID } == "me")
    }

    @Test("No error shows SQL or values in its description")
    func safeDescriptions() throws {
        let fixture = try StoreFixture()

        do {
            _ = try fixture.store.transaction { session in
                try session.addUser(
                    .google, String(repeating: "s3cret", count: 99), displayName: "", cloudFolderName: nil, at: noon)
            }
            Issue.record("no error")
        } catch {
            #expect("\(error)" == "A value violates a constraint of the schema.")
        }
    }
}

/// Counts calls from several threads.
private final class Counters: Sendable {
    private let count = Atomic(0)
    var value: Int { count.load(ordering: .relaxed) }
    func add() { count.add(1, ordering: .relaxed) }
}

extension Error {
    /// Whether the error means that the database cannot be reached.
    fileprivate var isUnavailable: Bool {
        guard case .unavailable? = self as? StoreError else { return false }
        return true
    }
}
