import Foundation
import SyncProtocol
import Testing

@testable import SyncDirectory

@Suite("Finding local changes in a directory")
struct LocalChangeTests {
    private func kinds(_ work: [DirectoryKeeper.Work]) -> [String] {
        work.map { work in
            switch work {
            case .upload(let file, _): "upload \(file.path)"
            case .uploadCopy(let file, _, _): "upload a copy of \(file.path)"
            case .describe(let file, _): "describe \(file.path)"
            case .delete(let file): "delete \(file.path)"
            }
        }.sorted()
    }

    @Test("New files are uploaded with their paths, times and creators; then no work remains")
    func newFiles() throws {
        let desk = try Desk()
        try desk.write("a.txt", "one")
        try desk.write("sub/folder/b.txt", "two")
        try FileManager.default.setAttributes(
            [.modificationDate: Date(timeIntervalSince1970: 1_600_000_000)], ofItemAtPath: desk.url("a.txt").path)

        let work = try desk.work()

        #expect(kinds(work) == ["upload a.txt", "upload sub/folder/b.txt"])
        let texts = work.compactMap { work in
            if case .upload(_, let text) = work { FileDescription(appMetaData: text) } else { nil }
        }
        let first = try #require(texts.first { $0.path == "a.txt" })
        #expect(first.modified == 1_600_000_000_000 && first.by == "Ada")
        #expect(try desk.work().isEmpty && !desk.keeper.hasWork)
    }

    @Test("New contents are uploaded; a new modification time alone is not")
    func newContents() throws {
        let desk = try Desk()
        let file = try desk.publish("a", "one")
        try FileManager.default.setAttributes([.modificationDate: Date()], ofItemAtPath: desk.url("a").path)
        #expect(try desk.work().isEmpty)
        try desk.write("a", "longer")

        let work = try desk.work()

        #expect(work.map(\.file.fileUUID) == [file.fileUUID])
        #expect(kinds(work) == ["upload a"])
    }

    @Test("A move uploads metadata but no contents, even into a folder and to another Unicode form")
    func moves() throws {
        let desk = try Desk()
        let file = try desk.publish("a", "one")
        try desk.move("a", "folder/e\u{301}")

        let work = try desk.work()

        #expect(work.map(\.file.fileUUID) == [file.fileUUID])
        guard case .describe(_, let text)? = work.first else {
            Issue.record("no new metadata: \(work)")
            return
        }
        // The uploaded path is composed; the record keeps the local spelling.
        #expect(FileDescription(appMetaData: text)?.path?.unicodeScalars.count == "folder/".count + 1)
        #expect(try desk.file("folder/\u{E9}").path.text.unicodeScalars.count == "folder/".count + 2)
        #expect(try desk.work().isEmpty)
    }

    @Test(
        "Moved files with identical contents are each recognised; an empty file is recognised only by its identity")
    func ambiguousMoves() throws {
        let desk = try Desk()
        let (first, second) = (try desk.publish("1", "same"), try desk.publish("2", "same"))
        let empty = try desk.publish("empty", "")
        try desk.move("1", "x")
        try desk.move("2", "y")
        try desk.move("empty", "moved")
        try desk.write("another", "")

        let work = try desk.work()

        #expect(kinds(work) == ["describe moved", "describe x", "describe y", "upload another"])
        #expect(try desk.file("x").fileUUID == first.fileUUID && desk.file("y").fileUUID == second.fileUUID)
        #expect(try desk.file("moved").fileUUID == empty.fileUUID)
    }

    @Test("Missing files are deleted; unreadable ones are not")
    func deletions() throws {
        let desk = try Desk()
        let first = try desk.publish("a", "one")
        _ = try desk.publish("closed/b", "two")
        try desk.remove("a")
        let rules = IgnoreRules()
        var scan = try desk.keeper.root.scan(rules)
        scan.files = [:]
        scan.unknownFolders = [RelativePath("closed")!]

        let changes = LocalChanges(from: desk.keeper.record, to: scan, ignoring: rules, quietSince: .max) { _ in nil }

        #expect(changes.changes == [.deleted(first.fileUUID)])
    }

    @Test("Newly ignored files are neither deleted elsewhere nor uploaded")
    func ignoring() throws {
        let desk = try Desk()
        _ = try desk.publish("a.log", "one")
        try desk.write(IgnoreRules.fileName, "*.log\ncache/\n")
        try desk.write("b.log", "two")
        try desk.write("cache/c", "three")
        try desk.write(".syncdir/mine", "four")

        #expect(kinds(try desk.work()) == ["upload .syncdirignore"])
    }

