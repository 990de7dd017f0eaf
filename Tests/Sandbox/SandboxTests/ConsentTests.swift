import Foundation
import Testing

@testable import Sandbox

/// A browser operated by one person, at one provider.
struct ConsentBrowser {
    let sandbox: TestSandbox
    let provider: Provider
    let id: String
    static let verifier = String(repeating: "verifier-._~", count: 5)

    init(_ provider: Provider, _ more: JSONObject = [:]) throws {
        sandbox = try TestSandbox()
        self.provider = provider
        var json = more
        json["provider"] = .string(provider.rawValue)
        json["name"] = "Alice <Example>"
        id = try #require(try sandbox.account(.object(json))["id"]?.string)
    }

    var page: String {
        switch provider {
        case .google: "accounts.google.com/o/oauth2/v2/auth"
        case .dropbox: "www.dropbox.com/oauth2/authorize"
        default: "login.microsoftonline.com/common/oauth2/v2.0/authorize"
        }
    }

    private var tokenRoute: String {
        switch provider {
        case .google: "oauth2.googleapis.com/token"
        case .dropbox: "api.dropboxapi.com/oauth2/token"
        default: "login.microsoftonline.com/common/oauth2/v2.0/token"
        }
    }

    /// The authorization request of a program's own sign-in.
    var program: [String: String] {
        var asked = ["response_type": "code", "state": "a b&c"]
        asked["code_challenge"] = CodeChallenge(of: Self.verifier).value
        asked["code_challenge_method"] = "S256"
        switch provider {
        case .google:
            asked["client_id"] = RegisteredApps.googleDesktopClientID
            asked["redirect_uri"] = "http://127.0.0.1:49152/program"
            asked["scope"] = "openid profile email"
        case .dropbox:
            asked["client_id"] = RegisteredApps.dropboxAppKey
            asked["redirect_uri"] = "http://127.0.0.1:53682/program"
            asked["token_access_type"] = "offline"
            asked["scope"] = "account_info.read"
        default:
            asked["client_id"] = RegisteredApps.microsoftClientID
            asked["redirect_uri"] = "http://localhost:49152/program"
            asked["scope"] = "openid profile offline_access User.Read"
        }
        return asked
    }

    /// The one of an app on a phone, whose redirect URI has the app's own scheme.
    var app: [String: String] {
        var asked = program
        switch provider {
        case .google:
            asked["client_id"] = RegisteredApps.googleIOSClientID
            asked["redirect_uri"] = "com.googleusercontent.apps.1234567890-ios:/program"
        case .dropbox: asked["redirect_uri"] = "db-sandboxdropboxkey://2/token"
        default: asked["redirect_uri"] = "msauth.com.example.sandbox://auth"
        }
        return asked
    }

    /// The authorization request for the server's code.
    var server: [String: String] {
        var asked = program
        switch provider {
        case .google:
            asked["client_id"] = RegisteredApps.googleServerClientID
            asked["redirect_uri"] = "http://127.0.0.1:53682/server"
            asked["scope"] = "openid profile https://www.googleapis.com/auth/drive.file"
            asked["access_type"] = "offline"
        case .dropbox:
            asked["redirect_uri"] = "http://127.0.0.1:53682/server"
            asked["scope"] = nil
        default:
            asked["redirect_uri"] = "http://localhost:49152/server"
            asked["scope"] =
                "https://graph.microsoft.com/User.Read https://graph.microsoft.com/Files.ReadWrite.AppFolder offline_access"
        }
        return asked
    }

    static func form(_ fields: [String: String]) -> String {
        fields.map { PercentEncoding.encode($0.key) + "=" + PercentEncoding.encode($0.value) }.joined(separator: "&")
    }

    func open(_ asked: [String: String]) -> SandboxResponse {
        sandbox.send("GET", page + "?" + Self.form(asked))
    }

    /// Submits the page's form.
    func decide(_ asked: [String: String], _ decision: String = "allow", account: String? = nil) -> SandboxResponse {
        sandbox.send(
            "POST", page + "?" + Self.form(asked),
            headers: [("Content-Type", "application/x-www-form-urlencoded")],
            body: Array(Self.form(["account": account ?? id, "decision": decision]).utf8))
    }

