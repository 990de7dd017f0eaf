import Foundation
import Glibc
import Posix
import TestSupport
import Testing

@testable import album

@Suite("The example album", .serialized)
struct AlbumTests {
    let server: TestServer
    private let folder: ScratchFolder

    init() throws {
        server = try TestServer.shared()
        folder = try ScratchFolder("album")
    }

    private static let program = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
        .appending(path: "album").path
    private static let repository = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()
    private static let picture = repository.appending(path: "Examples/album/pictures/lake.jpg").path
    private var address: String { "http://\(server.address.host):\(server.address.port)\(server.address.prefix)" }
    private var sandbox: String { "http://\(server.sandbox.address.host):\(server.sandbox.address.port)" }

    /// Runs the program on one of the test's devices, and returns its output.
    @discardableResult
    private func album(_ device: String, _ command: String, _ arguments: String...) throws -> String {
        let run = try Command(Self.program, [command, "--device", "\(folder.path)/\(device)"] + arguments)
        guard run.status == 0 else {
            throw StackError.scriptFailed("album \(command) ended with \(run.status): \(run.output)")
        }
        return run.output.trimmingCharacters(in: .newlines)
    }

    private func run(_ device: String, _ command: String, _ arguments: [String] = []) throws -> Command {
        try Command(Self.program, [command, "--device", "\(folder.path)/\(device)"] + arguments)
    }

    private func run(_ device: String, _ command: String, _ arguments: String...) throws -> Command {
        try run(device, command, arguments)
    }

    /// Gives Ada an album with one photo, none of it sent.
    private func adaWithPhoto(_ device: String = "phone") throws {
        try album(device, "sign-in", "--server", address, "--sandbox", sandbox, "--person", "Ada")
        try album(device, "create", "Summer")
        try album(device, "add", Self.picture, "--title", "The lake")
    }

