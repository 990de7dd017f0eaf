import Foundation
import Glibc
import TestSupport
import Testing

extension SyncdirTests {
    @Suite("syncdir after an account switch")
    struct SwitchAccountTests {
        private let server: TestServer

        init() throws { server = try TestServer.shared() }

        /// Ada, who has published files, and Bob, who has joined.
        private func couple(_ files: [String: String]) throws -> (ada: TerminalUser, bob: TerminalUser, group: String) {
            let (ada, bob) = (try TerminalUser("Ada", server), try TerminalUser("Bob", server))
            let group = try ada.succeed("create-group", "Notes of \(UUID().uuidString)")
            try bob.succeed("join", ada.succeed("invite", group))
            for (path, text) in files { try ada.write(path, text) }
            try ada.succeed("sync", ada.directory.path, "--group", group)
            try server.establishGrants(inGroup: group)
            return (ada, bob, group)
        }

        /// Signs a person in with a new account at another provider.
        private func signIn(_ user: TerminalUser, with account: SandboxAccount) throws {
            try user.succeed(
                "sign-in", "--server", user.address, "--sandbox", user.sandbox, "--sandbox-account", account.id)
        }

        @Test("Google to Dropbox: files are uploaded again from the directory, versions are kept, and friends continue")
        func wholeSwitch() throws {
            let (ada, bob, group) = try couple(["a.txt": "one", "b/c.txt": "two"])
            let account = try server.newcomer(.dropbox).account
            try signIn(ada, with: account)

            let unconfirmed = try ada.run("switch-account", ada.directory.path)
            #expect(
                unconfirmed.status == 0 && unconfirmed.output.contains("Nothing was switched"), "\(unconfirmed.output)")
            let result = try ada.json("switch-account", ada.directory.path, "--yes")

            #expect(result.state?.text == "finished" && result.waiting?.integer == 0, "\(result)")
            let names = try server.sandbox.files(of: account).map(\.name)
            #expect(names.count >= 2, "\(names)")
            try bob.succeed("sync", bob.directory.path, "--group", group)
            #expect(try bob.files() == ["a.txt": "one", "b/c.txt": "two"])
            try ada.write("a.txt", "one and more")
            let sent = try ada.json("sync", ada.directory.path)
            #expect(sent.sent?.array?.count == 1)
            try bob.succeed("sync", bob.directory.path)
            #expect(try bob.files()["a.txt"] == "one and more")
            #expect(try ada.json("switch-account", ada.directory.path, "--yes").state?.text == "notNeeded")
        }

        @Test("The server moves the files if the former account is signed in under another name")
        func serverMoves() async throws {
            let (ada, bob, group) = try couple(["a.txt": "one", "b/c.txt": "two"])
            let account = try server.newcomer(.dropbox).account
            // The program is not registered with a provider here; a sandbox account is used instead.
            #expect(try ada.run("sign-in", "--account", "new", "--server", ada.address, "--dropbox").status == 78)
            try ada.succeed(
                "sign-in", "--account", "new", "--server", ada.address, "--sandbox", ada.sandbox, "--sandbox-account",
                account.id)
            let same = try ada.run("switch-account", ada.directory.path, "--yes", "--move-from", "default")
            #expect(same.status == 64 && same.output.contains("names the former account"), "\(same.output)")
            let nobody = try ada.run(
                "switch-account", ada.directory.path, "--account", "new", "--move-from", "nobody", "--yes")
            #expect(nobody.status == 77, "\(nobody.output)")

            let command = ["switch-account", ada.directory.path, "--account", "new", "--move-from", "default", "--yes"]
            let first = try ada.run(command)
            #expect(first.status == 0 && first.output.contains("The server moves 2 files"), "\(first.output)")
            try await eventually("no file waits any longer", within: .seconds(60)) {
                let status = try ada.run(command + ["--json"])
                #expect(status.status == 0, "\(status.output)")
                return JSONValue(Array(status.output.utf8))?.state?.text != "moving"
            }

            let moved = try server.askDatabase(
                """
                SELECT m.files_moved FROM account_moves m JOIN users u ON u.user_id = m.user_id
                 WHERE u.provider_user_id = '\(account.header("X-account-id") ?? "")'
                """)
            #expect(moved == "2")
            try bob.succeed("sync", bob.directory.path, "--group", group)
            #expect(try bob.files() == ["a.txt": "one", "b/c.txt": "two"])
            try ada.write("a.txt", "one and more")
            #expect(try ada.json("sync", ada.directory.path, "--account", "new").sent?.array?.count == 1)
        }

