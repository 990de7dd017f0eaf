import Foundation
import HTTPTransport
import JSONWebTokens
import OpenSSLCrypto
import Providers
import Store
import SyncProtocol
import Synchronization
import TestSupport
import Testing

@testable import SyncService

/// Users who sign in with Apple, and Apple's own notices, with a clock that the test moves.
@Suite("Sign in with Apple at the endpoints")
struct AppleSignInTests {
    private let apple: Apple
    private let server: TestServer

    init() throws {
        let apple = try Apple()
        self.apple = apple
        // Nothing is cached between requests, because the cache uses a different clock.
        server = try TestServer(
            signInTimeToLive: .zero, accounts: [try apple.account()], providers: apple.transport)
    }

    private func headers(_ token: String, code: String? = nil) -> [RequestHeader: String] {
        var headers: [RequestHeader: String] = [
            .tokenType: "AppleSignInToken", .accessToken: token, .deviceUUID: UUID().uuidString,
        ]
        headers[.authorizationCode] = code
        return headers
    }

    private func checkCreds(_ token: String, code: String? = nil) -> FakeConnection {
        server.send("GET", "/CheckCreds/", headers: headers(token, code: code))
    }

    /// A user who joined with this token.
    private func join(_ token: String, code: String? = nil) throws {
        let alice = try server.signUp("alice \(UUID().uuidString)")
        let invitation = server.send(
            CreateSharingInvitationRequest(permission: .write, sharingGroupUUID: alice.group), as: alice)
        let uuid = try #require(invitation.json["sharingInvitationUUID"] as? String)
        let reply = server.send(
            "POST", "/RedeemSharingInvitation/", query: "sharingInvitationUUID=\(uuid)",
            headers: headers(token, code: code))
        try #require(reply.status == 200, "\(reply.json)")
    }

    @Test("An expired token is accepted only for the user who presented it before")
    func expired() throws {
        let known = try apple.token("001")
        try join(known)
        let unseen = try apple.token("001", device: "another")
        let stranger = try apple.token("002")
        apple.advance(10_000)

        #expect(checkCreds(known).status == 200)
        #expect(checkCreds(unseen).code == "credentials_rejected")
        #expect(checkCreds(stranger).code == "credentials_rejected")
        let alice = try server.signUp()
        let invitation = server.send(
            CreateSharingInvitationRequest(permission: .write, sharingGroupUUID: alice.group), as: alice)
        let uuid = try #require(invitation.json["sharingInvitationUUID"] as? String)
        let redeemed = server.send(
            "POST", "/RedeemSharingInvitation/", query: "sharingInvitationUUID=\(uuid)", headers: headers(stranger))
        #expect(redeemed.status == 401)
        #expect(try server.count("SELECT COUNT(*) FROM users WHERE account_type = 'AppleSignIn'") == 1)
    }

    @Test("A token that any endpoint saw before it expired remains valid")
    func seenByIndex() throws {
        try join(try apple.token("001"))
        let second = try apple.token("001", device: "second")
        #expect(server.send("GET", "/Index/", headers: headers(second)).status == 200)
        apple.advance(10_000)

        #expect(server.send("GET", "/Index/", headers: headers(second)).status == 200)
    }

    @Test("Apple is called once a day, even with eight concurrent requests; its failures affect no user")
    func daily() async throws {
        let token = try apple.token("001")
        try join(token, code: "code 1")
        #expect(apple.checks == 0)
        apple.advance(86_300)
        #expect(checkCreds(token).status == 200)
        #expect(apple.checks == 0)
        apple.advance(200)
        apple.answers(with: Reply(404))
        #expect(checkCreds(token).status == 200)
        #expect(apple.checks == 1)
        apple.answers(with: nil)

        let statuses = try await Threads.run(8) { _ in checkCreds(token).status }

        #expect(statuses.allSatisfy { $0 == 200 })
        #expect(apple.checks == 2)
        #expect(checkCreds(token).status == 200)
        #expect(apple.checks == 2)
    }

