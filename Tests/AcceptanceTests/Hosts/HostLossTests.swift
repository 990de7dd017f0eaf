import Foundation
import TestSupport
import Testing

extension PrivateStackTests {
    /// Two hosts of one server: each has its own nginx and responders; they share the second host's database, key and
    /// clouds. Devices that lose their host continue with the other one, as with a host name that has two addresses.
    @Suite("The loss of one of two hosts")
    final class HostLossTests: Sendable {
        private static let stacks = Result { () throws -> (first: PrivateStack, second: PrivateStack) in
            let second = try PrivateStack(
                "host-2", responders: 1, overrides: #"{"changeSignal": {"severalHosts": true}}"#)
            return (try PrivateStack("host-1", responders: 1, overrides: try common(of: second)), second)
        }
        let stack: PrivateStack
        let first: TestServer
        let second: TestServer

        init() throws {
            let stacks = try Self.stacks.get()
            stack = stacks.first
            try stack.restore()
            second = try TestServer(stacks.second)
            first = try TestServer(stack).withCloudsAndDatabase(of: second)
            try first.sandbox.clearFaults()
        }

        deinit { try? first.sandbox.clearFaults() }

        /// The shared sections of the configuration.
        private static func common(of stack: PrivateStack) throws -> String {
            let file = try stack.environment().value("CONFIG_FILE")
            let all = try JSONSerialization.jsonObject(with: Data(contentsOf: URL(filePath: file))) as? [String: Any]
            var common = try #require(all).filter { ["database", "sealing", "sandbox"].contains($0.key) }
            common["changeSignal"] = ["severalHosts": true]
            return String(decoding: try JSONSerialization.data(withJSONObject: common), as: UTF8.self)
        }

        /// Simulates a power failure of the first host.
        private func loseFirstHost() async throws {
            let launchers = try first.processes("launchers")
            let others = try ["nginx", "syncd_api", "syncd_transfer", "syncd_jobs"].flatMap { try first.processes($0) }
            // Frozen launchers cannot restart the processes.
            for process in launchers { process.freeze() }
            for process in others + launchers { process.send(SIGKILL) }
            try await eventually("the first host is gone") { !(others + launchers).contains(where: \.isRunning) }
            #expect(throws: (any Error).self) { try first.call("GET", "HealthCheck") }
        }

        // MARK: Uploads in pieces

        @Test(
            "An upload resumes on the other host, at the offset that the storage has",
            arguments: [SandboxProvider.google, .dropbox])
        func upload(storage: SandboxProvider) async throws {
            let alice = try first.signUpOwningUser(storage)
            let file = TestFile(randomBytes: 9_000_000).stored(at: storage)
            let created = try first.call(
                "POST", "CreateUpload", alice.uploadParameters(file, masterVersion: 0),
                headers: alice.headers + [("Upload-Length", "\(file.contents.count)")])
            let upload = try PieceCalls(created, headers: alice.headers)
            var call = upload.append(from: 0, isLast: false)
            call.body = Array(file.contents[..<3_276_800])
            let confirmed = try first.address.perform(call)
            #expect(confirmed.status == 204, "\(confirmed)")
            let kept = try #require(confirmed.values(of: "upload-offset").first.flatMap { Int($0) })

            // The host fails while the next piece is being sent.
            let conversation = try HTTPConversation(to: first.address)
            try conversation.send(
                upload.append(from: kept).head(for: first.address, contentLength: file.contents.count - kept))
            try conversation.send(file.contents[kept..<6_000_000])
            try await eventually("the host is forwarding the piece") {
                try second.askDatabase(
                    "SELECT writer IS NOT NULL FROM resumable_uploads WHERE upload_uuid = '\(upload.uploadUUID)'")
                    == "1"
            }
            try await loseFirstHost()
            conversation.hangUp()

            let there = alice.movedTo(second)
            let reply = try second.address.perform(upload.offset)
            let offset = try #require(reply.values(of: "upload-offset").first.flatMap { Int($0) }, "\(reply)")
            #expect(kept...6_000_000 ~= offset)
            call = upload.append(from: offset)
            call.body = Array(file.contents[offset...])
            let staged = try second.address.perform(call)
            #expect(staged.messageParameters?.creationDate != nil, "\(staged)")
            #expect(try there.commit(masterVersion: 0).status == 200)
            expectDownload(try there.download(file, masterVersion: 1), of: file)
            try second.endLeasesOfMoves()
            try await eventually("one object exists") { try alice.stored(file).count == 1 }
        }

        // MARK: Signals about changes

        @Test("Listeners learn of the other host's commits; listeners of a lost host connect to the other host [392]")
        func signals() async throws {
            let alice = try first.signUpOwningUser()
            let bob = try alice.newMember(.write).movedTo(second)
            let streams = (try alice.listening(), try bob.listening())
            #expect(try alice.commit(masterVersion: 1).status == 200)
            #expect(try streams.0.changed(alice.group, to: 2))
            #expect(try streams.1.changed(alice.group, to: 2))
            #expect(try bob.commit(masterVersion: 2).status == 200)
            #expect(try streams.0.changed(alice.group, to: 3))
            #expect(try streams.1.changed(alice.group, to: 3))
            let known = streams.0.lastEventID

            try await loseFirstHost()

            #expect(try streams.0.next() == nil)
            #expect(!streams.0.isOpen)
            #expect(try bob.commit(masterVersion: 3).status == 200)
            #expect(try streams.1.changed(alice.group, to: 4))
            let missed = try alice.movedTo(second).changes(after: known)
            #expect(try missed.changed(alice.group, to: 4))
            #expect(try missed.next()?.name == "index")
            let resumed = try alice.movedTo(second).changes(after: missed.lastEventID)
            #expect(try bob.commit(masterVersion: 4).status == 200)
            #expect(try resumed.changed(alice.group, to: 5))
        }

        // MARK: Switches of accounts

        @Test("A switch proposed on the lost host can be confirmed, and its files uploaded again, on the other host")
        func proposal() async throws {
            let files = [TestFile("one"), TestFile("two")]
            var move = try AccountSwitch(on: first, files: files)
            let id = try move.begun()

            try await loseFirstHost()

            move.before = move.before.movedTo(second)
            move.after = move.after.movedTo(second)
            #expect(try move.confirm(id).json?.accountEpoch?.integer == 1)
            for file in files.map({ $0.stored(at: .dropbox) }) {
                #expect(try move.after.reupload(file).messageParameters?.result?.text == "stored")
            }
            #expect(try move.finish(id).status == 200)
            let version = try #require(try move.after.index().masterVersion)
            for file in files.map({ $0.stored(at: .dropbox) }) {
                expectDownload(try move.after.download(file, masterVersion: version), of: file)
            }
            #expect(try OperatorTool(second).run("fsck").status == 0)
        }

        @Test("If the reply to a confirmation is lost with its host, the other host repeats it without a second switch")
        func confirmation() async throws {
            let file = TestFile()
            var move = try AccountSwitch(on: first, files: [file])
            let id = try move.begun()
            let lost = try move.confirm(id)

            try await loseFirstHost()

            move.before = move.before.movedTo(second)
            move.after = move.after.movedTo(second)
            let repeated = try move.confirm(id)
            #expect(repeated.json == lost.json && repeated.json?.accountEpoch?.integer == 1, "\(repeated)")
            let again = try move.after.reupload(file.stored(at: .dropbox))
            #expect(again.messageParameters?.result?.text == "stored", "\(again)")
        }

        @Test("The other host continues the lost host's moves, and no object is left over")
        func move() async throws {
            let files = (0..<3).map { _ in TestFile(randomBytes: 50_000) }
            var move = try AccountSwitch(on: first, files: files)
            let id = try move.begun()
            var slow = SandboxFault(host: "content.dropboxapi.com", pathPrefix: "/2/files/upload", times: 1)
            slow.skip = 2
            slow.latencyMilliseconds = 60_000
            slow.afterEffect = true
            try first.sandbox.inject(slow)
            // The host that will fail must begin the move.
            let otherJobs = try second.processes("syncd_jobs")
            for process in otherJobs { process.freeze() }
            defer { for process in otherJobs { process.thaw() } }
            _ = try move.confirm(id, moving: true)
            try await eventually("an upload hangs") { try first.sandbox.unspentFaults().isEmpty }

            try await loseFirstHost()
            try first.sandbox.clearFaults()
            try second.endLeasesOfMoves()
            for process in otherJobs { process.thaw() }

            move.before = move.before.movedTo(second)
            move.after = move.after.movedTo(second)
            let there = move
            try await eventually("the switch is finished", within: .seconds(60)) {
                try there.status(id).json?.state?.text == "finished"
            }
            let version = try #require(try there.after.index().masterVersion)
            for file in files.map({ $0.stored(at: .dropbox) }) {
                expectDownload(try there.after.download(file, masterVersion: version), of: file)
            }
            try await eventually("each file has one object", within: .seconds(60)) {
                try second.endLeasesOfMoves()
                return try files.allSatisfy { file in
                    try first.sandbox.files(of: there.after.account).filter { $0.name.contains(file.uuid) }.count == 1
                }
            }
            #expect(try OperatorTool(second).run("fsck").status == 0)
        }
    }
}
