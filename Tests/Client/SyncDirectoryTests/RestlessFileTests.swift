import Foundation
import Glibc
import SyncProtocol
import Synchronization
import Testing

@testable import SyncDirectory

@Suite("Files that change constantly")
struct RestlessFileTests {
    /// A clock that advances only when the test moves it.
    private final class Clock: Sendable {
        private let date = Mutex(Date())
        var now: Date { date.withLock { $0 } }
        func advance(_ seconds: Double) { date.withLock { $0.addTimeInterval(seconds) } }
    }

    private let clock = Clock()

    /// A directory in which every new write counts as unsettled for 50 seconds.
    private func desk() throws -> Desk {
        let clock = clock
        return try Desk(
            now: { clock.now },
            adjust: { options in
                options.quietPeriod = .seconds(50)
                options.patience = .seconds(5)
                options.copyInterval = .seconds(10)
            })
    }

    private func append(_ text: String, to file: URL) throws {
        let handle = try FileHandle(forWritingTo: file)
        try handle.seekToEnd()
        try handle.write(contentsOf: Data(text.utf8))
        try handle.close()
    }

    private func contents(of name: String, _ desk: Desk) throws -> ContentDigest {
        .of(try Data(contentsOf: desk.url(name)))
    }

    /// Scans every second until there is work, and accepts it as the library would.
    private func copies(_ desk: Desk, seconds: Int = 20, meanwhile: () throws -> Void) throws -> [String] {
        for _ in 0..<seconds {
            try meanwhile()
            try desk.keeper.look()
            let work = try desk.keeper.work(limit: 10)
            guard !work.isEmpty else {
                clock.advance(1)
                continue
            }
            return try work.map { work in
                guard case .uploadCopy(_, _, let copy) = work else { return "\(work)" }
                let text = try String(contentsOfFile: copy, encoding: .utf8)
                try FileManager.default.removeItem(atPath: copy)
                try desk.keeper.accepted(work)
                return text
            }
        }
        return []
    }

    @Test("A growing file is sent as it was at one moment, and the rest later; other files do not wait for it")
    func growing() throws {
        let desk = try desk()
        try desk.write("log", "1\n")
        var line = 1
        let grow = {
            line += 1
            try append("\(line)\n", to: desk.url("log"))
        }

        let first = try copies(desk, meanwhile: grow)
        #expect(first.count == 1 && first[0].split(separator: "\n").map(String.init) == (1...line).map(String.init))
        #expect(desk.keeper.restlessFiles.map { "\($0.path) \($0.state)" } == ["log growing"])
        try grow()
        #expect(try !desk.keeper.look().hasUnsettled)

        let sent = line
        let second = try copies(desk, meanwhile: grow)
        #expect(
            second.count == 1 && second[0].hasPrefix(first[0]) && line - sent >= 9,
            "at most once every ten seconds")
        #expect(try desk.file("log").digest == .of(Data(second[0].utf8)))
        #expect(try desk.incoming.isEmpty)

