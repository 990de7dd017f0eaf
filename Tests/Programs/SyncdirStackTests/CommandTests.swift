import Foundation
import Glibc
import TestSupport
import Testing

extension SyncdirTests {
    @Suite("syncdir at a terminal")
    struct CommandTests {
        /// Ada with a group, and Bob, who has joined it.
        private func couple(permission: String = "write", _ server: TestServer? = nil) throws -> (
            ada: TerminalUser, bob: TerminalUser, group: String
        ) {
            let server = try server ?? TestServer.shared()
            let (ada, bob) = (try TerminalUser("Ada", server), try TerminalUser("Bob", server))
            let group = try ada.succeed("create-group", "Notes of \(UUID().uuidString)")
            let code = try ada.succeed("invite", group, "--permission", permission)
            #expect(try bob.succeed("join", code) == group)
            return (ada, bob, group)
        }

        @Test("Two people synchronise their directories, command by command")
        func twoPeople() throws {
            let (ada, bob, group) = try couple()
            try ada.write("a.txt", "one")
            try ada.write("photos/b.jpg", "two")
            try ada.write("empty", "")

            let sent = try ada.json("sync", ada.directory.path, "--group", group)
            let received = try bob.json("sync", bob.directory.path, "--group", group, "--transfers", "16")

            #expect(sent.sent?.array?.count == 3 && received.received?.array?.count == 3)
            #expect(try bob.files() == ada.files())

            // From now on, the directory remembers its group.
            try FileManager.default.moveItem(
                at: bob.directory.appending(path: "a.txt"), to: bob.directory.appending(path: "moved.txt"))
            try bob.write("photos/b.jpg", "two and more")
            try FileManager.default.removeItem(at: bob.directory.appending(path: "empty"))
            let changes = try bob.json("sync", bob.directory.path)
            try ada.succeed("sync", ada.directory.path)

            #expect(Set(changes.sent?.array?.compactMap { $0.what?.text } ?? []) == ["contents", "path", "deletion"])
            #expect(try ada.files() == ["moved.txt": "one", "photos/b.jpg": "two and more"])
            #expect(try bob.files() == ada.files())
            #expect(try ada.status().pending?.array?.isEmpty == true)
        }

        @Test("A file that the server rejects is reported, and does not block others")
        func tooLarge() throws {
            let (ada, bob, group) = try couple(try TestServer.configuredDifferently())
            try ada.write("large", String(repeating: "a", count: 1_200_000))
            try ada.write("small", "small")

            for arguments in [["sync", ada.directory.path, "--group", group], ["sync", ada.directory.path]] {
                let command = try ada.run(arguments)
                #expect(command.status == 1)
                #expect(command.output.contains("not synchronized: large (1.2 MB: larger than the server accepts; "))
            }
            try bob.succeed("sync", bob.directory.path, "--group", group)
            #expect(try bob.files() == ["small": "small"])

            try ada.write("large", "not any more")
            try ada.succeed("sync", ada.directory.path)
            try bob.succeed("sync", bob.directory.path)
            #expect(try bob.files() == ada.files())
        }

        @Test("After an edit on both sides, both keep the two versions, one as a copy named after its author")
        func conflict() throws {
            let (ada, bob, group) = try couple()
            try ada.write("a.txt", "one")
            try ada.succeed("sync", ada.directory.path, "--group", group)
            try bob.succeed("sync", bob.directory.path, "--group", group)
            try ada.write("a.txt", "of Ada")
            try bob.write("a.txt", "of Bob, longer")

            try ada.succeed("sync", ada.directory.path)
            let report = try bob.json("sync", bob.directory.path)
            try ada.succeed("sync", ada.directory.path)

            let files = try ada.files()
            #expect(files["a.txt"] == "of Ada" && files.count == 2)
            let copy = try #require(files.first { $0.key != "a.txt" })
            #expect(copy.key.hasPrefix("a (conflict of Bob, ") && copy.value == "of Bob, longer")
            #expect(try bob.files() == files)
            #expect(report.conflicts?.array?.compactMap { $0.copy?.text } == [copy.key])
            #expect(try bob.status().conflicts?.array?.count == 1)
        }

