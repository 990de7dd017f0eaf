import Foundation
import Posix
import Synchronization
import TestSupport
import Testing

extension PrivateStackTests {
    @Suite("fsck --clouds")
    final class CloudCheckTests: Sendable {
        private static let stack = Result { try TestServer(PrivateStack("cloud-check", responders: 1)) }
        private static let storages: [SandboxProvider] = [.google, .dropbox, .microsoft]
        private static let twoDays = 2 * 86_400

        private let server: TestServer
        private let tool: OperatorTool

        init() throws {
            server = try Self.stack.get()
            tool = try OperatorTool(server)
            try server.sandbox.clearFaults()
        }

        deinit {
            try? server.sandbox.clearFaults()
            try? server.sandbox.setClock(offsetSeconds: 0)
        }

        // MARK: Changes behind the server's back

        private func put(_ text: String, as name: String, of user: TestUser) throws {
            let isInDrive = user.account.provider == .google
            try server.sandbox.store(
                Array(text.utf8), as: name, in: user.account, folder: isInDrive ? user.folder : nil)
        }

        /// Stores a file that is two days old.
        private func putOld(_ text: String, as name: String, of user: TestUser) throws {
            try server.sandbox.setClock(offsetSeconds: -Self.twoDays)
            defer { try? server.sandbox.setClock(offsetSeconds: 0) }
            try put(text, as: name, of: user)
        }

        private func signUp(_ provider: SandboxProvider) async throws -> TestUser {
            let user = try server.signUpOwningUser(provider)
            try await eventually("the warning file is stored") { try !server.sandbox.files(of: user.account).isEmpty }
            return user
        }

        private func publish(_ files: [TestFile], by user: TestUser) throws {
            let version = try #require(try user.index().masterVersion)
            for (index, file) in files.enumerated() { try user.publish(file, masterVersion: version + Int64(index)) }
        }

        /// Makes the user's files more than an hour old; the check looks for missing objects of younger files again
        /// after three seconds.
        private func age(_ user: TestUser) throws {
            _ = try server.askDatabase(
                "UPDATE files SET updated_at = updated_at - INTERVAL 2 HOUR WHERE owning_user_id = \(user.userID)")
        }

        // MARK: Reports of fsck

        private func examine(_ user: TestUser, _ arguments: String...) throws -> JSONValue {
            let output = try tool.run(["fsck", "--clouds", "--json", "--owner", "\(user.userID)"] + arguments).output
            return try #require(JSONValue(Array(output.utf8)), "\(output)")
        }

        /// The findings in the clouds by code: the detail where an object is concerned, otherwise the file.
        private func findings(_ report: JSONValue) -> [String: [String]] {
            var found: [String: [String]] = [:]
            for finding in report.findings?.array ?? [] {
                guard let code = finding.code?.text, code.hasPrefix("object") || code.hasPrefix("storage") else {
                    continue
                }
                found[code] = (finding.rows?.array ?? []).compactMap { row in
                    guard let text = row.row?.text, text.hasPrefix("object") else { return row.row?.text }
                    return row.detail?.text
                }.sorted()
            }
            return found
        }

        private func repairs(_ report: JSONValue) -> [String: Int64] {
            let repairs = report.repairs?.array ?? []
            return Dictionary(
                uniqueKeysWithValues: repairs.map { ($0.code?.text ?? "?", $0.rows?.integer ?? 0) })
        }

        private func row(_ file: TestFile, _ user: TestUser) -> String { "file \(file.uuid) of group \(user.group)" }

        // MARK: Findings

