import Foundation
import Glibc
import Posix
import TestSupport
import Testing

extension SyncdirTests {
    @Suite("Accuracy of syncdir's reports")
    struct ReportTests {
        private let server: TestServer

        init() throws { server = try TestServer.shared() }

        private func couple() throws -> (ada: TerminalUser, bob: TerminalUser, group: String) {
            try TerminalUser.couple(server)
        }

        private func paths(_ list: JSONValue?) -> [String] { list?.array?.compactMap { $0.path?.text }.sorted() ?? [] }

        /// The JSON object that a command printed.
        private func json(_ command: Command) throws -> JSONValue {
            try #require(JSONValue(Array(command.output.utf8)), "\(command.output)")
        }

        @Test("A file that grows constantly is sent up to its current end, by sync and by watch, and blocks nothing")
        func growing() async throws {
            let (ada, bob, group) = try couple()
            let log = ada.directory.appending(path: "app.log").path
            let writer = try ChildProcess(
                ["/bin/bash", "-c", "i=0; while sleep 0.05; do echo $((i++)) >> \(log); done"], output: STDERR_FILENO)
            defer { writer.send(SIGKILL) }
            try await eventually("the writer has started") { FileManager.default.fileExists(atPath: log) }
            try ada.write("other.txt", "other")

            let command = try ada.run("sync", ada.directory.path)
            #expect(command.status == 1 && command.output.contains("app.log is being changed; "), "\(command.output)")
            try bob.succeed("sync", bob.directory.path)
            let first = try #require(try bob.files()["app.log"])
            #expect(try Set(bob.files().keys) == ["app.log", "other.txt"])

            let watch = try ada.watch(group: group)
            try await eventually("the watch has sent more: \(watch.lastWords)", within: .seconds(60)) {
                watch.events.contains { paths($0.sent) == ["app.log"] }
            }
            #expect(try watch.end(SIGTERM) == 0)
            #expect(watch.events.filter { !paths($0.changing).isEmpty }.count == 1, "\(watch.text)")
            try bob.succeed("sync", bob.directory.path)
            let second = try #require(try bob.files()["app.log"])
            #expect(second.hasPrefix(first) && second.count > first.count)
        }

        @Test("A file that is overwritten constantly is named, with exit status 1, and the others are sent")
        func rewritten() throws {
            let (ada, bob, _) = try couple()
            let file = ada.directory.appending(path: "state.db").path
            let writer = try ChildProcess(
                ["/bin/bash", "-c", "i=0; while sleep 0.05; do echo $((i++)) > \(file); done"], output: STDERR_FILENO)
            try ada.write("other.txt", "other")
            let command = try ada.run("sync", ada.directory.path)
            writer.send(SIGKILL)
            _ = try writer.wait()

            #expect(command.status == 1, "\(command.output)")
            #expect(command.output.contains("state.db is being changed; the next sync will send it"))
            try ada.succeed("sync", ada.directory.path)
            try bob.succeed("sync", bob.directory.path)
            #expect(try bob.files() == ada.files())
        }

