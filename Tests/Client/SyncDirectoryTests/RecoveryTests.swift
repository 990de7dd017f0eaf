import Foundation
import SyncProtocol
import Testing

@testable import SyncDirectory

@Suite("Recovery after an interruption")
struct RecoveryTests {
    /// A recorded but incomplete replacement of `a`, whose contents are `there`, with "two".
    private func begin(_ desk: Desk, replacing there: String, expecting: String?) throws -> DisplacedFile {
        let displaced = DisplacedFile(
            name: "staged", path: RelativePath("a")!, expected: expecting.map { .of(Data($0.utf8)) },
            replacement: .of(Data("two".utf8)), since: Date())
        try Data("two".utf8).write(to: desk.url(".syncdir/incoming/staged"))
        try desk.keeper.record.save(displaced)
        return displaced
    }

    @Test("An exchange that did not take place leaves nothing behind")
    func beforeTheExchange() throws {
        let desk = try Desk()
        _ = try desk.publish("a", "one")
        _ = try begin(desk, replacing: "one", expecting: "one")

        try desk.restart()

        #expect(try desk.files == ["a": "one"] && desk.incoming.isEmpty)
        #expect(try desk.work().isEmpty)
    }

    @Test("A completed exchange is recorded, and does not count as an edit")
    func afterTheExchange() throws {
        let desk = try Desk()
        _ = try desk.publish("a", "one")
        let displaced = try begin(desk, replacing: "one", expecting: "one")
        try FileCalls.exchange(
            desk.keeper.root.incomingPlace(displaced.name), with: try desk.keeper.root.place(displaced.path))

        try desk.restart()

        #expect(try desk.files == ["a": "two"])
        #expect(try desk.work().isEmpty)
    }

    @Test("Replaced contents that others did not have are restored")
    func unknownContents() throws {
        let desk = try Desk()
        _ = try desk.publish("a", "one")
        try desk.write("a", "edited")
        let displaced = try begin(desk, replacing: "edited", expecting: nil)
        try FileCalls.exchange(
            desk.keeper.root.incomingPlace(displaced.name), with: try desk.keeper.root.place(displaced.path))

        try desk.restart()

        #expect(try Set(desk.files.values) == ["two", "edited"])
        #expect(try desk.incoming.isEmpty)
        #expect(try desk.store.conflicts().count == 1)
    }

    @Test("An unused staged file is removed")
    func staged() throws {
        let desk = try Desk()
        try Data("x".utf8).write(to: desk.url(".syncdir/incoming/left"))

        try desk.restart()

        #expect(try desk.incoming.isEmpty)
    }

    @Test("Data written to a replaced file that was still open is restored", arguments: [true, false])
    func lateWriter(_ isDeletion: Bool) throws {
        let desk = try Desk()
        let file = try desk.publish("a", "one")
        let handle = try FileHandle(forUpdating: desk.url("a"))
        if isDeletion {
            try desk.deliverDeletion(of: file.fileUUID)
        } else {
            try desk.deliver("two", as: file.fileUUID, at: "a")
        }
        try handle.seekToEnd()
        try handle.write(contentsOf: Data(" and late".utf8))
        try handle.close()
        try desk.keeper.lookAfterDisplaced()
        #expect(try desk.incoming.count == 1)

        try desk.restart(now: { Date().addingTimeInterval(60) })
        try desk.keeper.lookAfterDisplaced()

        #expect(try Set(desk.files.values) == (isDeletion ? ["one and late"] : ["two", "one and late"]))
        #expect(try desk.incoming.isEmpty)
    }

    @Test("Replaced files without further writes are removed after a while")
    func noLateWriter() throws {
        let desk = try Desk()
        let file = try desk.publish("a", "one")
        try desk.deliver("two", as: file.fileUUID, at: "a")
        #expect(try desk.incoming.count == 1)

        try desk.restart(now: { Date().addingTimeInterval(60) })
        try desk.keeper.lookAfterDisplaced()

        #expect(try desk.incoming.isEmpty && desk.files == ["a": "two"])
    }

    @Test(
        "Moves and exchanges work the same on file systems that do not support them natively", arguments: [true, false])
    func withoutOneStep(_ inOneStep: Bool) throws {
        let desk = try Desk()
        try desk.write("a", "one")
        try desk.write("b", "two")
        let (a, b) = (try desk.keeper.root.place(RelativePath("a")!), try desk.keeper.root.place(RelativePath("b")!))

        #expect(throws: DiskError.self) { try FileCalls.move(a, to: b, inOneStep: inOneStep) }
        try FileCalls.exchange(a, with: b, inOneStep: inOneStep)
        let c = FileCalls.Place(folder: a.folder, name: "c")
        try FileCalls.move(a, to: c, inOneStep: inOneStep)

        #expect(try desk.files == ["c": "two", "b": "one"])
    }
}