        @Test("Each kind of finding is distinguished, and nothing is changed", arguments: storages)
        func kinds(provider: SandboxProvider) async throws {
            let alice = try await signUp(provider)
            let names = ["whole", "missing", "copied", "altered", "longer", "deleted", "old"]
            let files = names.map { TestFile($0).stored(at: provider) }
            let (missing, copied, altered, longer, old) = (files[1], files[2], files[3], files[4], files[6])
            let staged = TestFile("staged").stored(at: provider)
            try publish(files, by: alice)
            var version = try #require(try alice.index().masterVersion)
            try alice.deleteAndCommit(files[5], masterVersion: version)
            version += 1
            try alice.publish(old.next("new"), masterVersion: version)
            try await eventually("the jobs role has nothing to delete") {
                try alice.stored(files[5]).isEmpty && alice.stored(old).count == 1
            }
            version += 1
            try alice.stage(staged, masterVersion: version)
            if provider != .google { try age(alice) }
            let before = findings(try examine(alice))

            try server.sandbox.delete(missing.cloudName(device: alice.device), in: alice.account)
            try server.sandbox.delete(copied.cloudName(device: alice.device), in: alice.account)
            try put("copied", as: copied.cloudName(device: alice.device), of: alice)
            try put("ALTERED", as: altered.cloudName(device: alice.device), of: alice)
            try put("longer than before", as: longer.cloudName(device: alice.device), of: alice)
            let (stray, young, foreign) = (TestFile("stray"), TestFile("young"), UUID().uuidString)
            try putOld("stray", as: stray.cloudName(device: alice.device), of: alice)
            try putOld("left", as: old.cloudName(device: alice.device), of: alice)
            try putOld("later", as: "\(old.uuid).\(alice.device).7.txt", of: alice)
            try putOld("other server's", as: stray.cloudName(device: foreign), of: alice)
            try put("young", as: young.cloudName(device: alice.device), of: alice)
            try put("mine", as: "holiday.txt", of: alice)
            let report = try examine(alice)
            let again = findings(try examine(alice))

            #expect(before.isEmpty)
            #expect(report.objectsChecked?.integer == 6)
            #expect(report.foldersChecked?.integer == 1)
            let expected = [
                "objectMissing": [row(missing, alice)], "objectReplaced": [row(copied, alice)],
                "objectChanged": [row(altered, alice)], "objectSizeDiffers": [row(longer, alice)],
                "objectOrphaned": [
                    "\(old.cloudName(device: alice.device)), 4 bytes",
                    "\(stray.cloudName(device: alice.device)), 5 bytes",
                ].sorted(),
                "objectUnknown": [
                    "\(old.uuid).\(alice.device).7.txt, 5 bytes: has a later version than the file",
                    "\(stray.cloudName(device: foreign)), 14 bytes: this server knows neither its file nor its device",
                    "\(young.cloudName(device: alice.device)), 5 bytes: less than a day old",
                ].sorted(),
                "objectForeign": ["holiday.txt, 4 bytes"],
            ]
            #expect(findings(report) == expected)
            #expect(again == expected)
        }

        /// The copy is old enough to be deleted, but it is the only one left.
        @Test("A copy that replaces a lost object is never deleted", arguments: [SandboxProvider.google, .dropbox])
        func substitute(provider: SandboxProvider) async throws {
            let alice = try await signUp(provider)
            let file = TestFile("copied").stored(at: provider)
            try publish([file], by: alice)
            if provider != .google { try age(alice) }
            try server.sandbox.delete(file.cloudName(device: alice.device), in: alice.account)
            try putOld("copied", as: file.cloudName(device: alice.device), of: alice)

            let before = findings(try examine(alice))
            let repaired = repairs(try examine(alice, "--repair"))
            let after = findings(try examine(alice))

            #expect(before == ["objectReplaced": [row(file, alice)]])
            #expect(repaired == ["objectReplaced": 1])
            #expect(after.isEmpty)
            let version = try #require(try alice.index().masterVersion)
            expectDownload(try alice.download(file, masterVersion: version), of: file)
        }

