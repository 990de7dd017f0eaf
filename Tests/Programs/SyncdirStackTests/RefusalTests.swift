import Foundation
import Glibc
import Posix
import TestSupport
import Testing

extension SyncdirTests {
    @Suite("syncdir with rejections by the server or a storage")
    struct RefusalTests {
        private let server: TestServer

        init() throws { server = try SyncdirTests.ownServer() }

        /// The path of Drive's requests that start an upload of a large file.
        private func refuseLargeFiles(_ reason: String) throws {
            var fault = SandboxFault(pathPrefix: "/upload/drive")
            (fault.host, fault.queryContains) = ("www.googleapis.com", "uploadType=resumable")
            (fault.status, fault.reason) = (403, reason)
            try server.sandbox.inject(fault)
        }

        private func writeLarge(_ user: TerminalUser, _ path: String = "large.bin") throws {
            try user.write(path, String(repeating: "0123456789abcdef", count: 375_000))
        }

        private func blocked(_ user: TerminalUser) throws -> [String] {
            try (user.status().pending?.array ?? []).filter { $0.isBlocked == .bool(true) }
                .map { "\($0.what?.text ?? "") \($0.path?.text ?? "")" }.sorted()
        }

        @Test(
            "A file that the storage rejects is named with advice, blocks nothing, and is withdrawn by deleting it",
            arguments: [
                ("malwareDetected", "the owner's storage rejects it"),
                ("storageQuotaExceeded", "your storage is full; "),
            ])
        func refused(reason: String, sentence: String) throws {
            let (ada, bob, _) = try TerminalUser.couple(server)
            try refuseLargeFiles(reason)
            defer { try? server.sandbox.clearFaults() }
            try writeLarge(ada)
            for number in 1...3 { try ada.write("small\(number).txt", "\(number)") }

            for _ in 1...2 {
                let command = try ada.run("sync", ada.directory.path)
                #expect(command.status == 1, "\(command.output)")
                #expect(
                    command.output.contains("not synchronized: large.bin (6.0 MB: \(sentence)"), "\(command.output)")
            }
            try bob.succeed("sync", bob.directory.path)
            #expect(try bob.files().keys.sorted() == ["small1.txt", "small2.txt", "small3.txt"])
            let status = try ada.status()
            #expect(status.blocked?.integer == 1 && status.pending?.array?.count == 1, "\(status)")
            #expect(try blocked(ada) == ["contents large.bin"])
            #expect(try ada.succeed("status", ada.directory.path).contains("1 changes to send, 1 of them blocked"))

            try FileManager.default.removeItem(at: ada.directory.appending(path: "large.bin"))
            try ada.write("small4.txt", "4")
            let report = try ada.json("sync", ada.directory.path)
            #expect(report.sent?.array?.compactMap { $0.path?.text } == ["small4.txt"], "\(report)")
            #expect(try ada.status().pending?.array?.isEmpty == true)
            try bob.succeed("sync", bob.directory.path)
            #expect(try bob.files() == ada.files())
        }

        @Test(
            "Files waiting for a full storage are sent once there is room; deletions and smaller files are sent before")
        func room() throws {
            let (ada, bob, _) = try TerminalUser.couple(server)
            try ada.write("old.txt", "old")
            try ada.succeed("sync", ada.directory.path)
            try refuseLargeFiles("storageQuotaExceeded")
            defer { try? server.sandbox.clearFaults() }
            try writeLarge(ada)
            #expect(try ada.run("sync", ada.directory.path).status == 1)

            try FileManager.default.removeItem(at: ada.directory.appending(path: "old.txt"))
            try ada.write("small.txt", "small")
            #expect(try ada.run("sync", ada.directory.path).status == 1)
            try bob.succeed("sync", bob.directory.path)
            #expect(try bob.files() == ["small.txt": "small"])

            try server.sandbox.clearFaults()
            let report = try ada.json("sync", ada.directory.path)
            #expect(report.sent?.array?.compactMap { $0.path?.text } == ["large.bin"], "\(report)")
            try bob.succeed("sync", bob.directory.path)
            #expect(try bob.files() == ada.files())
        }

        @Test("A watch reports a rejected file once, and continues with others")
        func watching() async throws {
            let (ada, bob, group) = try TerminalUser.couple(server)
            try refuseLargeFiles("malwareDetected")
            defer { try? server.sandbox.clearFaults() }
            try writeLarge(ada)
            let watch = try ada.watch(group: group)
            func problems() -> [String] {
                watch.events.flatMap { $0.problems?.array ?? [] }.compactMap { $0.path?.text }
            }
            try await eventually("reported: \(watch.lastWords)", within: .seconds(60)) { problems() == ["large.bin"] }

            // Each of Bob's changes requires a round with the server.
            for text in ["one", "two"] {
                try bob.write("\(text).txt", text)
                try bob.succeed("sync", bob.directory.path)
                try await eventually("Ada has it: \(watch.lastWords)", within: .seconds(60)) {
                    try ada.files()["\(text).txt"] == text
                }
            }
            #expect(problems() == ["large.bin"])
            #expect(try watch.end(SIGTERM) == 0)
        }