    /// The parameters that the app receives.
    static func answer(_ response: SandboxResponse) -> QueryItems {
        let address = response.header("Location") ?? ""
        return QueryItems(String(address.drop { $0 != "?" }.dropFirst()))
    }

    func code(_ asked: [String: String]) throws -> String {
        try #require(Self.answer(decide(asked))["code"])
    }

    /// Redeems a code as the client of `asked` does; `change` sets fields, or removes them (`nil`).
    func redeem(_ code: String, _ asked: [String: String], change: [String: String?] = [:]) -> SandboxResponse {
        var fields: [String: String?] = [
            "grant_type": "authorization_code", "code": code, "redirect_uri": asked["redirect_uri"],
            "client_id": asked["client_id"], "code_verifier": Self.verifier, "client_secret": secret(asked),
        ]
        if provider == .microsoft { fields["scope"] = asked["scope"] }
        fields.merge(change) { $1 }
        return token(fields.compactMapValues { $0 })
    }

    func secret(_ asked: [String: String]) -> String? {
        switch (provider, asked["client_id"], asked["redirect_uri"]?.hasSuffix("/program")) {
        case (.google, RegisteredApps.googleDesktopClientID, _): RegisteredApps.googleDesktopSecret
        case (.google, _, _): RegisteredApps.googleServerSecret
        case (_, _, true): nil
        case (.dropbox, _, _): RegisteredApps.dropboxSecret
        default: RegisteredApps.microsoftSecret
        }
    }

    func token(_ fields: [String: String]) -> SandboxResponse {
        sandbox.send(
            "POST", tokenRoute, headers: [("Content-Type", "application/x-www-form-urlencoded")],
            body: Array(Self.form(fields).utf8))
    }
}

@Suite("Sandbox: consent in the browser")
struct ConsentTests {
    static let providers: [Provider] = [.google, .dropbox, .microsoft]

    @Test("The page lists accounts and scopes, and posts to itself", arguments: providers)
    func page(provider: Provider) throws {
        let browser = try ConsentBrowser(provider)
        _ = try browser.sandbox.account(["provider": "facebook", "name": "Elsewhere"])

        let response = browser.open(browser.program)

        let html = String(decoding: try response.content(), as: UTF8.self)
        #expect(response.status == 200 && response.header("Content-Type") == "text/html; charset=UTF-8")
        #expect(html.contains("<option value=\"\(PageText.escape(browser.id))\">Alice &lt;Example&gt;"))
        #expect(!html.contains("Elsewhere") && !html.contains("<Example>"))
        #expect(html.contains("<form method=post action=\"/\(browser.page.split(separator: "/", maxSplits: 1)[1])?"))
        #expect(try browser.sandbox.violations() == [])
    }

    @Test("Consent redirects with code and state, once, and gives a program tokens", arguments: providers)
    func program(provider: Provider) throws {
        let browser = try ConsentBrowser(provider)
        let consent = browser.decide(browser.program)
        let code = try #require(ConsentBrowser.answer(consent)["code"])

        let tokens = browser.redeem(code, browser.program)
        let again = browser.redeem(code, browser.program)

        #expect(consent.status == 302 && ConsentBrowser.answer(consent)["state"] == "a b&c")
        #expect(consent.header("Location")?.hasPrefix(browser.program["redirect_uri"]! + "?code=") == true)
        #expect(tokens.status == 200, "\(tokens)")
        let json = try tokens.json()
        #expect(json["access_token"] != nil && json["refresh_token"] != nil)
        #expect((json["id_token"] != nil) == (provider == .microsoft))
        #expect(try again.status == 400 && again.json()["error"] == "invalid_grant")
        #expect(try browser.sandbox.violations() == ["code-reused"])
    }

    @Test("An app on a phone redeems its code without a secret, if the scheme is its own", arguments: providers)
    func app(provider: Provider) throws {
        let browser = try ConsentBrowser(provider)
        let consent = browser.decide(browser.app)
        let code = try #require(ConsentBrowser.answer(consent)["code"])

        let tokens = browser.redeem(code, browser.app, change: ["client_secret": nil])

        #expect(consent.header("Location")?.hasPrefix(browser.app["redirect_uri"]! + "?code=") == true)
        #expect(try tokens.status == 200 && tokens.json()["refresh_token"] != nil, "\(tokens)")
        #expect(try browser.sandbox.violations() == [])
        var foreign = browser.app
        foreign["redirect_uri"] = "com.googleusercontent.apps.1234567890-ios.evil:/program"
        #expect(browser.open(foreign).status == 400)
    }

