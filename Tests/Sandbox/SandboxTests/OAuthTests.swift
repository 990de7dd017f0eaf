import Testing

@testable import Sandbox

@Suite("Google's OAuth")
struct OAuthTests {
    private let secret = [
        "client_id": RegisteredApps.googleServerClientID, "client_secret": RegisteredApps.googleServerSecret,
    ]

    private func exchange(_ sandbox: TestSandbox, _ code: String, _ more: [String: String] = [:]) -> SandboxResponse {
        let fields = ["grant_type": "authorization_code", "code": code, "redirect_uri": ""]
        return sandbox.token(secret.merging(fields) { $1 }.merging(more) { $1 })
    }

    @Test("A code works once, and only the first consent returns a refresh token")
    func codes() throws {
        let sandbox = try TestSandbox()
        let account = try sandbox.account()
        let id = try #require(account["id"]?.string)
        let code = try #require(account["authorizationCode"]?.string)

        let first = try exchange(sandbox, code).json()
        let again = exchange(sandbox, code)
        let renewed = try sandbox.send("GET", "/sandbox/accounts/\(id)").json()
        let second = try exchange(sandbox, try #require(renewed["authorizationCode"]?.string)).json()
        let prompted = try sandbox.send(
            "POST", "/sandbox/accounts/\(id)/new-authorization-code", json: ["prompt": "consent"]
        ).json()
        let third = try exchange(sandbox, try #require(prompted["authorizationCode"]?.string)).json()

        #expect(first["refresh_token"] != nil)
        #expect(first["expires_in"] == 3599)
        #expect(again.status == 400)
        #expect(try again.json()["error"] == "invalid_grant")
        #expect(second["access_token"] != nil)
        #expect(second["refresh_token"] == nil)
        #expect(third["refresh_token"] != nil)
        #expect(try sandbox.violations() == ["code-reused"])
    }

    @Test("A code invalidated by a revocation is rejected, but does not count as reused")
    func revokedCode() throws {
        let sandbox = try TestSandbox()
        let account = try sandbox.account()
        let code = try #require(account["authorizationCode"]?.string)
        sandbox.send("POST", "/sandbox/accounts/\(try #require(account["id"]?.string))/revoke", json: [:])

        let response = exchange(sandbox, code)

        #expect(response.status == 400)
        #expect(try response.json()["error"] == "invalid_grant")
        #expect(try sandbox.violations() == [])
    }

    @Test("A token expires after 3,599 seconds of the providers' clock, and a refresh returns a new one")
    func expiry() throws {
        let sandbox = try TestSandbox()
        let account = try sandbox.account()
        let token = try #require(account["accessToken"]?.string)
        let url = "www.googleapis.com/oauth2/v3/userinfo?access_token=" + token
        let before = sandbox.send("GET", url)

        sandbox.send("POST", "/sandbox/clock", json: ["offsetSeconds": 3_600])
        let after = sandbox.send("GET", url)
        let refreshed = sandbox.token(
            secret.merging([
                "grant_type": "refresh_token", "refresh_token": try #require(account["refreshToken"]?.string),
            ]) { $1 })

        #expect(before.status == 200)
        #expect(after.status == 401)
        #expect(refreshed.status == 200)
        #expect(try refreshed.json()["refresh_token"] == nil)
        #expect(try sandbox.account(["provider": "google"])["accessToken"] != account["accessToken"])
    }

    @Test("After a revocation no refresh works, and requesting headers returns new, valid ones")
    func revocation() throws {
        let sandbox = try TestSandbox()
        let account = try sandbox.account()
        let id = try #require(account["id"]?.string)

        let revoked = sandbox.send("POST", "/sandbox/accounts/\(id)/revoke", json: [:])
        let refresh = sandbox.token(
            secret.merging([
                "grant_type": "refresh_token", "refresh_token": try #require(account["refreshToken"]?.string),
            ]) { $1 })
        let renewed = try sandbox.send("GET", "/sandbox/accounts/\(id)").json()
        let token = try #require(renewed["headers"]?["access_token"]?.string)

        #expect(revoked.status == 204)
        #expect(try refresh.json()["error"] == "invalid_grant")
        #expect(renewed["accessToken"] != account["accessToken"])
        #expect(sandbox.send("GET", "oauth2.googleapis.com/tokeninfo?access_token=" + token).status == 200)
    }

    @Test("tokeninfo shows the app of a foreign token, whose code is not valid for our server")
    func foreignApp() throws {
        let sandbox = try TestSandbox()
        let account = try sandbox.account(["provider": "google", "audience": "999-app.apps.googleusercontent.com"])
        let token = try #require(account["accessToken"]?.string)

        let info = try sandbox.send("GET", "oauth2.googleapis.com/tokeninfo?access_token=" + token).json()
        let exchanged = exchange(sandbox, try #require(account["authorizationCode"]?.string))

        #expect(info["aud"] == "999-app.apps.googleusercontent.com")
        #expect(info["expires_in"]?.string == "3599")
        #expect(exchanged.status == 401)
    }
}
