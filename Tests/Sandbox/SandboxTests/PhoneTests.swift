import FoundationEssentials
import Synchronization
import Testing

@testable import Sandbox

/// A server with scripted replies, which records its requests.
private final class ScriptedServer: Sendable {
    private let requests = Mutex<[AppServer.Request]>([])
    private let replies: [String: (status: Int, body: String)]
    private let first: [String: (status: Int, body: String)]

    /// - Parameter first: the replies to the first request to an endpoint, if they differ.
    init(
        _ replies: [String: (status: Int, body: String)], first: [String: (status: Int, body: String)] = [:]
    ) {
        self.replies = replies
        self.first = first
    }

    var asked: [AppServer.Request] { requests.withLock { $0 } }
    var endpoints: [String] { asked.map { String($0.url.dropFirst(8).split(separator: "/")[1]) } }

    var address: AppServer {
        AppServer(address: "https://sync.test/") { [self] request throws(AppServer.Unreachable) in
            let endpoint = String(request.url.dropFirst("https://sync.test/".count).prefix { $0 != "/" })
            let isFirst = requests.withLock { requests in
                defer { requests.append(request) }
                return !requests.contains { $0.url.hasPrefix("https://sync.test/\(endpoint)/") }
            }
            guard let (status, body) = (isFirst ? first[endpoint] : nil) ?? replies[endpoint] else {
                throw AppServer.Unreachable("no <reply>")
            }
            return AppServer.Reply(status: status, headers: [], body: Array(body.utf8))
        }
    }
}

@Suite("Phones on the pages for users")
struct PhoneTests {
    private static let group = "6D1F9F4E-5A0B-4C55-9D0E-3F6C1F1D2A10"
    private static let index = """
        {"masterVersion": 7, "fileIndex": [], "sharingGroups": [{"sharingGroupUUID": "\(group)", \
        "sharingGroupName": "Hill <walkers>", "permission": "write", "deleted": false, "cloudStorageType": "Dropbox", \
        "sharingGroupUsers": [{"name": "<Alice>", "userId": 1}]}]}
        """

    private func phone(_ server: ScriptedServer, provider: String = "google") throws -> (TestSandbox, String) {
        let sandbox = try TestSandbox(appServer: server.address)
        let id = try #require(try sandbox.account(["provider": .string(provider), "name": "Alice"])["id"]?.string)
        return (sandbox, "/sandbox/accounts/\(PercentEncoding.encode(id))/phone")
    }

    private func submit(
        _ sandbox: TestSandbox, _ path: String, _ form: String, origin: String? = "http://127.0.0.1:8080",
        type: String = "application/x-www-form-urlencoded", more: [(String, String)] = []
    ) -> SandboxResponse {
        var headers = [("Host", "127.0.0.1:8080"), ("Content-Type", type)] + more
        if let origin { headers.append(("Origin", origin)) }
        return sandbox.send("POST", path, headers: headers, body: Array(form.utf8))
    }

    private func page(_ sandbox: TestSandbox, _ path: String) throws -> String {
        String(decoding: try sandbox.send("GET", path).content(), as: UTF8.self)
    }