        @Test(
            "A repair deletes leftover objects and adopts copies as the files' objects; then fsck is clean",
            arguments: storages)
        func repair(provider: SandboxProvider) async throws {
            let alice = try await signUp(provider)
            let (kept, copied, stray) = (
                TestFile("kept").stored(at: provider), TestFile("copied").stored(at: provider), TestFile("stray")
            )
            try publish([kept, copied], by: alice)
            if provider != .google { try age(alice) }
            try server.sandbox.delete(copied.cloudName(device: alice.device), in: alice.account)
            try put("copied", as: copied.cloudName(device: alice.device), of: alice)
            try putOld("stray", as: stray.cloudName(device: alice.device), of: alice)
            try put("mine", as: "holiday.txt", of: alice)
            let mine = try server.sandbox.files(of: alice.account).count { $0.name == "holiday.txt" }

            let repaired = try examine(alice, "--repair")
            try await eventually("the stray object is deleted") { try alice.stored(stray).isEmpty }
            let after = findings(try examine(alice))

            #expect(repairs(repaired) == ["objectOrphaned": 1, "objectReplaced": 1])
            #expect(findings(repaired).keys.sorted() == ["objectForeign"])
            #expect(after.keys.sorted() == ["objectForeign"])
            #expect(mine == 1)
            #expect(try server.sandbox.contents(of: "holiday.txt", in: alice.account) == Array("mine".utf8))
            let version = try #require(try alice.index().masterVersion)
            for file in [kept, copied] { expectDownload(try alice.download(file, masterVersion: version), of: file) }
        }

        @Test("Objects uploaded between a backup and its restoration are kept")
        func restored() async throws {
            let alice = try await signUp(.google)
            let stray = TestFile("stray")
            try putOld("stray", as: stray.cloudName(device: alice.device), of: alice)
            _ = try server.askDatabase(
                "INSERT INTO restorations VALUES (UTC_TIMESTAMP() - INTERVAL 3 DAY, UTC_TIMESTAMP() - INTERVAL 1 DAY)")
            let report = Result { try examine(alice, "--repair") }
            _ = try server.askDatabase("DELETE FROM restorations")

            #expect(
                findings(try report.get()) == [
                    "objectUnknown": [
                        "\(stray.cloudName(device: alice.device)), 5 bytes: uploaded between a backup and its restoration"
                    ]
                ])
            #expect(try alice.stored(stray).count == 1)
        }

        @Test("An object whose file is waiting for contents is kept, regardless of the device that uploaded it")
        func awaited() async throws {
            let alice = try await signUp(.google)
            let file = TestFile("awaited")
            try publish([file], by: alice)
            let name = file.cloudName(device: alice.device)
            try server.sandbox.delete(name, in: alice.account)
            try putOld("awaited", as: name, of: alice)
            _ = try server.askDatabase(
                "UPDATE files SET object_id = NULL, device_uuid = UUID() WHERE file_uuid = '\(file.uuid)'")

            let report = try examine(alice, "--repair")

            #expect(findings(report)["objectOrphaned"] == nil && repairs(report)["objectOrphaned"] == nil, "\(report)")
            #expect(try server.sandbox.contents(of: name, in: alice.account) == file.contents)
        }

        @Test("A file that its owner moved into the bin is not reported as lost")
        func moved() async throws {
            let alice = try await signUp(.google)
            let file = TestFile("in the bin")
            try publish([file], by: alice)
            try server.sandbox.delete(file.cloudName(device: alice.device), in: alice.account, toTrash: true)

            #expect(findings(try examine(alice)).isEmpty)
        }

        // MARK: Storages that cannot be examined

        @Test("A storage that rejects the server is reported as not examined", arguments: storages)
        func revoked(provider: SandboxProvider) async throws {
            let alice = try await signUp(provider)
            try publish([TestFile("one").stored(at: provider)], by: alice)
            try server.sandbox.revoke(alice.account)
            try server.sandbox.expireAccessTokens(of: alice.account, .all)

            let report = try examine(alice)

            #expect(findings(report) == ["storageRefused": ["user \(alice.userID)"]])
            #expect(report.foldersChecked?.integer == 0)
        }

        @Test("While a provider fails, no object is reported as missing", arguments: [500, 503])
        func down(status: Int) async throws {
            let alice = try await signUp(.google)
            try publish([TestFile("one"), TestFile("two")], by: alice)
            try server.sandbox.inject(SandboxFault(pathPrefix: "/drive/v3/files", status: status))

            let whole = findings(try examine(alice))
            let sampled = findings(try examine(alice, "--sample", "2"))
            try server.sandbox.clearFaults()

            #expect(whole == ["storageUnavailable": ["user \(alice.userID)"]])
            #expect(sampled == ["storageUnavailable": ["user \(alice.userID)"]])
            #expect(findings(try examine(alice)).isEmpty)
        }