    @Test("A program can refresh its tokens, which do not permit access to storage", arguments: providers)
    func refresh(provider: Provider) throws {
        let browser = try ConsentBrowser(provider)
        let tokens = try browser.redeem(try browser.code(browser.program), browser.program).json()
        var fields = ["grant_type": "refresh_token", "refresh_token": try #require(tokens["refresh_token"]?.string)]
        fields["client_id"] = browser.program["client_id"]
        fields["client_secret"] = browser.secret(browser.program)

        let refreshed = try browser.token(fields).json()

        let token = try #require(refreshed["access_token"]?.string)
        let storage =
            switch provider {
            case .google: browser.sandbox.send("GET", DriveUser.files + "?q=trashed%3Dfalse", token: token).status
            case .dropbox:
                browser.sandbox.send(
                    "POST", "api.dropboxapi.com/2/files/list_folder", token: token, json: ["path": ""]
                ).status
            default:
                browser.sandbox.send("GET", "graph.microsoft.com/v1.0/me/drive/special/approot", token: token).status
            }
        #expect(storage == 403 || storage == 401)
        #expect((refreshed["id_token"] != nil) == (provider == .microsoft))
    }

    @Test("The server's code is redeemed with its secret, and gives access to storage", arguments: providers)
    func server(provider: Provider) throws {
        let browser = try ConsentBrowser(provider)

        let tokens = browser.redeem(try browser.code(browser.server), browser.server)

        #expect(tokens.status == 200, "\(tokens)")
        let json = try tokens.json()
        #expect(json["refresh_token"] != nil)
        #expect(json["scope"]?.string?.lowercased().contains("file") == true)
        #expect(try browser.sandbox.violations() == [])
    }

    @Test("Denial redirects to the app with an error and the state", arguments: providers)
    func denial(provider: Provider) throws {
        let browser = try ConsentBrowser(provider)

        let response = browser.decide(browser.program, "deny")

        #expect(response.status == 302)
        #expect(ConsentBrowser.answer(response)["error"] == "access_denied")
        #expect(ConsentBrowser.answer(response)["state"] == "a b&c" && ConsentBrowser.answer(response)["code"] == nil)
    }

    @Test(
        "The browser is not redirected to an app that cannot be trusted",
        arguments: providers,
        [
            ("client_id", "somebody-else"), ("redirect_uri", "https://evil.example.com/"),
            ("redirect_uri", "http://127.0.0.1.example.com/program"), ("response_type", "token"),
            ("code_challenge_method", "S512"), ("code_challenge", "short"),
        ])
    func untrusted(provider: Provider, fault: (name: String, value: String)) throws {
        let browser = try ConsentBrowser(provider)
        var asked = browser.program
        asked[fault.name] = fault.value

        for response in [browser.open(asked), browser.decide(asked)] {
            #expect((400...401).contains(response.status) && response.header("Location") == nil)
        }
        #expect(try browser.sandbox.violations() == ["authorization-request", "authorization-request"])
    }

    @Test("An account of another provider cannot be chosen", arguments: providers)
    func foreignAccount(provider: Provider) throws {
        let browser = try ConsentBrowser(provider)
        let other = try browser.sandbox.account(["provider": "facebook"])["id"]?.string

        #expect(browser.decide(browser.program, account: other).status == 400)
    }

    @Test(
        "A code is redeemed only with its own redirect URI and verifier", arguments: providers,
        [
            ("redirect_uri", "http://127.0.0.1:49153/program"), ("redirect_uri", nil), ("code_verifier", nil),
            ("code_verifier", String(repeating: "x", count: 60)),
        ] as [(String, String?)])
    func proof(provider: Provider, change: (name: String, value: String?)) throws {
        let browser = try ConsentBrowser(provider)
        let code = try browser.code(browser.program)

        let refused = browser.redeem(code, browser.program, change: [change.name: change.value])
        let right = browser.redeem(code, browser.program)

        #expect(refused.status == 400, "\(refused)")
        // A wrong value may come from a stranger who presents the code; a missing redirect URI is a malformed request.
        let isMalformed = change.name == "redirect_uri" && change.value == nil && provider != .dropbox
        #expect(try browser.sandbox.violations().isEmpty == !isMalformed)
        // Here, a wrong proof does not consume the code; the real providers' behaviour is not documented.
        #expect(right.status == 200)
    }

    @Test("A code is valid for ten minutes", arguments: providers)
    func expiry(provider: Provider) throws {
        let browser = try ConsentBrowser(provider)
        let code = try browser.code(browser.program)

        browser.sandbox.send("POST", "/sandbox/clock", json: ["offsetSeconds": 601])

        #expect(browser.redeem(code, browser.program).status == 400)
    }

    @Test("A plain challenge is the verifier itself", arguments: providers)
    func plain(provider: Provider) throws {
        let browser = try ConsentBrowser(provider)
        var asked = browser.program
        asked["code_challenge"] = ConsentBrowser.verifier
        asked["code_challenge_method"] = "plain"

        #expect(browser.redeem(try browser.code(asked), asked).status == 200)
    }

    @Test("A verifier without a challenge is rejected, since the code may belong to someone else", arguments: providers)
    func needlessVerifier(provider: Provider) throws {
        let browser = try ConsentBrowser(provider)
        var asked = browser.server
        asked["code_challenge"] = nil
        asked["code_challenge_method"] = nil
        let code = try browser.code(asked)

        #expect(browser.redeem(code, asked).status == 400)
        #expect(browser.redeem(code, asked, change: ["code_verifier": nil]).status == 200)
    }

    @Test("A program's sign-in does not affect the device's tokens", arguments: providers)
    func device(provider: Provider) throws {
        let browser = try ConsentBrowser(provider)
        let before = try browser.sandbox.send("GET", "/sandbox/accounts/\(browser.id)").json()["headers"]

        _ = try browser.code(browser.program)
        _ = browser.redeem(try browser.code(browser.program), browser.program)

        #expect(try browser.sandbox.send("GET", "/sandbox/accounts/\(browser.id)").json()["headers"] == before)
    }

    @Test("Codes, scopes and registered redirects are stored in the state directory")
    func restart() throws {
        let browser = try ConsentBrowser(.dropbox)
        _ = try browser.code(browser.program)
        let added = browser.sandbox.send(
            "POST", "/sandbox/redirect-uris",
            json: ["provider": "dropbox", "redirectURI": "http://127.0.0.1:1234/other"])

        let restarted = try SandboxServer(directory: browser.sandbox.directory, wait: { _ in })

        #expect(added.status == 201)
        let code = try #require(restarted.withState { $0.accounts[browser.id]?.codes.last })
        #expect(code.challenge == CodeChallenge(of: ConsentBrowser.verifier))
        #expect(code.scopes == ["account_info.read"] && code.redirect == browser.program["redirect_uri"])
        #expect(restarted.withState { $0.settings.isRegistered("http://127.0.0.1:1234/other", .dropbox) })
        #expect(!restarted.withState { $0.settings.isRegistered("http://127.0.0.1:1234/other", .google) })
    }
}

@Suite("Sandbox: provider-specific consent rules")
struct ConsentRuleTests {
    @Test("Google: a web client receives a refresh token with offline access, at the first consent or when prompted")
    func googleOffline() throws {
        let browser = try ConsentBrowser(.google)
        var online = browser.server
        online["access_type"] = nil
        var prompted = browser.server
        prompted["prompt"] = "consent"
        func hasRefreshToken(_ asked: [String: String]) throws -> Bool {
            try browser.redeem(try browser.code(asked), asked).json()["refresh_token"] != nil
        }

        #expect(try !hasRefreshToken(online))
        #expect(try hasRefreshToken(browser.server))
        #expect(try !hasRefreshToken(browser.server))
        #expect(try hasRefreshToken(prompted))
        #expect(try hasRefreshToken(browser.program))
    }

