import Foundation
import SyncProtocol
import Testing

@testable import SyncDirectory

@Suite("Applying others' changes to a directory")
struct DeliveryTests {
    private static let copy = "a (conflict of Ada, \(Date().formatted(.iso8601.year().month().day()))).txt"

    @Test("A new file is created with its modification time, in its folder; no temporary files remain")
    func newFile() throws {
        let desk = try Desk()

        try desk.deliver("hello", as: .fresh, at: "x/y/a.txt", modified: 1_600_000_000_000)

        #expect(try desk.files == ["x/y/a.txt": "hello"])
        let attributes = try FileManager.default.attributesOfItem(atPath: desk.url("x/y/a.txt").path)
        #expect(attributes[.modificationDate] as? Date == Date(timeIntervalSince1970: 1_600_000_000))
        #expect(try desk.incoming.isEmpty)
        #expect(try desk.work().isEmpty && desk.keeper.takeConflicts().isEmpty)
    }

    @Test("A repeated delivery changes nothing")
    func repeated() throws {
        let desk = try Desk()
        let uuid = FileUUID.fresh

        for _ in 1...3 { try desk.deliver("hello", as: uuid, at: "a.txt") }

        #expect(try desk.files == ["a.txt": "hello"])
        #expect(try desk.work().isEmpty && desk.keeper.takeConflicts().isEmpty)
    }

    @Test("New contents replace the old ones if the server has the old ones")
    func newContents() throws {
        let desk = try Desk()
        let file = try desk.publish("a.txt", "one")

        try desk.deliver("two", as: file.fileUUID, at: "a.txt")

        #expect(try desk.files == ["a.txt": "two"])
        #expect(try desk.work().isEmpty && desk.keeper.takeConflicts().isEmpty)
    }

    @Test("An unsynchronised edit is kept next to the new contents, and uploaded as a separate file")
    func unseenEdit() throws {
        let desk = try Desk()
        let file = try desk.publish("a.txt", "one")
        try desk.write("a.txt", "edited")

        try desk.deliver("two", as: file.fileUUID, at: "a.txt")

        #expect(try desk.files == ["a.txt": "two", Self.copy: "edited"])
        #expect(desk.keeper.takeConflicts().map(\.copy) == [Self.copy])
        let work = try desk.work()
        #expect(work.map(\.file.path.text) == [Self.copy] && work[0].file.fileUUID != file.fileUUID)
    }

    @Test("An edit dropped by the library in favour of the download is also kept; identical edits do not conflict")
    func givenUpEdit() throws {
        let desk = try Desk()
        let file = try desk.publish("a.txt", "one")
        try desk.write("a.txt", "edited")
        try desk.work()
        let resolution = try desk.keeper.resolve(
            file.fileUUID, hasContents: true, givenUpContents: true, givenUpPath: true, givenUpDeletion: false)
        #expect(resolution == .accept)

        try desk.deliver("edited", as: file.fileUUID, at: "a.txt")
        #expect(try desk.files == ["a.txt": "edited"] && desk.keeper.takeConflicts().isEmpty)

        try desk.write("a.txt", "edited again")
        try desk.work()
        _ = try desk.keeper.resolve(
            file.fileUUID, hasContents: true, givenUpContents: true, givenUpPath: true, givenUpDeletion: false)
        try desk.restart()
        try desk.deliver("two", as: file.fileUUID, at: "a.txt")
        #expect(try desk.files == ["a.txt": "two", Self.copy: "edited again"])
    }

    @Test("A change dropped for a delivery that never arrives is uploaded again, even if other work is pending")
    func deliveryThatNeverComes() throws {
        let desk = try Desk()
        let (file, waiting) = (try desk.publish("a.txt", "one"), try desk.publish("b.txt", "two"))
        for file in [file, waiting] {
            _ = try desk.keeper.resolve(
                file.fileUUID, hasContents: true, givenUpContents: true, givenUpPath: false, givenUpDeletion: false)
        }
        #expect(try desk.work().isEmpty)

        try desk.keeper.committed(except: [waiting.fileUUID])
        #expect(try desk.work().map(\.file.fileUUID) == [file.fileUUID])

        try desk.keeper.committed()
        #expect(try desk.work().map(\.file.fileUUID) == [waiting.fileUUID])
    }

