import Foundation
import TestSupport
import Testing

extension PrivateStackTests {
    @Suite("Logs")
    final class LogTests: Sendable {
        let server: TestServer

        init() throws {
            server = try TestServer.withFaults()
            try server.sandbox.clearFaults()
        }

        deinit { try? server.sandbox.clearFaults() }

        /// The lines of a log that contain a text.
        private func lines(of name: String, with text: String) throws -> [JSONValue] {
            let file = URL(filePath: try server.environment.value("LOG_DIR")).appending(path: name)
            return try String(contentsOf: file, encoding: .utf8).split(separator: "\n")
                .filter { $0.contains(text) }.compactMap { JSONValue(Array($0.utf8)) }
        }

        @Test("Lines for the journal begin with their priority; others do not")
        func priorities() throws {
            let program = try #require(try server.processes("syncd_api").first).executable()
            let configuration = try server.environment.value("CONFIG_FILE")
            let folder = FileManager.default.temporaryDirectory.appending(
                path: "syncserver-journal-\(UUID().uuidString)")
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            defer { try? FileManager.default.removeItem(at: folder) }
            // Without a socket, syncd logs messages about its configuration and exits.
            let script = """
                cd "$1"
                export JOURNAL_STREAM=$(touch journal; stat --format=%d:%i journal)
                "$2" --role api --config "$3" </dev/null 2>journal
                "$2" --role api --config "$3" </dev/null 2>file
                "$2" --role api --config /nowhere 2>>journal
                """

            _ = try Command("/bin/bash", ["-c", script, "bash", folder.path, program, configuration])

            func lines(_ name: String) throws -> [String] {
                try String(contentsOf: folder.appending(path: name), encoding: .utf8).split(separator: "\n")
                    .map(String.init)
            }
            let journal = try lines("journal")
            #expect(journal.contains { $0.hasPrefix(#"<4>{"time":"#) && $0.contains("SANDBOX") }, "\(journal)")
            #expect(journal.contains { $0.hasPrefix("<3>") && $0.contains("the configuration has mistakes") })
            #expect(try lines("file").contains { $0.hasPrefix(#"{"time":"#) && $0.contains("SANDBOX") })
        }

        @Test(
            "A request's id appears in its error reply, nginx's line, syncd's line, and those of calls to the provider")
        func requestID() async throws {
            let alice = try await server.signUpSettledUser()
            try server.sandbox.inject(
                SandboxFault(
                    host: "www.googleapis.com", pathPrefix: CloudFailureTests.uploads, method: "POST", status: 503,
                    times: 100))
            let reply = try await Threads.run { [alice] in
                try alice.upload(TestFile(randomBytes: 1_000), masterVersion: 0)
            }
            #expect(reply.status == 502)
            let id = try #require(reply.json?.requestId?.text)

            try await eventually("both processes have written their lines") {
                try !self.lines(of: "nginx-access.log", with: id).isEmpty
                    && self.lines(of: "syncd-transfer.log", with: id).contains { $0.message?.text == "Request" }
            }
            let access = try lines(of: "nginx-access.log", with: id)
            let own = try lines(of: "syncd-transfer.log", with: id)
            #expect(access.count == 1 && access[0].path?.text == "/UploadFile/")
            #expect(own.count { $0.message?.text == "Request" } == 1)
            let calls = own.filter { $0.message?.text == "Provider call" }
            #expect(calls.count >= 2)
            for call in calls {
                #expect(call.provider_host?.text == "www.googleapis.com")
                #expect(call.method?.text == "POST" && call.status?.text == "503")
                #expect(call.level?.text == "warning" && call.request_id?.text == id)
                #expect(call.duration_ms?.text.flatMap { Int($0) } != nil)
            }
        }

        @Test("The jobs role's work after a commit is logged and listed with the commit's request id")
        func requestIDOfWork() async throws {
            let alice = try await server.signUpSettledUser()
            let file = TestFile("to be deleted")
            try alice.publish(file, masterVersion: 0)
            try server.sandbox.inject(
                SandboxFault(pathPrefix: "/drive/v3/files", method: "DELETE", status: 503, times: 100))

            try alice.deleteAndCommit(file, masterVersion: 1)

            let user = "\(alice.userID)"
            func postponed() throws -> JSONValue? {
                try lines(of: "syncd-jobs.log", with: "Outbox item postponed").first { $0.owning_user_id?.text == user }
            }
            try await eventually("the deletion was postponed") { try postponed() != nil }
            let id = try #require(try postponed()?.request_id?.text)
            func requests() throws -> [JSONValue] {
                try lines(of: "syncd-api.log", with: id).filter { $0.message?.text == "Request" }
            }
            // A process writes its line after the reply.
            try await eventually("both processes have written their lines") {
                try !requests().isEmpty && !self.lines(of: "nginx-access.log", with: id).isEmpty
            }
            #expect(try requests().map(\.user_id?.text) == [user])
            let access = try lines(of: "nginx-access.log", with: id)
            #expect(access.count == 1 && access[0].path?.text == "/DoneUploads/")
            let work = try lines(of: "syncd-jobs.log", with: id)
            let calls = work.filter { $0.message?.text == "Provider call" }
            #expect(!calls.isEmpty && calls.allSatisfy { $0.method?.text == "DELETE" && $0.status?.text == "503" })
            #expect(work.allSatisfy { $0.request_id?.text == id && $0.outbox_id?.text != nil })

            let tool = try OperatorTool(server)
            let jobs = try #require(try tool.json("jobs", "--user", user, "--kind", "deleteObject").items?.array)
            #expect(jobs.map(\.requestID?.text) == [id])
            #expect(try tool.run("jobs", "--user", user).output.contains(id))
        }
    }
}