        @Test("The check pauses when a provider asks for it, and then continues")
        func tooManyRequests() async throws {
            let alice = try await signUp(.google)
            try publish([TestFile("one")], by: alice)
            var fault = SandboxFault(pathPrefix: "/drive/v3/files", status: 429, times: 2)
            fault.retryAfter = 1
            try server.sandbox.inject(fault)

            let report = try examine(alice)

            #expect(findings(report).isEmpty)
            #expect(report.objectsChecked?.integer == 1)
            #expect(try server.sandbox.unspentFaults().isEmpty)
        }

        // MARK: Ways to run it

        @Test("A sample examines the requested number of files, and only their own objects")
        func sample() async throws {
            let alice = try await signUp(.dropbox)
            let files = (0..<5).map { TestFile("file \($0)").stored(at: .dropbox) }
            try publish(files, by: alice)
            try age(alice)
            for file in files { try server.sandbox.delete(file.cloudName(device: alice.device), in: alice.account) }
            try put("mine", as: "holiday.txt", of: alice)

            let two = try examine(alice, "--sample", "2")
            let most = try examine(alice, "--sample", "61%")

            #expect(two.objectsChecked?.integer == 2)
            #expect(findings(two)["objectMissing"]?.count == 2)
            #expect(two.foldersChecked == nil)
            #expect(most.objectsChecked?.integer == 4)
            #expect(findings(most).keys.sorted() == ["objectMissing"])
        }

        @Test("An interrupted check of all folders resumes where it stopped, and keeps its findings")
        func resumed() async throws {
            let users = try await [signUp(.google), signUp(.webdav), signUp(.google)]
            let lost = TestFile("lost")
            try publish([lost], by: users[0])
            try server.sandbox.delete(lost.cloudName(device: users[0].device), in: users[0].account)
            let progress = "SELECT JSON_VALUE(state, '$.lastOwner') FROM cloud_checks"

            // The second user's storage does not reply.
            var silence = SandboxFault(
                host: "nextcloud.sandbox.test", pathPrefix: "/remote.php/dav/files/\(users[1].account.id)/")
            silence.latencyMilliseconds = 30_000
            try server.sandbox.inject(silence)

            let check = try tool.start("fsck", "--clouds")
            try await eventually("the first user is examined", within: .seconds(120)) {
                try Int64(server.askDatabase(progress)) == users[0].userID
            }
            check.send(SIGKILL)
            try check.wait()
            try server.sandbox.clearFaults()
            let last = try #require(
                Int64(try server.askDatabase(progress)))
            try put("mine", as: "after-\(users[0].userID).txt", of: users[0])
            try put("mine", as: "after-\(users[2].userID).txt", of: users[2])
            let output = try tool.run("fsck", "--clouds", "--resume", "--rows", "1000", "--json").output
            let report = findings(try #require(JSONValue(Array(output.utf8)), "\(output)"))
            let rows = try server.askDatabase("SELECT COUNT(*) FROM cloud_checks")

            #expect(last == users[0].userID)
            #expect(report["objectMissing"]?.contains(row(lost, users[0])) == true)
            #expect(report["objectForeign"]?.contains("after-\(users[0].userID).txt, 4 bytes") != true)
            #expect(report["objectForeign"]?.contains("after-\(users[2].userID).txt, 4 bytes") == true)
            #expect(rows.hasPrefix("0"))
        }

        @Test("A newer check of all folders ends an older one, even in the middle of a folder")
        func superseded() async throws {
            let alice = try await signUp(.dropbox)
            // At one call per second, the older check needs minutes for this folder.
            try publish((0..<100).map { TestFile("file \($0)").stored(at: .dropbox) }, by: alice)
            let older = try tool.start("fsck", "--clouds", "--read", "--pace", "1")
            try await eventually("the older check has begun") {
                try server.askDatabase("SELECT COUNT(*) FROM cloud_checks").hasPrefix("1")
            }

            _ = try tool.run("fsck", "--clouds", "--pace", "1000")

            try await eventually("the older check ends", within: .seconds(60)) { !older.isRunning }
            #expect(try older.wait() == 1)
        }

