import Foundation
import Glibc
import SyncProtocol
import Testing

@testable import SyncDirectory

@Suite("Names with a twin, names that are not text, and mass deletions")
struct TwinTests {
    private static let composed = "caf\u{E9}.txt"
    private static let decomposed = "cafe\u{301}.txt"

    /// Writes exactly these bytes as a name, regardless of Foundation's normalisation.
    private func write(_ name: [UInt8], _ text: String, _ desk: Desk) throws {
        let path = Array(desk.folder.path.utf8) + [UInt8(ascii: "/")] + name + [0]
        let descriptor = unsafe path.withUnsafeBufferPointer { bytes in
            unsafe bytes.withMemoryRebound(to: CChar.self) {
                unsafe open($0.baseAddress!, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
            }
        }
        try #require(descriptor >= 0)
        let file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        try file.write(contentsOf: Data(text.utf8))
        try file.close()
    }

    /// The contents of the file with exactly this name.
    private func read(_ name: String, _ desk: Desk) throws -> String? {
        let scan = try desk.keeper.root.scan(IgnoreRules())
        let paths = scan.files.keys + scan.twins.map(\.path)
        guard paths.contains(where: { $0.text.utf8.elementsEqual(name.utf8) }) else { return nil }
        let descriptor = unsafe open(desk.folder.path + "/" + name, O_RDONLY)
        let file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        return String(decoding: try file.readToEnd() ?? Data(), as: UTF8.self)
    }

    private func skipped(_ desk: Desk) throws -> [String] {
        try desk.keeper.look().skipped.map { "\($0.reason.rawValue) \(Array($0.path.utf8).count)" }
    }

    @Test("The recorded spelling is the file, regardless of the order of the folder's names", arguments: [true, false])
    func recordedSpelling(isComposed: Bool) throws {
        let (first, second) = isComposed ? (Self.composed, Self.decomposed) : (Self.decomposed, Self.composed)
        let desk = try Desk()
        try write(Array(first.utf8), "the file", desk)
        #expect(try desk.work().count == 1)
        let file = try desk.file(first)
        try write(Array(second.utf8), "its twin", desk)

        #expect(try desk.work().isEmpty)
        #expect(try skipped(desk) == ["sameName \(second.utf8.count)"])
        try desk.deliver("edited", as: file.fileUUID, at: Self.composed)
        #expect(try desk.work().isEmpty && desk.keeper.takeConflicts().isEmpty)
        #expect(try read(first, desk) == "edited" && read(second, desk) == "its twin")

        try desk.deliverDeletion(of: file.fileUUID)
        #expect(try read(first, desk) == nil && read(second, desk) == "its twin")
        try desk.restart()
        #expect(try desk.work().isEmpty && desk.keeper.takeConflicts().isEmpty)
        #expect(try skipped(desk) == ["sameName \(second.utf8.count)"])
    }

    @Test("A twin is not affected by a local deletion; once it is written to, it becomes a new file")
    func deletedHere() throws {
        let desk = try Desk()
        try write(Array(Self.decomposed.utf8), "the file", desk)
        try desk.work()
        let file = try desk.file(Self.decomposed)
        try write(Array(Self.composed.utf8), "its twin", desk)
        try desk.work()
        #expect(unsafe unlink(desk.folder.path + "/" + Self.decomposed) == 0)

        let work = try desk.work()
        #expect(work.map(\.file.fileUUID) == [file.fileUUID])
        guard case .delete? = work.first else {
            Issue.record("\(work)")
            return
        }
        #expect(try desk.work().isEmpty)
        try write(Array(Self.composed.utf8), "written again", desk)
        let new = try desk.work()
        #expect(
            new.count == 1 && new.first?.file.fileUUID != file.fileUUID
                && new.first?.file.digest == .of(Data("written again".utf8)))
    }

    @Test(
        "A new file from others does not overwrite a twin: it is stored next to the twin, and keeps its name for others"
    )
    func delivery() throws {
        let desk = try Desk()
        try write(Array(Self.decomposed.utf8), "the file", desk)
        try desk.work()
        let file = try desk.file(Self.decomposed)
        try write(Array(Self.composed.utf8), "its twin", desk)
        try desk.work()
        try desk.deliverDeletion(of: file.fileUUID)

        try desk.deliver("theirs", as: .of(1), at: Self.composed)
        #expect(try desk.work().isEmpty && read(Self.composed, desk) == "its twin")
        #expect(desk.keeper.record[.of(1)]?.isAlias == true)
    }