    @Test("Google: a web client uses only registered redirect URIs, a desktop client any loopback port")
    func googleRedirects() throws {
        let browser = try ConsentBrowser(.google)
        var asked = browser.server
        asked["redirect_uri"] = "http://127.0.0.1:49152/server"
        let unregistered = browser.open(asked).status
        browser.sandbox.send(
            "POST", "/sandbox/redirect-uris",
            json: ["provider": "google", "redirectURI": "http://127.0.0.1:49152/server"])

        #expect(unregistered == 400)
        #expect(browser.open(asked).status == 200)
        for uri in ["http://[::1]:1/", "http://localhost:65535", "http://127.0.0.1/"] {
            asked = browser.program
            asked["redirect_uri"] = uri
            #expect(browser.open(asked).status == 200)
        }
    }

    @Test("Google: a token has only the requested scopes, and a desktop client needs its secret")
    func googleScopes() throws {
        let browser = try ConsentBrowser(.google)
        let code = try browser.code(browser.program)

        let secretless = browser.redeem(code, browser.program, change: ["client_secret": nil])
        let tokens = try browser.redeem(code, browser.program).json()

        #expect(secretless.status == 400)
        #expect(
            tokens["scope"]
                == "openid https://www.googleapis.com/auth/userinfo.profile https://www.googleapis.com/auth/userinfo.email"
        )
    }

