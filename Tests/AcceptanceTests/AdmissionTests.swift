import Curl
import Foundation
import TestSupport
import Testing

@Suite("Transfers rejected before their body")
struct AdmissionTests {
    let server: TestServer

    init() throws {
        CurlLibrary.initialize()
        server = try TestServer.shared()
    }

    /// The head of an upload of 128 MiB.
    private func largeUpload(by user: TestUser, headers: [(name: String, value: String)]) -> HTTPCall {
        HTTPCall(
            "POST", "/UploadFile/" + ClientQuery.text(user.uploadParameters(TestFile("x"), masterVersion: 0)),
            headers: headers)
    }

    @Test("Without a token the reply is immediate, however slow the body is")
    func noToken() throws {
        let alice = try server.signUpOwningUser()
        var conversation = try HTTPConversation(to: server.address, timeout: .seconds(20))

        try conversation.send(
            largeUpload(by: alice, headers: []).head(for: server.address, contentLength: 128 << 20))
        try conversation.send("slow")
        let reply = try conversation.reply()

        expectError(reply, 401)
        #expect(reply.json?.code?.text == "credentials_missing")
        #expect(reply.headers.filter { $0.name.lowercased() == "syncserver-version" }.count == 1)
    }

    @Test("Readers and non-members also get the reply immediately")
    func noPermission() throws {
        let alice = try server.signUpOwningUser()
        let reader = try alice.newMember(.read, provider: .google, name: "Reader")
        let stranger = try server.signUpOwningUser()
        for (user, status) in [(reader, 409), (stranger, 410)] {
            var conversation = try HTTPConversation(to: server.address, timeout: .seconds(20))

            try conversation.send(
                largeUpload(by: alice, headers: user.headers).head(for: server.address, contentLength: 128 << 20))
            let reply = try conversation.reply()

            expectError(reply, status, goneReason: status == 410 ? "userRemoved" : nil)
        }
    }

    @Test(
        "A phone that nevertheless sends a large body completely gets its reply over HTTP/2 and HTTP/1.1",
        arguments: [Request.HTTPVersion.http11, .http2])
    func wholeBody(version: Request.HTTPVersion) throws {
        let alice = try server.signUpOwningUser()
        let file = TestFile(randomBytes: 20_000_000)
        for _ in 0..<5 {
            var request = Request(
                method: "POST",
                url: "\(server.secureURL)/UploadFile/"
                    + ClientQuery.text(alice.uploadParameters(file, masterVersion: 0)),
                headers: alice.headers.filter { $0.name != "access_token" }, body: .bytes(file.contents))
            request.httpVersion = version
            var handle = try EasyHandle(routing: Routing(caFile: server.certificateAuthorityFile))

            let reply = try handle.perform(request)

            #expect(reply.status == 401)
            #expect(JSONValue(reply.body)?.code?.text == "credentials_missing")
        }
    }

    @Test("A chunked upload always gets 411")
    func chunked() throws {
        let alice = try server.signUpOwningUser()
        for _ in 0..<40 {
            var conversation = try HTTPConversation(to: server.address, timeout: .seconds(20))
            let head = largeUpload(by: alice, headers: alice.headers).head(for: server.address)
            try conversation.send(
                head.replacingOccurrences(of: "Content-Length: 0\r\n", with: "Transfer-Encoding: chunked\r\n"))
            try? conversation.send("8000\r\n" + String(repeating: "x", count: 0x8000) + "\r\n")
            try? conversation.send("8000\r\n" + String(repeating: "x", count: 0x8000) + "\r\n0\r\n\r\n")

            expectError(try conversation.reply(), 411)
        }
    }
}

extension PrivateStackTests {
    @Suite("Downloads without admission")
    struct UnaskedDownloadTests {
        @Test("A user whose sign-in is cached can download while no process of the api role replies")
        func withoutRoleAPI() throws {
            let server = try TestServer(try PrivateStack("unasked", responders: 1))
            let alice = try server.signUpOwningUser()
            let stranger = try server.signUpOwningUser()
            let file = TestFile(randomBytes: 2_000_000)
            #expect(try alice.upload(file, masterVersion: 0).status == 200)
            #expect(try alice.commitStaged(masterVersion: 0) == 1)
            expectDownload(try alice.download(file, masterVersion: 1), of: file)

            let processes = try server.processes("syncd_api")
            for process in processes { process.freeze() }
            defer { for process in processes { process.thaw() } }

            for _ in 0..<3 { expectDownload(try alice.download(file, masterVersion: 1), of: file) }
            // The transfer role performs the checks of the admission itself.
            expectError(
                try alice.download(file, masterVersion: 1, group: stranger.group), 410, goneReason: "userRemoved")
            expectError(try alice.download(TestFile("none"), masterVersion: 1), 404)
        }
    }
}
