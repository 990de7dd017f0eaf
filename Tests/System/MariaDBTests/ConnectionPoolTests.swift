import Foundation
import MariaDB
import Synchronization
import TestSupport
import Testing

@Suite("The connection pool")
struct ConnectionPoolTests {
    /// An error of a higher layer, as repositories throw it.
    private enum LayerError: MariaDBErrorConvertible, Equatable {
        case own
        case database

        init(_ error: MariaDBError) { self = .database }
    }

    private func connectionID(_ pool: ConnectionPool) throws -> Int64 {
        try pool.withConnection { (connection) throws(MariaDBError) in
            var id: Int64 = 0
            try connection.query("SELECT CONNECTION_ID()") { (row) throws(MariaDBError) in id = try row.int(0) }
            return id
        }
    }

    @Test("One connection serves consecutive leases [F35]")
    func reuse() throws {
        let pool = ConnectionPool(
            settings: try ScratchDatabase.shared().makeDatabase(), maximumConnections: 4, leaseTimeout: .seconds(1))

        let ids = try (0..<10).map { _ in try connectionID(pool) }

        #expect(Set(ids).count == 1)
        #expect(pool.statistics.connectionsMade == 1)
        #expect(pool.statistics.idle == 1)
        #expect(pool.statistics.leased == 0)
    }

    @Test("If all connections stay busy, the next lease fails after the timeout")
    func exhausted() throws {
        let pool = ConnectionPool(
            settings: try ScratchDatabase.shared().makeDatabase(), maximumConnections: 1,
            leaseTimeout: .milliseconds(50))

        try pool.withConnection { (_) throws(MariaDBError) in
            _ = #expect(throws: MariaDBError.poolExhausted) {
                try pool.withConnection { (_) throws(MariaDBError) in }
            }
        }

        #expect(pool.statistics.leaseTimeouts == 1)
        #expect(pool.statistics.leaseWaits == 1)
        #expect(pool.statistics.leaseWaited >= .milliseconds(50))
        try pool.withConnection { (_) throws(MariaDBError) in }
        #expect(pool.statistics.leaseWaits == 1, "a lease of a free connection does not wait")
        #expect(try connectionID(pool) > 0)
    }

    @Test("Many threads share few connections, and each receives one")
    func manyThreads() async throws {
        let settings = try ScratchDatabase.shared().makeDatabase()
        let pool = ConnectionPool(settings: settings, maximumConnections: 3, leaseTimeout: .seconds(30))
        let most = Peak()
        await withTaskGroup(of: Bool.self) { group in
            for _ in 0..<16 {
                group.addTask {
                    await onThread {
                        for _ in 0..<50 {
                            let succeeded: Void? = try? pool.withConnection { (connection) throws(MariaDBError) in
                                most.record(pool.statistics.leased)
                                try connection.execute("DO 1")
                            }
                            if succeeded == nil { return false }
                        }
                        return true
                    }
                }
            }
            for await succeeded in group { #expect(succeeded) }
        }
        #expect(most.value <= 3)
        #expect(pool.statistics.connectionsMade <= 3)
        #expect(pool.statistics.leased == 0)
    }

    @Test("An open transaction is rolled back, and typed errors of the higher layer pass through")
    func openTransaction() throws {
        let pool = ConnectionPool(
            settings: try ScratchDatabase.shared().makeDatabase(), maximumConnections: 1, leaseTimeout: .seconds(1))
        try pool.withConnection { (connection) throws(MariaDBError) in
            _ = try connection.execute("CREATE TABLE item (id INT PRIMARY KEY)")
        }

        #expect(throws: LayerError.own) {
            try pool.withConnection { (connection) throws(LayerError) in
                do throws(MariaDBError) {
                    try connection.begin()
                    try connection.execute("INSERT INTO item VALUES (1)")
                } catch {
                    throw LayerError(error)
                }
                throw .own
            }
        }

        try pool.withConnection { (connection) throws(LayerError) in
            var rows = 0
            try connection.query("SELECT id FROM item") { (_) throws(LayerError) in rows += 1 }
            #expect(rows == 0)
        }
        #expect(pool.statistics.connectionsMade == 1)
    }

    @Test("After a restart of the server, the first lease succeeds, and all stale connections are closed")
    func restart() async throws {
        let database = try ScratchDatabase()
        let pool = ConnectionPool(
            settings: database.settings(database: nil), maximumConnections: 3, leaseTimeout: .seconds(5))
        // Leases three connections at once, so that three are idle afterwards.
        try pool.withConnection { (_) throws(MariaDBError) in
            try pool.withConnection { (_) throws(MariaDBError) in
                try pool.withConnection { (_) throws(MariaDBError) in }
            }
        }
        #expect(pool.statistics.idle == 3)

        try database.stop()
        let start = ContinuousClock.now
        #expect(throws: MariaDBError.self) { try connectionID(pool) }
        #expect(ContinuousClock.now - start < .seconds(1))
        #expect(pool.statistics.idle == 0)
        try database.start()

        #expect(try connectionID(pool) > 0)
        #expect(pool.statistics.leased == 0)
        #expect(pool.statistics.connectionsMade == 4)
    }

    @Test("If the server does not reply, a statement fails after the read timeout, and a connect after its own")
    func frozen() throws {
        let database = try ScratchDatabase()
        var settings = database.settings(database: nil)
        settings.readTimeout = .seconds(1)
        settings.connectTimeout = .seconds(1)
        let pool = ConnectionPool(settings: settings, maximumConnections: 2, leaseTimeout: .seconds(1))
        _ = try connectionID(pool)
        database.freeze()
        defer { database.thaw() }

        let start = ContinuousClock.now
        #expect(throws: MariaDBError.self) { try connectionID(pool) }
        #expect(throws: MariaDBError.self) { try connectionID(pool) }

        #expect(ContinuousClock.now - start < .seconds(8))
        #expect(pool.statistics.leased == 0)
        database.thaw()
        #expect(try connectionID(pool) > 0)
    }
}

extension ConnectionPoolTests {
    /// A frozen server keeps its end of the connection open; only a ping detects it.
    @Test("An idle connection is pinged, and dropped without a reply", arguments: [true, false])
    func idle(isAsked: Bool) throws {
        let database = try ScratchDatabase()
        var settings = database.settings(database: nil)
        settings.readTimeout = .seconds(1)
        settings.connectTimeout = .seconds(1)
        let pool = ConnectionPool(
            settings: settings, maximumConnections: 1, leaseTimeout: .seconds(1),
            pingAfterIdle: isAsked ? .zero : .seconds(3_600))
        _ = try connectionID(pool)
        database.freeze()
        defer { database.thaw() }

        var isLent = true
        do { try pool.withConnection { (_) throws(MariaDBError) in } } catch { isLent = false }

        #expect(isLent == !isAsked)
        #expect(pool.statistics.connectionsDropped == (isAsked ? 1 : 0))
    }
}

/// The largest number reported by any thread.
private final class Peak: Sendable {
    private let largest = Mutex(0)

    var value: Int { largest.withLock { $0 } }

    func record(_ number: Int) { largest.withLock { $0 = max($0, number) } }
}
