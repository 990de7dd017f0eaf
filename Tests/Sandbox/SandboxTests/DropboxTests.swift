import Foundation
import OpenSSLCrypto
import Synchronization
import Testing

@testable import Sandbox

/// A signed-in user of Dropbox.
struct DropboxUser {
    let sandbox: TestSandbox
    let id: String
    let token: String
    let account: JSONValue

    init(_ sandbox: TestSandbox, _ json: JSONValue = ["provider": "dropbox", "name": "Alice Example"]) throws {
        self.sandbox = sandbox
        account = try sandbox.account(json)
        id = try #require(account["id"]?.string)
        token = try #require(account["accessToken"]?.string)
    }

    /// Calls a route whose argument is its body.
    func call(_ route: String, _ argument: JSONValue) -> SandboxResponse {
        sandbox.send("POST", "api.dropboxapi.com/2/" + route, token: token, json: argument)
    }

    /// Calls a route whose argument is in a header.
    func send(
        _ route: String, _ argument: JSONValue, _ bytes: [UInt8] = [], type: String = "application/octet-stream",
        headers: [(String, String)] = []
    ) -> SandboxResponse {
        send(route, argument, body: RequestBody(bytes), type: type, headers: headers)
    }

    func send(
        _ route: String, _ argument: JSONValue, body: RequestBody, type: String = "application/octet-stream",
        headers: [(String, String)] = []
    ) -> SandboxResponse {
        sandbox.send(
            "POST", "content.dropboxapi.com/2/files/" + route, token: token,
            headers: [("Dropbox-API-Arg", DropboxDownloads.ascii(argument)), ("Content-Type", type)] + headers,
            body: body)
    }

    func download(_ path: String, headers: [(String, String)] = []) -> SandboxResponse {
        send("download", ["path": .string(path)], type: "", headers: headers)
    }

    /// Calls the token route as the app's server.
    func tokens(_ more: [String: String]) -> SandboxResponse {
        let fields = ["client_id": RegisteredApps.dropboxAppKey, "client_secret": RegisteredApps.dropboxSecret]
        let form = fields.merging(more) { $1 }.map {
            PercentEncoding.encode($0.key) + "=" + PercentEncoding.encode($0.value)
        }
        return sandbox.send(
            "POST", "api.dropboxapi.com/oauth2/token",
            headers: [("Content-Type", "application/x-www-form-urlencoded")],
            body: Array(form.joined(separator: "&").utf8))
    }

    /// An authorization code, as if the user had signed in again.
    func newCode(_ json: JSONValue) throws -> String {
        let path = "/sandbox/accounts/\(id)/new-authorization-code"
        return try #require(try sandbox.send("POST", path, json: json).json()["authorizationCode"]?.string)
    }

    /// The tags of an error's union, from the outermost one.
    static func tags(_ response: SandboxResponse) throws -> [String] {
        var tags: [String] = []
        var value = try response.json()["error"]
        while let tag = value?[".tag"]?.string {
            tags.append(tag)
            value = value?[tag] ?? value?["reason"]
        }
        return tags
    }
}

@Suite("Sandbox: Dropbox")
struct DropboxTests {
    static let bytes = Array("Hello World".utf8)
    static let hash = "42a873ac3abd02122d27e80486c6fa1ef78694e8505fcec9cbcc8a7728ba8949"

    @Test(
        "A token of the wrong form is a 400 in plain text, any other unknown token a 401",
        arguments: [("junk", 400), ("ya29.google", 400), ("sl.u.a,b", 400), ("sl.ü", 400), ("sl.u.unknown", 401)])
    func malformedToken(token: String, status: Int) throws {
        let sandbox = try TestSandbox()
        for url in ["api.dropboxapi.com/2/users/get_current_account", "api.dropboxapi.com/2/files/list_folder"] {
            let reply = sandbox.send("POST", url, token: token, json: .null)
            #expect(reply.status == status)
            #expect(reply.header("Content-Type") == (status == 400 ? "text/plain; charset=utf-8" : "application/json"))
            let text = String(decoding: try reply.content(), as: UTF8.self)
            #expect(text.contains("malformed") == (status == 400))
        }
        let longLived = sandbox.send(
            "POST", "api.dropboxapi.com/2/users/get_current_account", token: String(repeating: "a", count: 64),
            json: .null)
        #expect(longLived.status == 401)
    }