        @Test("A storage that does not reply is named, causes exit status 69, and blocks no other change")
        func unavailable() async throws {
            let (ada, bob, _) = try TerminalUser.couple(server)
            try bob.write("of-bob.txt", "Bob's")
            try bob.succeed("sync", bob.directory.path)
            var fault = SandboxFault(pathPrefix: "/upload/drive")
            (fault.host, fault.status) = ("www.googleapis.com", 503)
            try server.sandbox.inject(fault)
            defer { try? server.sandbox.clearFaults() }
            try ada.write("a.txt", "one")

            let command = try ada.run("sync", ada.directory.path)
            #expect(command.status == 69, "\(command.output)")
            // The server may have suspended its requests to the provider.
            let sentence = #/not synchronized: a.txt \(3 bytes: (your storage|the account's provider) is not answering/#
            #expect(command.output.contains(sentence), "\(command.output)")
            #expect(try ada.files()["of-bob.txt"] == "Bob's")
            #expect(try ada.status().blocked?.integer == 0 && blocked(ada).isEmpty)

            try server.sandbox.clearFaults()
            try await eventually("it is sent", within: .seconds(60)) {
                try ada.run("sync", ada.directory.path).status == 0
            }
            try bob.succeed("sync", bob.directory.path)
            #expect(try bob.files() == ada.files())
        }

        @Test("A member's edits while the owner's access is revoked wait and are named, until the owner signs in again")
        func revoked() throws {
            let (ada, bob, _) = try TerminalUser.couple(server)
            try ada.write("of-ada.txt", "one")
            try ada.succeed("sync", ada.directory.path)
            try bob.succeed("sync", bob.directory.path)
            let account = try ada.sandboxAccount()
            try server.sandbox.revoke(account, .server)
            try server.sandbox.expireAccessTokens(of: account)
            try bob.write("of-ada.txt", "one, edited by Bob")
            try bob.write("of-bob.txt", "Bob's own")

            for _ in 1...2 {
                let command = try bob.run("sync", bob.directory.path)
                #expect(command.status == 1, "\(command.output)")
                #expect(
                    command.output.contains(
                        "not synchronized: of-ada.txt (18 bytes: the server has lost access to the storage of the "),
                    "\(command.output)")
                #expect(command.output.contains("ask that member to sign in again"), "\(command.output)")
                #expect(!command.output.contains("of-bob.txt ("), "\(command.output)")
            }
            #expect(try bob.files() == ["of-ada.txt": "one, edited by Bob", "of-bob.txt": "Bob's own"])
            #expect(try blocked(bob) == ["contents of-ada.txt"])

            try ada.signInAgain()
            try ada.succeed("sync", ada.directory.path)
            let report = try bob.json("sync", bob.directory.path)
            #expect(report.sent?.array?.compactMap { $0.path?.text } == ["of-ada.txt"], "\(report)")
            try ada.succeed("sync", ada.directory.path)
            #expect(try ada.files() == bob.files() && ada.files()["of-ada.txt"] == "one, edited by Bob")
        }

        @Test(
            "A read-only member is informed of each unsent change, including by status, and receives others' changes")
        func readOnly() throws {
            let (ada, bob, _) = try TerminalUser.couple(server, permission: "read")
            for name in ["edited.txt", "deleted.txt", "theirs.txt"] { try ada.write(name, "one") }
            try ada.succeed("sync", ada.directory.path)
            try bob.succeed("sync", bob.directory.path)
            try bob.write("edited.txt", "one, edited by Bob")
            try bob.write("new.txt", "new")
            try FileManager.default.removeItem(at: bob.directory.appending(path: "deleted.txt"))
            try ada.write("theirs.txt", "two")
            try ada.succeed("sync", ada.directory.path)

            let all = ["contents edited.txt", "contents new.txt", "deletion deleted.txt"]
            for _ in 1...2 {
                let command = try bob.run("sync", bob.directory.path)
                #expect(command.status == 1, "\(command.output)")
                for name in ["edited.txt", "new.txt", "deleted.txt"] {
                    #expect(
                        command.output.contains("not synchronized: \(name) (you are not permitted"),
                        "\(command.output)")
                }
                #expect(try blocked(bob) == all)
            }
            let text = try bob.succeed("status", bob.directory.path)
            #expect(text.contains("3 changes to send, 3 of them blocked"), "\(text)")
            #expect(text.contains("nothing is sent: you are not permitted"), "\(text)")
            #expect(
                try bob.files() == ["edited.txt": "one, edited by Bob", "new.txt": "new", "theirs.txt": "two"])
            try ada.succeed("sync", ada.directory.path)
            #expect(try ada.files().count == 3 && ada.files()["edited.txt"] == "one")
        }

        @Test("Ctrl-C ends a watch within a second, even if its storage hangs during a transfer")
        func interruption() async throws {
            let (ada, bob, group) = try TerminalUser.couple(server)
            var slow = SandboxFault(pathPrefix: "/upload/drive")
            slow.latencyMilliseconds = 8_000
            try server.sandbox.inject(slow)
            defer { try? server.sandbox.clearFaults() }
            let mark = try server.sandbox.lastRequest()
            try writeLarge(ada)
            let watch = try ada.watch(group: group)
            try await eventually("it is being sent: \(watch.lastWords)", within: .seconds(60)) {
                try server.sandbox.requests(since: mark).contains { $0.path?.text?.hasPrefix("/upload/drive") == true }
            }

            let begin = ContinuousClock.now
            #expect(try watch.end(SIGINT) == 0)
            #expect(begin.duration(to: .now) < .milliseconds(1_500), "\(watch.lastWords)")

            try server.sandbox.clearFaults()
            try ada.succeed("sync", ada.directory.path)
            try bob.succeed("sync", bob.directory.path)
            #expect(try bob.files() == ada.files())
        }
    }
}