    @Test("A person is added, signs up with an app's headers, and sees the conversation")
    func signUp() throws {
        let server = ScriptedServer(["CheckCreds": (401, "{}"), "AddUser": (200, #"{"userId": 1}"#)])
        let sandbox = try TestSandbox(appServer: server.address)

        let added = submit(sandbox, "/sandbox/people", "name=+Alice+&provider=google")
        let phone = try #require(added.header("Location"))
        let before = try page(sandbox, phone)
        let done = submit(sandbox, phone + "/sign-up", "group=Hill+walkers&folder=Pictures")
        let after = try page(sandbox, phone)

        #expect(added.status == 303 && done.status == 303 && done.header("Location") == phone)
        #expect(before.contains("The server does not know Alice yet"))
        let request = try #require(server.asked.first { $0.method == "POST" })
        #expect(request.url.contains("cloudFolderName=Pictures&sharingGroupName=Hill%20walkers&sharingGroupUUID="))
        #expect(request.headers.contains { $0.name == "X-token-type" && $0.value == "GoogleToken" })
        #expect(request.headers.contains { $0.name == "SyncServer-Device-UUID" })
        #expect(after.contains("Alice has signed up") && after.contains("POST /AddUser/</code>"))
        #expect(Set(server.asked.map { $0.headers.last?.value }).count == 1, "all requests come from one device")
    }

    @Test("Forms are accepted only from the sandbox's own pages, and their addresses accept nothing else")
    func otherOrigins() throws {
        let server = ScriptedServer([:])
        let (sandbox, phone) = try phone(server)
        for path in ["/sandbox/people", phone + "/invite"] {
            for origin in [nil, "null", "http://evil.example", "http://127.0.0.1:9999", "https://127.0.0.1:8080"] {
                #expect(submit(sandbox, path, "name=A&provider=google", origin: origin).status == 403)
            }
            #expect(
                submit(sandbox, path, "name=A&provider=google", more: [("Sec-Fetch-Site", "cross-site")]).status == 403)
            #expect(submit(sandbox, path, "{}", type: "application/json").status == 415)
            #expect(submit(sandbox, path, "{}", type: "text/plain").status == 415)
        }
        // Other routes do not accept forms, not even from these pages.
        #expect(submit(sandbox, "/sandbox/accounts", "name=A&provider=google").status == 415)
        #expect(server.asked.isEmpty)
    }

    @Test(
        "A phone waits for a change from the state that the server names",
        arguments: [
            (404, "{}", "syncctl setup --changes"), (408, "{}", "Nobody has changed anything"),
            (200, #"{"masterVersion": 8}"#, "now has master version 8"), (200, "{}", "Something has changed."),
        ])
    func wait(status: Int, body: String, sentence: String) throws {
        let server = ScriptedServer(
            ["CheckCreds": (200, "{}"), "Index": (200, Self.index), "Changes": (status, body)],
            first: status == 404 ? [:] : ["Changes": (200, #"{"lastEventId": "state"}"#)])
        let (sandbox, phone) = try phone(server)

        #expect(submit(sandbox, phone + "/wait", "").status == 303)

        #expect(try page(sandbox, phone).contains(sentence))
        let known = server.asked.filter { $0.url.hasSuffix("/Changes/") }.map { request in
            request.headers.first { $0.name == "Last-Event-ID" }?.value
        }
        #expect(known == (status == 404 ? [nil] : [nil, "state"]))
    }

    @Test("A file is uploaded with the checksum of the owner's storage, and committed")
    func share() throws {
        let server = ScriptedServer([
            "Index": (200, Self.index), "UploadFile": (200, "{}"), "DoneUploads": (200, "{}"),
            "CheckCreds": (200, "{}"),
        ])
        let (sandbox, phone) = try phone(server, provider: "facebook")
        let form = """
            --b\r\nContent-Disposition: form-data; name="group"\r\n\r\n\(Self.group)\r\n\
            --b\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\nContent-Type: text/plain\r\n\r\n\
            Hello World\r\n--b--\r\n
            """

        let done = submit(sandbox, phone + "/file", form, type: "multipart/form-data; boundary=b")
        let page = try page(sandbox, phone)

        #expect(done.status == 303)
        #expect(server.endpoints.prefix(3) == ["Index", "UploadFile", "DoneUploads"])
        let upload = try #require(server.asked.first { !$0.body.isEmpty })
        #expect(upload.body == Array("Hello World".utf8) && upload.url.contains("masterVersion=7"))
        // docs/protocol.md, section 7.4
        #expect(upload.url.contains("42a873ac3abd02122d27e80486c6fa1ef78694e8505fcec9cbcc8a7728ba8949"))
        #expect(page.contains("Hill &lt;walkers&gt;") && page.contains("&lt;Alice&gt;"))
        #expect(!page.contains("id=invite"), "a member with write permission may not invite")
    }

    @Test("A stale group, a rejection and an unreachable server are reported in a sentence")
    func failures() throws {
        let stale = ScriptedServer([
            "Index": (200, Self.index), "UploadFile": (200, #"{"masterVersionUpdate": 8}"#), "CheckCreds": (200, "{}"),
        ])
        let refusing = ScriptedServer([
            "Index": (404, #"{"message": "no <such> group"}"#), "CheckCreds": (200, "{}"),
        ])
        for (server, sentence) in [
            (stale, "Try again."), (refusing, "404: no &lt;such&gt; group"),
            (ScriptedServer([:]), "cannot be reached: no &lt;reply&gt;"),
        ] {
            let (sandbox, phone) = try phone(server, provider: "facebook")
            #expect(submit(sandbox, phone + "/text", "group=\(Self.group)&text=Hello").status == 303)

            let page = try page(sandbox, phone)

            #expect(page.contains("<section class=\"notice bad\" id=outcome>") && page.contains(sentence), "\(page)")
            #expect(!server.endpoints.contains("DoneUploads"))
        }
    }

    @Test("Missing fields, unknown actions and oversized files are rejected")
    func oddForms() throws {
        let (sandbox, phone) = try phone(ScriptedServer([:]))

        #expect(submit(sandbox, phone + "/sign-up", "group=+&folder=a").status == 400)
        #expect(submit(sandbox, phone + "/text", "group=a").status == 400)
        #expect(submit(sandbox, phone + "/file", "group=a").status == 400)
        #expect(submit(sandbox, phone + "/dance", "").status == 404)
        #expect(submit(sandbox, phone + "/file", "--c--", type: "multipart/form-data; boundary=b").status == 400)
        #expect(sandbox.send("GET", phone + "/download").status == 404)
        let large = String(repeating: "x", count: PhoneSession.longestFile + 100_000)
        let reply = submit(sandbox, phone + "/file", large, type: "multipart/form-data; boundary=b")
        #expect(try reply.json()["error"]?.string == "the file is larger than 20 MB")
    }

    @Test("Without a server there are no phones, and the page explains how to get them")
    func withoutServer() throws {
        let sandbox = try TestSandbox()
        let id = try #require(try sandbox.account()["id"]?.string)

        #expect(sandbox.send("GET", "/sandbox/accounts/\(id)/phone").status == 404)
        #expect(submit(sandbox, "/sandbox/people", "name=A&provider=google").status == 404)
        #expect(try page(sandbox, "/sandbox").contains("--server"))
    }
}