    @Test("A file that was renamed to another spelling is the same file, and its new contents are sent")
    func renamed() throws {
        let desk = try Desk()
        try write(Array(Self.composed.utf8), "one", desk)
        try desk.work()
        let file = try desk.file(Self.composed)
        #expect(unsafe rename(desk.folder.path + "/" + Self.composed, desk.folder.path + "/" + Self.decomposed) == 0)
        #expect(try desk.work().isEmpty)
        try write(Array(Self.decomposed.utf8), "two, longer", desk)

        let work = try desk.work()
        #expect(
            work.map(\.file.fileUUID) == [file.fileUUID]
                && work.first?.file.path.text.utf8.count == Self.decomposed.utf8.count)
    }

    @Test("A folder that was renamed to another spelling receives the next delivery")
    func renamedFolder() throws {
        let desk = try Desk()
        try FileManager.default.createDirectory(at: desk.folder, withIntermediateDirectories: true)
        let (composed, decomposed) = (desk.folder.path + "/caf\u{E9}", desk.folder.path + "/cafe\u{301}")
        try #require(unsafe mkdir(composed, 0o700) == 0)
        try write(Array("caf\u{E9}/a".utf8), "one", desk)
        try desk.work()
        let file = try desk.file("caf\u{E9}/a")
        #expect(unsafe rename(composed, decomposed) == 0)
        #expect(try desk.work().isEmpty)

        try desk.deliver("two", as: file.fileUUID, at: "caf\u{E9}/a")
        let folders = try desk.keeper.root.scan(IgnoreRules()).folders
        #expect(folders.map(\.text.utf8.count) == ["cafe\u{301}".utf8.count])
        #expect(try read("cafe\u{301}/a", desk) == "two")
    }

    @Test("Names that are not UTF-8 or have control characters are reported with escaped bytes, and can be ignored")
    func unusableNames() throws {
        let desk = try Desk()
        try write(Array("caf".utf8) + [0xE9] + Array(".txt".utf8), "one", desk)
        try write(Array("b\nc.log".utf8), "two", desk)
        let look = try desk.keeper.look()
        #expect(look.skipped.map(\.path) == ["b\\x0ac.log", "caf\\xe9.txt"])
        #expect(look.skipped.allSatisfy { $0.reason == .unusableName && $0.reason.isProblem })

        try desk.write(IgnoreRules.fileName, "*.log\n")
        #expect(try desk.keeper.look().skipped.map(\.path) == ["caf\\xe9.txt"])
    }

    @Test("Deletions of over a third of the files, at least twenty, are held for approval; other work continues")
    func brake() throws {
        let desk = try Desk()
        for number in 0..<40 { try desk.write("mounted/\(number)", "\(number)") }
        for number in 0..<20 { try desk.write("\(number)", "of \(number)") }
        try desk.work()
        try desk.move("mounted", "elsewhere")
        let aside = FileManager.default.temporaryDirectory.appending(path: "aside-\(UUID().uuidString)")
        try FileManager.default.moveItem(at: desk.url("elsewhere"), to: aside)
        try desk.write("0", "changed")

        #expect(try desk.work().map(\.file.path.text) == ["0"])
        #expect(try desk.keeper.look().heldDeletions.count == 40 && desk.keeper.record.count == 60)

        try FileManager.default.moveItem(at: aside, to: desk.url("mounted"))
        #expect(try desk.work().isEmpty && desk.keeper.look().heldDeletions.isEmpty)
    }

    @Test("Moved files do not count as missing; a few deletions, or confirmed ones, pass")
    func brakeReleased() throws {
        let desk = try Desk(adjust: { $0.allowsDeletions = true })
        for number in 0..<60 { try desk.write("a/\(number)", "\(number)") }
        try desk.work()
        try desk.move("a", "b")
        #expect(try desk.work().count == 60 && desk.keeper.record.presentCount == 60)
        try desk.remove("b")
        #expect(try desk.work().count == 60 && desk.keeper.record.count == 0)

        var brake = DeletionBrake()
        let now = Date()
        // Deleting a folder takes a while.
        let held = [(19, 19, 0.0), (1, 30, 1), (20, 60, 62), (21, 60, 200)].map { deleted, present, seconds in
            brake.holds(deleted, of: present, at: now.addingTimeInterval(seconds))
        }
        #expect(held == [false, true, false, true])
    }
}