    @Test("A file that may still be changing, or is half of a move, is left for the next scan")
    func unsettled() throws {
        let desk = try Desk()
        let file = try desk.publish("a", "one")
        try desk.remove("a")
        try desk.write("b", "one")
        let rules = IgnoreRules()
        let scan = try desk.keeper.root.scan(rules)

        let early = LocalChanges(from: desk.keeper.record, to: scan, ignoring: rules, quietSince: 0) {
            (path) throws(DiskError) in
            try desk.keeper.root.reading(of: path)
        }
        let quietSince = try #require(scan.files.values.first).changed - 1
        let soon = LocalChanges(from: desk.keeper.record, to: scan, ignoring: rules, quietSince: quietSince) {
            (path) throws(DiskError) in
            try desk.keeper.root.reading(of: path)
        }

        #expect(soon.changes.isEmpty && soon.hasUnsettled)
        // A time far in the future comes from another clock.
        #expect(early.changes.count == 1 && !early.hasUnsettled)
        guard case .moved(file.fileUUID, _, _)? = early.changes.first else {
            Issue.record("\(early.changes)")
            return
        }
    }

    @Test("Symbolic links are ignored, and not followed")
    func links() throws {
        let desk = try Desk()
        let outside = FileManager.default.temporaryDirectory.appending(path: "outside-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: outside, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: outside) }
        try Data("secret".utf8).write(to: outside.appending(path: "secret"))
        try FileManager.default.createSymbolicLink(at: desk.url("link"), withDestinationURL: outside)
        try FileManager.default.createSymbolicLink(
            at: desk.url("file"), withDestinationURL: outside.appending(path: "secret"))

        let look = try desk.keeper.look()

        #expect(!desk.keeper.hasWork)
        #expect(look.skipped.map(\.path).sorted() == ["file", "link"])
        #expect(look.skipped.allSatisfy { $0.reason == .notAFile })
    }

    @Test("Invalid names, and duplicates after normalisation, are reported and ignored")
    func unusableNames() throws {
        let desk = try Desk()
        try desk.write("caf\u{E9}", "composed")
        try desk.write("cafe\u{301}", "decomposed")
        try desk.write("a\u{7}b", "bell")

        let look = try desk.keeper.look()

        #expect(Set(look.skipped.map(\.reason)) == [.sameName, .unusableName])
        #expect(kinds(try desk.keeper.work(limit: 10)) == ["upload caf\u{E9}"])
    }

    @Test("Contents that change while the library copies them are uploaded again, even if they change back")
    func changesWhileCopied() throws {
        let desk = try Desk()
        try desk.write("a", "one")
        try desk.keeper.look()
        let work = try desk.keeper.work(limit: 10)
        try desk.write("a", "something else")
        try desk.write("a", "one")

        try desk.keeper.accepted(try #require(work.first))

        #expect(kinds(try desk.work()) == ["upload a"])
    }

    @Test("A directory that was moved away or unmounted is not treated as empty")
    func movedDirectory() throws {
        let desk = try Desk()
        _ = try desk.publish("a", "one")
        let elsewhere = desk.folder.appendingPathExtension("moved")
        try FileManager.default.moveItem(at: desk.folder, to: elsewhere)
        defer { try? FileManager.default.removeItem(at: elsewhere) }

        #expect(throws: DirectoryError.directoryMoved) { try desk.keeper.look() }
        try FileManager.default.createDirectory(at: desk.folder, withIntermediateDirectories: true)
        #expect(throws: DirectoryError.directoryMoved) { try desk.keeper.look() }
    }

    @Test("The results of a scan survive a restart")
    func restart() throws {
        let desk = try Desk()
        let file = try desk.publish("a", "one")
        try desk.write("b", "two")
        try desk.keeper.look()

        try desk.restart()

        #expect(try desk.file("a") == file)
        #expect(kinds(try desk.work()) == ["upload b"])
    }

    @Test("The contents that the server has are found again, and distinguished from changed, moved, and missing ones")
    func synchronizedContents() throws {
        let desk = try Desk()
        let (same, touched) = (try desk.publish("same", "1"), try desk.publish("touched", "2"))
        let (changed, moved) = (try desk.publish("changed", "3"), try desk.publish("moved", "4"))
        let (deleted, replaced) = (try desk.publish("deleted", "5"), try desk.publish("replaced", "6"))
        try FileManager.default.setAttributes([.modificationDate: Date()], ofItemAtPath: desk.url("touched").path)
        try desk.move("moved", "elsewhere")
        try desk.remove("deleted")
        try desk.write("changed", "33")
        _ = try desk.keeper.look()
        // This change comes after the last scan.
        try desk.write("replaced", "66")
        func found(_ file: RecordedFile) -> DirectoryKeeper.SynchronizedContents {
            desk.keeper.synchronizedContents(of: file.fileUUID)
        }

        #expect(try found(same) == .unchanged(#require(RelativePath("same"))))
        #expect(try found(touched) == .unchanged(#require(RelativePath("touched"))))
        #expect(try found(moved) == .unchanged(#require(RelativePath("elsewhere"))))
        #expect(found(changed) == .changed && found(replaced) == .changed)
        #expect(found(deleted) == .missing)
    }
}
