import Foundation
import OpenSSLCrypto
import StorageHashes
import Testing

@testable import Sandbox

/// A person with a OneDrive, as seen by the app's server.
struct GraphUser {
    static let drive = "graph.microsoft.com/v1.0/me/drive"
    let sandbox: TestSandbox
    let id: String
    let token: String
    let idToken: String
    /// The access token for the app's own API.
    let apiToken: String

    init(_ sandbox: TestSandbox = try! TestSandbox(), _ json: JSONValue = ["provider": "microsoft", "name": "Mia"])
        throws
    {
        self.sandbox = sandbox
        let account = try sandbox.account(json)
        id = account["id"]?.string ?? ""
        token = account["accessToken"]?.string ?? ""
        idToken = account["idToken"]?.string ?? ""
        apiToken = account["apiToken"]?.string ?? ""
        let presented = account["headers"]?["access_token"]?.string
        #expect(presented == (json["idTokenAssertions"] == true ? idToken : apiToken))
    }

    func graph(_ method: String, _ path: String, json: JSONValue? = nil, body: [UInt8] = []) -> SandboxResponse {
        if let json { return sandbox.send(method, Self.drive + path, token: token, json: json) }
        return sandbox.send(
            method, Self.drive + path, token: token, headers: [("Content-Type", "text/plain")], body: body)
    }

    func openFolder() { _ = graph("GET", "/special/approot") }

    func session(_ name: String, _ size: Int, conflict: String = "fail") throws -> String {
        let response = graph(
            "POST", "/special/approot:/\(name):/createUploadSession",
            json: [
                "item": [
                    "name": .string(name), "fileSize": .int(size),
                    "@microsoft.graph.conflictBehavior": .string(conflict),
                ]
            ])
        #expect(response.status == 200)
        return String(try #require(try response.json()["uploadUrl"]?.string).dropFirst("https://".count))
    }

    func put(_ url: String, _ range: String, _ bytes: [UInt8], headers: [(String, String)] = []) -> SandboxResponse {
        sandbox.send("PUT", url, headers: [("Content-Range", range)] + headers, body: bytes)
    }

    func token(_ fields: [String: String], secret: String = RegisteredApps.microsoftSecret) -> SandboxResponse {
        let all = fields.merging(["client_id": RegisteredApps.microsoftClientID, "client_secret": secret]) { $1 }
        let form = all.map { PercentEncoding.encode($0.key) + "=" + PercentEncoding.encode($0.value) }
        return sandbox.send(
            "POST", "login.microsoftonline.com/common/oauth2/v2.0/token",
            headers: [("Content-Type", "application/x-www-form-urlencoded")],
            body: Array(form.joined(separator: "&").utf8))
    }
}

@Suite("Emulated OneDrive")
struct GraphTests {
    private let unit = 327_680
    private func bytes(_ count: Int) -> [UInt8] { (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) } }

    private func hash(_ bytes: [UInt8]) -> String {
        var hash = QuickXorHash()
        hash.update(bytes)
        return Data(hash.digest()).base64EncodedString()
    }

    @Test("Uploads are rejected until the app's folder has been read")
    func lazyFolder() throws {
        let user = try GraphUser()
        #expect(user.graph("PUT", "/special/approot:/a.txt:/content", body: [1]).status == 403)
        #expect(user.graph("GET", "/special/approot/children").status == 200)
        #expect(user.graph("PUT", "/special/approot:/a.txt:/content", body: [1]).status == 201)
        #expect(try user.sandbox.violations() == [])
    }

    @Test("Names are unique regardless of letter case; a conflict fails, replaces or renames")
    func conflicts() throws {
        let user = try GraphUser()
        user.openFolder()
        let behaviour = "?@microsoft.graph.conflictBehavior="
        let first = try user.graph("PUT", "/special/approot:/a.txt:/content", body: [1]).json()
        #expect(user.graph("PUT", "/special/approot:/A.TXT:/content\(behaviour)fail", body: [2]).status == 409)
        let replaced = try user.graph("PUT", "/special/approot:/a.txt:/content", body: [3, 4]).json()
        #expect(replaced["id"] == first["id"] && replaced["cTag"] != first["cTag"] && replaced["size"]?.int == 2)
        let renamed = try user.graph("PUT", "/special/approot:/a.txt:/content\(behaviour)rename", body: [5]).json()
        #expect(renamed["name"]?.string == "a 1.txt")
    }

