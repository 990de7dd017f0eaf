import Foundation
import SyncProtocol
import Synchronization
import Testing

@testable import SyncAccounts

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

@Suite("Sign-in with a browser")
struct BrowserSignInTests {
    /// Answers both sign-in requests with redirects, as a provider's pages would.
    @Sendable static func consent(_ url: URL) async throws {
        let first = try await answer(url, "code=4%2Fprogram")
        _ = try await answer(URL(string: first.headers["location"]!)!, "code=4%2Fserver&scope=openid")
    }

    /// Redirects back from a page with `answer` and the page's state.
    @discardableResult
    static func answer(_ page: URL, _ answer: String, state: String? = nil) async throws -> LoopbackClient.Reply {
        let state = try #require(state ?? page.item("state"))
        return try await LoopbackClient.get(try #require(page.item("redirect_uri")) + "?\(answer)&state=\(state)")
    }

    private func signIn(
        _ provider: ScriptedProvider = .google(), _ scheme: AccountScheme = .googleForTests,
        timeout: Duration = .seconds(600), _ browser: @escaping @Sendable (URL) async throws -> Void
    ) async throws -> AccountCredentials {
        try await BrowserSignIn(
            scheme, transport: provider.transport, appName: "Notes & <more>", timeout: timeout,
            now: { Date(timeIntervalSince1970: 1_000) }, openBrowser: browser
        ).signIn()
    }

    @Test("Both codes are returned: the program exchanges its own and keeps the server's with its parameters")
    func wholeWay() async throws {
        let provider = ScriptedProvider.google()
        let opened = Mutex<[URL]>([])

        let credentials = try await signIn(provider) { url in
            opened.withLock { $0.append(url) }
            try await Self.consent(url)
        }

        #expect(credentials.person == AccountCredentials.alice.person)
        #expect(credentials.accessToken == "ya29.first" && credentials.refreshToken == "1//refresh")
        #expect(credentials.expires == Date(timeIntervalSince1970: 4_599))
        let grant = try #require(credentials.serverGrant)
        #expect(grant.code == "4/server")
        #expect(grant.redirectURI.flatMap { LoopbackRedirectURI($0) }?.path == "/server")
        let page = try #require(opened.withLock { $0.first })
        #expect(page.host == "accounts.google.com" && page.item("response_type") == "code")
        #expect(page.item("client_id") == "1-desktop" && page.item("code_challenge_method") == "S256")
        let exchange = provider.requests[0].form
        let verifier = try #require(exchange["code_verifier"].flatMap { CodeVerifier($0) })
        #expect(page.item("code_challenge") == ProofKey(verifier: verifier).challenge)
        #expect(exchange["code"] == "4/program" && exchange["redirect_uri"] == page.item("redirect_uri"))
        #expect(exchange["client_secret"] == "no-secret")
        #expect(grant.codeVerifier != verifier.rawValue && grant.codeVerifier.flatMap { CodeVerifier($0) } != nil)
        #expect(provider.requests[1].authorization == "Bearer ya29.first")
    }

    @Test("A Nextcloud server issues both codes; the token is a bearer token, renewed by the program's client")
    func nextcloud() async throws {
        let provider = ScriptedProvider.nextcloud()
        let scheme = AccountScheme.nextcloud(
            at: try #require(URL(string: "https://cloud.example.com/nc")), clientID: "p", clientSecret: "s/",
            serverClientID: "server")
        let opened = Mutex<[URL]>([])

        let credentials = try await signIn(provider, scheme) { url in
            let first = try await Self.answer(url, "code=a")
            let second = URL(string: first.headers["location"]!)!
            opened.withLock { $0 = [url, second] }
            try await Self.answer(second, "code=b")
        }

        let pages = opened.withLock { $0 }
        #expect(
            pages.map { $0.path } == ["/nc/index.php/apps/oauth2/authorize", "/nc/index.php/apps/oauth2/authorize"])
        #expect(pages.map { $0.item("client_id") } == ["p", "server"] && pages[0].item("scope") == nil)
        let details = try #require(credentials.headers[.accountDetails])
        let members = try JSONDecoder().decode([String: String].self, from: Data(details.utf8))
        #expect(members == ["address": "https://cloud.example.com/nc/remote.php/dav/files/alice%20a/"])
        #expect(credentials.headers[.tokenType] == "WebDAVToken" && credentials.headers[.accessToken] == "a1")
        #expect(credentials.headers[.authorizationCode] == "b")
        #expect(credentials.person == AccountCredentials.Person(id: "alice a", name: "Alice"))
        let basic = "Basic " + Data("p:s%2F".utf8).base64EncodedString()
        #expect(provider.requests.map(\.authorization) == [basic, "Bearer a1"])

        let session = try AccountSession(scheme, store: MemoryStore(credentials), transport: provider.transport)
        let renewed = try await session.refresh(credentials)
        #expect(renewed.accessToken == "a2" && renewed.refreshToken == "r2")
        #expect(renewed.accountDetails == credentials.accountDetails && provider.requests.last?.authorization == basic)

        // Nextcloud's error code for an unknown refresh token.
        let refusing = ScriptedProvider { _ in (400, #"{"error": "invalid_request"}"#) }
        let ended = try AccountSession(scheme, store: MemoryStore(credentials), transport: refusing.transport)
        let error = await #expect(throws: SignInError.self) { try await ended.refresh(credentials) }
        #expect(error?.code == .signInRequired)
    }

    @Test("The server's page is requested with the server's client id and another challenge")
    func serverPage() async throws {
        let second = Mutex<URL?>(nil)

        let credentials = try await signIn { url in
            let reply = try await Self.answer(url, "code=a")
            #expect(reply.status == 302)
            let page = URL(string: reply.headers["location"]!)!
            second.withLock { $0 = page }
            try await Self.answer(page, "code=b")
        }

        let page = try #require(second.withLock { $0 })
        #expect(page.item("client_id") == "1-server" && page.item("access_type") == "offline")
        #expect(page.item("scope")?.hasSuffix("/auth/drive.file") == true && page.item("prompt") == "consent")
        let verifier = try #require(credentials.serverGrant?.codeVerifier.flatMap { CodeVerifier($0) })
        #expect(page.item("code_challenge") == ProofKey(verifier: verifier).challenge)
        #expect(page.item("redirect_uri") == credentials.serverGrant?.redirectURI)
    }

    @Test("The challenge matches RFC 7636, appendix B")
    func challenge() throws {
        let verifier = try #require(CodeVerifier("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"))

        #expect(ProofKey(verifier: verifier).challenge == "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM")
        #expect(ProofKey().verifier != ProofKey().verifier)
    }

    @Test("Unrelated requests are rejected, and the sign-in continues")
    func foreignRequests() async throws {
        let credentials = try await signIn { url in
            let redirect = try #require(url.item("redirect_uri"))
            let (base, state) = (redirect.replacing("/program", with: ""), url.item("state")!)
            let port = URL(string: redirect)!.port!
            for (target, host, method, status) in [
                ("/favicon.ico", nil, "GET", 404), ("/", nil, "GET", 404), ("/program", nil, "GET", 400),
                ("/program?code=x", nil, "GET", 400), ("/program?code=x&state=guess", nil, "GET", 400),
                ("/program?code=x&state=\(state)&state=\(state)", nil, "GET", 400),
                ("/program?code=x&code=y&state=\(state)", nil, "GET", 400),
                ("/program?state=\(state)", nil, "GET", 400),
                ("/server?code=x&state=\(state)", nil, "GET", 400),
                ("/program?code=x&state=\(state)", "evil.example.com:\(port)", "GET", 404),
                ("/program?code=x&state=\(state)", nil, "POST", 405),
            ] as [(String, String?, String, Int)] {
                let reply = try await LoopbackClient.get(base + target, host: host, method: method)
                #expect(reply.status == status, "\(method) \(target)")
            }
            try await Self.consent(url)
        }

        #expect(credentials.serverGrant?.code == "4/server")
    }

    @Test("A redirect counts once: a second one with the right state changes nothing")
    func secondAnswer() async throws {
        let provider = ScriptedProvider.google()

        _ = try await signIn(provider) { url in
            let reply = try await Self.answer(url, "code=first")
            #expect(try await Self.answer(url, "code=second").status == 400)
            try await Self.answer(URL(string: reply.headers["location"]!)!, "code=server")
        }

        #expect(provider.requests[0].form["code"] == "first")
    }

    @Test("The final page reports the result, is escaped, and is not cached")
    func page() async throws {
        let last = Mutex<LoopbackClient.Reply?>(nil)

        _ = try await signIn { url in
            let reply = try await Self.answer(url, "code=a")
            let end = try await Self.answer(URL(string: reply.headers["location"]!)!, "code=b")
            last.withLock { $0 = end }
        }

        let reply = try #require(last.withLock { $0 })
        #expect(reply.status == 200 && reply.body.contains("You are signed in to Notes &amp; &lt;more&gt;."))
        #expect(reply.headers["cache-control"] == "no-store" && reply.headers["referrer-policy"] == "no-referrer")
        #expect(reply.headers["content-security-policy"]?.hasPrefix("default-src 'none'") == true)
    }

    @Test(
        "A user who declines on either page is not signed in", arguments: [0, 1],
        [("access_denied", SignInError.Code.denied), ("server_error", .providerUnavailable), ("odd", .misconfigured)])
    func denied(page: Int, refusal: (word: String, code: SignInError.Code)) async throws {
        let provider = ScriptedProvider.google()

        let error = await #expect(throws: SignInError.self) {
            try await signIn(provider) { url in
                var url = url
                if page == 1 {
                    url = URL(string: try await Self.answer(url, "code=a").headers["location"]!)!
                }
                let reply = try await Self.answer(url, "error=\(refusal.word)&error_description=x")
                #expect(reply.body.contains("not signed in"))
            }
        }

        #expect(error?.code == refusal.code)
        #expect(provider.requests.isEmpty)
    }

    @Test("Without a redirect the wait times out, and the listener is closed")
    func timeout() async throws {
        let opened = Mutex<URL?>(nil)

        let error = await #expect(throws: SignInError.self) {
            try await signIn(timeout: .milliseconds(50)) { url in opened.withLock { $0 = url } }
        }

        #expect(error?.code == .timedOut)
        let url = try #require(opened.withLock { $0 })
        await #expect(throws: (any Error).self) { try await Self.answer(url, "code=late") }
    }

