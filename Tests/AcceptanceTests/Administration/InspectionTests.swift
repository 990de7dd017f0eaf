import Foundation
import Posix
import TestSupport
import Testing

@Suite("syncctl's inspection commands")
struct InspectionTests {
    let server: TestServer
    let tool: OperatorTool

    init() throws {
        server = try TestServer.shared()
        tool = try OperatorTool(server)
    }

    @Test("Lists of users, groups and files have pages and filters, and contain no tokens or invitation codes")
    func lists() throws {
        let alice = try server.signUpOwningUser(name: "Alice \(UUID().uuidString)", groupName: "Hill walkers")
        let bob = try alice.newMember(.write)
        let invitation = try alice.invite()
        let masterVersion = try #require(try alice.index().masterVersion)
        let files = [TestFile("one"), TestFile("two"), TestFile("three")]
        for (index, file) in files.enumerated() { try alice.publish(file, masterVersion: masterVersion + Int64(index)) }
        try alice.deleteAndCommit(files[0], masterVersion: masterVersion + 3)

        let members = try tool.json("users", "list", "--group", alice.group)
        let named = try tool.json("users", "--name", alice.account.name, "--type", "Google")
        let user = try tool.run("users", "show", "\(alice.userID)", "--json")
        let group = try tool.run("groups", "show", alice.group, "--json")
        let groups = try tool.json("groups", "list", "--member", "\(bob.userID)")
        let living = try tool.json("files", "list", alice.group, "--living")
        let first = try tool.json("files", "list", alice.group, "--limit", "2")
        let rest = try tool.json("files", "list", alice.group, "--after", first.nextAfter?.text ?? "")

        #expect(members.items?.array?.compactMap { $0.userID?.integer } == [alice.userID, bob.userID].sorted())
        #expect(named.items?.array?.compactMap { $0.userID?.integer } == [alice.userID])
        #expect(groups.items?.array?.compactMap { $0.sharingGroupUUID?.text } == [alice.group])
        #expect(user.status == 0)
        let shown = JSONValue(Array(user.output.utf8))
        #expect(shown?.ownedFiles?.live?.integer == 2)
        #expect(shown?.ownedFiles?.deleted?.integer == 1)
        #expect(shown?.hasCredentials?.bool == true)
        #expect(JSONValue(Array(group.output.utf8))?.group?.masterVersion?.integer == masterVersion + 4)
        #expect(living.items?.array?.count == 2)
        #expect(first.items?.array?.count == 2)
        #expect(rest.items?.array?.count == 1)
        #expect(rest.nextAfter == nil)
        for output in [user.output, group.output, try tool.run("users", "show", "\(alice.userID)").output] {
            #expect(!output.contains(invitation))
            for header in alice.headers where header.value.count > 20 && header.name != "SyncServer-Device-UUID" {
                #expect(!output.contains(header.value))
            }
        }
    }

