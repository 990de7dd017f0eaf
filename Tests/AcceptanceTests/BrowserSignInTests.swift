import Curl
import Foundation
import SyncAccounts
import SyncProtocol
import Synchronization
import TestSupport
import Testing

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// A desktop program that signs in its user with a browser, and sends requests to the server.
private struct DesktopProgram: Sendable {
    /// The user, with the headers that their phone would send.
    let person: TestUser

    init(_ server: TestServer, _ provider: SandboxProvider) throws {
        person = try server.newcomer(provider, name: "Dana Desktop")
    }

    var account: SandboxAccount { person.account }
    private var server: TestServer { person.server }

    /// The program's registration with the sandbox (docs/sandbox.md).
    var scheme: AccountScheme {
        switch account.provider {
        case .google:
            .google(
                clientID: "1234567890-desktop.apps.googleusercontent.com",
                clientSecret: "sandbox-google-desktop-secret",
                serverClientID: "1234567890-server.apps.googleusercontent.com", ports: [])
        case .dropbox: .dropbox(appKey: "sandboxdropboxkey", ports: [])
        default: .microsoft(clientID: "5a0d31c6-0b7e-4f5d-9c1e-2f6a7b8c9d0e")
        }
    }

    /// Sends requests to the providers' real host names, routed to the sandbox.
    var transport: ProviderTransport {
        get throws {
            CurlLibrary.initialize()
            let port = try server.environment.value("SANDBOX_TLS_PORT")
            let routing = Routing(connectTo: "127.0.0.1:\(port)", caFile: server.certificateAuthorityFile)
            return ProviderTransport { request in
                var handle = try EasyHandle(routing: routing)
                let headers = (request.allHTTPHeaderFields ?? [:]).map { (name: $0.key, value: $0.value) }
                let response = try handle.perform(
                    Request(
                        method: request.httpMethod ?? "GET", url: request.url?.absoluteString ?? "",
                        headers: headers, body: request.httpBody.map { .bytes(Array($0)) } ?? .none))
                return ProviderTransport.Reply(status: response.status, body: Data(response.body))
            }
        }
    }

    /// Signs in; `decisions` are the user's decisions on the program's consent page and on the server's.
    func signIn(decisions: [ConsentDecision] = [.allow, .allow]) async throws -> AccountCredentials {
        let browser: any ConsentBrowser =
            if let real = try WebDriverBrowser(server, account: account.id) { real } else {
                try FormBrowser(server, account: account.id)
            }
        return try await BrowserSignIn(
            scheme, transport: try transport, appName: "Desktop", timeout: .seconds(600)
        ) { url in
            try register(url)
            let end = try browser.visit(url.absoluteString, decisions: decisions)
            #expect(end.contains("signed in to Desktop"))
        }.signIn()
    }

    /// The registration of the user's phone with the sandbox.
    var appScheme: AccountScheme {
        let redirect = "https://app.sandbox.test/oauth"
        return switch account.provider {
        case .google:
            .googleApp(
                clientID: "1234567890-ios.apps.googleusercontent.com",
                serverClientID: "1234567890-server.apps.googleusercontent.com", serverRedirect: redirect)
        case .dropbox: .dropboxApp(appKey: "sandboxdropboxkey")
        default:
            .microsoftApp(
                clientID: "5a0d31c6-0b7e-4f5d-9c1e-2f6a7b8c9d0e", bundleID: "com.example.sandbox",
                serverRedirect: redirect)
        }
    }

    /// Signs in as the user's phone does, with a web session; `decisions` are those on the two pages.
    func signInWithWebSession(decisions: [ConsentDecision] = [.allow, .allow]) async throws -> AccountCredentials {
        let browser = try FormBrowser(server, account: account.id)
        let waiting = Mutex(decisions)
        return try await WebSessionSignIn(appScheme, transport: try transport) { page, redirect in
            let decision = waiting.withLock { $0.removeFirst() }
            let end = try browser.redirect(
                from: page.absoluteString, to: redirect.absoluteString, decisions: [decision])
            return try #require(URL(string: end))
        }.signIn()
    }

