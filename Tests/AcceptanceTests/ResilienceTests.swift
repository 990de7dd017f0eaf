import Foundation
import Glibc
import TestSupport
import Testing

extension PrivateStackTests {
    @Suite("Processes that stop, crash and restart")
    struct ResilienceTests {
        let server: TestServer
        let stack: PrivateStack

        init() throws {
            server = try TestServer.toBreak()
            stack = try #require(server.stack)
        }

        /// All syncd processes of the stack.
        func ourProcesses() throws -> Set<StackProcess> {
            Set(try ["syncd_api", "syncd_transfer", "syncd_jobs"].flatMap { try server.processes($0) })
        }

        /// Makes several kinds of requests and expects a 503 from all of them in time.
        func expectUnavailable(_ alice: TestUser, within limit: Duration) async throws {
            let calls: [@Sendable () throws -> HTTPReply] = [
                { try server.call("GET", "HealthCheck") }, { try alice.call("GET", "Index") },
                { try alice.commit(masterVersion: 0) }, { try alice.upload(TestFile(), masterVersion: 0) },
                { try alice.download(TestFile(), masterVersion: 0) },
            ]
            let begin = ContinuousClock.now
            let replies = try await Threads.run(calls.count) { try calls[$0]() }
            #expect(ContinuousClock.now - begin < limit)
            for reply in replies {
                expectError(reply, 503)
                #expect(reply.json?.retryable == .bool(true))
            }
        }

        @Test(
            "If MariaDB is killed, requests get 503 immediately; service resumes by itself, and no syncd process ends"
        )
        func databaseKilled() async throws {
            let alice = try server.signUpOwningUser()
            let file = TestFile()
            try alice.stage(file, masterVersion: 0)
            let before = try ourProcesses()
            let database = try #require(try server.processes("mariadb").first)

            database.send(SIGKILL)
            try await eventually("MariaDB has ended") { !database.isRunning }
            try await expectUnavailable(alice, within: .seconds(5))
            try await expectUnavailable(alice, within: .seconds(5))

            try await Threads.run { try stack.restore() }
            try await eventually("service resumes") { try server.call("GET", "HealthCheck").status == 200 }
            #expect(try alice.commitStaged(masterVersion: 0) == 1)
            expectDownload(try alice.download(file, masterVersion: 1), of: file)
            #expect(try ourProcesses() == before)
            #expect(before.filter(\.isRunning).count == before.count)
        }