    @Test("After consent is withdrawn, old tokens are rejected, and a new sign-in is accepted")
    func withdrawn() throws {
        let token = try apple.token("001")
        let other = try apple.token("001", device: "other")
        try join(token, code: "code 1")
        #expect(checkCreds(other).status == 200)
        apple.advance(90_000)
        apple.answers(with: Reply(400, #"{"error":"invalid_grant"}"#))

        #expect(checkCreds(token).code == "credentials_rejected")
        #expect(checkCreds(token).code == "credentials_rejected")
        #expect(server.send("GET", "/Index/", headers: headers(other)).code == "credentials_rejected")
        #expect(apple.checks == 1)

        apple.advance(10)
        apple.answers(with: nil)
        let fresh = try apple.token("001")
        #expect(checkCreds(fresh, code: "code 2").status == 200)
        apple.advance(10_000)
        #expect(checkCreds(fresh).status == 200)
    }

    @Test(
        "A withdrawal survives an unreadable record, and a later sign-in counts, even after its token has expired")
    func withdrawalOutlivesRecord() throws {
        try join(try apple.token("001"), code: "code 1")
        apple.advance(90_000)
        let beforeWithdrawal = try apple.token("001", device: "another")
        apple.answers(with: Reply(400, #"{"error":"invalid_grant"}"#))
        #expect(checkCreds(beforeWithdrawal).code == "credentials_rejected")
        let damage = "UPDATE users SET credentials = REVERSE(credentials) WHERE account_type = 'AppleSignIn'"
        try server.execute(damage)

        #expect(checkCreds(beforeWithdrawal).code == "credentials_rejected")
        #expect(server.send("GET", "/Index/", headers: headers(beforeWithdrawal)).code == "credentials_rejected")

        apple.advance(10)
        apple.answers(with: nil)
        let fresh = try apple.token("001")
        try server.execute(damage)
        #expect(checkCreds(fresh, code: "code 2").status == 200)
        apple.advance(10_000)
        #expect(checkCreds(fresh).status == 200)
        #expect(checkCreds(beforeWithdrawal).code == "credentials_rejected")

        apple.advance(90_000)
        apple.answers(with: Reply(400, #"{"error":"invalid_grant"}"#))
        #expect(checkCreds(fresh).code == "credentials_rejected")
        try server.execute(damage)
        #expect(checkCreds(fresh).code == "credentials_rejected")
    }

    // MARK: Notices

    private func notify(_ body: String) -> FakeConnection {
        server.send(
            "POST", "/AppleNotifications/", announcing: Int64(body.utf8.count),
            on: FakeConnection(body: Array(body.utf8)))
    }

    private func notify(_ changes: [String: Any], about sub: String, type: String = "consent-revoked") throws
        -> FakeConnection
    {
        notify(#"{"payload":"\#(try apple.notice(type, about: sub, changes))"}"#)
    }

    @Test("A withdrawal of consent at Apple removes the user; a repeated notification removes no one")
    func removed() throws {
        let token = try apple.token("001")
        try join(token)
        let notice = #"{"payload":"\#(try apple.notice("consent-revoked", about: "001"))"}"#

        #expect(notify(notice).status == 200)
        #expect(checkCreds(token).code == "user_unknown")
        try join(token)
        #expect(notify(notice).status == 200)
        #expect(checkCreds(token).status == 200)
        #expect(try notify([:], about: "001", type: "account-delete").status == 200)
        #expect(checkCreds(token).code == "user_unknown")
    }

    @Test("Irrelevant notifications get 200: unknown users, mail forwarding, old events")
    func withoutEffect() throws {
        let token = try apple.token("001")
        try join(token)

        #expect(try notify([:], about: "nobody").status == 200)
        #expect(try notify([:], about: "001", type: "email-disabled").status == 200)
        #expect(try notify(["iat": apple.seconds - 40 * 86_400], about: "001").status == 200)

        #expect(checkCreds(token).status == 200)
    }

    @Test("Notifications that are not from Apple, or not for this app, are rejected without effect")
    func forged() throws {
        let token = try apple.token("001")
        try join(token)
        let forged = try Apple().notice("consent-revoked", about: "001")

        #expect(notify(#"{"payload":"\#(forged)"}"#).status == 401)
        #expect(try notify(["aud": "com.example.other"], about: "001").status == 401)
        #expect(try notify(["iss": "https://evil.example"], about: "001").status == 401)
        #expect(notify(#"{"payload":"\#(token)"}"#).status == 401)
        for body in ["", "{}", "[]", #"{"payload":5}"#, "nonsense"] { #expect(notify(body).status == 400) }
        #expect(notify(#"{"payload":"\#(String(repeating: "x", count: 70_000))"}"#).status == 413)
        #expect(server.send("GET", "/AppleNotifications/").status == 405)

        #expect(checkCreds(token).status == 200)
    }

    @Test("While Apple's keys cannot be fetched a notification is neither accepted nor rejected")
    func keysAway() throws {
        apple.hidesKeys()
        let reply = try notify([:], about: "001")
        #expect(reply.status == 502)
        #expect(reply.json["retryable"] as? Bool == true)
    }

    @Test("If Sign in with Apple is disabled, the endpoint does not exist")
    func notConfigured() throws {
        #expect(try TestServer().send("POST", "/AppleNotifications/").code == "endpoint_unknown")
    }
}

/// Apple's keys, tokens and clock, created without the code under test.
private final class Apple: Sendable {
    private struct State {
        var seconds: Int64 = 1_800_000_000
        var checks = 0
        var answer: Reply?
        var hidesKeys = false
        var notices = 0
        var owners: [String: String] = [:]
    }

    private static let issuer = "https://appleid.apple.com"
    private let key: PrivateKey
    private let keySet: String
    private let state = Mutex(State())

    init() throws {
        key = try PrivateKey(generating: .rs256)
        let members = try key.publicKey.webKeyMembers.map { #""\#($0.name)":"\#($0.value)""# }.joined(separator: ",")
        keySet = #"{"keys":[{"kid":"A1","use":"sig","alg":"RS256",\#(members)}]}"#
    }

    func account() throws -> AppleAccount {
        AppleAccount(
            AppleAccount.Registration(
                clientID: "com.example.app", teamID: "T", keyID: "K",
                key: try SigningKey(es256PEM: try PrivateKey(generating: .es256).pem), redirectURI: nil),
            now: { Date(timeIntervalSince1970: Double(self.seconds)) })
    }

    var seconds: Int64 { state.withLock { $0.seconds } }
    var checks: Int { state.withLock { $0.checks } }
    func advance(_ seconds: Int64) { state.withLock { $0.seconds += seconds } }
    func answers(with reply: Reply?) { state.withLock { $0.answer = reply } }
    func hidesKeys() { state.withLock { $0.hidesKeys = true } }

    var transport: ScriptedTransport {
        ScriptedTransport { request in
            guard !request.url.hasSuffix("/auth/keys") else {
                return self.state.withLock { $0.hidesKeys } ? Reply(404) : Reply(200, self.keySet)
            }
            guard request.bodyText.contains("grant_type=authorization_code") else {
                return self.state.withLock { state in
                    state.checks += 1
                    return state.answer ?? Reply(200, #"{"access_token":"a","expires_in":3600}"#)
                }
            }
            guard let idToken = try? self.token("001") else { return Reply(500) }
            return Reply(200, #"{"access_token":"a","refresh_token":"r","id_token":"\#(idToken)"}"#)
        }
    }

    func token(_ sub: String, device: String = "first") throws -> String {
        try sign([
            "iss": Self.issuer, "aud": "com.example.app", "sub": sub, "iat": seconds, "exp": seconds + 600,
            "nonce": device,
        ])
    }

    func notice(_ type: String, about sub: String, _ changes: [String: Any] = [:]) throws -> String {
        let number = state.withLock { state in
            state.notices += 1
            return state.notices
        }
        let claims: [String: Any] = [
            "iss": Self.issuer, "aud": "com.example.app", "iat": seconds, "jti": "notice \(number)",
            "events": #"{"type":"\#(type)","sub":"\#(sub)"}"#,
        ]
        return try sign(claims.merging(changes) { $1 })
    }

    private func sign(_ claims: [String: Any]) throws -> String {
        let text =
            Array(#"{"alg":"RS256","kid":"A1"}"#.utf8).base64URL + "."
            + [UInt8](try JSONSerialization.data(withJSONObject: claims)).base64URL
        return try text + "." + key.signature(over: Array(text.utf8)).base64URL
    }
}