    @Test("A move by others moves the file, edited or not, and removes empty folders")
    func remoteMove() throws {
        let desk = try Desk()
        let file = try desk.publish("old/a.txt", "one")
        try desk.write("old/a.txt", "edited")

        #expect(try desk.deliver(path: "new/b.txt", of: file.fileUUID) == .done)

        #expect(try desk.files == ["new/b.txt": "edited"])
        #expect(!FileManager.default.fileExists(atPath: desk.url("old").path))
        #expect(try desk.work().map(\.file.fileUUID) == [file.fileUUID])
    }

    @Test("A local move survives new contents from others; if both sides move a file, the path known to others wins")
    func moves() throws {
        let desk = try Desk()
        let file = try desk.publish("a.txt", "one")
        try desk.move("a.txt", "mine.txt")
        // Before the keeper has scanned the directory.
        try desk.deliver("two", as: file.fileUUID, at: "a.txt")
        #expect(try desk.files == ["mine.txt": "two"])

        // The library has accepted the new path, and dropped it.
        #expect(try desk.work().map(\.file.path.text) == ["mine.txt"])
        _ = try desk.keeper.resolve(
            file.fileUUID, hasContents: true, givenUpContents: false, givenUpPath: true, givenUpDeletion: false)
        try desk.deliver("three", as: file.fileUUID, at: "a.txt")
        #expect(try desk.files == ["mine.txt": "three"])

        #expect(try desk.work().map(\.file.path.text) == ["mine.txt"])
        _ = try desk.keeper.resolve(
            file.fileUUID, hasContents: false, givenUpContents: false, givenUpPath: true, givenUpDeletion: false)
        try desk.deliver(path: "theirs.txt", of: file.fileUUID)
        #expect(try desk.files == ["theirs.txt": "three"])
        #expect(try desk.work().isEmpty)
    }

    @Test("A deletion by others deletes the file; an edited one is kept as a new file")
    func deletions() throws {
        let desk = try Desk()
        let (first, second) = (try desk.publish("x/a.txt", "one"), try desk.publish("b.txt", "two"))
        try desk.write("b.txt", "edited")

        try desk.deliverDeletion(of: first.fileUUID)
        try desk.deliverDeletion(of: second.fileUUID)

        #expect(try desk.files == ["b.txt": "edited"])
        #expect(!FileManager.default.fileExists(atPath: desk.url("x").path))
        #expect(desk.keeper.takeConflicts().map(\.kind) == [.changedAndDeleted])
        let work = try desk.work()
        #expect(work.count == 1 && work[0].file.fileUUID != second.fileUUID)
    }

    @Test("New contents from others override a local deletion; a new path does not")
    func deletedHere() throws {
        let desk = try Desk()
        let file = try desk.publish("a.txt", "one")
        try desk.remove("a.txt")
        #expect(
            try desk.keeper.resolve(
                file.fileUUID, hasContents: false, givenUpContents: false, givenUpPath: false, givenUpDeletion: true)
                == .keepDeletion)

        try desk.deliver("two", as: file.fileUUID, at: "a.txt")