        @Test("If MariaDB hangs, requests get 503 in time, and service resumes by itself")
        func databaseStopped() async throws {
            let alice = try server.signUpOwningUser()
            let before = try ourProcesses()
            let database = try #require(try server.processes("mariadb").first)

            database.freeze()
            do {
                try await expectUnavailable(alice, within: .seconds(30))
            } catch {
                database.thaw()
                throw error
            }
            database.thaw()

            try await eventually("service resumes") {
                guard try server.call("GET", "HealthCheck").status == 200 else { return false }
                return try alice.call("GET", "Index").status == 200
            }
            try alice.publish(TestFile(), masterVersion: try #require(try alice.index().masterVersion))
            #expect(try ourProcesses() == before)
            #expect(before.filter(\.isRunning).count == before.count)
        }

        @Test("A database crash during an upload fails at most that upload, and leaves nothing behind")
        func databaseKilledWhileUploading() async throws {
            let alice = try server.signUpOwningUser()
            let file = TestFile(randomBytes: 2_000_000)
            let call = uploadCall(file, by: alice)
            var conversation = try HTTPConversation(to: server.address)
            try conversation.send(call.head(for: server.address, contentLength: file.contents.count))
            try conversation.send(file.contents.prefix(1_000_000))
            let database = try #require(try server.processes("mariadb").first)

            database.send(SIGKILL)
            try await eventually("MariaDB has ended") { !database.isRunning }
            try conversation.send(file.contents.dropFirst(1_000_000))
            expectError(try conversation.reply(), 503)

            try await Threads.run { try stack.restore() }
            try await eventually("service resumes") { try server.call("GET", "HealthCheck").status == 200 }
            #expect(try alice.stagedUploads().isEmpty)
            try alice.publish(file, masterVersion: 0)
            try await eventually("one object exists") { try alice.stored(file).count == 1 }
            expectDownload(try alice.download(file, masterVersion: 1), of: file)
        }

        @Test("If a responder is killed during an upload, its object is deleted, and the next attempt succeeds")
        func responderKilled() async throws {
            let alice = try server.signUpOwningUser()
            let file = TestFile(randomBytes: 8_000_000)
            let call = uploadCall(file, by: alice)
            var conversation = try HTTPConversation(to: server.address)
            let responders = try server.processes("syncd_transfer")
            let before = try responders.map { try $0.bytesRead() }
            try conversation.send(call.head(for: server.address, contentLength: file.contents.count))
            try conversation.send(file.contents.prefix(6_000_000))
            let busy = try await busyResponder(responders, before: before)

            busy.send(SIGKILL)
            try await eventually("the responder has ended") { !busy.isRunning }
            // nginx replies itself, even if the body is larger than it allows for its own pages.
            let reply = try conversation.reply()
            #expect(reply.json?.code?.text == "server_unavailable", "\(reply)")
            conversation.hangUp()

            #expect(try alice.stagedUploads().isEmpty)
            #expect(try alice.stored(file).isEmpty)
            try alice.publish(file, masterVersion: 0)
            expectDownload(try alice.download(file, masterVersion: 1), of: file)
            try await eventually("one object exists") { try alice.stored(file).count == 1 }
        }

        @Test("SIGTERM lets a responder finish its upload before it ends")
        func drain() async throws {
            let alice = try server.signUpOwningUser()
            let file = TestFile(randomBytes: 4_000_000)
            let call = uploadCall(file, by: alice)
            var conversation = try HTTPConversation(to: server.address)
            let responders = try server.processes("syncd_transfer")
            let before = try responders.map { try $0.bytesRead() }
            try conversation.send(call.head(for: server.address, contentLength: file.contents.count))
            try conversation.send(file.contents.prefix(3_000_000))
            let busy = try await busyResponder(responders, before: before)

            busy.send(SIGTERM)
            // The other responders continue, and also serve requests that the busy one would have accepted.
            for _ in 0..<20 { try alice.stage(TestFile(), masterVersion: 0) }
            #expect(busy.isRunning)
            try conversation.send(file.contents.dropFirst(3_000_000))

            let reply = try conversation.reply()
            #expect(reply.status == 200, "\(reply)")
            try await eventually("the responder has ended") { !busy.isRunning }
            #expect(try alice.commitStaged(masterVersion: 0) == 21)
            expectDownload(try alice.download(file, masterVersion: 1), of: file)
        }

        @Test("No request fails while all responders are restarted one after the other under load")
        func rollingRestart() async throws {
            let alice = try server.signUpOwningUser()
            let responders = try server.processes("syncd_api")

            async let failures = Threads.run(4) { _ in
                var failures: [HTTPReply] = []
                for _ in 0..<300 {
                    let reply = try alice.call("GET", "Index")
                    if reply.status != 200 { failures.append(reply) }
                }
                return failures
            }
            for responder in responders {
                responder.send(SIGTERM)
                try await eventually("the responder has ended") { !responder.isRunning }
            }

            let failed = try await failures.flatMap { $0 }
            #expect(failed.isEmpty)
        }

        private func uploadCall(_ file: TestFile, by user: TestUser) -> HTTPCall {
            let query = ClientQuery.text(user.uploadParameters(file, masterVersion: 0))
            return HTTPCall("POST", "/UploadFile/\(query)", headers: user.headers)
        }

        /// Waits until a responder has read a large part of the upload, and returns the one that has read most.
        private func busyResponder(_ responders: [StackProcess], before: [Int]) async throws -> StackProcess {
            var busy: StackProcess?
            try await eventually("a responder reads the upload") {
                let read = try zip(responders, before).map { ($0, try $0.bytesRead() - $1) }
                busy = read.filter { $0.1 > 1_000_000 }.max { $0.1 < $1.1 }?.0
                return busy != nil
            }
            return try #require(busy)
        }
    }
}
