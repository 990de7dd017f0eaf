import Foundation
import SyncDirectory
import Testing

@testable import SyncClient
@testable import syncdir

@Suite("Components of syncdir")
struct PartsTests {
    @Test(
        "Progress shows files, bytes, rate, remaining time and a name without control characters on one line")
    func progress() throws {
        let begin = Date(timeIntervalSince1970: 1_000)
        func uuid() throws -> FileUUID { try #require(FileUUID(UUID().uuidString)) }
        let (first, second) = (try uuid(), try uuid())
        var tally = TransferTally()
        func note(_ file: FileUUID, _ completed: Int64, _ total: Int64?, _ direction: FileTransfer.Direction = .upload)
        {
            tally.note(
                FileTransfer(fileUUID: file, direction: direction, completedBytes: completed, totalBytes: total),
                at: begin)
        }
        func line(after seconds: Double, width: Int = 100) -> String? {
            tally.line("a\u{1B}[2J.jpg", at: begin.addingTimeInterval(seconds), width: width)
        }

        #expect(line(after: 5) == nil)
        _ = tally.note(.uploading(done: 0, total: 2), sizes: [first: 10_000_000, second: 30_000_000], at: begin)
        note(first, 2_000_000, 10_000_000)
        #expect(line(after: 0.4) == nil)
        #expect(line(after: 2) == "↑ 0 of 2 files, 2.0 MB of 40.0 MB, 1.0 MB/s, 38 s left, a\u{FFFD}[2J.jpg")
        #expect(line(after: 2, width: 20) == "↑ 0 of 2 files, 2.…")
        note(first, 10_000_000, 10_000_000)
        note(second, 10_000_000, 30_000_000)
        _ = tally.note(.uploading(done: 1, total: 2), sizes: [second: 30_000_000], at: begin)
        #expect(line(after: 200) == "↑ 1 of 2 files, 20.0 MB of 40.0 MB, 100.0 kB/s, 4 min left, a\u{FFFD}[2J.jpg")

        // The sizes of pending downloads are unknown.
        _ = tally.note(.downloading(done: 0, total: 3), sizes: [first: 1], at: begin)
        note(first, 500, nil, .download)
        #expect(line(after: 1) == "↓ 0 of 3 files, 500 bytes, 500 bytes/s, a\u{FFFD}[2J.jpg")
        let hasEnded = [SyncStatus.idle, .idle].map { tally.note($0, sizes: [:], at: begin) }
        #expect(hasEnded == [true, false] && line(after: 9) == nil)
    }

    @Test("A problem that the user can solve sets the exit status; a link does not, and --quiet hides it")
    func reportStatus() {
        func report(_ reasons: [DirectoryScan.Reason]) -> RoundReport {
            var (report, round) = (RoundReport(), DirectorySynchronizer.Round())
            round.skipped = reasons.map { DirectoryScan.Skipped(path: "\($0)", reason: $0) }
            report.add(round)
            return report
        }
        let link = report([.notAFile])
        #expect(link.status == nil && link.complaints.count == 1 && link.problemLines.isEmpty)
        for reason in [DirectoryScan.Reason.sameName, .unusableName, .unreadable] {
            #expect(report([reason]).status == .failed && report([reason, .notAFile]).problemLines.count == 1)
        }
        var held = report([.sameName])
        held.heldDeletions = ["a", "b", "c", "d"]
        #expect(held.status == .deletionsHeld && held.complaints.last?.contains("such as a, b, c. ") == true)
    }

    @Test("Files are stored where the XDG variables specify, if these are absolute")
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

    @Test("A wake-up before the wait ends it, and counts once; a timeout also ends it")
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
