import Foundation
import Glibc
import TestSupport
import Testing

extension SyncdirTests {
    @Suite("syncdir after the server was restored from a backup")
    struct RestoredServerTests {
        private let server: TestServer
        private let tool: OperatorTool
        private let folder: ScratchFolder

        init() throws {
            server = try SyncdirTests.ownServer()
            tool = try OperatorTool(server)
            folder = try ScratchFolder("restored-directory")
        }

        private var backup: String { folder.url.appending(path: "backup.gz").path }

        /// Follows the handbook: close the server, empty the database, restore it, open the server.
        private func putBack() async throws {
            func status() throws -> Int { try server.call("GET", "Index").status }
            try tool.json("maintenance", "on", "Back at ten, OK?")
            try await eventually("the server is closed") { try status() == 503 }
            try server.dropAllTables()
            try tool.json("restore", "--rows-only", backup)
            try tool.json("maintenance", "off")
            try await eventually("the server is open") { try status() == 401 }
        }

        private func remove(_ path: String, of user: TerminalUser) throws {
            try FileManager.default.removeItem(at: user.directory.appending(path: path))
        }

        private func sync(_ users: TerminalUser...) throws {
            for user in users { try user.succeed("sync", user.directory.path) }
        }

        @Test("A closed server's message is shown, and the change is sent later")
        func maintenance() async throws {
            let (ada, bob, _) = try TerminalUser.couple(server)
            try tool.json("maintenance", "on", "Back at ten, OK?")
            try ada.write("a.txt", "one")
            try await eventually("the server is closed") {
                try ada.run("sync", ada.directory.path).output.contains("and says \u{201C}Back at ten, OK?\u{201D}; ")
            }
            #expect(try ada.run("sync", ada.directory.path).status == 69)
            try tool.json("maintenance", "off")
            try await eventually("the server is open") { try ada.run("sync", ada.directory.path).status == 0 }
            try sync(bob)
            #expect(try bob.files() == ["a.txt": "one"])
        }

        @Test("Untouched files that the server has lost are sent again, and deleted files stay deleted")
        func untouched() async throws {
            let (ada, bob, _) = try TerminalUser.couple(server)
            for name in ["same.txt", "edited.txt", "deleted.txt", "moved.txt"] { try ada.write(name, "one") }
            try sync(ada, bob)
            try tool.json("backup", backup)
            try ada.write("edited.txt", "two")
            try ada.write("new.txt", "new")
            try remove("deleted.txt", of: ada)
            try FileManager.default.moveItem(
                at: ada.directory.appending(path: "moved.txt"), to: ada.directory.appending(path: "elsewhere.txt"))
            try sync(ada, bob)
            let files = try ada.files()
            #expect(try files.count == 4 && bob.files() == files)
            try await putBack()

            let command = try ada.run("sync", ada.directory.path)
            #expect(command.status == 0, "\(command.output)")
            #expect(command.output.contains("The server was restored from a backup."), "\(command.output)")
            #expect(command.output.contains("↑ new.txt: the server has it again"), "\(command.output)")
            #expect(command.output.contains(" 0 conflicts"), "\(command.output)")
            try sync(bob, ada, bob)
            #expect(try ada.files() == files && bob.files() == files)
            #expect(try ada.status().pending?.array?.isEmpty == true)
            #expect(try bob.status().conflicts?.array?.isEmpty == true)
            // Someone who joins later receives all of it.
            let later = try ada.json("sync", ada.directory.path)
            #expect(later.serverWasRestored == .bool(false) && later.restored?.array?.isEmpty == true, "\(later)")
        }

        @Test("Later edits, additions and deletions are sent, and each command ends")
        func changed() async throws {
            let (ada, bob, _) = try TerminalUser.couple(server)
            try ada.write("doc.txt", "one")
            try sync(ada, bob)
            try tool.json("backup", backup)
            try ada.write("new.txt", "new")
            try ada.write("gone.txt", "gone")
            try ada.write("doc.txt", "two")
            try sync(ada, bob)
            try await putBack()
            try ada.write("new.txt", "edited after the restoration")
            try ada.write("doc.txt", "three")
            try remove("gone.txt", of: ada)
            try ada.write("more.txt", "more")

            let report = try ada.json("sync", ada.directory.path)
            #expect(report.serverWasRestored == .bool(true) && report.conflicts?.array?.isEmpty == true, "\(report)")
            let sent = Set(report.sent?.array?.compactMap { $0.path?.text } ?? [])
            #expect(sent.isSuperset(of: ["new.txt", "doc.txt", "more.txt"]), "\(report)")
            try sync(bob, ada, bob)
            let files = try ada.files()
            #expect(
                files["new.txt"] == "edited after the restoration" && files["doc.txt"] == "three"
                    && files["more.txt"] == "more", "\(files)")
            #expect(try bob.files() == files)
            // Bob had the file when Ada deleted it; the restored server no longer knew it.
            #expect(files["gone.txt"] == "gone")
            let told = try (ada.status().conflicts?.array ?? []).map { "\($0.kind?.text ?? "") \($0.path?.text ?? "")" }
            #expect(told == ["deletedAndChanged gone.txt"])
        }