    @Test("Dropbox: without token_access_type=offline there is no refresh token")
    func dropboxOnline() throws {
        let browser = try ConsentBrowser(.dropbox)
        var asked = browser.program
        asked["token_access_type"] = "online"

        let tokens = try browser.redeem(try browser.code(asked), asked).json()

        #expect(tokens["access_token"] != nil && tokens["refresh_token"] == nil)
        #expect(tokens["account_id"]?.string == browser.id)
    }

    @Test("Dropbox: without a redirect URI the page shows the code to be copied")
    func dropboxByHand() throws {
        let browser = try ConsentBrowser(.dropbox)
        var asked = browser.program
        asked["redirect_uri"] = nil

        let response = browser.decide(asked)

        let html = String(decoding: try response.content(), as: UTF8.self)
        let code = try #require(html.firstMatch(of: /app: ([A-Za-z0-9_-]{43})</)?.1)
        #expect(response.status == 200)
        #expect(browser.redeem(String(code), asked).status == 200)
    }

    @Test("Microsoft: the platform of the redirect URI decides whether a secret is required or forbidden")
    func microsoftPlatforms() throws {
        let browser = try ConsentBrowser(.microsoft)
        let native = try browser.code(browser.program)
        let web = try browser.code(browser.server)
        func number(_ response: SandboxResponse) throws -> Int? {
            try response.json()["error_codes"]?.array?.first?.int
        }

        let secretOfProgram = browser.redeem(
            native, browser.program, change: ["client_secret": RegisteredApps.microsoftSecret])
        let withoutSecret = browser.redeem(web, browser.server, change: ["client_secret": nil])

        #expect(try secretOfProgram.status == 401 && number(secretOfProgram) == 700_025)
        #expect(try withoutSecret.status == 401 && number(withoutSecret) == 7_000_218)
    }

    @Test("Microsoft: without offline_access there is no refresh token, without openid no id token")
    func microsoftScopes() throws {
        let browser = try ConsentBrowser(.microsoft)
        var asked = browser.program
        asked["scope"] = "User.Read"

        let tokens = try browser.redeem(try browser.code(asked), asked).json()

        #expect(tokens["access_token"] != nil && tokens["refresh_token"] == nil && tokens["id_token"] == nil)
    }

    @Test("Microsoft: any port of localhost is accepted, but neither its address nor another path")
    func microsoftRedirects() throws {
        let browser = try ConsentBrowser(.microsoft)
        for (uri, status) in [
            ("http://localhost", 200), ("http://localhost:1", 200), ("http://localhost:2/server", 200),
            ("http://127.0.0.1:2/server", 400), ("http://localhost:2/Server", 400), ("http://localhost:2/other", 400),
        ] {
            var asked = browser.program
            asked["redirect_uri"] = uri
            #expect(browser.open(asked).status == status)
        }
    }
}
