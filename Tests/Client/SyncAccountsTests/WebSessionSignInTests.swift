import Foundation
import SyncProtocol
import Synchronization
import Testing

@testable import SyncAccounts

@Suite("Sign-in with the system's web session")
struct WebSessionSignInTests {
    private static let scheme = AccountScheme.googleApp(
        clientID: "1-ios.apps.googleusercontent.com", serverClientID: "1-server",
        serverRedirect: "https://app.example.com/oauth")

    /// The address to which the provider redirects from `page`.
    private static func callback(_ page: URL, _ answer: String) throws -> URL {
        try #require(URL(string: "\(page.item("redirect_uri")!)?\(answer)&state=\(page.item("state")!)"))
    }

    private func signIn(
        _ provider: ScriptedProvider = .google(), _ scheme: AccountScheme = Self.scheme,
        _ session: @escaping WebSessionSignIn.Session
    ) async throws -> AccountCredentials {
        try await WebSessionSignIn(
            scheme, transport: provider.transport, now: { Date(timeIntervalSince1970: 1_000) }, session: session
        ).signIn()
    }

    @Test("Each page redirects to its own client's address; the program redeems its code without a secret")
    func wholeWay() async throws {
        let provider = ScriptedProvider.google()
        let shown = Mutex<[(page: URL, redirect: URL)]>([])

        let credentials = try await signIn(provider) { page, redirect in
            let number = shown.withLock { shown in
                shown.append((page, redirect))
                return shown.count
            }
            return try Self.callback(page, "code=4%2F\(number)&scope=openid")
        }

        let (program, server) = shown.withLock { ($0[0], $0[1]) }
        let appURI = "com.googleusercontent.apps.1-ios:/oauthredirect"
        #expect(program.redirect.absoluteString == appURI && program.page.item("redirect_uri") == appURI)
        #expect(program.page.item("client_id") == "1-ios.apps.googleusercontent.com")
        #expect(server.redirect.absoluteString == "https://app.example.com/oauth")
        #expect(server.page.item("client_id") == "1-server" && server.page.item("access_type") == "offline")
        #expect(program.page.item("state") != server.page.item("state"))
        let exchange = provider.requests[0].form
        #expect(exchange["code"] == "4/1" && exchange["redirect_uri"] == appURI && exchange["client_secret"] == nil)
        let verifier = try #require(exchange["code_verifier"].flatMap { CodeVerifier($0) })
        #expect(program.page.item("code_challenge") == ProofKey(verifier: verifier).challenge)
        let grant = try #require(credentials.serverGrant)
        #expect(grant.code == "4/2" && grant.redirectURI == "https://app.example.com/oauth")
        let other = try #require(grant.codeVerifier.flatMap { CodeVerifier($0) })
        #expect(server.page.item("code_challenge") == ProofKey(verifier: other).challenge && other != verifier)
        #expect(credentials.person == AccountCredentials.alice.person)
    }

    @Test("The providers' redirects for apps: Dropbox has one for both codes, Microsoft one for each platform")
    func schemes() {
        let dropbox = AccountScheme.dropboxApp(appKey: "key")
        #expect(
            [dropbox.program, dropbox.server].map { $0?.redirect }.allSatisfy { $0 == .app(uri: "db-key://2/token") })
        let microsoft = AccountScheme.microsoftApp(
            clientID: "id", bundleID: "com.example.app", serverRedirect: "https://app.example.com/oauth")
        #expect(microsoft.program.redirect == .app(uri: "msauth.com.example.app://auth"))
        #expect(microsoft.server?.redirect == .app(uri: "https://app.example.com/oauth"))
    }

    @Test(
        "Only the address of the request, with its state and one code, is an answer",
        arguments: [
            ("", true), ("#_", true), ("&state=x", false), ("&code=y", false), ("&error=access_denied", false),
        ])
    func answers(addition: String, isAnswer: Bool) throws {
        let attempt = try AuthorizationAttempt(Self.scheme.program, of: Self.scheme)
        let own = try Self.callback(attempt.url, "code=x").absoluteString
        let answer = { (text: String) in try attempt.answer(in: #require(URL(string: text))) }

        #expect(try answer(own + addition) == (isAnswer ? .code("x") : nil))
        #expect(try answer(own.replacing("com.google", with: "COM.Google") + addition) == (isAnswer ? .code("x") : nil))
        let query = own.drop { $0 != "?" }
        for foreign in [
            "com.googleusercontent.apps.1-ios:/other\(query)", "https://app.example.com/oauth\(query)",
            "com.googleusercontent.apps.1-ios:/oauthredirect/\(query)", own.replacing("state=", with: "state=x"),
            own.replacing("?", with: "#"), own.replacing("code=x", with: "code="),
        ] {
            #expect(try answer(foreign) == nil, "\(foreign)")
        }
    }

    @Test("Another sign-in's answer, a refusal or an error ends the sign-in, and no code is exchanged")
    func failures() async throws {
        struct Odd: Error {}
        let provider = ScriptedProvider.google()
        let sessions: [(SignInError.Code, WebSessionSignIn.Session)] = [
            (.denied, { @Sendable page, _ in try Self.callback(page, "error=access_denied") }),
            (.providerUnavailable, { @Sendable page, _ in try Self.callback(page, "error=server_error") }),
            (
                .failed,
                { @Sendable _, redirect in redirect.appending(queryItems: [URLQueryItem(name: "code", value: "x")]) }
            ),
            (
                .cancelled,
                { @Sendable page, _ in
                    if page.item("client_id") == "1-server" { throw CancellationError() }
                    return try Self.callback(page, "code=x")
                }
            ),
            (.timedOut, { @Sendable _, _ in throw SignInError(.timedOut) }),
            (.browserUnavailable, { @Sendable _, _ in throw Odd() }),
        ]
        for (code, session) in sessions {
            let error = await #expect(throws: SignInError.self) { try await signIn(provider, Self.scheme, session) }
            #expect(error?.code == code)
        }
        #expect(provider.requests.isEmpty)
    }

    @Test("Redirects that do not fit the kind of sign-in are refused before a page appears")
    func misconfigured() async throws {
        var schemes = [AccountScheme.googleForTests]
        for uri in [
            "http://app.example.com/oauth", "https://app.example.com:8443/oauth", "https:/oauth",
            "com.example.app:/a?b=c",
            "com.example.app:/a#b", "oauth", "",
        ] {
            var scheme = Self.scheme
            scheme.server?.redirect = .app(uri: uri)
            schemes.append(scheme)
        }
        for scheme in schemes {
            let error = await #expect(throws: SignInError.self) {
                try await signIn(.google(), scheme) { _, _ in
                    Issue.record("a page appeared")
                    throw CancellationError()
                }
            }
            #expect(error?.code == .misconfigured, "\(scheme)")
        }
        let error = await #expect(throws: SignInError.self) {
            try await BrowserSignIn(Self.scheme, appName: "Desktop") { _ in Issue.record("opened") }.signIn()
        }
        #expect(error?.code == .misconfigured)
    }
}