    @Test("Content routes also accept their argument from the URL parameter arg")
    func argumentInURL() throws {
        let user = try DropboxUser(try TestSandbox())
        func send(_ route: String, _ query: String, _ bytes: [UInt8] = [], type: String = "") -> SandboxResponse {
            user.sandbox.send(
                "POST", "content.dropboxapi.com/2/files/" + route + query, token: user.token,
                headers: [("Content-Type", type)], body: bytes)
        }
        func argument(_ json: JSONValue) -> String { "?arg=" + PercentEncoding.encode(json.text()) }

        let up = send("upload", argument(["path": "/ä b.txt"]), [1, 2, 3], type: "application/octet-stream")
        let down = send("download", argument(["path": "/ä b.txt"]))

        #expect(up.status == 200)
        #expect(try up.json()["name"] == "ä b.txt")
        #expect(down.status == 200)
        #expect(try down.content() == [1, 2, 3])
        #expect(try user.sandbox.violations() == [])
        #expect(send("download", "").status == 400)
        #expect(send("download", argument(["path": "/x", "unknown": 1])).status == 400)
        #expect(try user.sandbox.violations() == ["argument", "argument-member"])
    }

    @Test("A file is uploaded, described, listed and read, and its owner sees it")
    func roundTrip() throws {
        let user = try DropboxUser(TestSandbox())

        let stored = try user.send("upload", ["path": "/Ünï.txt", "content_hash": .string(Self.hash)], Self.bytes)
            .json()

        #expect(stored["content_hash"]?.string == Self.hash && stored["size"]?.int == 11)
        let id = try #require(stored["id"]?.string)
        #expect(id.hasPrefix("id:") && id.count == 25)
        #expect(try user.call("files/get_metadata", ["path": "/üNÏ.TXT"]).json()["id"]?.string == id)
        let download = user.download(id)
        #expect(try download.content() == Self.bytes)
        let result = try #require(download.header("Dropbox-API-Result"))
        #expect(result.utf8.allSatisfy { (0x20..<0x7F).contains($0) } && result.contains(#"\u00dcn\u00ef.txt"#))
        let files = try user.sandbox.send("GET", "/sandbox/accounts/\(user.id)/files").json().array
        #expect(files?.map { $0["name"]?.string } == ["Ünï.txt"] && files?.first?["checkSum"]?.string == Self.hash)
        #expect(try user.sandbox.violations() == [])
    }

    @Test("The state directory survives a restart, including an upload in progress")
    func restart() throws {
        let first = try TestSandbox()
        let user = try DropboxUser(first)
        _ = user.send("upload", ["path": "/Folder/a.txt"], Self.bytes)
        let session = try user.send("upload_session/start", [:], Self.bytes).json()["session_id"] ?? .null
        let code = try #require(user.account["authorizationCode"]?.string)
        #expect(user.tokens(["grant_type": "authorization_code", "code": code]).status == 200)
        let second = try SandboxServer(directory: first.directory, wait: { _ in })
        let restarted = try #require(second.withState { $0.dropboxes[user.id] })

        #expect(restarted["/folder/A.TXT"]?.contentHash == Self.hash && restarted["/Folder"]?.isFolder == true)
        #expect(restarted.usedBytes == 11)
        #expect(second.withState { $0.dropboxUploads[session.string ?? ""]?.stored } == 11)
        let account = try #require(second.withState { $0.accounts[user.id] })
        #expect(account.codes.count == 1)
        // Grants survive as well: revoking one revokes all its tokens.
        let granted = try #require(account.refreshTokens.last?.value)
        #expect(account.accessTokens.map(\.refreshToken) == [nil, granted])
    }