        @Test("A reader receives everything and sends nothing; each unsent change is reported")
        func readOnly() throws {
            let (ada, bob, group) = try couple(permission: "read")
            try ada.write("a.txt", "one")
            try bob.write("b.txt", "two")

            try ada.succeed("sync", ada.directory.path, "--group", group)
            let command = try bob.run("sync", bob.directory.path, "--group", group)
            try ada.succeed("sync", ada.directory.path)

            #expect(command.status == 1 && command.output.contains("0 sent, 1 received"), "\(command.output)")
            #expect(
                command.output.contains("not synchronized: b.txt (you are not permitted to do that in this group; "))
            #expect(try bob.files() == ["a.txt": "one", "b.txt": "two"])
            #expect(try ada.files() == ["a.txt": "one"])
            #expect(try bob.run("invite", group).status == 77)
        }

        @Test("Each failure has its exit status and a sentence, or an object with --json")
        func failures() throws {
            let server = try TestServer.shared()
            let nobody = try TerminalUser("Nobody", server, signsIn: false)
            let ada = try TerminalUser("Ada", server)

            #expect(try nobody.run("groups").status == 77)
            #expect(try nobody.run("groups", "--json").output.contains(#""error":"nobody is signed in"#))
            #expect(try nobody.run("no-such-command").status == 64)
            #expect(try ada.run("join", "1111-2222").status == 1)
            #expect(try ada.run("join", UUID().uuidString).output.contains("no such invitation"))
            #expect(try ada.run("status", ada.directory.path).status == 1)
            #expect(
                try nobody.run(
                    "sign-in", "--server", ada.address, "--sandbox", "http://127.0.0.1:1", "--sandbox-person", "X"
                ).status == 69)
            #expect(try nobody.run("sign-in", "--server", ada.address, "--google").status == 78)
            try ada.succeed("create-group", "Only")
            #expect(try ada.run("sync", ada.directory.path).output.contains("--group"))
            #expect(try ada.run("sync", ada.directory.path, "--group", "Other").status == 1)
            #expect(try ada.run("sync", ada.directory.path, "--group", "Only", "--transfers", "0").status == 64)
            try ada.succeed("sign-out")
            #expect(try ada.run("groups").status == 77)
        }

        @Test(
            "A watch transfers both sides' changes within its interval, excludes other processes, and stops on request"
        )
        func watching() async throws {
            let (ada, bob, group) = try couple()
            let (atAda, atBob) = (try ada.watch(group: group), try bob.watch(group: group))
            for (name, watch) in [("Ada", atAda), ("Bob", atBob)] { try await watch.becomesIdle(name) }

            try ada.write("new/folder/a.txt", "one")
            try await eventually("Bob has it", within: .seconds(90)) { try bob.files() == ["new/folder/a.txt": "one"] }
            try bob.write("new/folder/a.txt", "one and two")
            try await eventually("Ada has it", within: .seconds(90)) {
                try ada.files() == ["new/folder/a.txt": "one and two"]
            }

            #expect(try ada.run("sync", ada.directory.path).status == 75)
            #expect(try ada.status().files?.integer == 1)
            #expect(try atAda.end(SIGTERM) == 0 && atBob.end(SIGINT) == 0)
            #expect(atAda.events.last?.event?.text == "end")
        }

        @Test("Without the server, a watch reports that it is offline, and stops on request; changes are sent later")
        func offline() async throws {
            let (ada, bob, group) = try couple()
            try ada.succeed("sync", ada.directory.path, "--group", group)
            try ada.pointAccount(at: "http://127.0.0.1:1")
            let watch = try ada.watch(group: group)
            try ada.write("a.txt", "one")
            try await eventually("the watch is offline", within: .seconds(120)) {
                watch.events.contains { $0.event?.text == "offline" }
            }
            #expect(try watch.end(SIGTERM) == 0)

            try ada.pointAccount(at: ada.address)
            try ada.succeed("sync", ada.directory.path)
            try bob.succeed("sync", bob.directory.path, "--group", group)
            #expect(try bob.files() == ["a.txt": "one"])
        }
    }
}