        #expect(try desk.files == ["a.txt": "two"])
        #expect(try desk.work().isEmpty)
        #expect(try desk.deliver(path: "b", of: .fresh) == .needsContents)
    }

    @Test(
        "If two files have the same path, the one whose UUID sorts first keeps it, whichever arrived first",
        arguments: [true, false])
    func samePath(_ isReversed: Bool) throws {
        let desk = try Desk()
        let order = isReversed ? [2, 1] : [1, 2]

        for digit in order { try desk.deliver("of \(digit)", as: .of(digit), at: "a.txt", by: "Bob \(digit)") }

        #expect(try desk.files == ["a.txt": "of 1", "a (conflict of Bob 2, 2023-11-14).txt": "of 2"])
        // The renamed file is uploaded for the others.
        #expect(try desk.work().map(\.file.fileUUID) == [.of(2)])
        #expect(desk.keeper.takeConflicts().map(\.kind) == [.samePath])
    }

    @Test("Two files with the same path and the same contents are merged", arguments: [true, false])
    func duplicates(_ isReversed: Bool) throws {
        let desk = try Desk()
        let order = isReversed ? [2, 1] : [1, 2]

        for digit in order { try desk.deliver("same", as: .of(digit), at: "a.txt") }

        #expect(try desk.files == ["a.txt": "same"])
        let work = try desk.work()
        #expect(work.map(\.file.fileUUID) == [.of(2)])
        guard case .delete? = work.first else {
            Issue.record("no deletion: \(work)")
            return
        }
        #expect(try desk.work().isEmpty && desk.file("a.txt").fileUUID == .of(1))
    }

    @Test("A file is renamed if a folder has its name, whichever came first", arguments: [true, false])
    func fileAndFolder(_ isReversed: Bool) throws {
        let desk = try Desk()
        let files = [("a", FileUUID.of(1)), ("a/b/c", FileUUID.of(2))]

        for (path, uuid) in isReversed ? files.reversed() : files { try desk.deliver(path, as: uuid, at: path) }

        #expect(try desk.files == ["a (conflict of Bob, 2023-11-14)": "a", "a/b/c": "a/b/c"])
        #expect(try desk.work().map(\.file.fileUUID) == [.of(1)])
    }

    @Test("A file that others do not know yet is not overwritten")
    func unknownFile() throws {
        let desk = try Desk()
        try desk.write("a.txt", "mine")
        try desk.write(IgnoreRules.fileName, "ignored")
        try desk.write("ignored", "private")

        try desk.deliver("theirs", as: .of(1), at: "a.txt")
        try desk.deliver("theirs", as: .of(2), at: "ignored")

        let contents = try desk.files
        #expect(contents["ignored"] == "private" && Set(contents.values).isSuperset(of: ["mine", "theirs", "private"]))
        #expect(contents.values.filter { $0 == "theirs" }.count == 2)
    }

    @Test(
        "Paths that lead outside the directory are replaced with a generated name, which is not uploaded",
        arguments: [
            "../escaped", "/tmp/escaped", "a/../../escaped", ".syncdir/record.sqlite", "link/escaped", "nul\u{0}",
        ])
    func hostilePaths(_ path: String) throws {
        let desk = try Desk()
        let outside = FileManager.default.temporaryDirectory.appending(path: "outside-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: outside, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: outside) }
        try FileManager.default.createSymbolicLink(at: desk.url("link"), withDestinationURL: outside)
        let uuid = FileUUID.fresh

        try desk.deliver("hostile", as: uuid, at: path)

        #expect(try desk.files == ["unnamed-\(uuid.rawValue.lowercased())": "hostile"])
        #expect(try FileManager.default.contentsOfDirectory(atPath: outside.path).isEmpty)
        #expect(
            !FileManager.default.fileExists(
                atPath: desk.folder.deletingLastPathComponent().appending(path: "escaped").path))
        #expect(try desk.work().isEmpty)
        // The next version is stored there as well.
        try desk.deliver("next", as: uuid, at: path)
        #expect(try desk.files.values.sorted() == ["next"])
    }

    @Test("A move or deletion does not follow a symbolic link that replaced a folder")
    func exchangedFolder() throws {
        let desk = try Desk()
        let file = try desk.publish("folder/a", "one")
        let outside = FileManager.default.temporaryDirectory.appending(path: "outside-\(UUID().uuidString)")
        try FileManager.default.moveItem(at: desk.url("folder"), to: outside)
        defer { try? FileManager.default.removeItem(at: outside) }
        try FileManager.default.createSymbolicLink(at: desk.url("folder"), withDestinationURL: outside)

        try desk.deliverDeletion(of: file.fileUUID)

        #expect(try FileManager.default.contentsOfDirectory(atPath: outside.path) == ["a"])
    }

    @Test("Another Unicode form of a name denotes the same file, which keeps its local spelling")
    func spellings() throws {
        let desk = try Desk()
        let file = try desk.publish("cafe\u{301}", "one")

        try desk.deliver("two", as: file.fileUUID, at: "caf\u{E9}")

        #expect(try desk.files == ["cafe\u{301}": "two"])
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: desk.folder.path).contains {
                $0.unicodeScalars.count == 5
            })
        #expect(try desk.work().isEmpty)
    }
}