    /// Registers the redirect URIs with this attempt's port, for providers that compare the complete URI.
    private func register(_ page: URL) throws {
        guard account.provider != .microsoft else { return }
        let items = URLComponents(url: page, resolvingAgainstBaseURL: false)?.queryItems
        let redirect = try #require(items?.first { $0.name == "redirect_uri" }?.value)
        for uri in [redirect, redirect.replacing("/program", with: "/server")] {
            try server.sandbox.registerRedirect(uri, at: account.provider)
        }
    }

    /// Returns the user with the headers that the program sends.
    func user(_ credentials: AccountCredentials) -> TestUser {
        var account = account
        account.headers = credentials.headers.map { (name: $0.key.rawValue, value: $0.value) }
        return person.with(account: account)
    }
}

extension TestUser {
    fileprivate func addDesktopUser() throws -> HTTPReply {
        try call(
            "POST", "AddUser",
            ["sharingGroupUUID": group, "cloudFolderName": account.provider == .google ? folder : nil])
    }

    fileprivate func publishDesktopFile(_ file: TestFile, masterVersion: Int64) throws {
        let isMicrosoft = account.provider == .microsoft
        try stage(
            file, masterVersion: masterVersion, overriding: isMicrosoft ? ["checkSum": file.sha1] : [:])
        #expect(try commitStaged(masterVersion: masterVersion) == 1)
    }
}

@Suite("Sign-in with a browser")
struct BrowserSignInTests {
    static let providers: [SandboxProvider] = [.google, .dropbox, .microsoft]
    let server: TestServer

    init() throws { server = try TestServer.shared() }

    @Test(
        "The complete flow: consent, codes for the program and the server, a user, a file, both kinds of renewal",
        arguments: providers)
    func wholeWay(provider: SandboxProvider) async throws {
        let program = try DesktopProgram(server, provider)
        let folder = FileManager.default.temporaryDirectory.appending(path: "desktop-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        let store = FileCredentialStore(file: folder.appending(path: "account.json"))

        let credentials = try await program.signIn()
        let session = try AccountSession(program.scheme, store: store, transport: try program.transport)
        try await session.signIn(credentials)
        let added = try program.user(credentials).addDesktopUser()

        expectJSON(added)
        #expect(added.values(of: "syncserver-offline-access").isEmpty, "the server has its own refresh token")
        #expect(credentials.person.name == "Dana Desktop" && credentials.person.id == program.account.id)

        // The program sends the code until the server accepts it; it is exchanged once.
        expectJSON(try program.user(credentials).checkCredentials())
        await session.serverAccepted(credentials.credentials, newAccessToken: nil)
        let kept = try #require(try store.load())
        #expect(kept.serverGrant == nil)
        let file = TestFile(randomBytes: 100_000).stored(at: provider)
        try program.user(kept).publishDesktopFile(file, masterVersion: 0)

        // The program's token expires, then the server's.
        try server.sandbox.expireAccessTokens(of: program.account, .program)
        let renewed = try await session.refresh(kept)
        #expect(renewed.accessToken != kept.accessToken)
        let dana = program.user(renewed)
        #expect(try dana.checkCredentials().json?.userId?.integer == added.json?.userId?.integer)
        try server.sandbox.expireAccessTokens(of: program.account, .server)
        let download = try dana.download(file, masterVersion: 1)
        #expect(download.status == 200 && download.body == file.contents)
        #expect(try dana.stored(file).count == 1)
        #expect(try store.load() == renewed)
    }

    @Test("A phone signs in with a web session, and the server exchanges its code", arguments: providers)
    func webSession(provider: SandboxProvider) async throws {
        let phone = try DesktopProgram(server, provider)
        let folder = FileManager.default.temporaryDirectory.appending(path: "phone-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        let session = try AccountSession(
            phone.appScheme, store: FileCredentialStore(file: folder.appending(path: "account.json")),
            transport: try phone.transport)

        let credentials = try await phone.signInWithWebSession()
        try await session.signIn(credentials)
        let added = try phone.user(credentials).addDesktopUser()

        expectJSON(added)
        #expect(added.values(of: "syncserver-offline-access").isEmpty, "the server has its own refresh token")
        #expect(credentials.person.name == "Dana Desktop")
        try server.sandbox.expireAccessTokens(of: phone.account, .program)
        let renewed = try await session.refresh(credentials)
        expectJSON(try phone.user(renewed).checkCredentials())
        let refusal = await #expect(throws: SignInError.self) {
            try await phone.signInWithWebSession(decisions: [.allow, .deny])
        }
        #expect(refusal?.code == .denied)
    }