        @Test("A file changed before the switch is uploaded as its next version")
        func changed() throws {
            let (ada, bob, group) = try couple(["a.txt": "one", "b.txt": "two"])
            try bob.succeed("sync", bob.directory.path, "--group", group)
            try ada.write("b.txt", "two and more")
            try signIn(ada, with: try server.newcomer(.dropbox).account)

            let command = try ada.run("switch-account", ada.directory.path, "--yes")

            #expect(command.status == 0 && command.output.contains("no files are waiting"), "\(command.output)")
            try bob.succeed("sync", bob.directory.path)
            #expect(try bob.files() == ["a.txt": "one", "b.txt": "two and more"])
        }

        @Test("The person's other directory is rejected with the former account, and continues with the new one")
        func anotherDirectory() throws {
            let (ada, bob, group) = try couple(["a.txt": "one"])
            _ = bob
            let second = ada.outside.appending(path: "second")
            try FileManager.default.createDirectory(at: second, withIntermediateDirectories: true)
            try ada.succeed("sync", second.path, "--group", group)
            let old = try ada.accountFile()
            let account = try server.newcomer(.dropbox).account
            try signIn(ada, with: account)
            try ada.succeed("switch-account", ada.directory.path, "--yes")
            let new = try ada.accountFile()
            try Data("two".utf8).write(to: second.appending(path: "b.txt"))

            try ada.replaceAccountFile(old)
            let refused = try ada.run("sync", second.path)
            #expect(refused.status == 77 && refused.output.contains("switched to another account"), "\(refused.output)")
            try ada.replaceAccountFile(new)
            try ada.succeed("sync", second.path)

            #expect(try String(contentsOf: second.appending(path: "a.txt"), encoding: .utf8) == "one")
            try ada.succeed("sync", ada.directory.path)
            #expect(try ada.files() == ["a.txt": "one", "b.txt": "two"])
        }

        @Test("If the command is killed during the uploads, the next one continues, and nothing is lost")
        func killed() async throws {
            var files: [String: String] = [:]
            for number in 0..<30 { files["f\(number).txt"] = "contents of \(number)" }
            let (ada, bob, group) = try couple(files)
            try signIn(ada, with: try server.newcomer(.dropbox).account)
            let run = try ada.start(["switch-account", ada.directory.path, "--yes", "--transfers", "1"])
            try await eventually("some files are uploaded", within: .seconds(60)) {
                run.text.contains("3 of 30 uploaded") || !run.isRunning
            }
            #expect(run.isRunning, "\(run.text)")
            try run.end(SIGKILL)

            let meanwhile = try bob.json("sync", bob.directory.path, "--group", group)
            let (here, awaited) = (try bob.files(), meanwhile.awaited?.array?.compactMap { $0.path?.text } ?? [])
            #expect(here.count >= 3 && !awaited.isEmpty && here.count + awaited.count == 30, "\(meanwhile)")
            #expect(Set(here.keys).union(awaited) == Set(files.keys))
            #expect(meanwhile.problems?.array?.isEmpty == true)
            let result = try ada.json("switch-account", ada.directory.path, "--yes")

            #expect(result.state?.text == "finished", "\(result)")
            let healed = try bob.json("sync", bob.directory.path)
            #expect(healed.received?.array?.count == awaited.count)
            #expect(try bob.files() == files)
        }
    }
}