    @Test("A cancelled task ends the wait; so does a browser that cannot be opened")
    func cancelled() async throws {
        let (opened, continuation) = AsyncStream.makeStream(of: Void.self)
        let task = Task { try await signIn { _ in continuation.yield() } }
        for await _ in opened { break }

        task.cancel()

        let error = await #expect(throws: SignInError.self) { try await task.value }
        #expect(error?.code == .cancelled)
        let browserless = await #expect(throws: SignInError.self) {
            try await signIn { _ in throw CocoaError(.fileNoSuchFile) }
        }
        #expect(browserless?.code == .browserUnavailable)
    }

    @Test("Without a server client id, there is one page, and no code for the server")
    func programAlone() async throws {
        let scheme = AccountScheme.google(clientID: "1-desktop", clientSecret: "s", serverClientID: nil, ports: [])

        let credentials = try await signIn(.google(), scheme) { url in
            let reply = try await Self.answer(url, "code=a")
            #expect(reply.status == 200)
        }

        #expect(credentials.serverGrant == nil && credentials.headers[.authorizationCode] == nil)
    }

    @Test(
        "The token endpoint's reply determines the error code",
        arguments: [
            (400, #"{"error": "invalid_grant"}"#, SignInError.Code.failed),
            (401, #"{"error": "invalid_client"}"#, .misconfigured), (503, "", .providerUnavailable),
            (200, "<html>", .providerUnavailable), (400, "<html>", .providerUnavailable),
        ])
    func refusals(status: Int, body: String, code: SignInError.Code) async {
        let provider = ScriptedProvider { _ in (status, body) }

        let error = await #expect(throws: SignInError.self) {
            try await signIn(provider) { try await Self.consent($0) }
        }

        #expect(error?.code == code)
    }

    @Test("Registered ports are tried in order; if all are in use, the sign-in fails with `portUnavailable`")
    func ports() async throws {
        let first = try LoopbackListener(host: .ipv4, ports: [])
        let second = try LoopbackListener(host: .ipv4, ports: [first.port, 0])

        #expect(second.port != first.port)
        let error = #expect(throws: SignInError.self) { try LoopbackListener(host: .ipv4, ports: [first.port]) }
        #expect(error?.code == .portUnavailable)
    }

    @Test("A preconnecting browser that sends nothing blocks nobody")
    func silentConnections() async throws {
        let silent = Mutex<[Descriptor]>([])

        let credentials = try await signIn { url in
            let port = UInt16(URL(string: url.item("redirect_uri")!)!.port!)
            for _ in 0..<4 {
                let socket = try Sockets.connectionForTests(port: port)
                silent.withLock { $0.append(socket) }
            }
            try await Self.consent(url)
        }

        #expect(credentials.serverGrant != nil)
    }

    @Test("A request in pieces is assembled; one that is too long or not HTTP is rejected")
    func pieces() async throws {
        let listener = try LoopbackListener(host: .ipv4, ports: [])
        let serving = Task {
            try await listener.serve(for: .seconds(600)) { target in
                LoopbackReply(status: 200, text: target.path, isLast: target.path == "/last")
            }
        }
        func reply(_ pieces: [String]) throws -> String {
            let socket = try Sockets.connectionForTests(port: listener.port)
            for piece in pieces { _ = Sockets.transmit(socket, Array(piece.utf8)[...]) }
            var bytes: [UInt8] = []
            while Sockets.wait([(socket, false)], milliseconds: 20_000) == [true],
                let more = Sockets.receive(socket, atMost: 4_096), !more.isEmpty
            {
                bytes += more
            }
            return String(decoding: bytes, as: UTF8.self)
        }
        let host = "Host: 127.0.0.1:\(listener.port)\r\n"
        // From here on the listener accepts connections, even if this process's threads are busy.
        _ = try await LoopbackClient.get("http://127.0.0.1:\(listener.port)/")

        #expect(
            try reply(["GET /a", "b HTTP/1.1\r\nho", "st: 127.0.0.1:\(listener.port)\r\n", "\r\n"]).contains("/ab"))
        #expect(try reply(["nonsense\r\n\r\n"]).hasPrefix("HTTP/1.1 400 "))
        #expect(try reply(["GET /%zz?a=%zz HTTP/1.1\r\n\(host)\r\n"]).hasPrefix("HTTP/1.1 400 "))
        #expect(try reply(["GET / HTTP/1.1\r\n\r\n"]).hasPrefix("HTTP/1.1 404 "))
        #expect(try reply(["GET / HTTP/1.1\r\n\(host)\(host)\r\n"]).hasPrefix("HTTP/1.1 400 "))
        #expect(try reply([String(repeating: "x", count: 16_384)]).hasPrefix("HTTP/1.1 431 "))
        #expect(try reply(["GET /last HTTP/1.1\r\n\(host)\r\n"]).contains("/last"))
        try await serving.value
    }

    @Test("A call to a provider can be cancelled at any time, even while its reply arrives")
    func cancelledQuestions() async throws {
        let listener = try LoopbackListener(host: .ipv4, ports: [])
        let serving = Task {
            try await listener.serve(for: .seconds(600)) { _ in LoopbackReply(status: 200, text: "yes") }
        }
        let transport = ProviderTransport.system()
        let url = try #require(URL(string: "http://127.0.0.1:\(listener.port)/"))
        for round in 0..<200 {
            let question = Task { try await transport.send(URLRequest(url: url)).status }
            for _ in 0..<round * 5 { await Task.yield() }
            question.cancel()
            _ = try? await question.value
        }

        let last = try await transport.send(URLRequest(url: url))
        serving.cancel()

        #expect(last.status == 200)
        await #expect(throws: SignInError.self) { try await serving.value }
    }

    @Test("For the host name localhost, both of its addresses are served")
    func localhost() async throws {
        let listener = try LoopbackListener(host: .localhost, ports: [])
        let serving = Task {
            try await listener.serve(for: .seconds(600)) { target in
                LoopbackReply(status: 200, text: "yes", isLast: target.path == "/last")
            }
        }

        let name = "localhost:\(listener.port)"
        #expect(try await LoopbackClient.get("http://127.0.0.1:\(listener.port)/", host: name).status == 200)
        if (try? Sockets.listener(port: 0, isIPv6: true)) != nil {
            let socket = try Sockets.connectionOverIPv6(port: listener.port)
            _ = Sockets.transmit(socket, Array("GET / HTTP/1.1\r\nHost: \(name)\r\n\r\n".utf8)[...])
            #expect(Sockets.wait([(socket, false)], milliseconds: 20_000) == [true])
            let reply = String(decoding: Sockets.receive(socket, atMost: 4_096) ?? [], as: UTF8.self)
            #expect(reply.hasPrefix("HTTP/1.1 200 "))
        }
        #expect(try await LoopbackClient.get("http://\(name)/last").status == 200)
        try await serving.value
    }
}
