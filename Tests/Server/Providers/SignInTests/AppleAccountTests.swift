import Foundation
import HTTPTransport
import HTTPTypes
import JSONWebTokens
import OpenSSLCrypto
import SyncProtocol
import Synchronization
import TestSupport
import Testing

@testable import Providers

@Suite("Sign in with Apple")
struct AppleAccountTests {
    private static let start = Date(timeIntervalSince1970: 1_800_000_000)
    private let clientKey: PrivateKey
    private let issuer: IssuerKey
    private let account: AppleAccount
    private let clock = MovingDate(start)

    /// A date that the test moves.
    private final class MovingDate: Sendable {
        private let date: Mutex<Date>
        init(_ date: Date) { self.date = Mutex(date) }
        var now: Date { date.withLock { $0 } }
        func advance(_ seconds: Double) { date.withLock { $0 += seconds } }
    }

    init() throws {
        clientKey = try PrivateKey(generating: .es256)
        issuer = try IssuerKey.shared.get()
        account = AppleAccount(
            AppleAccount.Registration(
                clientID: "com.example.app", otherClientIDs: ["com.example.web"], teamID: "TEAM", keyID: "KEY",
                key: try SigningKey(es256PEM: clientKey.pem), redirectURI: nil), now: { [clock] in clock.now })
    }

    private func token(_ changes: [String: Any] = [:], from issuer: IssuerKey? = nil) throws -> String {
        try (issuer ?? self.issuer).token(
            [
                "iss": "https://appleid.apple.com", "aud": "com.example.app", "sub": "001.abc.2",
                "iat": 1_799_999_990, "exp": 1_800_000_590, "email_verified": "true",
            ].merging(changes) { $1 })
    }

    private func script(_ reply: Reply = Reply(404)) throws -> AccountScript {
        AccountScript(["keys": try IssuerKey.published([issuer]), "token": reply])
    }

    private func presented(_ token: String, details: String? = nil) -> PresentedCredentials {
        PresentedCredentials(accountType: .appleSignIn, accessToken: token, accountDetails: details)
    }

    private func verify(_ token: String, details: String? = nil) throws -> SignInProfile {
        try account.verify(presented(token, details: details), through: script().client)
    }

