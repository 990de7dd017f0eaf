import Foundation
import Posix
import TestSupport
import Testing

@Suite("Atomic files")
struct AtomicFileTests {
    private let folder: ScratchFolder
    private var path: String { folder.path + "/file" }

    init() throws { folder = try ScratchFolder("atomic") }

    private func names() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
    }

    @Test("A file is replaced with its permissions, without touching other files, regardless of their names")
    func replaced() throws {
        for name in ["file.new", "file.new-"] { try Data(name.utf8).write(to: folder.url.appending(path: name)) }

        for text in ["one", "two"] { try AtomicFile.write(Array(text.utf8), to: path, permissions: 0o604) }

        #expect(try names() == ["file", "file.new", "file.new-"])
        #expect(try String(contentsOfFile: path, encoding: .utf8) == "two")
        #expect(try String(contentsOfFile: path + ".new", encoding: .utf8) == "file.new")
        let attributes = try FileManager.default.attributesOfItem(atPath: path)
        #expect(attributes[.posixPermissions] as? Int == 0o604)
    }

    @Test("A failed replacement leaves nothing behind")
    func refused() throws {
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)

        #expect(throws: PosixError.self) { try AtomicFile.write([1], to: path, permissions: 0o600) }
        #expect(throws: PosixError.self) { try AtomicFile.write([1], to: path + "2", like: path + "3") }
        #expect(try names() == ["file"])
    }

    @Test("Checking whether a folder is writable creates nothing in it")
    func folders() throws {
        #expect(throws: Never.self) { try AtomicFile.requireWritableFolder(of: path) }
        #expect(throws: Never.self) { try AtomicFile.requireWritableFolder(of: "relative") }
        #expect(throws: PosixError(call: "access", code: ENOENT)) {
            try AtomicFile.requireWritableFolder(of: path + "/a")
        }
        #expect(throws: PosixError(call: "access", code: ENOTDIR)) {
            try AtomicFile.requireWritableFolder(of: "/dev/null/a")
        }
        #expect(try names() == [])
    }
}