    @Test("status --watch marks changes until it is interrupted")
    func watched() async throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "watch-\(UUID().uuidString)")
        try Data().write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let output = try FileHandle(forWritingTo: file)
        let watch = try tool.start("status", "--watch", "--interval", "1", output: output.fileDescriptor)
        defer { watch.send(SIGKILL) }
        func text() throws -> String { try String(contentsOf: file, encoding: .utf8) }
        try await eventually("the first status is printed") { try text().contains("\n  groups  ") }

        _ = try server.signUpOwningUser(name: "Watched")
        try await eventually("the additional user is marked") { try text().contains("\n* users  ") }

        watch.send(SIGINT)
        #expect(try watch.wait() == 128 + SIGINT)
    }

    @Test("A file's history is shown from the upload to the deletion")
    func story() throws {
        let alice = try server.signUpOwningUser(name: "Storyteller")
        let bob = try alice.newMember(.write, name: "Listener")
        let masterVersion = try #require(try alice.index().masterVersion)
        let file = TestFile("once upon a time")
        try alice.publish(file, masterVersion: masterVersion)
        try bob.stage(file.next("there was"), masterVersion: masterVersion + 1)

        let living = try tool.run("files", "explain", file.uuid)
        _ = try bob.commitStaged(masterVersion: masterVersion + 1)
        var second = file
        second.version = 1
        try bob.deleteAndCommit(second, masterVersion: masterVersion + 2)
        let deleted = try tool.run("files", "explain", file.uuid)

        #expect(living.status == 0)
        #expect(living.output.contains("Storyteller (Google, user \(alice.userID)) on device \(alice.device)"))
        #expect(living.output.contains("Listener (Facebook, user \(bob.userID)) uploaded version 1"))
        #expect(living.output.contains("Now: phones in group \(alice.group) see version 0"))
        #expect(deleted.output.contains("committed by Listener"))
        #expect(deleted.output.contains("learn at their next sync that the file is deleted"))
    }

    @Test("A missing backup folder is named in the error")
    func folderForBackups() throws {
        let run = try tool.run("backup", "make", "--into", "/nowhere/backups")

        #expect(run.status == 1)
        #expect(run.output == "syncctl: there is no folder /nowhere/backups\n")
    }

    @Test("Names of users and groups cannot control the terminal or forge rows, even in JSON and errors")
    func hostileNames() throws {
        let name = "Eve\u{1b}[2J\u{9b}31m\u{202e}live \(UUID().uuidString)"
        let eve = try server.signUpOwningUser(name: name, groupName: name)

        let outputs = try [
            tool.run("users", "list", "--group", eve.group), tool.run("users", "show", "\(eve.userID)"),
            tool.run("users", "show", "\(eve.userID)", "--json"), tool.run("groups", "--member", "\(eve.userID)"),
            tool.run("groups", "show", eve.group), tool.run("users", "export", "\(eve.userID)"),
            tool.run("files", "explain", "\u{1b}[2J\u{9b}31m\u{202e}live"), tool.runPlain("no\u{1b}[2J\u{202e}live"),
        ]

        for output in outputs.map(\.output) {
            #expect(output.contains("live"))
            #expect(output.unicodeScalars.allSatisfy { $0 == "\n" || $0.value >= 0x20 && !(0x7F...0x9F ~= $0.value) })
            #expect(!output.unicodeScalars.contains("\u{202e}"), "\(output)")
        }
        #expect(outputs[0].output.split(separator: "\n").count == 2)
        let shown = JSONValue(Array(outputs[2].output.utf8))
        #expect(shown?.user?.name?.text == eve.account.name)
    }

    @Test("The exit status identifies the kind of failure: 0, 1, 64, 69, 78")
    func statuses() throws {
        #expect(try tool.run("status").status == 0)
        #expect(try tool.run("users", "show", "999999999").status == 1)
        #expect(try tool.run("files", "explain", UUID().uuidString).status == 1)
        #expect(try tool.run("users", "list", "--limit", "0").status == 64)
        #expect(try tool.run("no-such-command").status == 64)
        let other = try OperatorToolWithConfiguration(server)
        #expect(try other.status(replacing: "\"socket\":", with: "\"soccet\":") == 78)
        #expect(try other.status(replacing: "mariadb.sock", with: "nobody.sock") == 69)
    }

    @Test("status prints counts, and doctor finds the stack's responders")
    func status() throws {
        _ = try server.signUpOwningUser()

        let status = try tool.json("status")
        let doctor = try tool.run(
            "doctor", "--json", "--api-socket", try server.environment.value("API_SOCKET"), "--transfer-socket",
            try server.environment.value("TRANSFER_SOCKET"), "--nginx",
            try server.environment.value("STACK_DIR") + "/nginx", "--certificate", server.certificateAuthorityFile,
            "--host", "localhost")

        #expect((status.counts?.users?.Google?.integer ?? 0) >= 1)
        #expect(status.sandbox?.bool == true)
        let verdicts = JSONValue(Array(doctor.output.utf8))?.diagnoses?.array ?? []
        func verdict(_ check: String) -> String? { verdicts.first { $0.check?.text == check }?.verdict?.text }
        #expect(verdict("configuration") == "warning")
        for check in [
            "database", "schema", "clock", "rights", "apiSocket", "transferSocket", "uploadLimit", "certificate", "dns",
        ] {
            #expect(verdict(check) == "good", "\(doctor.output)")
        }
    }

    @Test("Jobs: a deletion that the cloud rejects is listed, retried on request, or dropped")
    func jobs() async throws {
        let alice = try server.signUpOwningUser()
        let masterVersion = try #require(try alice.index().masterVersion)
        let file = TestFile("to be deleted")
        try alice.publish(file, masterVersion: masterVersion)
        try server.sandbox.revoke(alice.account)
        try alice.with(account: try server.sandbox.account(alice.account.id))
            .deleteAndCommit(file, masterVersion: masterVersion + 1)
        try await eventually("the deletion has failed") {
            try tool.json("jobs", "list", "--user", "\(alice.userID)", "--failing").items?.array?.isEmpty == false
        }

        let job = try #require(
            try tool.json("jobs", "list", "--user", "\(alice.userID)", "--kind", "deleteObject").items?.array?.first?
                .jobID?
                .integer)
        let shown = try tool.run("jobs", "show", "\(job)")
        let retried = try tool.json("jobs", "retry", "\(job)")
        try await eventually("the deletion was retried") {
            let now = try tool.json("jobs", "show", "\(job)")
            return (now.attempts?.integer ?? 0) >= 2 && now.state?.text == "waiting"
        }
        let dropped = try tool.json("jobs", "drop", "\(job)")

        #expect(shown.output.contains("delete object"))
        #expect(retried.orders?.array?.first?.outcome?.text == "done")
        #expect(dropped.orders?.array?.first?.outcome?.text == "done")
        #expect(try tool.run("jobs", "show", "\(job)").status == 1)
    }

    @Test("An export contains the user's files; erasure prints a receipt, and the phone gets 401")
    func rights() throws {
        let alice = try server.signUpOwningUser(name: "Leaver")
        let masterVersion = try #require(try alice.index().masterVersion)
        let file = TestFile("mine for ever")
        try alice.publish(file, masterVersion: masterVersion)
        let folder = FileManager.default.temporaryDirectory.appending(path: "syncserver-export-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }

        let export = try tool.json("users", "export", "\(alice.userID)", "--to", folder.path, "--files")
        let preview = try tool.json("users", "erase", "\(alice.userID)")
        let stillThere = try alice.checkCredentials().status
        let receipt = try tool.json("users", "erase", "\(alice.userID)", "--yes")

        let path = try #require(export.paths?[file.uuid]?.text)
        #expect(try Array(Data(contentsOf: folder.appending(path: path))) == file.contents)
        #expect(FileManager.default.fileExists(atPath: folder.appending(path: "user.json").path))
        #expect(preview.erased?.bool == false)
        #expect(stillThere == 200)
        #expect(receipt.erased?.bool == true)
        // The tokens are yet to be revoked.
        #expect(receipt.rowsLeft == .object(["deletedFiles": .integer(1), "grantsToRevoke": .integer(1)]))
        #expect(try alice.checkCredentials().status == 401)
        #expect(try alice.stored(file).count == 1)
    }

    @Test("fsck --clouds reports files that their owner deleted or changed")
    func clouds() throws {
        let alice = try server.signUpOwningUser()
        let masterVersion = try #require(try alice.index().masterVersion)
        let files = [TestFile("whole"), TestFile("gone"), TestFile("changed")]
        for (index, file) in files.enumerated() { try alice.publish(file, masterVersion: masterVersion + Int64(index)) }
        let before = try examinedClouds(of: alice)
        try server.sandbox.delete(files[1].cloudName(device: alice.device), in: alice.account)
        try server.sandbox.store(Array("CHANGED".utf8), as: files[2].cloudName(device: alice.device), in: alice.account)

        let after = try examinedClouds(of: alice)

        #expect(before.objectsChecked?.integer == 3)
        #expect(rows("objectMissing", in: before).isEmpty && rows("objectChanged", in: before).isEmpty)
        #expect(rows("objectMissing", in: after) == ["file \(files[1].uuid) of group \(alice.group)"])
        #expect(rows("objectChanged", in: after) == ["file \(files[2].uuid) of group \(alice.group)"])
    }

    @Test(
        "fsck finds unreferenced objects with the server's names, and no others",
        arguments: [SandboxProvider.google, .dropbox, .microsoft])
    func strayObjects(provider: SandboxProvider) async throws {
        let alice = try server.signUpOwningUser(provider)
        // Creating the folder concurrently would create a second one with the same name.
        try await eventually("the initial file exists") {
            try server.askDatabase("SELECT COUNT(*) FROM outbox WHERE user_id = \(alice.userID)") == "0"
        }
        let masterVersion = try #require(try alice.index().masterVersion)
        let (kept, staged, deleted) = (
            TestFile("kept").stored(at: provider), TestFile("staged").stored(at: provider),
            TestFile("deleted").stored(at: provider)
        )
        try alice.publish(kept, masterVersion: masterVersion)
        try alice.publish(deleted, masterVersion: masterVersion + 1)
        try alice.stage(staged, masterVersion: masterVersion + 2)
        let stray = TestFile("stray").stored(at: provider)
        for name in [stray.cloudName(device: alice.device), "holiday.txt"] {
            try server.sandbox.store(
                Array("stray".utf8), as: name, in: alice.account,
                folder: provider == .google ? alice.folder : nil)
        }

        let report = try examinedClouds(of: alice)

        let rows = report.findings?.array?.first { $0.code?.text == "objectUnknown" }?.rows?.array ?? []
        let expected = "\(stray.cloudName(device: alice.device)), 5 bytes: less than a day old"
        #expect(rows.map { $0.detail?.text } == [expected], "\(report)")
    }

    /// Returns fsck's report on one user's objects, since other tests write rows that no phone could. Retries if a
    /// provider did not answer in time.
    private func examinedClouds(of user: TestUser) throws -> JSONValue {
        var report: JSONValue
        var attempts = 0
        repeat {
            attempts += 1
            let output = try tool.run("fsck", "--clouds", "--owner", "\(user.userID)", "--json").output
            report = try #require(JSONValue(Array(output.utf8)), "\(output)")
        } while attempts < 3 && !rows("storageUnavailable", in: report).isEmpty
        return report
    }

    private func rows(_ code: String, in report: JSONValue) -> [String] {
        let finding = report.findings?.array?.first { $0.code?.text == code }
        return finding?.rows?.array?.compactMap { $0.row?.text } ?? []
    }
}

/// `syncctl` with a configuration that is changed in one place.
private struct OperatorToolWithConfiguration {
    private let text: String
    private let program: String

    init(_ server: TestServer) throws {
        text = try String(contentsOfFile: server.environment.value("CONFIG_FILE"), encoding: .utf8)
        let responder = try #require(try server.processes("syncd_api").first)
        program = URL(filePath: try responder.executable()).deletingLastPathComponent().appending(path: "syncctl").path
    }

    func status(replacing old: String, with new: String) throws -> Int32 {
        let file = FileManager.default.temporaryDirectory.appending(path: "syncserver-\(UUID().uuidString).json")
        defer { try? FileManager.default.removeItem(at: file) }
        try Data(text.replacingOccurrences(of: old, with: new).utf8).write(to: file)
        return try Command(program, ["status", "--config", file.path]).status
    }
}
