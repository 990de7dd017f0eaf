import Foundation
import Testing

@testable import Sandbox

@Suite("Sandbox: Nextcloud's OAuth 2.0")
struct NextcloudOAuthTests {
    private static let routes = "nextcloud.sandbox.test/index.php/apps/oauth2/"
    private let sandbox: TestSandbox
    private let id: String
    private let asked = [
        "client_id": RegisteredApps.nextcloudServerClientID, "redirect_uri": "http://127.0.0.1:49152/server",
        "response_type": "code", "state": "a b&c", "code_challenge_method": "S256",
        "code_challenge": CodeChallenge(of: ConsentBrowser.verifier).value,
    ]

    init() throws {
        sandbox = try TestSandbox()
        id = try #require(try sandbox.account(["provider": "webdav", "name": "Nora"])["id"]?.string)
    }

    private func post(
        _ route: String, _ fields: [String: String], _ headers: [(String, String)] = []
    ) -> SandboxResponse {
        sandbox.send(
            "POST", Self.routes + route, headers: [("Content-Type", "application/x-www-form-urlencoded")] + headers,
            body: Array(ConsentBrowser.form(fields).utf8))
    }

    private func consent(_ change: [String: String] = [:]) -> SandboxResponse {
        post(
            "authorize?" + ConsentBrowser.form(asked.merging(change) { $1 }), ["account": id, "decision": "allow"])
    }

    private func code() throws -> String { try #require(ConsentBrowser.answer(consent())["code"]) }

    private func token(
        _ fields: [String: String], _ client: String = RegisteredApps.nextcloudServerClientID,
        secret: String = RegisteredApps.nextcloudServerSecret
    ) -> SandboxResponse {
        let basic = Data("\(client):\(secret)".utf8).base64EncodedString()
        return post("api/v1/token", fields, [("Authorization", "Basic " + basic)])
    }

    private func exchange(_ code: String, _ change: [String: String] = [:]) -> SandboxResponse {
        token(
            [
                "grant_type": "authorization_code", "code": code, "redirect_uri": asked["redirect_uri"]!,
                "code_verifier": ConsentBrowser.verifier,
            ].merging(change) { $1 })
    }

    private func files(_ token: String?) -> Int {
        sandbox.send(
            "PROPFIND", "nextcloud.sandbox.test/remote.php/dav/files/\(id)/", token: token ?? "",
            headers: [("Depth", "0")]
        ).status
    }

    @Test("A code returns tokens once; each refresh token works once, and revokes the previous access token")
    func rotation() throws {
        let consent = consent()
        let answer = ConsentBrowser.answer(consent)
        #expect(consent.status == 302 && answer["state"] == "a b&c")
        let code = try #require(answer["code"])

        let first = try exchange(code).json()
        let again = exchange(code)
        #expect(first["user_id"]?.string == id && first["expires_in"]?.int == 3_600)
        #expect(files(first["access_token"]?.string) == 207)
        #expect(try again.status == 400 && again.json()["error"] == "invalid_request")

        let grant = ["grant_type": "refresh_token", "refresh_token": try #require(first["refresh_token"]?.string)]
        let second = try token(grant).json()
        #expect(files(second["access_token"]?.string) == 207 && files(first["access_token"]?.string) == 401)
        #expect(try token(grant).json()["error"] == "invalid_request")
        #expect(second["refresh_token"] != nil && second["refresh_token"] != first["refresh_token"])
        #expect(try sandbox.violations() == ["code-reused"])
    }

    @Test("Client, secret, redirect URI and verifier must match the code")
    func strict() throws {
        let program = RegisteredApps.nextcloudProgramClientID
        let code = try code()
        let fields = ["grant_type": "authorization_code", "code": code]
        #expect(try token(fields, secret: "wrong").json()["error"] == "invalid_client")
        #expect(
            try token(fields, program, secret: RegisteredApps.nextcloudProgramSecret).json()["error"]
                == "invalid_client")
        #expect(try exchange(code, ["redirect_uri": "http://127.0.0.1:1/server"]).json()["error"] == "invalid_grant")
        #expect(
            try exchange(code, ["code_verifier": String(repeating: "w", count: 43)]).json()["error"] == "invalid_grant")
        #expect(exchange(code).status == 200)

        #expect(try sandbox.violations() == [])
        #expect(consent(["client_id": "another"]).status == 400)
        #expect(consent(["redirect_uri": "http://127.0.0.1:49152/program"]).status == 400)
        #expect(consent(["redirect_uri": "https://example.com/server"]).status == 400)
        // Like ownCloud, which accepts clients only in the header.
        let inForm = post(
            "api/v1/token",
            [
                "grant_type": "authorization_code", "code": try self.code(),
                "client_id": RegisteredApps.nextcloudServerClientID,
                "client_secret": RegisteredApps.nextcloudServerSecret,
            ])
        #expect(try inForm.json()["error"] == "invalid_request")
        #expect(try sandbox.violations().contains("client-authentication"))
    }
}