    @Test(
        "Names that OneDrive does not accept are rejected and recorded",
        arguments: ["a%2Ab", "a%3Fb", "CON", "a.", "~$x"])
    func names(name: String) throws {
        let user = try GraphUser()
        user.openFolder()
        #expect(user.graph("PUT", "/special/approot:/\(name):/content", body: [1]).status == 400)
        #expect(try user.sandbox.violations() == ["name"])
    }

    @Test(
        "Fragments are assembled into the file, and its quickXorHash is correct",
        arguments: [1, 327_679, 327_680, 327_681, 900_000])
    func session(size: Int) throws {
        let user = try GraphUser()
        user.openFolder()
        let content = bytes(size)
        let url = try user.session("a.bin", size)
        var response = SandboxResponse(202)
        for first in stride(from: 0, to: size, by: unit) {
            let last = min(first + unit, size) - 1
            response = user.put(url, "bytes \(first)-\(last)/\(size)", Array(content[first...last]))
            if last + 1 < size {
                #expect(response.status == 202)
                #expect(try response.json()["nextExpectedRanges"]?.array == [.string("\(last + 1)-")])
            }
        }
        let item = try response.json()
        #expect(response.status == 201 && item["file"]?["hashes"]?["quickXorHash"]?.string == hash(content))
        #expect(user.sandbox.send("GET", url).status == 404)
        let redirect = user.graph("GET", "/items/\(item["id"]?.string ?? "")/content")
        #expect(redirect.status == 302)
        let location = String(try #require(redirect.header("Location")).dropFirst("https://".count))
        #expect(try user.sandbox.send("GET", location).content() == content)
        #expect(user.sandbox.send("GET", location, headers: [("Range", "bytes=0-0")]).status == 206)
        #expect(try user.sandbox.violations() == [])
        #expect(user.sandbox.send("GET", location, token: user.token).status == 401)
        #expect(try user.sandbox.violations() == ["authorization"])
    }

    @Test("Fragments that violate a rule are rejected and recorded")
    func brokenRules() throws {
        let user = try GraphUser()
        user.openFolder()
        let url = try user.session("a.bin", 700_000)
        #expect(user.put(url, "bytes 0-99/700000", bytes(100)).status == 400)
        #expect(user.put(url, "bytes 0-327679/700001", bytes(unit)).status == 400)
        #expect(
            user.put(url, "bytes 0-327679/700000", bytes(unit), headers: [("Authorization", "Bearer x")]).status == 401)
        #expect(user.put(url, "bytes 327680-655359/700000", bytes(unit)).status == 416)
        #expect(
            try user.sandbox.violations() == [
                "fragment-multiple", "content-range-total", "authorization", "fragment-order",
            ])
        #expect(user.put(url, "bytes 0-327679/700000", bytes(unit)).status == 202)
        let overlap = user.put(url, "bytes 0-327679/700000", bytes(unit))
        #expect(overlap.status == 416)
        #expect(try overlap.json()["error"]?["innerError"]?["code"]?.string == "fragmentOverlap")
        #expect(user.sandbox.send("DELETE", url).status == 204)
        #expect(user.sandbox.send("GET", url).status == 404)
    }

    @Test("A name taken meanwhile is a conflict at the last fragment, and the session remains open")
    func lateConflict() throws {
        let user = try GraphUser()
        user.openFolder()
        let url = try user.session("a.bin", 10)
        #expect(user.graph("PUT", "/special/approot:/a.bin:/content", body: [1]).status == 201)
        #expect(user.put(url, "bytes 0-9/10", bytes(10)).status == 409)
        #expect(user.sandbox.send("GET", url).status == 200)
    }

    @Test("A full drive returns 507 when a session is created")
    func quota() throws {
        let user = try GraphUser(
            try TestSandbox(), ["provider": "microsoft", "name": "Mia", "quotaBytes": 1_000])
        user.openFolder()
        let response = user.graph(
            "POST", "/special/approot:/a:/createUploadSession", json: ["item": ["fileSize": 2_000]])
        #expect(response.status == 507)
        #expect(user.graph("PUT", "/special/approot:/a:/content", body: bytes(2_000)).status == 507)
    }

    @Test("DELETE below special/approot/items deletes the whole folder, and is recorded")
    func trap() throws {
        let user = try GraphUser()
        user.openFolder()
        let item = try user.graph("PUT", "/special/approot:/a:/content", body: [1]).json()
        _ = user.graph("PUT", "/special/approot:/b:/content", body: [1])
        #expect(user.graph("DELETE", "/special/approot/items/\(item["id"]?.string ?? "")").status == 204)
        #expect(try user.sandbox.send("GET", "/sandbox/accounts/\(user.id)/files").json().array == [])
        #expect(try user.sandbox.violations() == ["approot-delete"])
    }

    @Test("A batch has a status for each of its requests")
    func batch() throws {
        let user = try GraphUser()
        let reply = user.sandbox.send(
            "POST", "graph.microsoft.com/v1.0/$batch", token: user.token,
            json: [
                "requests": [
                    ["id": "1", "method": "GET", "url": "/me"],
                    ["id": "2", "method": "GET", "url": "/me/drive/items/x"],
                ]
            ])
        #expect(try reply.json()["responses"]?.array?.compactMap { $0["status"]?.int } == [200, 404])
        // The bodies have their members in the same order as the replies to individual requests.
        let me = user.sandbox.send("GET", "graph.microsoft.com/v1.0/me", token: user.token)
        let alone = String(decoding: try me.content(), as: UTF8.self).filter { !$0.isWhitespace }
        #expect(String(decoding: try reply.content(), as: UTF8.self).filter { !$0.isWhitespace }.contains(alone))
    }

    @Test("Hashes are reported as configured: delayed, or all kinds")
    func hashes() throws {
        let user = try GraphUser()
        user.openFolder()
        user.sandbox.send("POST", "/sandbox/settings", json: ["oneDriveHashes": "all"])
        let item = try user.graph("PUT", "/special/approot:/a:/content", body: Array("abc".utf8)).json()
        #expect(item["file"]?["hashes"]?["sha1Hash"]?.string == "A9993E364706816ABA3E25717850C26C9CD0D89D")
        user.sandbox.send(
            "POST", "/sandbox/settings", json: ["oneDriveHashes": "quickXor", "oneDriveHashDelayMs": 5_000])
        #expect(try user.graph("GET", "/special/approot:/a").json()["file"]?["hashes"] == nil)
        user.sandbox.send("POST", "/sandbox/clock", json: ["offsetSeconds": 5])
        #expect(try user.graph("GET", "/special/approot:/a").json()["file"]?["hashes"] != nil)
    }

    @Test(
        "Without a OneDrive, all requests for it fail with Graph's errors, but /me works, until there is one",
        arguments: [
            ("unprovisioned", 404, "ResourceNotFound", "User's mysite not found."),
            ("unlicensed", 400, "BadRequest", "Tenant does not have a SPO license."),
        ])
    func missingDrive(state: String, status: Int, code: String, message: String) throws {
        let user = try GraphUser(
            try TestSandbox(), ["provider": "microsoft", "tokenType": "WORK", "oneDrive": .string(state)])
        for path in ["", "/special/approot", "/items/x"] {
            let reply = user.graph("GET", path)
            #expect(reply.status == status)
            #expect(try reply.json()["error"]?["code"]?.string == code)
            #expect(try reply.json()["error"]?["message"]?.string == message)
        }
        #expect(user.sandbox.send("GET", "graph.microsoft.com/v1.0/me", token: user.token).status == 200)
        let again = try TestSandbox(directory: user.sandbox.directory)
        #expect(again.send("GET", GraphUser.drive, token: user.token).status == status)

        let control = "/sandbox/accounts/\(user.id)/one-drive"
        #expect(user.sandbox.send("POST", control, json: ["state": "lost"]).status == 400)
        #expect(user.sandbox.send("POST", control, json: ["state": "ready"]).status == 204)
        #expect(user.graph("GET", "/special/approot").status == 200)
        #expect(try user.sandbox.violations() == [])
    }

    @Test("Stored files survive a restart")
    func restart() throws {
        let user = try GraphUser()
        user.openFolder()
        let item = try user.graph("PUT", "/special/approot:/a%20b:/content", body: [1, 2]).json()
        let again = try TestSandbox(directory: user.sandbox.directory)
        let found = again.send("GET", GraphUser.drive + "/special/approot:/a%20b", token: user.token)
        #expect(try found.json()["id"] == item["id"])
    }
}

