import Foundation
import TestSupport
import Testing

extension PrivateStackTests {
    @Suite("Interrupted moves of contents")
    final class InterruptedMoveTests: Sendable {
        private static let stack = Result { try PrivateStack("moves", responders: 1) }
        let stack: PrivateStack
        let server: TestServer

        init() throws {
            stack = try Self.stack.get()
            server = try TestServer(stack)
            try server.sandbox.clearFaults()
        }

        deinit { try? server.sandbox.clearFaults() }

        /// Makes reads from Google's storages fail, both for the mover and for downloads.
        private func stopReading() throws {
            var fault = SandboxFault(pathPrefix: "/drive/v3/files", method: "GET", status: 503)
            fault.queryContains = "alt=media"
            try server.sandbox.inject(fault)
        }

        /// The number of the user's former accounts whose credentials the server still stores.
        private func formerTokens(of user: TestUser) throws -> String {
            try server.askDatabase(
                "SELECT COUNT(*) FROM account_moves WHERE user_id = \(user.userID) AND credentials IS NOT NULL")
        }

        /// The number of files that the server has yet to move or has given up.
        private func filesInMoves(of user: TestUser) throws -> String {
            try server.askDatabase(
                """
                SELECT COUNT(*) FROM moving_contents m JOIN account_moves a ON a.switch_uuid = m.switch_uuid
                 WHERE a.user_id = \(user.userID)
                """)
        }

        @Test("If the jobs process is killed during a move, another continues, and no object is left over")
        func killed() async throws {
            let files = (0..<4).map { _ in TestFile(randomBytes: 50_000) }
            let move = try AccountSwitch(on: server, files: files)
            var slow = SandboxFault(host: "content.dropboxapi.com", pathPrefix: "/2/files/upload", times: 1)
            slow.skip = 2
            slow.latencyMilliseconds = 60_000
            slow.afterEffect = true
            let id = try move.begun()
            try server.sandbox.inject(slow)
            _ = try move.confirm(id, moving: true)
            try await eventually("an upload hangs") { try server.sandbox.unspentFaults().isEmpty }
            #expect(try move.status(id).json?.state?.text == "reuploading")

            for process in try server.processes("syncd_jobs") { process.send(SIGKILL) }
            try server.sandbox.clearFaults()
            try server.endLeasesOfMoves()
            try stack.restore()

            try await eventually("the switch is finished", within: .seconds(60)) {
                try move.status(id).json?.state?.text == "finished"
            }
            for file in files.map({ $0.stored(at: .dropbox) }) {
                expectDownload(try move.after.download(file, masterVersion: 6), of: file)
            }
            try await eventually("nothing is left over", within: .seconds(60)) {
                try server.endLeasesOfMoves()
                return try files.allSatisfy { file in
                    try server.sandbox.files(of: move.after.account).filter { $0.name.contains(file.uuid) }.count == 1
                }
            }
            #expect(try OperatorTool(server).run("fsck").status == 0)
        }

        @Test("Until the server has moved a file, downloads read it from the former account")
        func downloads() async throws {
            let file = TestFile(randomBytes: 300_000)
            let move = try AccountSwitch(on: server, files: [file])
            let member = try move.before.newMember(.read, provider: .google)
            let id = try move.begun()
            try server.sandbox.inject(
                SandboxFault(host: "content.dropboxapi.com", pathPrefix: "/2/files/upload", status: 503))
            #expect(try move.confirm(id, moving: true).json?.movesContents?.bool == true)

            for user in [move.after, member] {
                expectDownload(try user.download(file, masterVersion: 3), of: file)
            }
            let ranged = try member.download(file, masterVersion: 3, headers: [("Range", "bytes=100-199")])
            #expect(ranged.status == 206 && ranged.body == Array(file.contents[100..<200]), "\(ranged.status)")
            #expect(try move.after.index().file(file)?.awaitingReupload?.bool == true)

            try server.sandbox.store(
                Array("CHANGED".utf8), as: file.cloudName(device: move.before.device), in: move.before.account)
            let changed = try member.download(file, masterVersion: 3)
            #expect(changed.messageParameters?.goneDetail?.text == "awaitingReupload", "\(changed)")

            try server.sandbox.clearFaults()
            // Repeated, because an attempt that still met the fault postpones the move.
            try await eventually("the server has noticed the change") {
                try server.endLeasesOfMoves()
                return try move.status(id).json?.serverMove?.numberFailed?.integer == 1
            }
        }

        @Test("If the former account is revoked during a move, the rest waits for devices, and the tokens are deleted")
        func revoked() async throws {
            let files = [TestFile("one"), TestFile("two")]
            let move = try AccountSwitch(on: server, files: files)
            try stopReading()
            let id = try move.perform(moving: true)
            #expect(try formerTokens(of: move.before) == "1")

            try server.sandbox.revoke(move.before.account)
            try server.sandbox.clearFaults()
            try await eventually("the move has failed") {
                try server.endLeasesOfMoves()
                return try move.status(id).json?.serverMove?.state?.text == "failed"
            }
            #expect(try formerTokens(of: move.before) == "0" && filesInMoves(of: move.before) == "0")
            #expect(try move.status(id).json?.numberAwaiting?.integer == 2)
            for file in files.map({ $0.stored(at: .dropbox) }) {
                #expect(try move.after.reupload(file).messageParameters?.result?.text == "stored")
            }
            #expect(try move.finish(id).status == 200)
        }