        @Test("A running watch reports the restoration, and sends lost files again")
        func watching() async throws {
            let (ada, bob, group) = try TerminalUser.couple(server)
            try ada.write("kept.txt", "kept")
            try sync(ada)
            try tool.json("backup", backup)
            let watch = try ada.watch(group: group)
            try ada.write("new.txt", "new")
            try await eventually("the file is sent: \(watch.lastWords)", within: .seconds(60)) {
                watch.events.contains { $0.sent?.array?.contains { $0.path?.text == "new.txt" } == true }
            }
            try await putBack()

            // Without a local change, the watch would wait until the server's announced end of maintenance.
            try ada.write("more.txt", "more")
            try await eventually("the restoration is reported: \(watch.lastWords)", within: .seconds(60)) {
                watch.events.contains { $0.serverWasRestored == .bool(true) }
            }
            try await eventually("everything is sent: \(watch.lastWords)", within: .seconds(60)) {
                try ada.status().pending?.array?.isEmpty == true
            }
            #expect(try watch.end(SIGTERM) == 0)
            #expect(watch.events.allSatisfy { $0.conflicts?.array?.isEmpty != false }, "\(watch.text)")
            try sync(bob)
            #expect(try bob.files() == ["kept.txt": "kept", "new.txt": "new", "more.txt": "more"])
        }

        @Test("Directories upload the changes that a rebuilt server lacks, and none of them loses a file")
        func rebuilt() async throws {
            let server = try TestServer(
                PrivateStack(
                    "rebuilt-directories", responders: 1, overrides: #"{"manifests": {"intervalSeconds": 1}}"#))
            let tool = try OperatorTool(server)
            let (ada, bob, group) = try TerminalUser.couple(server)
            for name in ["same.txt", "edited.txt", "deleted.txt"] { try ada.write(name, "one") }
            try bob.write("bobs.txt", "Bob's")
            try sync(ada, bob, ada)
            try await eventually("the manifests are current", within: .seconds(60)) {
                try server.askDatabase(
                    "SELECT COUNT(*) FROM manifests JOIN sharing_groups USING (sharing_group_id, master_version)")
                    == "2"
            }
            // No manifest contains later changes.
            let jobs = try server.environment.processes("syncd_jobs")
            for process in jobs { process.freeze() }
            defer { for process in jobs { process.thaw() } }
            try ada.write("edited.txt", "two")
            try ada.write("new.txt", "new")
            try remove("deleted.txt", of: ada)
            try sync(ada, bob)
            let files = try ada.files()
            #expect(try files.count == 4 && bob.files() == files)

            try tool.json("maintenance", "on", "The server is lost.")
            try await eventually("the server is closed") { try server.call("GET", "Index").status == 503 }
            try server.dropAllTables()
            for words in [["migrate"], ["rebuild", "begin", "--folder", "SyncServer"], ["maintenance", "off"]] {
                let command = try tool.run(words)
                #expect(command.status == 0, "\(command.output)")
            }
            let held = try bob.run("sync", bob.directory.path)
            #expect(held.status == 69, "\(held.output)")
            #expect(try bob.files() == files)
            for process in jobs { process.thaw() }

            // The group stays read-only until both owners have returned; Ada's changes wait until then.
            try await eventually("both are served, and everything is sent", within: .seconds(60)) {
                let commands = try [ada, bob].map { user in
                    let command = try user.run("sync", user.directory.path)
                    #expect(try user.files() == files, "\(command.output)")
                    return command
                }
                return commands.allSatisfy { $0.status == 0 }
            }
            try tool.json("rebuild", "end")
            try sync(ada, bob)
            #expect(try ada.files() == files && bob.files() == files)
            for user in [ada, bob] {
                let status = try user.status()
                #expect(status.pending?.array?.isEmpty == true && status.conflicts?.array?.isEmpty == true, "\(status)")
            }
            // Somebody who joins later receives all files.
            let carol = try TerminalUser("Carol", server)
            try carol.succeed("join", ada.succeed("invite", group, "--permission", "read"))
            try carol.succeed("sync", carol.directory.path, "--group", group)
            #expect(try carol.files() == files)
        }

        @Test("If two people edit the same file after the restoration, both versions are kept")
        func conflict() async throws {
            let (ada, bob, _) = try TerminalUser.couple(server)
            try tool.json("backup", backup)
            try ada.write("new.txt", "new")
            try sync(ada, bob)
            try await putBack()
            try ada.write("new.txt", "of Ada")
            try bob.write("new.txt", "of Bob, longer")

            try sync(bob, ada, bob, ada)
            let files = try ada.files()
            #expect(try bob.files() == files)
            #expect(Set(files.values) == ["of Ada", "of Bob, longer"] && files.count == 2, "\(files)")
        }
    }
}