@Suite("Emulated Microsoft: tokens")
struct MicrosoftOAuthTests {
    private let onBehalf = [
        "grant_type": "urn:ietf:params:oauth:grant-type:jwt-bearer", "requested_token_use": "on_behalf_of",
        "scope": "https://graph.microsoft.com/Files.ReadWrite.AppFolder offline_access",
    ]

    @Test("An id token is an assertion only if the account was created that way; our API's access token always is one")
    func assertions() throws {
        let user = try GraphUser()
        let refused = user.token(onBehalf.merging(["assertion": user.idToken]) { $1 })
        #expect(refused.status == 400)
        #expect(try refused.json()["error"] == "invalid_grant")
        #expect(try refused.json()["error_codes"] == [240_002])
        #expect(try user.sandbox.violations() == ["assertion"])
        let tokens = try user.token(onBehalf.merging(["assertion": user.apiToken]) { $1 }).json()
        let folder = GraphUser.drive + "/special/approot"
        #expect(user.sandbox.send("GET", folder, token: tokens["access_token"]?.string).status == 200)
        #expect(user.sandbox.send("GET", folder, token: user.apiToken).status == 401)

        let lenient = try GraphUser(
            user.sandbox, ["provider": "microsoft", "name": "Old", "idTokenAssertions": true])
        #expect(user.token(onBehalf.merging(["assertion": lenient.idToken]) { $1 }).status == 200)
        #expect(user.token(onBehalf.merging(["assertion": lenient.apiToken]) { $1 }).status == 200)
        let again = try TestSandbox(directory: user.sandbox.directory)
        let kept = try again.send("GET", "/sandbox/accounts/\(lenient.id)").json()
        #expect(kept["headers"]?["access_token"]?.string == lenient.idToken)
    }

