import MariaDB
import SyncProtocol
import Synchronization
import TestSupport
import Testing

@testable import Store

@Suite("The time shared by hosts")
struct DatabaseClockTests {
    /// The clocks of one host.
    private final class Host: Sendable {
        private let monotonic = Mutex(Duration.seconds(5))
        private let wall: Mutex<Duration>

        init(wall: Duration) { self.wall = Mutex(wall) }

        var elapsed: Duration { monotonic.withLock { $0 } }
        var time: Duration { wall.withLock { $0 } }
        func advance(by duration: Duration) {
            monotonic.withLock { $0 += duration }
            wall.withLock { $0 += duration }
        }
        func jump(by duration: Duration) { wall.withLock { $0 += duration } }

        var clock: DatabaseClock { DatabaseClock(elapsed: { self.elapsed }, hostTime: { self.time }) }
    }

    @Test("Two hosts whose clocks differ by hours agree once they have queried the database, even after a jump")
    func hosts() throws {
        let (early, late) = (Host(wall: .seconds(1_000_000)), Host(wall: .seconds(1_020_000)))
        let clocks = [early.clock, late.clock]
        for clock in clocks { try clock.read { 1_010_000_000 } }

        #expect(clocks.map(\.now.secondsSince1970) == [1_010_000, 1_010_000])
        early.advance(by: .milliseconds(1_500))
        late.advance(by: .milliseconds(1_500))
        early.jump(by: .seconds(-7_200))
        late.jump(by: .seconds(7_200))

        #expect(clocks.map(\.now.secondsSince1970) == [1_010_001, 1_010_001])
    }

    @Test("The database is queried at most once a second, and the latest result counts")
    func readings() throws {
        let host = Host(wall: .zero)
        let clock = host.clock
        #expect(clock.isDue)
        try clock.read {
            // The query takes two seconds; the result is the time in the middle.
            host.advance(by: .seconds(2))
            return 100_000
        }
        #expect(clock.now.secondsSince1970 == 101)
        #expect(!clock.isDue)
        host.advance(by: .milliseconds(999))
        #expect(!clock.isDue)
        host.advance(by: .milliseconds(1))
        #expect(clock.isDue)

        try clock.read { 50_000 }

        #expect(clock.now.secondsSince1970 == 50)
    }

    @Test("The later of two concurrent readings counts, regardless of which thread stores its result first")
    func overtaken() throws {
        let host = Host(wall: .zero)
        let clock = host.clock

        // Answered one second from now; stored only after another thread has stored an answer from three seconds from
        // now.
        try clock.read { () throws(StoreError) -> Int64 in
            host.advance(by: .seconds(3))
            try clock.read { () throws(StoreError) -> Int64 in 200_000 }
            host.advance(by: .seconds(-2))
            return 100_000
        }

        host.advance(by: .seconds(2))
        #expect(clock.now.secondsSince1970 == 200)
    }

    private func fail(_ clock: DatabaseClock) throws {
        try clock.read { () throws(StoreError) -> Int64 in throw .busy }
    }

    @Test("A reading that fails changes nothing")
    func failure() throws {
        let host = Host(wall: .seconds(7))
        let clock = host.clock
        #expect(throws: StoreError.self) { try fail(clock) }
        #expect(clock.now.secondsSince1970 == 7)
        try clock.read { 100_000 }
        host.advance(by: .seconds(3))
        #expect(throws: StoreError.self) { try fail(clock) }
        #expect(clock.now.secondsSince1970 == 103)
    }

    @Test("Two stores whose hosts' clocks are hours apart do not take over each other's leases")
    func stores() throws {
        let fixture = try StoreFixture()
        let owner = try #require(try fixture.addOwner().owningUser())
        let hours: Int64 = 7_200
        let stores = [-hours, 0, hours].map { offset in
            let store = MetadataStore(
                pool: ConnectionPool(settings: fixture.settings, maximumConnections: 1, leaseTimeout: .seconds(30)),
                pause: { _ in }, hostTime: { .seconds(noon.secondsSince1970 + offset) })
            store.open()
            return store
        }
        func present(_ store: MetadataStore, plus seconds: Int64 = 0) -> WireDate {
            WireDate(secondsSince1970: store.now.secondsSince1970 + seconds)
        }
        func leased(_ store: MetadataStore) throws -> Int {
            try store.transaction { session in
                try session.leaseDue(by: "w", limit: 9, until: present(store, plus: 60), at: present(store)).count
            }
        }

        for store in stores {
            let intent = try store.transaction { session in
                try session.addIntent(
                    toStore: "in progress", named: ["n"], in: owner, at: AccountEpoch(0), leaseOwner: "upload",
                    until: present(store, plus: 90), at: present(store))
            }
            for other in stores { #expect(try leased(other) == 0, "an upload in progress was taken over") }
            try store.transaction { session in
                try session.releaseLease(of: intent, by: "upload", at: present(store))
            }
            // Work that is due on one host is due on each.
            let worker = try #require(stores.filter { try leased($0) == 1 }.first)
            #expect(try stores.allSatisfy { try leased($0) == 0 })
            let isDone = try worker.transaction { try $0.complete(intent, by: "w") }
            #expect(isDone)
        }
    }

    @Test("From its first use, the store has the database's time")
    func firstUse() throws {
        let fixture = try StoreFixture()
        let store = MetadataStore(
            pool: ConnectionPool(settings: fixture.settings, maximumConnections: 1, leaseTimeout: .seconds(30)),
            pause: { _ in }, hostTime: { .seconds(1) })
        store.open()
        #expect(store.now.secondsSince1970 == 1)

        let before = try fixture.count("SELECT UNIX_TIMESTAMP()")
        let present = try store.transaction { _ in store.now.secondsSince1970 }

        #expect(abs(present - Int64(before)) <= 30, "\(present)")
    }
}
