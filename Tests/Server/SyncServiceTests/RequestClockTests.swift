import Foundation
import MariaDB
import Store
import SyncProtocol
import Synchronization
import TestSupport
import Testing

@testable import SyncService

/// The clock advances by a second with each reading, which reveals code that reads it twice.
@Suite("One time per request")
struct RequestClockTests {
    private final class Noted: Sendable {
        let date = Mutex<WireDate?>(nil)
    }

    private let server: TestServer
    private let alice: Phone

    init() throws {
        let clock = TickingClock()
        server = try TestServer(now: { clock.next() })
        alice = try server.signUp()
    }

    private func dates(_ reply: FakeConnection) -> [String?] {
        [reply.messageParams["creationDate"] as? String, reply.messageParams["updateDate"] as? String]
    }

    private func stagedDates() throws -> [[String]] {
        var connection = try Connection(server.settings!)
        var found: [[String]] = []
        try connection.query("SELECT created_at, updated_at, staged_at FROM staged_changes") {
            (row) throws(MariaDBError) in
            found.append([try row.text(0), try row.text(1), try row.text(2)])
        }
        return found
    }

    @Test("The dates in the reply to an upload are those of its row")
    func upload() throws {
        let reply = server.upload(someBytes(9), of: someFile(), by: alice)

        #expect(reply.status == 200)
        let row = try #require(try stagedDates().first)
        #expect(dates(reply) == [row[0], row[1]])
        #expect(Set(row).count == 1)
    }

    @Test("The dates give the time when all bytes had arrived, not the start of the request")
    func lastByte() throws {
        let server = server
        let noted = Noted()
        var behaviour = FakeCloud.Behaviour()
        behaviour.afterUpload = { noted.date.withLock { $0 = server.services.now() } }
        server.cloud.behaviour = behaviour

        let reply = server.upload(someBytes(9), of: someFile(), by: alice)

        let updated = try #require(dates(reply)[1].flatMap { WireDate($0) })
        #expect(try #require(noted.date.withLock { $0 }) < updated)
    }

    @Test("Identical uploads at the same moment get the dates of their common row")
    func twins() throws {
        let (server, alice, file) = (server, alice, someFile())

        let replies = concurrently(4) { _ in
            let reply = server.upload(someBytes(9), of: file, by: alice)
            return [
                "\(reply.status ?? 0)", reply.messageParams["creationDate"] as? String,
                reply.messageParams["updateDate"] as? String,
            ]
        }.successes()

        let row = try #require(try stagedDates().first)
        #expect(Set(replies) == [["200", row[0], row[1]]])
    }

    @Test("A batch member that commits gets the dates that the group then has")
    func batch() throws {
        let batch = UploadBatch(batchUUID: BatchUUID(UUID().uuidString)!, batchCount: 1)

        let reply = server.upload(someBytes(9), of: someFile(), batch: batch, by: alice)

        var connection = try Connection(server.settings!)
        var row: [String] = []
        try connection.query("SELECT created_at, updated_at FROM files") { (found) throws(MariaDBError) in
            row = [try found.text(0), try found.text(1)]
        }
        #expect(dates(reply) == row)
    }
}
