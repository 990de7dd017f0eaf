import Foundation
import Glibc
import TestSupport
import Testing

extension PrivateStackTests {
    @Suite("Maintenance")
    struct MaintenanceTests {
        private static let text = #"We are back at "noon"; it's the moving of the café's disks."#

        private func expectClosed(_ reply: HTTPReply, sourceLocation: SourceLocation = #_sourceLocation) {
            expectError(reply, 503, sourceLocation: sourceLocation)
            #expect(reply.json?.code?.text == "maintenance", sourceLocation: sourceLocation)
            #expect(reply.json?.error?.text == Self.text, sourceLocation: sourceLocation)
            #expect(reply.json?.retryable?.bool == true, sourceLocation: sourceLocation)
            #expect(reply.values(of: "retry-after") == ["120"], sourceLocation: sourceLocation)
            #expect(reply.values(of: "syncserver-error-code") == ["maintenance"], sourceLocation: sourceLocation)
        }

        private func expectText(
            _ text: String, at server: TestServer, sourceLocation: SourceLocation = #_sourceLocation
        ) throws {
            let reply = try server.call("GET", "FailoverMessage")
            #expect(reply.status == 200 && String(decoding: reply.body, as: UTF8.self) == text, "\(reply)")
            #expect(
                reply.values(of: "content-type").first?.hasPrefix("text/plain; charset=utf-8") == true,
                sourceLocation: sourceLocation)
        }

        @Test("On all hosts, requests get the text, started transfers finish, jobs pause, and restarts change nothing")
        func allHosts() async throws {
            // One responder per role, since a test cannot address one of several.
            let stack = try PrivateStack("maintenance", responders: 1)
            let server = try TestServer(stack)
            let tool = try OperatorTool(server)
            let metrics = try MetricsPages(server)
            let alice = try server.signUpOwningUser()
            let begun = TestFile(randomBytes: 200_000)
            var upload = try alice.beginUpload(begun, sending: 10_000)
            try await eventually("the upload is in progress") {
                try metrics.samples()[#"syncd_transfers_in_flight{direction="upload"}"#] == 1
            }
            #expect(try metrics.samples()["syncd_maintenance"] == 0)
            #expect(try !tool.run("status").output.contains("CLOSED"))
            // From now on the transfer role has cached her sign-in, and does not ask the api role.
            #expect(try alice.download(TestFile("none"), masterVersion: 0).status == 404)

            let closed = try tool.json("maintenance", "on", Self.text)

            #expect(closed.allHosts?["text"]?.text == Self.text)
            try await eventually("both responders know") {
                try alice.checkCredentials().status == 503
                    && alice.download(TestFile("none"), masterVersion: 0).status == 503
            }
            for endpoint in ["Index", "CheckCreds", "GetUploads"] { expectClosed(try alice.call("GET", endpoint)) }
            expectClosed(try alice.upload(TestFile(randomBytes: 100_000), masterVersion: 0))
            try expectText(Self.text, at: server)
            // The health endpoints keep reporting the actual state.
            #expect(try server.call("GET", "HealthCheck").status == 200)
            #expect(try metrics.get("/ready").status == 200)
            #expect(try metrics.samples()["syncd_maintenance"] == 1)
            let status = try tool.run("status")
            #expect(status.output.contains("CLOSED") && status.output.contains(Self.text), "\(status.output)")
            try upload.send(begun.contents.dropFirst(10_000))
            #expect(try upload.reply().status == 200)

            // Due work stays due after new processes have started, which takes many rounds of the jobs role.
            _ = try server.askDatabase(
                """
                INSERT INTO outbox (kind, user_id, object_id, available_at, created_at)
                VALUES ('removePushTopic', \(alice.userID), 'arn:none', '2026-01-01', '2026-01-01')
                """)
            for process in try server.processes("syncd_api") + server.processes("syncd_jobs") { process.send(SIGKILL) }
            try await Threads.run { try stack.restore() }
            for _ in 0..<20 { expectClosed(try alice.checkCredentials()) }
            func waiting() throws -> String {
                try server.askDatabase(
                    "SELECT attempts FROM outbox WHERE object_id = 'arn:none' AND lease_owner IS NULL")
            }
            #expect(try waiting() == "0")

            #expect(try tool.run("maintenance", "off").status == 0)

            try await eventually("both responders know") {
                try alice.checkCredentials().status == 200
                    && alice.download(TestFile("none"), masterVersion: 0).status != 503
            }
            try await eventually("the jobs role takes up the work") { try waiting() != "0" }
            #expect(try alice.commitStaged(masterVersion: 0) == 1)
            expectDownload(try alice.download(begun, masterVersion: 1), of: begun)
            try expectText("The service is not available at the moment. Please try again later.", at: server)
            #expect(
                try server.askDatabase(
                    "SELECT schema_comment = '' FROM information_schema.schemata WHERE schema_name = DATABASE()")
                    == "1")
        }

        @Test("Maintenance of one host works without a database, and without any process of the server")
        func oneHost() async throws {
            let stack = try PrivateStack("maintenance-host", responders: 1)
            let server = try TestServer(stack)
            let tool = try OperatorTool(server)
            let alice = try server.signUpOwningUser()
            let folder = ["--this-host", "--maintenance-folder", stack.folder.appending(path: "maintenance").path]
            let database = try #require(try server.processes("mariadb").first)
            database.send(SIGKILL)
            try await eventually("MariaDB has ended") { !database.isRunning }
            let refused = try tool.run("maintenance", "on", Self.text)
            #expect(refused.status == 69 && refused.output.contains("--this-host"), "\(refused.output)")
            // From now on no process of the server replies to requests.
            let responders = try server.processes("syncd_api") + server.processes("syncd_transfer")
            for process in responders { process.freeze() }
            defer { for process in responders { process.thaw() } }

            #expect(try tool.run(["maintenance", "on", Self.text] + folder).status == 0)

            expectClosed(try alice.checkCredentials())
            expectClosed(try alice.upload(TestFile(randomBytes: 100_000), masterVersion: 0))
            expectClosed(try alice.download(TestFile("hello"), masterVersion: 0))
            try expectText(Self.text, at: server)

            for process in responders { process.thaw() }
            try await Threads.run { try stack.restore() }
            expectClosed(try alice.checkCredentials())
            let status = try tool.run(["status"] + folder.dropFirst())
            #expect(status.output.contains("CLOSED    on this host: \(Self.text)"), "\(status.output)")
            #expect(try tool.run(["maintenance", "off"] + folder).status == 0)
            #expect(try alice.checkCredentials().status == 200)
        }

        @Test(
            "A text that phones could not display is rejected",
            arguments: ["", "  ", "two\nlines", #"back\slash"#, String(repeating: "é", count: 151)])
        func unfit(text: String) throws {
            let told = try OperatorTool(TestServer.shared()).run("maintenance", "on", text)

            #expect(told.status == 64 && told.output.contains("The message must "), "\(told.output)")
        }
    }
}
