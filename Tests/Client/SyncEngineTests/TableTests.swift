import SyncEngine
import SyncProtocol
import Testing

/// Reproducible pseudorandom numbers; constants by Donald Knuth, MMIX.
private struct Numbers: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) {
        state = seed
    }

    mutating func next() -> UInt64 {
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return state ^ (state >> 32)
    }
}

@Suite("Tables and their indexes")
struct TableTests {
    private let queues = (1...3).map { RowID<UploadQueue>($0) }
    private let statuses = [UploadItem.Status.notStarted, .delayed, .uploading, .uploaded]

    @Test("An index finds the same rows as a full scan, after any sequence of changes")
    func agreement() throws {
        var random = Numbers(seed: 7)
        var table = Table<UploadItem>()
        var followed = Table<UploadItem>()
        for _ in 1...600 {
            let id = RowID<UploadItem>(Int64.random(in: 1...60, using: &random))
            if Int.random(in: 0..<4, using: &random) == 0 {
                table[id] = nil
            } else {
                var item = UploadItem(
                    id: id, queueID: queues[Int(id.rawValue) % 3], kind: .file, sharingGroupUUID: Driver.group,
                    fileUUID: Driver.file(Int(id.rawValue) % 7))
                item.status = try #require(statuses.randomElement(using: &random))
                table.put(item)
            }
            if Bool.random(using: &random) { followed.apply(table.takeChanges()) }
            check(table)
        }
        followed.apply(table.takeChanges())
        #expect(followed == table)
        check(followed)
        check(Table(stored: table.inOrder))
    }

    private func check(_ table: Table<UploadItem>) {
        for queue in queues {
            #expect(table.rows(at: .queue(queue)) == table.rows { $0.queueID == queue })
            let waiting = table.rows { $0.queueID == queue && $0.status == .notStarted }
            #expect(table.rows(at: .waiting(queue)) == waiting)
            #expect(table.first(at: .waiting(queue)) == waiting.first)
            #expect(table.first(at: .waiting(queue), after: RowID(30)) == waiting.first { $0.id > RowID(30) })
            #expect(table.contains(at: .waiting(queue)) == !waiting.isEmpty)
        }
        #expect(table.rows(at: .file(Driver.file(3))) == table.rows { $0.fileUUID == Driver.file(3) })
        #expect(table.rows(at: .inFlight) == table.rows { $0.status == .uploading || $0.status == .delayed })
    }
}
