import Foundation
import HTTPTransport
import JSONWebTokens
import OpenSSLCrypto
import SyncProtocol
import TestSupport
import Testing

@testable import Providers

/// Implausible tokens and replies: whatever their values, a sign-in ends with a profile or an error.
@Suite("Implausible tokens and replies of sign-in services")
struct OddReplyTests {
    private static let now = Date(timeIntervalSince1970: 1_800_000_000)
    private static let numbers = [
        "0", "-1", "1e21", "-1e19", "1e300", "9223372036854775807", "-9223372036854775808", "0.5",
    ]

    @Test("Identity tokens may contain times beyond every clock", arguments: numbers, ["exp", "iat", "nbf"])
    func times(number: String, claim: String) throws {
        let claims = #"{"iss": "i", "aud": "a", "sub": "s", "exp": 1800000600, "\#(claim)": \#(number)}"#
            .replacingOccurrences(of: claim == "exp" ? #""exp": 1800000600, "# : "\u{0}", with: "")
        let policy = IDTokenPolicy(issuer: .oneOf(["i"]), audiences: ["a"])

        if let read = try? policy.claims(in: Array(claims.utf8), at: Self.now) {
            #expect(read.lifetime(at: Self.now) >= .zero)
            #expect(read.lifetime(at: Self.now) <= .seconds(315_360_000))
            _ = policy.isExpired(read, at: Self.now)
        } else {
            // In the future; a wrong value of the other claims must not be the reason.
            #expect(claim != "exp" && Double(number)! > 0)
        }
    }

    @Test("An Apple token with an issue or expiry time out of range is recorded as such")
    func apple() throws {
        let issuer = try IssuerKey.shared.get()
        let key = try PrivateKey(generating: .es256)
        let account = AppleAccount(
            AppleAccount.Registration(
                clientID: "app", teamID: "T", keyID: "K", key: try SigningKey(es256PEM: key.pem), redirectURI: nil),
            now: { Self.now })
        for (iat, exp, issuedAt) in [(-1e19, 1e21, Int64.min), (0, 1e300, 0), (-0.5, 1_800_000_600, 0)] {
            let token = try issuer.token(
                ["iss": "https://appleid.apple.com", "aud": "app", "sub": "001", "iat": iat, "exp": exp])
            let profile = try account.verify(
                PresentedCredentials(accountType: .appleSignIn, accessToken: token),
                through: AccountScript(["keys": try IssuerKey.published([issuer])]).client)
            #expect(profile.identityToken?.issuedAt == issuedAt)
        }
    }

    @Test("The lifetime of a token may be any number, or missing", arguments: numbers + ["", "soon"])
    func lifetimes(number: String) throws {
        let google = try GoogleVerificationTests.account.verify(
            .google,
            through: AccountScript([
                "tokeninfo": GoogleVerificationTests.tokenInfo(expiresIn: number),
                "userinfo": GoogleVerificationTests.user,
            ]).client)
        #expect(google.tokenLifetime ?? .zero >= .zero)
        guard let seconds = Int64(number) else { return }
        let facebook = try? FacebookAccountTests.account.verify(
            .facebook,
            through: AccountScript([
                "debug_token": FacebookAccountTests.inspection(expiresAt: seconds), "me": FacebookAccountTests.me,
            ]).client)
        #expect(facebook?.tokenLifetime ?? .zero >= .zero)
    }

    @Test("A name is truncated to its column; an identifier that is too long is rejected")
    func lengths() throws {
        let long = String(repeating: "é", count: 300)
        let profile = SignInProfile(providerUserID: "1", displayName: long)
        #expect(profile.displayName.unicodeScalars.count == 255)
        #expect(profile.isPlausible)
        #expect(!SignInProfile(providerUserID: String(repeating: "1", count: 256), displayName: "").isPlausible)
        #expect(!SignInProfile(providerUserID: "", displayName: "").isPlausible)
        for control in ["a\nb", "a\u{0}", "\u{7F}a", "a\u{85}b"] {
            #expect(!SignInProfile(providerUserID: control, displayName: "").isPlausible)
        }
    }

    @Test(
        "Tokens that do not fit into a header or a column are rejected",
        arguments: [
            "", "two words", "a\\r\\nSet-Cookie: x", "\\u00e9", String(repeating: "x", count: 6_001),
        ])
    func tokens(text: String) throws {
        let script = AccountScript(["token": Reply(200, #"{"access_token": "\#(text)", "refresh_token": "r"}"#)])
        #expect(throws: AccountError.self) {
            try GoogleVerificationTests.account.exchange(
                code: "4/code", of: SignInProfile(providerUserID: "1098", displayName: ""), through: script.client)
        }
    }

    @Test("Thousands of corrupted replies: each yields a storable profile, or an error")
    func damaged() {
        let cases = ProcessInfo.processInfo.environment["SYNC_FUZZ_CASES"].flatMap { Int($0) } ?? 20_000
        let inspection = String(decoding: FacebookAccountTests.inspection(expiresAt: 1_900_000_000).body, as: UTF8.self)
        var damage = Damage(seed: 7)
        func damaged(_ text: String) -> Reply {
            Reply(200, String(decoding: damage.applied(to: Array(text.utf8)), as: UTF8.self))
        }
        for number in 0..<cases / 2 {
            let isGoogle = number.isMultiple(of: 2)
            let script = AccountScript([
                "tokeninfo": damaged(String(decoding: GoogleVerificationTests.tokenInfo().body, as: UTF8.self)),
                "userinfo": damaged(#"{"sub": "1098", "name": "Alice Example"}"#),
                "debug_token": damaged(inspection), "me": damaged(#"{"id": "42", "name": "Bob Example"}"#),
            ])
            do throws(AccountError) {
                let profile =
                    isGoogle
                    ? try GoogleVerificationTests.account.verify(.google, through: script.client)
                    : try FacebookAccountTests.account.verify(.facebook, through: script.client)
                #expect(profile.displayName.unicodeScalars.count <= 255)
                #expect(profile.tokenLifetime ?? .zero >= .zero)
            } catch {
                #expect(error != .revoked)
            }
        }
        // Tokens from strangers: their header is read before anything is known about them.
        let header = #"{"alg": "RS256", "kid": "K1", "typ": "JWT"}"#
        let keys = try? IssuerKey.published([IssuerKey.shared.get()])
        let published = PublishedKeys(of: .apple, at: "https://appleid.apple.com/auth/keys")
        let script = AccountScript(["keys": keys ?? Reply(404)])
        for _ in 0..<cases / 2 {
            let token =
                damage.applied(to: Array(header.utf8)).base64URL + ".e30." + damage.applied(to: [0, 1, 2]).base64URL
            #expect(throws: AccountError.self) { try published.verifiedPayload(of: token, through: script.client) }
        }
    }
}
