import Foundation
import TestSupport
import Testing

extension PrivateStackTests {
    /// `journalctl -p err` lists exactly the problems that require an operator's action.
    @Suite("Problems in the log that require an operator")
    struct WrongSecretTests {
        /// Errors in the logs of all roles, as `journalctl -p err` selects them.
        private func errors(of server: TestServer) throws -> [JSONValue] {
            try ["api", "transfer", "jobs"].flatMap { role in
                let file = URL(filePath: try server.environment.value("LOG_DIR")).appending(path: "syncd-\(role).log")
                return try String(contentsOf: file, encoding: .utf8).split(separator: "\n")
                    .compactMap { JSONValue(Array($0.utf8)) }.filter { $0.level?.text == "error" }
            }
        }

        private func override(_ stack: PrivateStack, _ settings: [String: Any]) throws {
            try JSONSerialization.data(withJSONObject: settings)
                .write(to: stack.folder.appending(path: "syncd-overrides.json"))
            try stack.restore()
        }

        private func secret(_ text: String, in stack: PrivateStack) throws -> String {
            let path = stack.folder.appending(path: "other-secret").path
            try Data("\(text)\n".utf8).write(to: URL(filePath: path))
            try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
            return path
        }

        @Test("A client secret that the provider rejects is an error at sign-up and when tokens are renewed")
        func clientSecret() throws {
            let stack = try PrivateStack("client-secret", responders: 1)
            let server = try TestServer(stack)
            let alice = try server.signUpOwningUser()
            #expect(try errors(of: server).isEmpty)
            try override(stack, ["GoogleServerClientSecretFile": try secret("wrong", in: stack)])
            try server.sandbox.expireAccessTokens(of: alice.account)

            let newcomer = try server.newcomer()
            let signUp = try newcomer.call(
                "POST", "AddUser", ["sharingGroupUUID": newcomer.group, "cloudFolderName": "Sync Tests"])
            let upload = try alice.upload(TestFile("hello"), masterVersion: 0)

            for reply in [signUp, upload] {
                #expect(reply.status == 502 && reply.json?.code?.text == "provider_misconfigured", "\(reply)")
                let id = try #require(reply.json?.requestId?.text)
                let lines = try errors(of: server).filter {
                    $0.request_id?.text == id && $0.message?.text == "Request failed"
                }
                let reason = "misconfigured: Google's token endpoint replied invalid_client"
                #expect(lines.map(\.reason?.text) == [reason], "\(lines)")
            }
        }

        @Test("A sealing key that does not match the stored tokens is an error that names it, not a defect")
        func sealingKey() throws {
            let stack = try PrivateStack("other-key", responders: 1)
            let server = try TestServer(stack)
            let alice = try server.signUpOwningUser()
            let key = try OperatorTool(server).runPlain("keys", "generate").output
            try override(stack, ["sealing": ["keyFile": try secret(key, in: stack)]])

            let upload = try alice.upload(TestFile("hello"), masterVersion: 0)

            #expect(upload.status == 502 && upload.json?.code?.text == "cloud_unavailable", "\(upload)")
            let errors = try self.errors(of: server)
            let connected = try OperatorTool(server).run("config", "check", "--connect")
            #expect(connected.status == 78, "\(connected.output)")
            #expect(connected.output.contains("the tokens of 1 user are sealed with the key "), "\(connected.output)")
            #expect(Set(errors.map(\.message?.text)) == ["Credentials cannot be opened and are treated as absent"])
            #expect(errors.allSatisfy { $0.reason?.text?.hasPrefix("The record is sealed with key ") == true })
            let log = try String(
                contentsOfFile: server.environment.value("LOG_DIR") + "/syncd-transfer.log", encoding: .utf8)
            #expect(log.contains("unavailable: the tokens cannot be opened"))
            #expect(!log.contains("CloudStorageError") && !log.contains("detail:"), "Swift's spelling")
        }

        @Test("A table to which a role has no access is an error that names it, not a defect")
        func refusedTable() throws {
            let stack = try PrivateStack("refused-table", responders: 1)
            let server = try TestServer(stack)
            let alice = try server.signUpOwningUser()
            let account = try server.askDatabase(
                "SELECT CONCAT(user, '@', host) FROM mysql.user WHERE user LIKE '%api'"
            ).trimmingCharacters(in: .whitespacesAndNewlines)
            _ = try server.askDatabase("REVOKE SELECT ON memberships FROM \(account)")

            let reply = try alice.call("GET", "Index")

            #expect(reply.status == 503 && reply.json?.code?.text == "database_unavailable", "\(reply)")
            let errors = try self.errors(of: server)
            #expect(errors.map(\.message?.text) == ["Request failed"], "\(errors)")
            let reason = try #require(errors.first?.reason?.text)
            #expect(reason.hasPrefix("access denied: 1142 SELECT command denied to user '"), "\(reason)")
            #expect(try OperatorTool(server).run("migrate").status == 0)
            #expect(try alice.call("GET", "Index").status == 200)
        }
    }
}