        @Test("The twin of a name is ignored; like names that are not UTF-8, it causes exit status 1")
        func names() throws {
            let (ada, bob, _) = try couple()
            let (file, twin) = ("caf\u{E9}.txt", "cafe\u{301}.txt")
            try touch(ada, file, "the file")
            try ada.succeed("sync", ada.directory.path)
            try bob.succeed("sync", bob.directory.path)
            try touch(ada, twin, "its twin")

            let command = try ada.run("sync", ada.directory.path)
            #expect(command.status == 1 && command.output.contains(#"spelled cafe\u{301}.txt"#), "\(command.output)")
            #expect(!command.output.contains("sameName"))
            try bob.write(try #require(try bob.files().keys.first), "edited by Bob")
            try bob.succeed("sync", bob.directory.path)
            let edited = try json(ada.run("sync", ada.directory.path, "--json"))
            #expect(paths(edited.received).count == 1 && edited.conflicts?.array?.isEmpty == true, "\(edited)")

            try FileManager.default.removeItem(
                at: bob.directory.appending(path: try #require(try bob.files().keys.first)))
            try bob.succeed("sync", bob.directory.path)
            for _ in 1...2 { #expect(try ada.run("sync", ada.directory.path).status == 1) }
            try bob.succeed("sync", bob.directory.path)
            #expect(try bob.files().isEmpty && Array(ada.files().values) == ["its twin"])

            let nameless = try Command(
                "/bin/bash",
                ["-c", #"printf x > "$1"/$(printf 'caf\351.txt'); rm "$1"/cafe*"#, "bash", ada.directory.path])
            #expect(nameless.status == 0)
            let unusable = try ada.run("sync", ada.directory.path)
            #expect(
                unusable.status == 1 && unusable.output.contains(#"caf\xe9.txt: the name is not UTF-8"#),
                "\(unusable.output)")
        }

        /// Writes a file whose name has exactly these bytes.
        private func touch(_ user: TerminalUser, _ name: String, _ text: String) throws {
            let descriptor = unsafe open(user.directory.path + "/" + name, O_WRONLY | O_CREAT | O_TRUNC, 0o644)
            try #require(descriptor >= 0)
            let file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
            try file.write(contentsOf: Data(text.utf8))
            try file.close()
        }

        @Test("Unsent changes are listed, queued or not; once sent, even by a later process, they count as sent")
        func pending() throws {
            let (ada, bob, _) = try couple()
            try ada.write("changed", "one")
            try ada.write("deleted", "two")
            try ada.succeed("sync", ada.directory.path)
            try ada.pointAccount(at: "http://127.0.0.1:1")
            try ada.write("changed", "one and more")
            try FileManager.default.removeItem(at: ada.directory.appending(path: "deleted"))
            try ada.write("new", "three")
            let waiting = ["contents changed", "contents new", "deletion deleted"]
            func listed() throws -> [String] {
                try ada.status().pending?.array?.map { "\($0.what?.text ?? "") \($0.path?.text ?? "")" }.sorted() ?? []
            }

            #expect(try listed() == waiting)
            let failed = try ada.run("sync", ada.directory.path)
            #expect(failed.status == 69 && failed.output.contains("the server cannot be reached; "), "\(failed.output)")
            #expect(try listed() == waiting)
            #expect(try ada.succeed("status", ada.directory.path).contains("3 changes to send"))

            try ada.pointAccount(at: ada.address)
            let sent = try ada.json("sync", ada.directory.path)
            #expect(paths(sent.sent) == ["changed", "deleted", "new"], "\(sent)")
            #expect(try listed().isEmpty)
            try bob.succeed("sync", bob.directory.path)
            #expect(try bob.files() == ada.files())
        }

        /// Listens on the first argument's port, and forwards each connection to the second argument's port.
        private static let forwarder = """
            import socket, sys, threading
            def pump(source, sink):
                while piece := source.recv(65536):
                    sink.sendall(piece)
                sink.shutdown(socket.SHUT_WR)
            listener = socket.create_server(("127.0.0.1", int(sys.argv[1])))
            while True:
                near, _ = listener.accept()
                far = socket.create_connection(("127.0.0.1", int(sys.argv[2])))
                for ends in ((near, far), (far, near)):
                    threading.Thread(target=pump, args=ends, daemon=True).start()
            """

        @Test("A watch also reports changes that waited for the server, once they are sent")
        func afterOutage() async throws {
            let (ada, bob, group) = try couple()
            // No process listens on the port after this command.
            let port = try Command(
                "/usr/bin/python3",
                ["-c", "import socket; print(socket.create_server(('127.0.0.1', 0)).getsockname()[1])"]
            ).output.trimmingCharacters(in: .newlines)
            try ada.pointAccount(at: "http://127.0.0.1:\(port)\(server.address.prefix)")
            try ada.write("a.txt", "one")
            let watch = try ada.watch(group: group)
            try await eventually("the watch is offline: \(watch.lastWords)", within: .seconds(120)) {
                watch.events.contains { $0.event?.text == "offline" }
            }
            #expect(try ada.status().pending?.array?.count == 1)

            let forwarder = try ChildProcess(
                ["/usr/bin/python3", "-c", Self.forwarder, port, "\(server.address.port)"], output: STDERR_FILENO)
            defer { forwarder.send(SIGKILL) }
            try await eventually("the sent file is reported: \(watch.lastWords)", within: .seconds(120)) {
                watch.events.contains { paths($0.sent) == ["a.txt"] }
            }
            #expect(try watch.end(SIGTERM) == 0)
            #expect(try ada.status().pending?.array?.isEmpty == true)
            try bob.succeed("sync", bob.directory.path)
            #expect(try bob.files() == ["a.txt": "one"])
        }

        @Test("Changes dropped by a conflict do not count as sent")
        func conflict() throws {
            let (ada, bob, _) = try couple()
            try ada.write("lake.jpg", "lake")
            try ada.write("notes.txt", "notes")
            try ada.succeed("sync", ada.directory.path)
            try bob.succeed("sync", bob.directory.path)
            try ada.write("lake.jpg", "another lake")
            try ada.write("notes.txt", "notes of Ada")
            try ada.succeed("sync", ada.directory.path)
            try FileManager.default.removeItem(at: bob.directory.appending(path: "lake.jpg"))
            try bob.write("notes.txt", "longer notes of Bob")

            let report = try bob.json("sync", bob.directory.path)
            #expect(
                paths(report.sent).count == 1 && paths(report.sent)[0].hasPrefix("notes (conflict of Bob"), "\(report)")
            #expect(paths(report.received) == ["lake.jpg", "notes.txt"])
            try ada.succeed("sync", ada.directory.path)
            #expect(try ada.files() == bob.files() && ada.files().count == 3)
        }

        @Test(
            "Mass deletions are not sent to others without confirmation; the rest of the round completes")
        func missing() async throws {
            let (ada, bob, group) = try couple()
            for number in 0..<30 { try ada.write("mounted/\(number).txt", "\(number)") }
            try ada.write("own.txt", "own")
            try ada.succeed("sync", ada.directory.path, "--transfers", "8")
            let (folder, aside) = (ada.directory.appending(path: "mounted"), ada.outside.appending(path: "aside"))
            try FileManager.default.moveItem(at: folder, to: aside)
            try ada.write("own.txt", "changed")

            let command = try ada.run("sync", ada.directory.path)
            #expect(
                command.status == 3 && command.output.contains("30 files are missing here, such as mounted/"),
                "\(command.output)")
            #expect(command.output.contains("--allow-deletions"))
            #expect(try json(ada.run("sync", ada.directory.path, "--json")).heldDeletions?.array?.count == 30)
            try bob.succeed("sync", bob.directory.path, "--transfers", "8")
            #expect(try bob.files().count == 31 && bob.files()["own.txt"] == "changed")

            let watch = try ada.watch(group: group)
            func held() -> [Int] {
                watch.events.filter { $0.event?.text == "deletionsHeld" }.map { $0.heldDeletions?.array?.count ?? -1 }
            }
            try await eventually("the watch holds them: \(watch.lastWords)", within: .seconds(60)) { held() == [30] }
            try FileManager.default.moveItem(at: aside, to: folder)
            try await eventually("the files are back: \(watch.lastWords)", within: .seconds(60)) { held() == [30, 0] }
            try FileManager.default.moveItem(at: folder, to: aside)
            try ada.write("new.txt", "new")
            try await eventually("the watch continues: \(watch.lastWords)", within: .seconds(60)) {
                held() == [30, 0, 30] && watch.events.contains { paths($0.sent) == ["new.txt"] }
            }
            #expect(try watch.end(SIGTERM) == 0)

            try ada.succeed("sync", ada.directory.path, "--allow-deletions")
            try bob.succeed("sync", bob.directory.path)
            #expect(try bob.files() == ["own.txt": "changed", "new.txt": "new"])
        }

        @Test("A signed-in person without a user is asked to create or join a group")
        func notYetUser() throws {
            let ada = try TerminalUser("Ada", server)
            for arguments in [["sync", ada.directory.path, "--group", "Notes"], ["groups"], ["invite", "Notes"]] {
                let command = try ada.run(arguments)
                #expect(
                    command.status == 77 && command.output.contains("the server does not know you yet"),
                    "\(command.output)")
                #expect(command.output.contains("syncdir create-group") && command.output.contains("syncdir join"))
            }
        }

        @Test("Groups with the same name are created only on request, and are distinguished")
        func namesakes() throws {
            let ada = try TerminalUser("Ada", server)
            let first = try ada.succeed("create-group", "Notes")
            let again = try ada.run("create-group", "Notes")
            #expect(
                again.status == 1 && again.output.contains(first) && again.output.contains("--another"),
                "\(again.output)")
            let second = try ada.succeed("create-group", "Notes", "--another")

            let ambiguous = try ada.run("sync", ada.directory.path, "--group", "Notes")
            #expect(ambiguous.status == 1 && ambiguous.output.contains(first) && ambiguous.output.contains(second))
            try ada.succeed("sync", ada.directory.path, "--group", String(second.lowercased().prefix(8)))
            #expect(try ada.status().group?.text?.lowercased() == second.lowercased())
        }

        @Test("A failed sign-in names the problem, and keeps the previous sign-in")
        func failedSignIn() throws {
            let ada = try TerminalUser("Ada", server)
            try ada.succeed("create-group", "Notes")
            let before = try ada.accountFile()
            func signIn(_ address: String) throws -> Command {
                try ada.run("sign-in", "--server", address, "--sandbox", ada.sandbox, "--sandbox-person", "Eve")
            }

            let word = try signIn("notaurl")
            #expect(
                word.status == 64 && word.output.contains("notaurl is not the address of a server"), "\(word.output)")
            let nobody = try signIn("http://127.0.0.1:1")
            #expect(nobody.status == 69 && nobody.output.contains("the server cannot be reached"), "\(nobody.output)")
            #expect(try ada.accountFile() == before)
            #expect(try ada.succeed("groups").contains("Notes"))
        }

        @Test("Progress is shown on a terminal, but not to programs, and not with --quiet")
        func progress() throws {
            let server = try SyncdirTests.ownServer()
            let (ada, _, _) = try TerminalUser.couple(server)
            var slow = SandboxFault(pathPrefix: "/upload/drive")
            slow.latencyMilliseconds = 1_500
            try server.sandbox.inject(slow)
            defer { try? server.sandbox.clearFaults() }

            for (flags, onTerminal) in [([], true), (["--quiet"], true), ([], false)] as [([String], Bool)] {
                try ada.write("large", String(repeating: "\(UUID())", count: 200_000))
                let arguments = ["sync", ada.directory.path] + flags
                let command = try onTerminal ? ada.runOnTerminal(arguments) : ada.run(arguments)
                #expect(command.status == 0, "\(command.output)")
                let isShown = command.output.contains(#/↑ [01] of 1 files, [0-9.]+ .?.?B of 7\.2 MB, .*large/#)
                #expect(
                    isShown == (onTerminal && flags.isEmpty),
                    "\(flags) \(onTerminal): \(command.output.debugDescription)")
                #expect(command.output.contains("1 sent") == flags.isEmpty)
            }
        }
    }
}
