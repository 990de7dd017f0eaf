import Foundation
import TestSupport
import Testing

extension PrivateStackTests {
    /// Folders on real servers that users specify: which folders are accepted, and what changes by their owners cause.
    @Suite("Folders on user-specified servers", .serialized)
    struct NamedFolderTests {
        // A separate stack, since other tests specify unknown servers, and syncd contacts only a few of those.
        private static let stack = Result {
            try TestServer(
                PrivateStack("folders", responders: 1, overrides: #"{"webdav": {"anyPublicServer": true}}"#))
        }
        private let server: TestServer
        private let apache: StorageServerProcess
        private let host = "\(UUID().uuidString.prefix(8).lowercased()).sandbox.test"

        init() throws {
            server = try Self.stack.get()
            apache = try StorageServerProcess.of(.openApache)
            try server.sandbox.addBackend(host: host, port: apache.port)
            try server.sandbox.clearFaults()
        }

        private func newcomer() throws -> (user: TestUser, folder: URL) {
            try apache.newcomer(to: server, through: host)
        }

        @Test(
            "Sign-up with a storage that cannot store files fails, names the cause, and leaves nothing behind",
            arguments: [
                ("MKCOL", 403, "may read the folder"), ("PUT", 413, "1 MiB"), ("PUT", 415, "status 415"),
                ("PUT", 409, "status 409"), ("MOVE", 403, "may read the folder"),
            ])
        func useless(method: String, status: Int, cause: String) throws {
            let (user, folder) = try newcomer()
            var fault = SandboxFault(host: host, status: status)
            fault.method = method
            try server.sandbox.inject(fault)

            let refusal = try user.signUpInFolder()
            try server.sandbox.clearFaults()

            expectError(refusal, 403)
            #expect(refusal.json?.code?.text == "storage_unusable", "\(refusal)")
            #expect(refusal.json?.error?.text?.contains(cause) == true, "\(refusal)")
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { $0 != ".DAV" } == [])
            #expect(try user.signUpInFolder().status == 200)
        }

        @Test("If a user must accept their server's terms of service, the reply reports it, and they stay signed in")
        func terms() throws {
            let (user, _) = try newcomer()
            #expect(try user.signUpInFolder().status == 200)
            var fault = SandboxFault(host: host, status: 403)
            fault.body = "<s:exception>OCA\\TermsOfService\\TermsNotSignedException</s:exception>"
            try server.sandbox.inject(fault)

            let upload = try user.upload(TestFile().stored(at: .webdav), masterVersion: 0)
            let newcomer = try self.newcomer().user.signUpInFolder()
            try server.sandbox.clearFaults()

            for reply in [upload, newcomer] {
                expectError(reply, 502)
                #expect(reply.json?.code?.text == "storage_terms_not_accepted", "\(reply)")
            }
            #expect(try user.upload(TestFile().stored(at: .webdav), masterVersion: 0).status == 200)
        }

        @Test("Changed bytes with the same size and date are served, marked as changed, after fsck has read them twice")
        func sameDate() throws {
            var (user, folder) = try newcomer()
            let reply = try user.signUpInFolder()
            #expect(reply.status == 200, "\(reply)")
            user.userID = try #require(reply.json?.userId?.integer)
            var file = TestFile("as the app left it").stored(at: .webdav)
            try user.publish(file, masterVersion: 0)
            let path = folder.appending(path: "Album/" + file.cloudName(device: user.device)).path
            file.contents = Array("AS THE OWNER EDITS".utf8)
            let edited =
                "cp -p \(path) \(path).copy && printf '%s' 'AS THE OWNER EDITS' >\(path) && "
                + "touch -r \(path).copy \(path) && rm \(path).copy"
            #expect(try Command("/bin/sh", ["-c", edited]).status == 0)
            func findings(_ arguments: String...) throws -> [String] {
                let tool = try OperatorTool(server)
                let output = try tool.run(
                    ["fsck", "--clouds", "--owner", "\(user.userID)", "--json"] + arguments
                ).output
                let codes = JSONValue(Array(output.utf8))?.findings?.array?.compactMap { $0.code?.text }
                return try #require(codes, "\(output)").filter { $0 != "objectForeign" }
            }
            #expect(try findings() == [])
            #expect(try findings("--read") == ["objectChanged"])

            expectError(try user.download(file, masterVersion: 1), 502)
            for _ in 0..<2 {
                expectDownload(try user.download(file, masterVersion: 1), of: file, contentsChanged: true)
            }
        }
    }
}

extension StorageServerProcess {
    /// The password of every newcomer's folder on this server.
    static let password = "secret-of-the-tests"

    /// Creates a newcomer with a folder on this server, and returns the folder's location on this machine.
    /// - Parameter host: the name under which syncd reaches this server.
    func newcomer(to server: TestServer, through host: String) throws -> (user: TestUser, folder: URL) {
        let folder = UUID().uuidString
        try makeFolder(folder, password: Self.password)
        let account = try SandboxAccount(inFolderAt: "https://\(host)/\(folder)/", password: Self.password)
        return (server.newcomer(with: account), files.appending(path: folder))
    }
}

extension TestUser {
    func signUpInFolder() throws -> HTTPReply {
        try call("POST", "AddUser", ["sharingGroupUUID": group, "cloudFolderName": "Album"])
    }
}
