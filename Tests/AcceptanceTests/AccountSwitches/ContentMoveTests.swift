import Foundation
import TestSupport
import Testing

@Suite("Contents that the server moves after a switch of accounts")
struct ContentMoveTests {
    let server: TestServer

    init() throws { server = try TestServer.shared() }

    @Test(
        "The server moves every file, small and large, and then finishes the switch without any device's help",
        arguments: [
            (SandboxProvider.google, SandboxProvider.dropbox), (.dropbox, .microsoft), (.google, .webdav),
            (.microsoft, .google), (.webdav, .dropbox), (.google, .google),
        ])
    func moved(from: SandboxProvider, to: SandboxProvider) async throws {
        let old = [
            TestFile(randomBytes: 70_000), TestFile(""), TestFile(randomBytes: 9 << 20),
        ].map { $0.stored(at: from) }
        let move = try AccountSwitch(on: server, from: from, to: to, files: old)
        let known = try move.before.index()

        let id = try move.perform(moving: true)

        try await eventually("the switch is finished", within: .seconds(90)) {
            try move.status(id).json?.state?.text == "finished"
        }
        let index = try move.after.index()
        // The confirmation and the end of the switch each raise it by one.
        #expect(index.masterVersion == (known.masterVersion ?? 0) + 2)
        for file in old.map({ $0.stored(at: to) }) {
            expectDownload(try move.after.download(file, masterVersion: index.masterVersion ?? 0), of: file)
            for name in ["fileVersion", "creationDate", "updateDate", "deviceUUID"] {
                #expect(index.file(file)?[name] == known.file(file)?[name], "\(name)")
            }
            #expect(index.file(file)?.awaitingReupload == nil)
            #expect(index.file(file)?.cloudStorageType?.text == file.cloudStorageType)
            let name = file.cloudName(device: move.before.device)
            for account in [move.before.account, move.after.account] {
                #expect(try server.sandbox.contents(of: name, in: account) == file.contents, "\(account.id)")
            }
        }
        let bytes = old.reduce(0) { $0 + Int64($1.contents.count) }
        #expect(
            try move.status(id).json?.serverMove
                == .object([
                    "state": .string("done"), "numberMoved": .integer(3), "bytesMoved": .integer(bytes),
                    "numberFailed": .integer(0),
                ]))
        #expect(
            try server.askDatabase(
                """
                SELECT COUNT(*) FROM account_moves
                 WHERE user_id = \(move.before.userID) AND (credentials IS NOT NULL OR lease_owner IS NOT NULL)
                """) == "0")
        #expect(try move.finish(id).status == 200, "an unaware device may still finish the switch")
        #expect(try move.after.index().masterVersion == index.masterVersion)
    }

    @Test("Without moveContents, the server moves nothing")
    func notAsked() throws {
        let move = try AccountSwitch(on: server, files: [TestFile()])
        let id = try move.perform()

        #expect(try move.status(id).json?.serverMove == nil)
        #expect(try server.askDatabase("SELECT COUNT(*) FROM account_moves WHERE switch_uuid = '\(id)'") == "0")
    }

    @Test("A device's grant alone does not move the files: a move requires credentials of the former account")
    func unproven() throws {
        let file = TestFile()
        let move = try AccountSwitch(on: server, files: [file])
        let id = try move.begun()
        let stranger = try AccountSwitch(on: server)
        func confirm(_ headers: [(name: String, value: String)]) throws -> HTTPReply {
            try server.call(
                "POST", "ConfirmAccountSwitch", ["switchId": id, "expectedEpoch": "0", "moveContents": "true"],
                headers: move.after.headers + headers)
        }

        for reply in [try confirm([]), try confirm([stranger.proof()])] {
            expectError(reply, 409)
            #expect(reply.json?.code?.text == "old_account_proof_required", "\(reply)")
        }

        #expect(try move.status(id).json?.state?.text == "proposed", "nothing has changed")
        expectDownload(try move.before.download(file, masterVersion: 1), of: file)
    }

    @Test(
        "If the former account is unreadable, devices must upload the files, as the reply and its repetition report"
    )
    func unreadable() throws {
        let file = TestFile()
        let move = try AccountSwitch(on: server, files: [file])
        let id = try move.begun()
        try server.sandbox.revoke(move.before.account, .server)

        let confirmed = try move.confirm(id, moving: true)

        #expect(confirmed.status == 200 && confirmed.json?.movesContents?.bool == false, "\(confirmed)")
        #expect(confirmed.json?.numberAwaiting?.integer == 1)
        #expect(try move.confirm(id, moving: true).json == confirmed.json)
        #expect(
            try move.after.reupload(file.stored(at: .dropbox)).messageParameters?.result?.text == "stored")
    }

    @Test("A file changed or deleted in the former storage waits for a device, and syncctl reports it to the operator")
    func changed() async throws {
        let (good, changed, deleted) = (TestFile("good"), TestFile("changed"), TestFile("deleted"))
        let move = try AccountSwitch(on: server, files: [good, changed, deleted])
        let device = move.before.device
        try server.sandbox.store(
            Array("CHANGED".utf8), as: changed.cloudName(device: device), in: move.before.account)
        try server.sandbox.delete(deleted.cloudName(device: device), in: move.before.account)

        let id = try move.perform(moving: true)

        try await eventually("the server has tried every file") {
            try move.status(id).json?.serverMove?.state?.text == "done"
        }
        let status = try move.status(id)
        #expect(status.json?.state?.text == "reuploading")
        #expect(status.json?.numberAwaiting?.integer == 2)
        #expect(status.json?.serverMove?.numberFailed?.integer == 2)
        let tool = try OperatorTool(server)
        let shown = try tool.run("switches", "show", id).output
        #expect(shown.contains("file \(changed.uuid), version 0") && shown.contains("other bytes"), "\(shown)")
        #expect(shown.contains("file \(deleted.uuid), version 0") && shown.contains("not found"), "\(shown)")
        #expect(try tool.run("switches", "list", "--user", "\(move.before.userID)").output.contains(id))
        let story = try tool.run("files", "explain", changed.uuid).output
        #expect(story.contains("The server cannot move them: other bytes."), "\(story)")

        for file in [changed, deleted].map({ $0.stored(at: .dropbox) }) {
            #expect(try move.after.reupload(file).messageParameters?.result?.text == "stored")
        }
        #expect(try move.status(id).json?.serverMove?.numberFailed?.integer == 0)
        #expect(try move.finish(id).status == 200)
    }

    @Test("Metrics count the moved files and their bytes")
    func metrics() async throws {
        let pages = try MetricsPages(server)
        func moved() throws -> (files: Double, bytes: Double) {
            let samples = try pages.samples()
            return (
                samples[#"syncd_content_moves_total{outcome="moved"}"#] ?? 0, samples["syncd_moved_bytes_total"] ?? 0
            )
        }
        let before = try moved()
        let move = try AccountSwitch(on: server, files: [TestFile(randomBytes: 1_000), TestFile(randomBytes: 2_000)])

        let id = try move.perform(moving: true)

        try await eventually("the switch is finished") { try move.status(id).json?.state?.text == "finished" }
        let after = try moved()
        #expect(after.files >= before.files + 2)
        #expect(after.bytes >= before.bytes + 3_000)
    }
}