        // Once it has settled, it is read like any other file.
        try grow()
        clock.advance(55)
        #expect(try desk.work().count == 1 && desk.keeper.restlessFiles.isEmpty)
        #expect(try desk.file("log").digest == contents(of: "log", desk))
    }

    @Test("A file that is overwritten constantly is reported, is never sent half-written, and is sent once it settles")
    func rewritten() throws {
        let desk = try desk()
        try desk.write("database", "0")
        var number = 0
        let rewrite = {
            number += 1
            try desk.write("database", "\(number)")
        }

        #expect(try copies(desk, meanwhile: rewrite).isEmpty)
        #expect(desk.keeper.restlessFiles.map(\.state) == [.rewritten])
        try rewrite()
        #expect(try !desk.keeper.look().hasUnsettled && desk.keeper.record.count == 0 && desk.incoming.isEmpty)

        clock.advance(55)
        #expect(try desk.work().count == 1)
    }

    @Test("For a file that is replaced constantly, a complete version is sent", arguments: [true, false])
    func replaced(isComplete: Bool) throws {
        let desk = try desk()
        try desk.write("state", "0")
        var number = 0
        let replace = {
            if isComplete {
                number += 1
                let new = desk.folder.appending(path: ".syncdir/new")
                try Data("state \(number)".utf8).write(to: new)
                try #require(unsafe rename(new.path, desk.url("state").path) == 0)
            } else if try Data(contentsOf: desk.url("state")).count < 4 {
                // Incomplete when it first appears, it grows after it was seen.
                try append("1234", to: desk.url("state"))
            } else {
                try desk.remove("state")
                try desk.write("state", "0")
            }
        }
        let sent = try copies(desk, meanwhile: replace)

        #expect(sent == (isComplete ? ["state \(number - 1)"] : []))
        #expect(desk.keeper.restlessFiles.map(\.state) == [isComplete ? .growing : .rewritten])
        try desk.remove("state")
        try desk.keeper.look()
        #expect(try desk.keeper.restlessFiles.isEmpty && desk.incoming.isEmpty)
    }

    @Test("The next process repeats a copy that was not sent")
    func restart() throws {
        let desk = try desk()
        try desk.write("log", "1\n")
        for _ in 0..<10 where !desk.keeper.hasWork {
            try append("more\n", to: desk.url("log"))
            try desk.keeper.look()
            clock.advance(1)
        }
        #expect(try desk.incoming.count == 1)

        try desk.restart()
        #expect(try desk.incoming.isEmpty && desk.keeper.hasWork && desk.keeper.work(limit: 10).isEmpty)
        clock.advance(55)
        let work = try desk.work()
        #expect(try work.count == 1 && work.first?.file.digest == contents(of: "log", desk))
    }

    @Test("A copy is rejected if the beginning changed, if the file shrank, or if it is a different file")
    func prefixes() throws {
        let desk = try Desk()
        try desk.write("log", String(repeating: "a", count: 300_000))
        let (path, root) = (RelativePath("log")!, desk.keeper.root)
        let sample = try #require(try root.prefix(of: path))
        try append("more", to: desk.url("log"))
        let reading = try #require(try root.copyPrefix(of: path, as: "copy", extending: sample))
        #expect(try reading.signature.size == 300_004 && reading.digest == contents(of: "log", desk))

        let handle = try FileHandle(forWritingTo: desk.url("log"))
        try handle.write(contentsOf: Data("b".utf8))
        #expect(try root.copyPrefix(of: path, as: "other", extending: sample) == nil)
        try handle.truncate(atOffset: 10)
        #expect(try root.copyPrefix(of: path, as: "other", extending: sample) == nil)
        try handle.close()
        try desk.move("log", "elsewhere")
        try desk.write("log", String(repeating: "a", count: 300_000))
        #expect(try root.copyPrefix(of: path, as: "other", extending: sample) == nil)
        #expect(try desk.incoming == ["copy"])
    }

    @Test("Work handed to the library is tracked until it is sent, and dropped if the library gives it up")
    func handedOver() throws {
        let desk = try Desk()
        let file = try desk.publish("a", "one")
        #expect(desk.keeper.record.handedOver[file.fileUUID]?.what == .contents)
        #expect(desk.keeper.record.handedOver[file.fileUUID]?.bytes == 3)
        try desk.keeper.note(problem: "no room", isBlocked: true, of: file.fileUUID)
        try desk.restart()
        #expect(try desk.keeper.settleHandedOver(waiting: [file.fileUUID]).isEmpty)
        #expect(desk.keeper.record.handedOver[file.fileUUID]?.problem == "no room")
        #expect(desk.keeper.record.handedOver[file.fileUUID]?.isBlocked == true)
        #expect(try desk.keeper.settleHandedOver(waiting: []).map(\.path.text) == ["a"])
        #expect(try desk.keeper.settleHandedOver(waiting: []).isEmpty)

        // Work that the library queues itself, for example after a server restoration.
        try desk.keeper.noteQueued(file.fileUUID, .contents)
        #expect(desk.keeper.record.handedOver[file.fileUUID]?.bytes == 3)
        #expect(try desk.keeper.settleHandedOver(waiting: []).map(\.path.text) == ["a"])

        try desk.remove("a")
        try desk.work()
        #expect(desk.keeper.record.handedOver[file.fileUUID]?.what == .deletion)
        let resolution = try desk.keeper.resolve(
            file.fileUUID, hasContents: true, givenUpContents: false, givenUpPath: false, givenUpDeletion: true)
        #expect(resolution == .accept && desk.keeper.record.handedOver.isEmpty)
        #expect(desk.keeper.takeConflicts().map { "\($0.kind) \($0.path)" } == ["deletedAndChanged a"])
    }

    @Test("Changes can be listed without recording them")
    func unnoted() throws {
        let desk = try Desk()
        for name in ["changed", "deleted", "moved", "same"] { _ = try desk.publish(name, "of \(name)") }
        try desk.write("changed", "anew")
        try desk.remove("deleted")
        try desk.move("moved", "there")
        try desk.write("new", "new")

        for _ in 1...2 {
            let found = try desk.keeper.unnotedChanges().sorted { $0.path.text < $1.path.text }
            #expect(found.map(\.path.text) == ["changed", "deleted", "new", "there"])
            #expect(found.map(\.what) == [.contents, .deletion, .contents, .path])
        }
        #expect(!desk.keeper.hasWork)
    }
}