    @Test(
        "Requests that do not have Dropbox's form are rejected and recorded",
        arguments: [
            ("download", "application/x-www-form-urlencoded", #"{"path": "/a"}"#, "content-type"),
            ("upload", "application/json", #"{"path": "/a"}"#, "content-type"),
            ("upload", "application/octet-stream", #"{"path": "/ü"}"#, "api-arg-ascii"),
            ("upload", "application/octet-stream", #"{"path": "/a", "colour": "red"}"#, "argument-member"),
            ("upload", "application/octet-stream", #"{"path""#, "argument"),
            ("upload", "application/octet-stream", #"{"path": "/a", "content_hash": "ABC"}"#, "content-hash-form"),
        ])
    func form(route: String, type: String, argument: String, rule: String) throws {
        let user = try DropboxUser(TestSandbox())

        let response = user.sandbox.send(
            "POST", "content.dropboxapi.com/2/files/" + route, token: user.token,
            headers: [("Dropbox-API-Arg", argument), ("Content-Type", type)])

        #expect(response.status == 400 && response.header("Content-Type")?.hasPrefix("text/plain") == true)
        #expect(try user.sandbox.violations() == [rule])
    }

    @Test("An access token is valid for 14,400 seconds, and its expiry has its own tag")
    func tokenLife() throws {
        let user = try DropboxUser(TestSandbox())
        let usage = { user.call("users/get_space_usage", .null) }

        user.sandbox.send("POST", "/sandbox/clock", json: ["offsetSeconds": 14_399])
        #expect(usage().status == 200)
        user.sandbox.send("POST", "/sandbox/clock", json: ["offsetSeconds": 14_400])
        let expired = usage()
        user.sandbox.send("POST", "/sandbox/accounts/\(user.id)/revoke", json: [:])
        let revoked = usage()

        #expect(expired.status == 401 && revoked.status == 401)
        #expect(try DropboxUser.tags(expired) == ["expired_access_token"])
        #expect(try DropboxUser.tags(revoked) == ["invalid_access_token"])
    }

    @Test("A session reports its offset, and ends with a file; it expires after seven days")
    func sessions() throws {
        let user = try DropboxUser(TestSandbox())
        let id = try user.send("upload_session/start", [:], Self.bytes).json()["session_id"] ?? .null
        let cursor: (Int) -> JSONValue = { ["session_id": id, "offset": .int($0)] }

        let wrong = user.send("upload_session/append_v2", ["cursor": cursor(5)], Self.bytes)
        #expect(wrong.status == 409)
        #expect(try wrong.json()["error"]?["correct_offset"]?.int == 11)
        #expect(user.send("upload_session/append_v2", ["cursor": cursor(11)], Self.bytes).status == 200)
        let bad = user.send(
            "upload_session/append_v2", ["cursor": cursor(22), "content_hash": .string(Self.hash)], [1])
        #expect(try DropboxUser.tags(bad) == ["content_hash_mismatch"])
        let early = user.send(
            "upload_session/finish", ["cursor": cursor(11), "commit": ["path": "/a"]], [])
        #expect(try DropboxUser.tags(early) == ["lookup_failed", "incorrect_offset"])

        user.sandbox.send("POST", "/sandbox/clock", json: ["offsetSeconds": 604_801])
        user.sandbox.send("GET", "/sandbox/accounts/\(user.id)")
        let old = try #require(
            try user.sandbox.send("GET", "/sandbox/accounts/\(user.id)").json()["accessToken"]?.string)
        let expired = user.sandbox.send(
            "POST", "content.dropboxapi.com/2/files/upload_session/finish", token: old,
            headers: [
                ("Dropbox-API-Arg", JSONValue.object(["cursor": cursor(22), "commit": ["path": "/a"]]).text()),
                ("Content-Type", "application/octet-stream"),
            ])
        #expect(try DropboxUser.tags(expired) == ["lookup_failed", "not_found"])
        user.sandbox.send("POST", "/sandbox/clock", json: ["offsetSeconds": 0])

        let done = user.send("upload_session/finish", ["cursor": cursor(22), "commit": ["path": "/a"]], [0x21])
        #expect(try user.download("/a").content() == Self.bytes + Self.bytes + [0x21])
        #expect(try done.json()["size"]?.int == 23)
    }

    @Test(
        "If two requests write to a session at once, one must retry, without a violation if the other's client is gone",
        arguments: [(isCut: false, isGone: false), (true, true), (false, true)])
    func rivals(isCut: Bool, isGone: Bool) throws {
        let user = try DropboxUser(TestSandbox())
        let id = try user.send("upload_session/start", [:], Self.bytes).json()["session_id"] ?? .null
        let argument: JSONValue = ["cursor": ["session_id": id, "offset": 11]]
        var refused: SandboxResponse?
        let body = RequestBody(declaredLength: 1) { buffer throws(RequestBodyError) in
            refused = user.send("upload_session/append_v2", argument, [1])
            if isCut { throw .cut }
            buffer[0] = 1
            return 1
        }
        body.isClientGone = { isGone }

        let first = user.send("upload_session/append_v2", argument, body: body)

        #expect(refused?.status == 429)
        #expect((first.status == 200) != isCut)
        let rules = try user.sandbox.violations()
        #expect(rules == (isGone ? [] : ["session-concurrency"]))
        let offset: JSONValue = ["cursor": ["session_id": id, "offset": .int(isCut ? 11 : 12)]]
        #expect(user.send("upload_session/append_v2", offset, [1]).status == 200)
    }

    @Test("If two writes are concurrent, one must retry")
    func namespaceLock() throws {
        let second = Mutex<SandboxResponse?>(nil)
        let again = Mutex<(@Sendable () -> SandboxResponse)?>(nil)
        let directory = try StateDirectory.ofOneTest()
        defer { try? FileManager.default.removeItem(atPath: directory.path) }
        let server = try SandboxServer(
            directory: directory,
            wait: { _ in
                // Runs while the first write holds the lock.
                guard let send = again.withLock({ $0.take() }) else { return }
                let response = send()
                second.withLock { $0 = response }
            })
        let account = try server.makeAccount(try NewAccount(json: ["provider": "dropbox"]))
        let token = try #require(account.accessTokens.first?.value)
        let write: @Sendable (String) -> SandboxResponse = { path in
            server.respond(
                to: SandboxRequest(
                    method: "POST", host: "content.dropboxapi.com", target: "/2/files/upload",
                    headers: [
                        ("Authorization", "Bearer " + token), ("Content-Type", "application/octet-stream"),
                        ("Dropbox-API-Arg", "{\"path\": \"\(path)\"}"),
                    ], body: RequestBody([1])))
        }
        server.withState { $0.settings.dropboxWriteMilliseconds = 100 }
        again.withLock { $0 = { write("/b") } }

        let first = write("/a")

        #expect(first.status == 200)
        let refused = try #require(second.withLock { $0 })
        #expect(refused.status == 409)
        #expect(try DropboxUser.tags(refused) == ["path", "too_many_write_operations"])
        #expect(write("/b").status == 200)
    }

    @Test("A full storage rejects uploads, and an injected fault uses Dropbox's errors")
    func quotaAndFaults() throws {
        let user = try DropboxUser(TestSandbox(), ["provider": "dropbox", "name": "Full", "quotaBytes": 10])
        let full = user.send("upload", ["path": "/a"], Self.bytes)
        #expect(try DropboxUser.tags(full) == ["path", "insufficient_space"])
        #expect(try full.json()["error_summary"]?.string?.hasPrefix("path/insufficient_space/") == true)

        user.sandbox.send(
            "POST", "/sandbox/faults",
            json: ["host": "api.dropboxapi.com", "status": 409, "reason": "path/not_found", "times": 1])
        #expect(try DropboxUser.tags(user.call("files/get_metadata", ["path": "/a"])) == ["path", "not_found"])
        user.sandbox.send("POST", "/sandbox/faults", json: ["status": 429, "retryAfter": 7, "times": 1])
        let told = try user.call("users/get_space_usage", .null).json()
        #expect(told["error"]?["retry_after"]?.int == 7)
        user.sandbox.send(
            "POST", "/sandbox/faults", json: ["status": 429, "retryAfter": 7, "reason": "text", "times": 1])
        let text = user.call("users/get_space_usage", .null)
        #expect(text.header("Retry-After") == "7" && text.header("Content-Type")?.hasPrefix("text/plain") == true)
    }

    @Test("A code is exchanged once, by the app that requested it, with its PKCE verifier")
    func codes() throws {
        let user = try DropboxUser(TestSandbox())
        let (token, code) = (user.tokens, user.newCode)
        let exchange: (String) -> [String: String] = { ["grant_type": "authorization_code", "code": $0] }

        let plain = try code([:])
        let tokens = token(exchange(plain))
        #expect(tokens.status == 200)
        #expect(try tokens.json()["account_id"]?.string == user.id && tokens.json()["expires_in"]?.int == 14_400)
        #expect(try token(exchange(plain)).json()["error"]?.string == "invalid_grant")
        let proved = try code(["codeVerifier": "secret-verifier", "redirectURI": "db-x://2/token"])
        #expect(token(exchange(proved)).status == 400)
        let wrong = ["code_verifier": "another", "redirect_uri": "db-x://2/token"]
        #expect(try token(exchange(proved).merging(wrong) { $1 }).json()["error"]?.string == "invalid_grant")
        let right = ["code_verifier": "secret-verifier", "redirect_uri": "db-x://2/token"]
        #expect(token(exchange(proved).merging(right) { $1 }).status == 200)

        let refresh = try #require(try tokens.json()["refresh_token"]?.string)
        let renewed = try token(["grant_type": "refresh_token", "refresh_token": refresh]).json()
        #expect(renewed["access_token"]?.string != nil && renewed["refresh_token"] == nil)
        user.sandbox.send("POST", "/sandbox/accounts/\(user.id)/revoke", json: [:])
        #expect(
            try token(["grant_type": "refresh_token", "refresh_token": refresh]).json()["error"]?.string
                == "invalid_grant")
    }

    @Test("A revocation ends one grant: its refresh token and all its access tokens, and nothing else")
    func revocation() throws {
        let user = try DropboxUser(TestSandbox())
        func grant() throws -> (access: String, refresh: String) {
            let reply = try user.tokens(["grant_type": "authorization_code", "code": user.newCode([:])]).json()
            return (try #require(reply["access_token"]?.string), try #require(reply["refresh_token"]?.string))
        }
        func renewed(_ refresh: String) throws -> JSONValue {
            try user.tokens(["grant_type": "refresh_token", "refresh_token": refresh]).json()
        }
        func works(_ token: String) -> Bool {
            user.sandbox.send(
                "POST", "api.dropboxapi.com/2/users/get_space_usage", token: token, json: .null
            ).status == 200
        }
        func revoke(_ token: String) -> Int {
            user.sandbox.send("POST", "api.dropboxapi.com/2/auth/token/revoke", token: token, json: .null).status
        }
        let (one, other) = (try grant(), try grant())
        let sibling = try #require(try renewed(one.refresh)["access_token"]?.string)

        #expect(revoke(sibling) == 200)

        #expect(!works(one.access) && !works(sibling))
        #expect(try renewed(one.refresh)["error"]?.string == "invalid_grant")
        #expect(revoke(sibling) == 401)
        #expect(works(other.access) && works(user.token))
        #expect(try renewed(other.refresh)["access_token"]?.string != nil)
        // A token without a refresh token is revoked alone.
        #expect(revoke(user.token) == 200)
        #expect(!works(user.token) && works(other.access))
    }

    @Test("The overview page shows the folder")
    func page() throws {
        let user = try DropboxUser(TestSandbox())
        _ = user.send("upload", ["path": "/cat.jpg"], [0xFF, 0xD8, 0xFF])

        let html = String(decoding: try user.sandbox.send("GET", "/sandbox").content(), as: UTF8.self)

        #expect(html.contains("class=\"badge dropbox\">Dropbox") && html.contains("cat.jpg") && html.contains("<img"))
    }
}
