import Foundation
import Posix
import SyncProtocol
import TestSupport
import Testing

@testable import syncctl

extension TrialTests {
    /// The command as an operator types it, run against a stack.
    @Suite("syncctl try")
    struct TryCommandTests {
        /// A credentials file of a new account.
        private static func credentials(_ provider: SandboxProvider) throws -> (ScratchFolder, path: String) {
            let account = try TrialSandbox.server().sandbox.createAccount(provider, name: TrialPerson.name)
            let folder = try ScratchFolder("try")
            let file = folder.url.appending(path: "credentials.json")
            try Data(TrialPerson.json(of: account)).write(to: file)
            return (folder, file.path)
        }

        @Test(
            "A healthy provider is tried with status 0, under its command-line name",
            arguments: [SandboxProvider.google, .dropbox, .microsoft, .webdav, .facebook, .apple])
        func healthy(provider: SandboxProvider) throws {
            let (folder, path) = try Self.credentials(provider)
            let report = folder.url.appending(path: "report.txt")

            let command = try OperatorTool(TrialSandbox.server()).run(
                "try", provider.rawValue, "--credentials", path, "--report", report.path)

            #expect(command.status == 0, "\(command.output)")
            #expect(try String(contentsOf: report, encoding: .utf8).contains("ok          identity"))
        }

        @Test("A typed code is enough, and is not shown")
        func typed() throws {
            let server = try TrialSandbox.server()
            let account = try server.sandbox.createAccount(.dropbox, name: TrialPerson.name)
            let code = try #require(account.header("SyncServer-authorization-code"))

            let command = try OperatorTool(server).run(["try", "dropbox"], input: code + "\n")

            #expect(command.status == 0, "\(command.output)")
            #expect(command.output.contains("https://www.dropbox.com/oauth2/authorize?client_id="))
            #expect(command.output.contains("ok          code"))
            #expect(!command.output.contains(code))
        }

        @Test("Standard input can replace a file")
        func standardInput() throws {
            let server = try TrialSandbox.server()
            let account = try server.sandbox.createAccount(.facebook, name: TrialPerson.name)
            let json = String(decoding: try TrialPerson.json(of: account), as: UTF8.self)

            let command = try OperatorTool(server).run(["try", "facebook", "--credentials", "-"], input: json)

            #expect(command.status == 0, "\(command.output)")
        }

        @Test("Ctrl-C ends the trial early, and nothing is left in the storage")
        func interrupted() async throws {
            let server = try TrialSandbox.server()
            try server.sandbox.clearFaults()
            let account = try server.sandbox.createAccount(.dropbox, name: TrialPerson.name)
            let folder = try ScratchFolder("try")
            let file = folder.url.appending(path: "credentials.json")
            try Data(TrialPerson.json(of: account)).write(to: file)
            // Slows the trial down.
            var fault = SandboxFault(host: nil, pathPrefix: "/2/files/")
            fault.latencyMilliseconds = 300
            try server.sandbox.inject(fault)
            defer { try? server.sandbox.clearFaults() }
            let report = folder.url.appending(path: "report.json")
            let trial = try OperatorTool(server).start(
                "try", "dropbox", "--json", "--credentials", file.path, "--report", report.path)
            try await eventually("a file is stored") { try !server.sandbox.files(of: account).isEmpty }

            trial.send(SIGINT)
            let status = try trial.wait()

            #expect(status == 1)
            let json = try #require(JSONValue(Array(try Data(contentsOf: report))))
            #expect(json.outcome?.text == "interrupted")
            #expect(try server.sandbox.files(of: account).isEmpty)
        }

        @Test("A fault ends the trial with status 1, and the JSON names the step")
        func faulty() throws {
            let (folder, path) = try Self.credentials(.google)
            defer { withExtendedLifetime(folder) {} }
            let sandbox = try TrialSandbox.server().sandbox
            var fault = SandboxFault(host: "oauth2.googleapis.com", pathPrefix: "/revoke", status: 400)
            fault.reason = "not_allowed"
            try sandbox.inject(fault)
            defer { try? sandbox.clearFaults() }

            let report = try OperatorTool(TrialSandbox.server()).json(
                "try", "google", "--credentials", path, status: 1)

            #expect(report.outcome?.text == "failed")
            let failed = report.steps?.array?.filter { $0.result?.text == "failed" }.map { $0.step?.text }
            #expect(failed == ["revocation"])
        }

        @Test("A provider that is not configured causes status 78, and the output states the remedy")
        func notConfigured() throws {
            let (folder, path) = try Self.credentials(.google)
            defer { withExtendedLifetime(folder) {} }
            let command = try OperatorTool(TrialSandbox.server()).run("try", "s3", "--credentials", path)

            #expect(command.status == 78)
            #expect(command.output.contains("syncctl setup"), "\(command.output)")
        }

        @Test(
            "Mistakes on the command line cause status 64",
            arguments: [
                ["try", "gogle"], ["try", "google", "--patience", "0", "--credentials", "/dev/null"],
                ["try", "google", "--json"], ["try", "google", "--credentials", "/dev/null"],
            ])
        func usage(arguments: [String]) throws {
            #expect(try OperatorTool(TrialSandbox.server()).run(arguments).status == 64)
        }

        @Test("A code may be pasted as the address to which the browser was redirected")
        func pasted() {
            #expect(TrialQuestions.code(in: " 4/0AbC ") == "4/0AbC")
            #expect(
                TrialQuestions.code(in: "http://localhost/server?state=x&code=4%2F0AbC&scope=openid#_") == "4/0AbC")
        }
    }
}