        @Test("Commits, deletions and device uploads continue during a move; the first to deliver the bytes wins")
        func meanwhile() async throws {
            let files = ["next", "deleted", "reuploaded", "moved"].map { TestFile($0) }
            let move = try AccountSwitch(on: server, files: files)
            try stopReading()
            let id = try move.perform(moving: true)
            let next = files[0].next("two").stored(at: .dropbox)

            try move.after.publish(next, masterVersion: 5)
            try move.after.deleteAndCommit(files[1], masterVersion: 6)
            #expect(
                try move.after.reupload(files[2].stored(at: .dropbox)).messageParameters?.result?.text == "stored")
            try server.sandbox.clearFaults()
            try server.endLeasesOfMoves()

            try await eventually("the switch is finished") { try move.status(id).json?.state?.text == "finished" }
            #expect(try move.status(id).json?.serverMove?.numberMoved?.integer == 1)
            let index = try move.after.index()
            let version = try #require(index.masterVersion)
            for file in [next, files[2].stored(at: .dropbox), files[3].stored(at: .dropbox)] {
                expectDownload(try move.after.download(file, masterVersion: version), of: file)
            }
            #expect(index.file(files[1])?.deleted?.bool == true)
            #expect(try OperatorTool(server).run("fsck").status == 0)
        }

        @Test("After another switch during a move, files move from their current storage to the newest account")
        func further() async throws {
            let files = [TestFile("one"), TestFile("two")]
            let move = try AccountSwitch(on: server, files: files)
            try stopReading()
            try move.perform(moving: true)
            let next = move.to(try server.newcomer(.microsoft).account, leaving: move.after)
            let id = try next.perform(epoch: 1, moving: true)

            try server.sandbox.clearFaults()
            try server.endLeasesOfMoves()

            try await eventually("the switch is finished") { try next.status(id).json?.state?.text == "finished" }
            let version = try #require(try next.after.index().masterVersion)
            for file in files.map({ $0.stored(at: .microsoft) }) {
                expectDownload(try next.after.download(file, masterVersion: version), of: file)
            }
            #expect(try formerTokens(of: move.before) == "0")
            #expect(try !server.sandbox.files(of: move.after.account).contains { $0.name.contains(files[0].uuid) })
        }

        @Test("After switching back, unmoved files can be downloaded immediately")
        func back() async throws {
            let files = [TestFile("one"), TestFile("two")]
            let move = try AccountSwitch(on: server, files: files)
            try stopReading()
            try move.perform(moving: true)
            let back = move.to(try server.sandbox.account(move.before.account.id))
            let id = try #require(try back.begin(folder: move.before.folder).json?.switchId?.text)

            let confirmed = try back.confirm(id, epoch: 1)
            try server.sandbox.clearFaults()

            #expect(confirmed.json?.numberAwaiting?.integer == 0, "\(confirmed)")
            for file in files { expectDownload(try back.after.download(file, masterVersion: 4), of: file) }
            #expect(try formerTokens(of: move.before) == "0" && filesInMoves(of: move.before) == "0")
            #expect(try OperatorTool(server).run("fsck").status == 0)
        }

        @Test("Finishing a switch or removing the user ends the move and deletes the tokens")
        func ended() async throws {
            let kept = try AccountSwitch(on: server, files: [TestFile()])
            let removed = try AccountSwitch(on: server, files: [TestFile()])
            try stopReading()
            let id = try kept.perform(moving: true)
            try removed.perform(moving: true)

            #expect(try kept.finish(id).status == 200)
            #expect(try removed.after.removeAccount().status == 200)

            #expect(try kept.status(id).json?.serverMove?.state?.text == "ended")
            for user in [kept.before, removed.before] {
                #expect(try formerTokens(of: user) == "0" && filesInMoves(of: user) == "0")
            }
            #expect(
                try server.askDatabase("SELECT COUNT(*) FROM account_moves WHERE user_id = \(removed.before.userID)")
                    == "0")
            #expect(try OperatorTool(server).run("fsck").status == 0)
        }

        @Test("A move into a full storage stays in progress, and the server retries it about an hour later")
        func setbacks() async throws {
            let file = TestFile(randomBytes: 300_000)
            let alice = try server.signUpOwningUser()
            try alice.publish(file, masterVersion: 0)
            let small = try server.newcomer(.dropbox, quotaBytes: 100_000)
            let move = try AccountSwitch(of: alice, to: small.account)

            let id = try move.perform(moving: true)

            try await eventually("the storage is full") {
                try server.askDatabase("SELECT last_error FROM account_moves WHERE switch_uuid = '\(id)'")
                    .contains("quota exceeded")
            }
            #expect(try move.status(id).json?.serverMove?.state?.text == "moving")
            #expect(
                try server.askDatabase(
                    "SELECT available_at > UTC_TIMESTAMP() + INTERVAL 50 MINUTE FROM account_moves WHERE switch_uuid = '\(id)'"
                ) == "1")
        }
    }
}
