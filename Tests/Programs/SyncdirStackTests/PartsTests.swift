import Foundation
import SyncDirectory
import Testing

@testable import SyncClient
@testable import syncdir

@Suite("Parts of syncdir")
struct PartsTests {
    @Test("A progress bar shows direction, percentage, amount and name, and has no control characters of names")
    func progressBar() throws {
        let file = try #require(FileUUID(UUID().uuidString))
        func line(_ direction: FileTransfer.Direction, _ completed: Int64, _ total: Int64?) -> String {
            TransferDisplay.line(
                FileTransfer(fileUUID: file, direction: direction, completedBytes: completed, totalBytes: total),
                "a\u{1B}[2J.jpg")
        }

        #expect(line(.upload, 2_500_000, 10_000_000) == "↑ [######------------------]  25 %  2.5 MB  a\u{FFFD}[2J.jpg")
        #expect(line(.download, 20, 10) == "↓ [########################] 100 %  0.0 MB  a\u{FFFD}[2J.jpg")
        #expect(line(.download, 1_000_000, nil) == "↓ 1.0 MB  a\u{FFFD}[2J.jpg")
    }

    @Test("Files are kept where the XDG variables say, if they are absolute")
    func folders() throws {
        let chosen = try Folders(["HOME": "/home/a", "XDG_CONFIG_HOME": "/c", "XDG_STATE_HOME": "relative"])

        #expect(chosen.configuration.path == "/c/syncdir")
        #expect(chosen.state.path == "/home/a/.local/state/syncdir")
        #expect(throws: Failure.self) { try Folders([:]) }
    }

    @Test("The type of a file is determined by its extension, in any letter case")
    func kinds() throws {
        let folders = try Folders(["HOME": "/nowhere"])
        var configuration = try Configuration(folders)
        configuration.mimeTypes = ["png": "image/png"]
        let kinds = FileKinds(configuration)

        #expect(kinds.kind(RelativePath("a/B.JPEG")!).rawValue == "image/jpeg")
        #expect(kinds.kind(RelativePath("a.png")!).rawValue == "image/png")
        #expect(kinds.kind(RelativePath("a.jpg/Makefile")!).rawValue == "text/plain")
    }

    @Test("A wake-up before the wait ends it, and counts once; a timeout ends it as well")
    func alarm() async {
        let alarm = Alarm()
        alarm.ring()
        await alarm.wait(upTo: .seconds(3_600))
        let begin = ContinuousClock.now
        await alarm.wait(upTo: .milliseconds(20))
        #expect(ContinuousClock.now - begin >= .milliseconds(20))

        async let waiting: Void = alarm.wait(upTo: .seconds(3_600))
        alarm.ring()
        await waiting
    }

    @Test("A missing sign-in, or an unknown group, is reported")
    func unknownNames() throws {
        let folders = try Folders(["HOME": FileManager.default.temporaryDirectory.path])
        #expect(throws: Failure.self) { try AccountFiles(folders, "nobody-\(UUID().uuidString)").load() }
        #expect(throws: Failure.self) { try Session.group("Notes", of: []) }
    }
}
