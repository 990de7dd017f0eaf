import ArgumentParser
import Foundation
import TestSupport
import Testing

@testable import syncctl

@Suite("syncctl report checks its arguments first")
struct ReportCommandTests {
    @Test("A page and JSON are mutually exclusive")
    func forms() {
        #expect(throws: (any Error).self) { try ReportCommand.parse(["--html", "a.html", "--json"]) }
        #expect(throws: Never.self) { try ReportCommand.parse(["--html", "-"]) }
    }

    @Test("An output path with an unsuitable file, or without a folder, is rejected before any work")
    func targets() throws {
        let folder = try ScratchFolder("report")
        try FileManager.default.createSymbolicLink(atPath: folder.path + "/link", withDestinationPath: "/nonexistent")

        for (place, reason) in [
            (folder.path, "is not a regular file"), (folder.path + "/link", "is not a regular file"),
            ("/dev/null", "is not a regular file"),
            (folder.path + "/missing/a.html", "cannot be written"), ("", "an empty name is not a regular file"),
        ] {
            let failure = #expect(throws: CommandFailure.self) { _ = try PageFile(place) }
            #expect(failure?.message.contains(reason) == true, "\(place): \(failure?.message ?? "")")
        }
    }

    @Test("A new page is readable by its group; a replaced page keeps its permissions, and other files are left alone")
    func writes() throws {
        let folder = try ScratchFolder("report")
        let path = folder.path + "/a.html"
        try Data("precious".utf8).write(to: folder.url.appending(path: "a.html.new"))
        func permissions() throws -> Int? {
            try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
        }

        try PageFile(path).write(Array("one".utf8))
        #expect(try permissions() == 0o640)
        try FileManager.default.setAttributes([.posixPermissions: 0o604], ofItemAtPath: path)
        try PageFile(path).write(Array("two".utf8))

        #expect(try permissions() == 0o604)
        #expect(try String(contentsOfFile: path, encoding: .utf8) == "two")
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted() == ["a.html", "a.html.new"])
        #expect(try String(contentsOfFile: path + ".new", encoding: .utf8) == "precious")
    }
}