        @Test("The check keeps to --pace")
        func pace() async throws {
            let alice = try await signUp(.dropbox)
            let files = (0..<4).map { TestFile("file \($0)").stored(at: .dropbox) }
            try publish(files, by: alice)
            let since = try server.sandbox.lastRequest()
            let begin = ContinuousClock.now

            let report = try examine(alice, "--sample", "4", "--pace", "2")

            #expect(report.objectsChecked?.integer == 4)
            #expect(try server.sandbox.requests(since: since).count >= 4)
            // The first request does not wait.
            #expect(ContinuousClock.now - begin >= .milliseconds(1_500))
        }

        @Test("Invalid and conflicting options are rejected")
        func options() throws {
            for arguments in [
                ["--resume"], ["--clouds", "--sample", "0"], ["--clouds", "--sample", "101%"],
                ["--clouds", "--resume", "--owner", "1"], ["--clouds", "--pace", "0"],
                ["--clouds", "--group", "g", "--sample", "1"],
            ] {
                #expect(try tool.run(["fsck"] + arguments).status == 64, "\(arguments)")
            }
        }

        @Test("An unknown user or group is an error, not a clean result")
        func nobody() throws {
            let uuid = UUID().uuidString
            for (option, value, named) in [
                ("--owner", "999999999", "user 999999999"), ("--group", uuid, "group \(uuid)"),
            ] {
                let run = try tool.run("fsck", "--clouds", option, value)

                #expect(run.status == 1)
                #expect(run.output == "syncctl: there is no \(named)\n")
            }
        }

        // MARK: While the server works

        /// The providers date every object two days back, so age protects none from deletion.
        @Test("During uploads, commits and deletions, a repair finds nothing and deletes nothing", arguments: storages)
        func underLoad(provider: SandboxProvider) async throws {
            let users = try await [signUp(provider), signUp(provider)]
            try server.sandbox.setClock(offsetSeconds: -Self.twoDays)
            let isOver = Atomic(false)
            let numbersKept = Mutex([0, 0])

            async let written = Threads.run(2) { number in
                try self.write(users[number]) { kept in
                    numbersKept.withLock { $0[number] = kept }
                    return isOver.load(ordering: .relaxed)
                }
            }
            var reports: [[String: [String]]] = []
            // Until each writer has more than three files.
            for round in 0..<60 where round < 6 || numbersKept.withLock({ $0.contains { $0 <= 3 } }) {
                for user in users { reports.append(findings(try examine(user, "--repair", "--pace", "1000"))) }
            }
            isOver.store(true, ordering: .relaxed)
            let files = try await written
            try server.sandbox.setClock(offsetSeconds: 0)

            for report in reports { #expect(report.isEmpty) }
            for (user, files) in zip(users, files) {
                #expect(files.count > 3)
                let version = try #require(try user.index().masterVersion)
                for file in files { expectDownload(try user.download(file, masterVersion: version), of: file) }
            }
        }

        /// Publishes files, replaces every second and deletes every third of them, until `isOver`.
        /// - Parameter isOver: receives the number of files that exist so far.
        /// - Returns: the remaining files, in their newest versions.
        private func write(_ user: TestUser, until isOver: (Int) -> Bool) throws -> [TestFile] {
            var kept: [TestFile] = []
            var version = try user.index().masterVersion ?? 0
            var count = 0
            while !isOver(kept.count) {
                var file = TestFile("file \(version)").stored(at: user.account.provider)
                try user.publish(file, masterVersion: version)
                version += 1
                if count.isMultiple(of: 2) {
                    file = file.next("file \(version), changed")
                    try user.publish(file, masterVersion: version)
                    version += 1
                }
                if count.isMultiple(of: 3) {
                    try user.deleteAndCommit(file, masterVersion: version)
                    version += 1
                } else {
                    kept.append(file)
                }
                count += 1
            }
            return kept
        }
    }
}