    @Test("An identity token yields the user, its lifetime and its own identity")
    func verified() throws {
        let token = try token()
        let script = try script()

        let profile = try account.verify(
            presented(token, details: #"{"fullName": "Ann Apple"}"#), through: script.client)

        #expect(script.paths == ["https://appleid.apple.com/auth/keys"])
        #expect(profile.providerUserID == "001.abc.2")
        #expect(profile.displayName == "Ann Apple")
        #expect(profile.tokenLifetime == .seconds(590))
        let hash = IncrementalDigest.digest(of: Array(token.utf8), .sha256).hexLowercase
        #expect(
            profile.identityToken
                == IdentityToken(
                    hash: hash, isExpired: false, issuedAt: 1_799_999_990, clientID: "com.example.app"))
        #expect(account.credentials(from: presented(token)).identity?.tokenHashes == [hash])
        #expect(account.credentials(from: presented(token)).accessToken == nil)
    }

    @Test("An expired token is a separate result, not a rejection, because its bearer may be known")
    func expired() throws {
        let profile = try verify(token(["iat": 1_700_000_000, "exp": 1_700_000_600]))

        #expect(profile.identityToken?.isExpired == true)
        #expect(profile.tokenLifetime == nil)
        #expect(profile.providerUserID == "001.abc.2")
    }

    @Test("Tokens of other issuers or audiences, modified, unsigned or from the future are rejected")
    func refused() throws {
        let impostor = try IssuerKey("K1")
        let wrong: [String] = [
            try token(["iss": "https://appleid.apple.com/"]), try token(["iss": "https://accounts.google.com"]),
            try token(["aud": "com.example.other"]), try token(["aud": ["com.example.app", "com.example.other"]]),
            try token(["sub": ""]), try token(["iat": 1_800_000_121]), try token(from: impostor),
            try issuer.token(["sub": "001.abc.2"]), String(try token().dropLast(4)), "junk", "a.b.c",
            try token().split(separator: ".").dropLast().joined(separator: ".") + ".",
        ]
        for text in wrong {
            #expect(throws: AccountError.rejected, "\(text)") { try verify(text) }
        }
        // A notice is signed with the same keys, but is not an identity token.
        let notice = try token(["jti": "n1", "events": #"{"type":"email-enabled","sub":"001.abc.2"}"#, "exp": NSNull()])
        #expect(throws: AccountError.rejected) { try verify(notice) }
    }

    @Test("An unreachable Apple is not a rejection")
    func unreachable() throws {
        do {
            _ = try account.verify(presented(token()), through: AccountScript(["keys": Reply(503)]).client)
            Issue.record("accepted")
        } catch {
            guard case AccountError.notAsked = error else { throw error }
        }
    }

    @Test(
        "The name comes from the phone, and may be missing",
        arguments: [
            (#"{"fullName": "Ann Apple", "firstName": "X"}"#, "Ann Apple"),
            (#"{"firstName": "Ann", "lastName": "Apple", "email": "a@example.com"}"#, "Ann Apple"),
            (#"{"firstName": "Ann", "fullName": ""}"#, "Ann"), (#"{"lastName": "Äpfel"}"#, "Äpfel"), ("{}", ""),
            ("not JSON", ""), (#"{"fullName": 5}"#, ""), ("", ""),
        ])
    func names(details: String, name: String) throws {
        #expect(try verify(token(), details: details).displayName == name)
    }

    @Test("The client secret has the form that Apple requires [39]")
    func clientSecret() throws {
        let secret = try account.clientSecret(of: "com.example.app")
        let parts = secret.split(separator: ".")
        func object(_ part: Substring) throws -> [String: Any] {
            let bytes = try #require([UInt8](base64URL: part))
            return try #require(try JSONSerialization.jsonObject(with: Data(bytes)) as? [String: Any])
        }
        let header = try object(parts[0])
        let claims = try object(parts[1])
        let signature = try #require([UInt8](base64URL: parts[2]))

        #expect(header["alg"] as? String == "ES256" && header["kid"] as? String == "KEY")
        #expect(claims["iss"] as? String == "TEAM" && claims["sub"] as? String == "com.example.app")
        #expect(claims["aud"] as? String == "https://appleid.apple.com")
        // A minute ago: Apple's clock may be behind.
        #expect(claims["iat"] as? Int == 1_799_999_940)
        let life = try #require(claims["exp"] as? Int) - 1_800_000_000
        #expect((1...15_777_000).contains(life))
        #expect(signature.count == 64)
        #expect(try clientKey.publicKey.verifies(signature, over: Array("\(parts[0]).\(parts[1])".utf8)))
    }

    // MARK: Codes

    private func tokens(_ idToken: String?, refreshToken: String? = "r1") -> Reply {
        var members = [#""access_token":"a1","token_type":"Bearer","expires_in":3600"#]
        if let idToken { members.append(#""id_token":"\#(idToken)""#) }
        if let refreshToken { members.append(#""refresh_token":"\#(refreshToken)""#) }
        return Reply(200, "{\(members.joined(separator: ","))}")
    }

    private func exchange(_ reply: Reply, as sub: String = "001.abc.2") throws -> StoredCredentials? {
        try account.exchange(
            code: "c1", of: SignInProfile(providerUserID: sub, displayName: ""), through: script(reply).client)
    }

    @Test("Exchanging a code yields a refresh token, and counts as the first confirmation [41]")
    func exchanged() throws {
        let script = try script(tokens(token()))

        let kept = try #require(
            try account.exchange(
                code: "c1", of: SignInProfile(providerUserID: "001.abc.2", displayName: ""), through: script.client))

        #expect(kept.refreshToken == "r1")
        #expect(kept.accessToken == nil)
        #expect(kept.identity?.confirmedAt == 1_800_000_000)
        #expect(!account.isConfirmationDue(kept))
        let request = script.transport.requests[0]
        #expect(request.url == "https://appleid.apple.com/auth/token" && request.method == .post)
        #expect(request.isRepeatable == false)
        #expect(request.bodyText.contains("grant_type=authorization_code&code=c1"))
        #expect(!request.bodyText.contains("redirect_uri"))
    }

    @Test("A token of another registered client is accepted, and its code and refresh token are used as that client's")
    func otherClient() throws {
        let token = try token(["aud": "com.example.web"])
        let profile = try verify(token)
        #expect(profile.providerUserID == "001.abc.2")
        let script = try script(tokens(token))
        let code = PresentedCode("c1", redirectURI: "https://app.example.com/apple")

        let kept = try #require(try account.exchange(code: code, of: profile, through: script.client))
        _ = try account.confirm(kept, through: script.client)
        _ = try? account.revoke(kept, through: script.client)

        let forms = script.transport.requests.map(\.bodyText).filter { $0.contains("client_id=") }
        #expect(forms.count == 3)
        #expect(forms.allSatisfy { $0.contains("client_id=com.example.web") })
        #expect(forms[0].contains("redirect_uri=https%3A%2F%2Fapp.example.com%2Fapple"))
        // A sign-in on the phone does not change the owner of the refresh token.
        let phone = account.credentials(from: presented(try self.token()))
        #expect(kept.updated(with: phone).identity?.clientID == "com.example.web")
    }

    @Test("Another person's code, a used one, and one for another app are rejected")
    func codesRefused() throws {
        let own = tokens(try token())
        #expect(throws: AccountError.codeRejected) { try exchange(own, as: "002.other.3") }
        #expect(throws: AccountError.codeRejected) { try exchange(Reply(400, #"{"error":"invalid_grant"}"#)) }
        let foreign = tokens(try token(["aud": "com.example.other"]))
        #expect(throws: AccountError.rejected) { try exchange(foreign) }
    }

    @Test("Errors of the server or of Apple are not blamed on the user")
    func othersMistakes() throws {
        #expect(throws: AccountError.misconfigured(detail: "Apple's token endpoint replied invalid_client")) {
            try exchange(Reply(400, #"{"error":"invalid_client"}"#))
        }
        #expect(throws: AccountError.notAsked(retryAfter: Pauses.usual, detail: "status 503")) {
            try exchange(Reply(503))
        }
        for reply in [tokens(nil), tokens(try token(), refreshToken: nil), Reply(200, "nonsense")] {
            do {
                _ = try exchange(reply)
                Issue.record("accepted")
            } catch {
                guard case AccountError.unavailable = error else { throw error }
            }
        }
    }

    // MARK: The daily confirmation

    @Test("Without a refresh token no request is sent [40]")
    func nothingToAsk() {
        #expect(!account.isConfirmationDue(StoredCredentials()))
        #expect(!account.isConfirmationDue(account.credentials(from: presented("t"))))
    }

    @Test("A refresh token is confirmed once a day, and the time is stored [42]")
    func confirmed() throws {
        let stored = StoredCredentials(
            refreshToken: "r1", codeHash: "h",
            identity: IdentityRecord(tokenHashes: ["t"], confirmedAt: 1_800_000_000))
        clock.advance(86_399)
        #expect(!account.isConfirmationDue(stored))
        clock.advance(1)
        #expect(account.isConfirmationDue(stored))
        let script = try script(tokens(nil, refreshToken: nil))

        let confirmed = try account.confirm(stored, through: script.client)

        #expect(script.transport.requests[0].bodyText.contains("grant_type=refresh_token&refresh_token=r1"))
        #expect(confirmed.refreshToken == "r1" && confirmed.codeHash == "h")
        #expect(confirmed.identity == IdentityRecord(tokenHashes: ["t"], confirmedAt: 1_800_086_400))
        #expect(!account.isConfirmationDue(confirmed))
        // Imported from a server that recorded no time, so due at once.
        #expect(account.isConfirmationDue(StoredCredentials(refreshToken: "r1")))
    }

    @Test("After a rejection by Apple the old sign-in is no longer valid, and a new one is")
    func withdrawn() throws {
        let stored = StoredCredentials(refreshToken: "r1", identity: IdentityRecord(tokenHashes: ["t"]))
        #expect(throws: AccountError.revoked) {
            try account.confirm(stored, through: script(Reply(400, #"{"error":"invalid_grant"}"#)).client)
        }

        let rest = account.withdrawn(stored)
        #expect(rest.refreshToken == nil)
        let record = try #require(rest.identity)
        #expect(!record.admits(IdentityToken(hash: "t", isExpired: true, issuedAt: 1_799_999_000, clientID: "")))
        #expect(!record.admits(IdentityToken(hash: "u", isExpired: false, issuedAt: 1_800_000_000, clientID: "")))
        #expect(record.admits(IdentityToken(hash: "v", isExpired: false, issuedAt: 1_800_000_001, clientID: "")))
    }

    @Test("A few tokens are stored, each once, and the oldest is evicted")
    func remembering() throws {
        var stored = StoredCredentials(refreshToken: "r")
        for number in 0..<20 {
            let token = IdentityToken(hash: "\(number)", isExpired: false, issuedAt: 0, clientID: "")
            stored = try #require(stored.remembering(token))
            #expect(stored.remembering(token) == nil)
        }
        let record = try #require(stored.identity)
        #expect(record.tokenHashes.count == IdentityRecord.maximumTokens)
        #expect(!record.admits(IdentityToken(hash: "3", isExpired: true, issuedAt: 0, clientID: "")))
        #expect(record.admits(IdentityToken(hash: "4", isExpired: true, issuedAt: 0, clientID: "")))
        #expect(stored.refreshToken == "r")
    }

    // MARK: Notices

    private func notice(_ changes: [String: Any] = [:], from issuer: IssuerKey? = nil) throws -> AppleNotice {
        let claims: [String: Any] = [
            "iss": "https://appleid.apple.com", "aud": "com.example.app", "iat": 1_799_999_999, "jti": "n1",
            "events": #"{"type":"consent-revoked","sub":"001.abc.2","event_time":1799999999000}"#,
        ]
        let token = try (issuer ?? self.issuer).token(claims.merging(changes) { $1 }.filter { !($0.value is NSNull) })
        return try account.notice(in: token, through: script().client)
    }

    @Test("Withdrawal and deletion remove the user, whether the event is a string or an object")
    func notices() throws {
        for type in ["consent-revoked", "account-delete", "account-deleted"] {
            let object = ["type": type, "sub": "001.abc.2"]
            let text = String(decoding: try JSONSerialization.data(withJSONObject: object), as: UTF8.self)
            for events in [object as Any, text as Any] {
                let notice = try notice(["events": events])
                #expect(notice.event == .leaves(providerUserID: "001.abc.2"))
                #expect(notice.identifier == "n1" && !notice.isStale)
            }
        }
        for type in ["email-disabled", "email-enabled", "something-new"] {
            #expect(try notice(["events": ["type": type, "sub": "001.abc.2"]]).event == .other(type: type))
        }
        #expect(try notice(["iat": 1_797_000_000]).isStale)
        #expect(try notice(["exp": 1_799_999_999]).isStale)
    }

    @Test("Notifications of another issuer or audience, and invalid ones, are rejected")
    func noticesRefused() throws {
        let impostor = try IssuerKey("K1")
        #expect(throws: AccountError.rejected) { try notice(from: impostor) }
        let wrong: [[String: Any]] = [
            ["iss": "https://evil.example"], ["aud": "com.example.other"], ["aud": ["com.example.app", "x"]],
            ["jti": ""], ["jti": NSNull()], ["events": NSNull()], ["events": "not JSON"], ["events": ["sub": "x"]],
            ["iat": 1_800_000_121], ["iat": NSNull()],
        ]
        for changes in wrong {
            #expect(throws: AccountError.rejected, "\(changes)") { try notice(changes) }
        }
        #expect(throws: AccountError.rejected) { try account.notice(in: token(), through: script().client) }
    }
}