    @Test("Our API's access token has a scope, and our client id as its audience; the id token has no scope")
    func apiToken() throws {
        let user = try GraphUser()
        func claims(_ token: String) throws -> JSONValue {
            try JSONValue(parsing: #require([UInt8](base64URL: token.split(separator: ".")[1])))
        }
        let (api, id) = (try claims(user.apiToken), try claims(user.idToken))
        #expect(api["scp"] == "access_as_user" && id["scp"] == nil)
        for name in ["aud", "iss", "oid", "sub", "tid", "ver"] { #expect(api[name] == id[name] && api[name] != nil) }
    }

    @Test(
        "On behalf of a user: a signed token yields tokens, an opaque one does not, and each refresh returns a new one")
    func onBehalfOf() throws {
        let user = try GraphUser()
        let opaque = try user.token(onBehalf.merging(["assertion": user.token]) { $1 }).json()
        #expect(opaque["error_codes"]?.array == [50027])
        let tokens = try user.token(onBehalf.merging(["assertion": user.apiToken]) { $1 }).json()
        let refresh = try #require(tokens["refresh_token"]?.string)
        let renewed = try user.token(["grant_type": "refresh_token", "refresh_token": refresh]).json()
        #expect(renewed["refresh_token"] != tokens["refresh_token"])
        let used = try #require(renewed["refresh_token"]?.string)
        #expect(user.token(["grant_type": "refresh_token", "refresh_token": refresh]).status == 200)
        #expect(user.token(["grant_type": "refresh_token", "refresh_token": used]).status == 200)
        #expect(user.token(["grant_type": "refresh_token", "refresh_token": refresh]).status == 400)
        user.sandbox.send("POST", "/sandbox/accounts/\(user.id)/revoke", json: [:])
        let revoked = try user.token(["grant_type": "refresh_token", "refresh_token": used]).json()
        #expect(revoked["error"]?.string == "invalid_grant" && revoked["error_codes"]?.array == [50173])
    }

    @Test("A malformed refresh token is reported before a wrong secret")
    func malformedRefreshToken() throws {
        let user = try GraphUser()
        let reply = user.token(["grant_type": "refresh_token", "refresh_token": "x"], secret: "wrong")
        #expect(reply.status == 400)
        #expect(try reply.json()["error_codes"]?.array == [9_002_313])
    }

    @Test("Without consent to file access, no tokens for it are issued")
    func consent() throws {
        let user = try GraphUser(
            try TestSandbox(), ["provider": "microsoft", "name": "M", "scopes": ["openid", "User.Read"]])
        #expect(user.graph("GET", "/special/approot").status == 403)
        let reply = try user.token([
            "grant_type": "urn:ietf:params:oauth:grant-type:jwt-bearer", "requested_token_use": "on_behalf_of",
            "scope": "Files.ReadWrite.AppFolder", "assertion": user.apiToken,
        ]).json()
        #expect(reply["error_codes"]?.array == [65001])
    }
}