    @Test("Two people with four devices end with the same photos and comments")
    func play() throws {
        let run = try Command(
            "/usr/bin/env",
            [
                "SYNC_HTTP_URL=\(address)", "SANDBOX_URL=\(sandbox)", "ALBUM=\(Self.program)",
                Self.repository.appending(path: "Examples/album/play").path,
            ])

        #expect(run.status == 0, "\(run.output)")
        let end = run.output.components(separatedBy: "All four devices show the same:\n").last ?? ""
        let lines = end.split(separator: "\n").map(String.init)
        #expect(lines.prefix(3) == ["1  The lake, 4 comments", "The lake", "(picture)"])
        #expect(
            Set(lines.dropFirst(3)) == [
                "Ada: We swam to the island.", "Ada: It was cold!", "Bob: Next year again.", "Bob: I bring the boat.",
            ])
    }

    @Test("Offline changes are visible immediately, and sent later")
    func offline() throws {
        try adaWithPhoto()
        try album("phone", "comment", "1", "Not sent yet.")
        #expect(try album("phone", "list") == "1  The lake, 1 comments")
        // A photo and its discussion, whose first version already contains the comment.
        #expect(try album("phone", "sync") == "2 changes sent, 0 received")
        #expect(try album("phone", "sync") == "0 changes sent, 0 received")
    }

    @Test(
        "A picture is shown in the format that the terminal supports, otherwise as a link",
        arguments: [
            (#"\x1b[?62;4;22c"#, "\u{1B}P"), (#"\x1b_Gi=31;OK\x1b\\\x1b[?62c"#, "\u{1B}_Ga=T"),
            (#"\x1b[?62;22c"#, "\u{1B}]8;;file:///"), (#"\x1b[?64c"#, "\u{1B}]8;;file:///"), ("", "\u{1B}]8;;file:///"),
        ])
    func pictures(answer: String, shown: String) throws {
        try adaWithPhoto()
        let terminal = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "terminal.py").path
        let run = try Command(
            "/usr/bin/python3",
            [terminal, answer, Self.program, "show", "--device", "\(folder.path)/phone", "The lake"])

        #expect(run.status == 0)
        let (title, picture) = (run.output.range(of: "The lake\r\n"), run.output.range(of: shown))
        #expect(picture != nil, "\(run.output.debugDescription)")
        if let title, let picture { #expect(title.upperBound <= picture.lowerBound) }
    }

    @Test("Errors are reported")
    func mistakes() throws {
        func complaint(_ arguments: String...) throws -> String {
            let run = try Command(Self.program, arguments + ["--device", "\(folder.path)/phone"])
            #expect(run.status != 0)
            return run.output
        }
        #expect(try complaint("list").contains("Nobody is signed in"))
        try adaWithPhoto()
        #expect(try complaint("show", "2").contains("There is no photo 2"))
        #expect(try complaint("list", "--album", "Winter").contains("no album called Winter"))
        #expect(try complaint("add", "/etc/passwd").contains("/etc/passwd is not a JPEG picture"))
        #expect(try complaint("add", "/nowhere/a.jpg").contains("There is no file /nowhere/a.jpg"))
        #expect(try complaint("join", "nonsense").contains("not an invitation code"))
        #expect(try complaint("invitation", UUID().uuidString).contains("ask for another one"))
    }

    @Test("An invitation shows who invites to which album, until it is used up")
    func invitation() throws {
        try adaWithPhoto()
        let code = try album("phone", "invite")
        try album("other", "sign-in", "--server", address, "--sandbox", sandbox, "--person", "Bob")
        #expect(
            try album("other", "invitation", code)
                == "Ada invites you to the album Summer, where you may add and remove photos.")
        #expect(try album("other", "join", code) == "You are in Summer.")
        #expect(try run("other", "invitation", code).output.contains("ask for another one"))
    }

    @Test("Albums with the same name are created only on request, and are distinguished")
    func namesakes() throws {
        try adaWithPhoto()
        let again = try run("phone", "create", "Summer")
        #expect(again.status != 0 && again.output.contains("--another"), "\(again.output)")
        try album("phone", "create", "Summer", "--another")
        let lines = try album("phone", "albums").split(separator: "\n").map(String.init)
        #expect(lines.count == 2 && lines.allSatisfy { $0.hasSuffix("  Summer") })

        for arguments in [[], ["--album", "Summer"]] {
            let ambiguous = try run("phone", "list", arguments)
            #expect(ambiguous.status != 0 && lines.allSatisfy { ambiguous.output.contains($0) }, "\(ambiguous.output)")
        }
        let listed = try lines.map { line in
            try album("phone", "list", "--album", String(line.prefix(while: { $0 != " " })))
        }
        #expect(listed.sorted() == ["", "1  The lake, 0 comments"])
        // Changes in one album do not wait for the other.
        for line in lines {
            let name = String(line.prefix(while: { $0 != " " }))
            try album("phone", "add", Self.picture, "--title", "Both", "--album", name)
        }
        try album(
            "phone", "comment", "The lake", "Again.", "--album", String(lines[listed[0].isEmpty ? 1 : 0].prefix(8)))
    }

    @Test("A failed sign-in leaves the device unchanged; errors are sentences")
    func failedSignIn() throws {
        try adaWithPhoto()
        let failed = try run(
            "phone", "sign-in", ["--server", "http://127.0.0.1:1", "--sandbox", sandbox, "--person", "Eve"])
        #expect(
            failed.status != 0 && failed.output.contains("Error: The server cannot be reached; "), "\(failed.output)")
        let other = try run("phone", "sign-in", ["--server", address, "--sandbox", sandbox, "--person", "Eve"])
        #expect(other.status != 0 && other.output.contains("another person's"), "\(other.output)")
        let nobody = try run("new", "sign-in", ["--server", address, "--sandbox", sandbox, "--account", "no-such"])
        #expect(nobody.output.contains("The sandbox knows no account no-such"), "\(nobody.output)")
        let sandbox = try run(
            "new", "sign-in", ["--server", address, "--sandbox", "http://127.0.0.1:1", "--person", "Eve"])
        #expect(sandbox.output.contains("The sandbox cannot be reached"), "\(sandbox.output)")
        #expect(try run("new", "list").output.contains("Nobody is signed in"))
        #expect(try album("phone", "sync") == "2 changes sent, 0 received")
    }

    @Test("Each sync names a photo that the server rejects, with advice, until it is removed")
    func refused() throws {
        let server = try TestServer.configuredDifferently()
        let address = "http://\(server.address.host):\(server.address.port)\(server.address.prefix)"
        let sandbox = "http://\(server.sandbox.address.host):\(server.sandbox.address.port)"
        try album("phone", "sign-in", "--server", address, "--sandbox", sandbox, "--person", "Ada")
        try album("phone", "create", "Summer")
        let picture = folder.url.appending(path: "large.jpg")
        try (Data([0xFF, 0xD8, 0xFF]) + Data(repeating: 7, count: 1_200_000)).write(to: picture)
        try album("phone", "add", picture.path, "--title", "The lake")
        try album("phone", "add", Self.picture, "--title", "Evening")

        // The discussion of the large photo, and both files of the other photo.
        for sent in [3, 0] {
            let command = try run("phone", "sync")
            #expect(
                command.status != 0 && command.output.contains("not sent: The lake: larger than the server accepts; "),
                "\(command.output)")
            #expect(command.output.contains("\(sent) changes sent, 0 received"), "\(command.output)")
        }
        try album("phone", "remove", "The lake")
        // Only the removed photo's discussion had been sent.
        #expect(try album("phone", "sync") == "1 changes sent, 0 received")
        #expect(try album("phone", "list") == "1  Evening, 0 comments")
    }

    @Test("A watch sends what waits, and shows photos, comments and removals by others as they arrive")
    func watching() async throws {
        try adaWithPhoto()
        let code = try album("phone", "invite")
        try album("other", "sign-in", "--server", address, "--sandbox", sandbox, "--person", "Bob")
        try album("other", "join", code)
        let log = folder.url.appending(path: "watch.log")
        try Data().write(to: log)
        let output = try FileHandle(forWritingTo: log)
        let watch = try ChildProcess(
            [Self.program, "watch", "--device", "\(folder.path)/phone"], output: output.fileDescriptor)
        defer { watch.send(SIGKILL) }
        func shows(_ line: String) async throws {
            var shown = ""
            do {
                // A failed sync is repeated after a minute; it also takes a minute until a lost signal is noticed.
                try await eventually("the watch shows \(line)", within: .seconds(300)) {
                    shown = try String(contentsOf: log, encoding: .utf8)
                    return shown.split(separator: "\n").contains { $0 == line }
                }
            } catch {
                Issue.record(error, "the watch shows: \(shown)")
                throw error
            }
        }

        try await eventually("Ada's photo was sent", within: .seconds(120)) {
            try album("other", "sync")
            return try album("other", "list") == "1  The lake, 0 comments"
        }
        #expect(try run("phone", "list").status != 0)
        try album("other", "add", Self.picture, "--title", "Evening")
        try album("other", "sync")
        try await shows("new photo: Evening")
        try album("other", "comment", "The lake", "It was cold!")
        try album("other", "sync")
        try await shows("The lake: Bob: It was cold!")
        try album("other", "remove", "Evening")
        try album("other", "sync")
        try await shows("removed: Evening")
    }

    @Test("The progress of an upload is shown only on a terminal")
    func progress() throws {
        try adaWithPhoto()
        let terminal = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "terminal.py").path
        let arguments = ["sync", "--device", "\(folder.path)/phone"]
        let shown = try Command("/usr/bin/python3", [terminal, "", Self.program] + arguments)
        #expect(shown.status == 0 && shown.output.contains("↑ The lake  100 %"), "\(shown.output.debugDescription)")
        try album("phone", "add", Self.picture, "--title", "Again")
        #expect(try album("phone", "sync") == "2 changes sent, 0 received")
    }

    @Test("Discussions converge in any order of merging")
    func merging() {
        var (first, second) = (Discussion(title: "The lake"), Discussion(title: "The lake"))
        first.say("one", author: "Ada")
        second.say("two", author: "Bob")
        let (ones, twos) = (first.messages, second.messages)
        first.merge(twos)
        second.merge(ones)
        second.merge(ones)
        #expect(first.messages == second.messages && Set(first.messages) == Set(ones + twos))
    }
}