    @Test("A program's expired token is rejected, and a refreshed one works", arguments: providers)
    func expiredBeforeUse(provider: SandboxProvider) async throws {
        let program = try DesktopProgram(server, provider)
        let credentials = try await program.signIn()
        let folder = FileManager.default.temporaryDirectory.appending(path: "desktop-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        let session = try AccountSession(
            program.scheme, store: FileCredentialStore(file: folder.appending(path: "account.json")),
            transport: try program.transport)
        try await session.signIn(credentials)
        try server.sandbox.expireAccessTokens(of: program.account, .program)

        let refused = try program.user(credentials).addDesktopUser()
        let renewed = try await session.refresh(credentials)
        let added = try program.user(renewed).addDesktopUser()

        expectError(refused, 401)
        expectJSON(added)
        #expect(added.values(of: "syncserver-offline-access").isEmpty)
    }

    @Test("If consent is denied on the second page, the sign-in fails and no code is exchanged", arguments: providers)
    func denied(provider: SandboxProvider) async throws {
        let program = try DesktopProgram(server, provider)

        let error = await #expect(throws: SignInError.self) { try await program.signIn(decisions: [.allow, .deny]) }

        #expect(error?.code == .denied)
    }

    @Test("Redirect URIs to other hosts, and malformed verifiers, get 400 before any exchange")
    func malformed() async throws {
        let program = try DesktopProgram(server, .dropbox)
        let credentials = try await program.signIn()
        let user = program.user(credentials)

        for (header, value) in [
            ("SyncServer-redirect-uri", "https://evil.example.com/"), ("SyncServer-redirect-uri", "http://127.0.0.1/"),
            ("SyncServer-code-verifier", "short"),
        ] {
            let odd = user.with(account: user.account.replacing(header: header, with: value))
            let reply = try odd.addDesktopUser()
            expectError(reply, 400)
            #expect(reply.json?.code?.text == "malformed_header")
        }
        expectJSON(try user.addDesktopUser())
    }

    @Test(
        "A code with a wrong or missing verifier, or with another redirect URI, is rejected",
        arguments: providers)
    func stolen(provider: SandboxProvider) async throws {
        // Uses a separate stack, since these requests break the providers' rules.
        let strangers = try TestServer.ofStrangers()
        for (header, value) in [
            ("SyncServer-code-verifier", String(repeating: "x", count: 43)), ("SyncServer-code-verifier", nil),
            ("SyncServer-redirect-uri", "http://localhost:1/server"),
        ] as [(String, String?)] {
            let program = try DesktopProgram(strangers, provider)
            let user = program.user(try await program.signIn())
            let thief = user.with(account: user.account.replacing(header: header, with: value))
            // Dropbox reports a missing verifier as a fault of the app.
            let isAppsFault = provider == .dropbox && value == nil

            let reply = try thief.addDesktopUser()

            expectError(reply, isAppsFault ? 502 : 409)
            #expect(
                reply.json?.code?.text == (isAppsFault ? "provider_misconfigured" : "authorization_code_rejected"))
        }
    }

    @Test("Another person's code is rejected, even with the right redirect URI and verifier", arguments: providers)
    func foreignCode(provider: SandboxProvider) async throws {
        let (dana, mallory) = (try DesktopProgram(server, provider), try DesktopProgram(server, provider))
        var credentials = try await mallory.signIn()
        credentials.serverGrant = try await dana.signIn().serverGrant

        let reply = try mallory.user(credentials).addDesktopUser()

        expectError(reply, 409)
        #expect(reply.json?.code?.text == "authorization_code_rejected")
    }
}
