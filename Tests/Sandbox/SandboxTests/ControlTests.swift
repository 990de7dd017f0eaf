import OpenSSLCrypto
import Testing

@testable import Sandbox

@Suite("The control interface and Facebook")
struct ControlTests {
    @Test("It can be used only from this machine, with a loopback host name and JSON")
    func safety() throws {
        let sandbox = try TestSandbox()
        func status(_ host: String, peer: String, type: String, site: String? = nil) -> Int {
            var headers = [(name: "Content-Type", value: type)]
            if let site { headers.append(("Sec-Fetch-Site", site)) }
            return sandbox.server.respond(
                to: SandboxRequest(
                    method: "POST", host: host, target: "/sandbox/accounts", headers: headers, peer: peer,
                    isSecure: false, body: RequestBody(Array(#"{"provider":"google"}"#.utf8)))
            ).status
        }

        #expect(status("127.0.0.1:1", peer: "127.0.0.1", type: "application/json") == 201)
        #expect(status("127.0.0.1:1", peer: "10.0.0.1", type: "application/json") == 403)
        #expect(status("evil.example", peer: "127.0.0.1", type: "application/json") == 403)
        #expect(status("localhost", peer: "::1", type: "text/plain") == 415)
        #expect(status("localhost", peer: "::1", type: "application/json", site: "cross-site") == 403)
    }

    @Test("An account's app headers are also available as text for curl, including those of a new device")
    func headersAsText() throws {
        let sandbox = try TestSandbox()
        let account = try sandbox.account(["provider": "google", "name": "Alice"])
        let id = try #require(account["id"]?.string)

        let reply = sandbox.send("GET", "/sandbox/accounts/\(id)", headers: [("Accept", "text/plain")])

        guard case .bytes(let bytes) = reply.body else {
            Issue.record("expected text: \(reply.body)")
            return
        }
        let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n").map { $0.split(separator: ":") }
        #expect(
            lines.map { String($0[0]) }.sorted() == [
                "SyncServer-Device-UUID", "SyncServer-authorization-code", "X-token-type", "access_token",
            ])
        #expect(lines.contains { $0 == ["X-token-type", " GoogleToken"] })
        #expect(reply.headers.contains { $0 == ("Content-Type", "text/plain; charset=UTF-8") })
        #expect(sandbox.send("GET", "/sandbox/accounts/\(id)", headers: [("Accept", "*/*")]).status == 200)
        #expect(try sandbox.send("GET", "/sandbox/accounts/\(id)").json()["id"]?.string == id)
    }

    @Test("A Facebook user signs in, with or without a version in the path, and the proof is checked")
    func facebook() throws {
        let sandbox = try TestSandbox()
        let account = try sandbox.account(["provider": "facebook", "name": "Bob"])
        let token = try #require(account["headers"]?["access_token"]?.string)
        let proof = hmacSHA256(key: Array(RegisteredApps.facebookSecret.utf8), message: Array(token.utf8)).hexLowercase
        let app = "&access_token=123456789012345%7Csandbox-facebook-secret"

        let me = sandbox.send("GET", "graph.facebook.com/v25.0/me?access_token=\(token)&appsecret_proof=\(proof)")
        let wrongProof = sandbox.send("GET", "graph.facebook.com/me?access_token=\(token)&appsecret_proof=00")
        let debug = sandbox.send("GET", "graph.facebook.com/debug_token?input_token=\(token)\(app)")
        let exchange = sandbox.send(
            "GET",
            "graph.facebook.com/oauth/access_token?grant_type=fb_exchange_token&client_id=123456789012345&client_secret=sandbox-facebook-secret&fb_exchange_token=\(token)"
        )

        #expect(account["headers"]?["X-token-type"] == "FacebookToken")
        #expect(try me.json()["id"] == account["id"])
        #expect(try me.json()["name"] == "Bob")
        #expect(wrongProof.status == 400)
        #expect(try debug.json()["data"]?["is_valid"] == true)
        #expect(try debug.json()["data"]?["user_id"] == account["id"])
        #expect(try exchange.json()["expires_in"] == 5_184_000)
    }

    @Test("Expired, revoked and foreign Facebook tokens are distinguished")
    func facebookRefusals() throws {
        let sandbox = try TestSandbox()
        func subcode(_ token: String) throws -> JSONValue? {
            try sandbox.send("GET", "graph.facebook.com/me?access_token=" + token).json()["error"]?["error_subcode"]
        }
        let account = try sandbox.account(["provider": "facebook"])
        let token = try #require(account["accessToken"]?.string)
        let id = try #require(account["id"]?.string)
        let foreign = try #require(
            try sandbox.account(["provider": "facebook", "audience": "666"])["accessToken"]?.string)

        sandbox.send("POST", "/sandbox/accounts/\(id)/expire-access-token", json: ["which": "device"])
        let expired = try subcode(token)
        sandbox.send("POST", "/sandbox/accounts/\(id)/revoke", json: ["which": "device"])
        let debug = sandbox.send(
            "GET",
            "graph.facebook.com/debug_token?input_token=\(foreign)&access_token=123456789012345%7Csandbox-facebook-secret"
        )

        #expect(expired == 463)
        #expect(try subcode(token) == 458)
        #expect(try debug.status == 400 && debug.json()["error"]?["code"] == 100)
    }

    @Test("Every issued token is listed, including replaced ones and Apple's")
    func tokens() throws {
        let sandbox = try TestSandbox()
        let (google, apple) = (try sandbox.account(), try sandbox.account(["provider": "apple"]))
        let id = try #require(google["id"]?.string)
        var handedOut = Set<String>()
        for _ in 0..<105 {
            let account = try sandbox.send("GET", "/sandbox/accounts/\(id)").json()
            handedOut.formUnion([account["accessToken"], account["authorizationCode"]].compactMap { $0?.string })
            sandbox.send("POST", "/sandbox/accounts/\(id)/expire-access-token", json: ["which": "all"])
        }
        #expect(handedOut.count == 106)
        handedOut.insert(try #require(apple["accessToken"]?.string))
        let applesID = try #require(apple["id"]?.string)
        let identity = sandbox.send("POST", "/sandbox/accounts/\(applesID)/identity-token", json: ["secondsOld": 5])
        handedOut.insert(try #require(try identity.json()["identityToken"]?.string))

        let listed = try sandbox.send("GET", "/sandbox/tokens").json().array?.compactMap(\.string) ?? []

        #expect(handedOut.subtracting(listed) == [])
        #expect(sandbox.send("POST", "/sandbox/tokens", json: [:]).status == 405)
    }

    @Test("The page shows accounts, files and pictures, and escapes users' texts")
    func page() throws {
        let sandbox = try TestSandbox()
        let user = try DriveUser(sandbox, ["provider": "google", "name": "<b>Alice</b>\u{202e}gnp"])
        sandbox.send(
            "PUT", "/sandbox/accounts/\(user.id)/files/cat%20%22.jpg?folder=Images",
            headers: [("Content-Type", "image/jpeg")], body: [1])

        let page = String(decoding: try sandbox.send("GET", "/sandbox").content(), as: UTF8.self)

        #expect(page.contains("&lt;b&gt;Alice"))
        #expect(!page.contains("<b>Alice"))
        #expect(page.contains("\\u{202e}gnp") && !page.unicodeScalars.contains("\u{202e}"))
        #expect(page.contains("<h3>Images</h3>"))
        #expect(page.contains("<img class=tile src=\"/sandbox/accounts/\(user.id)/files/cat%20%22.jpg?folder=Images\""))
    }
}
