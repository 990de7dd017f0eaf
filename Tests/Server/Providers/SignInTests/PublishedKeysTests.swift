import HTTPTransport
import HTTPTypes
import Providers
import Synchronization
import TestSupport
import Testing

@Suite("Issuers' published keys")
struct PublishedKeysTests {
    private static let service = ExternalService("issuer", hosts: ["issuer.example"])
    private static let url = "https://issuer.example/keys"
    private let clock = SignInCacheTests.Clock()
    private let keys: PublishedKeys
    private let issuer: IssuerKey

    init() throws {
        keys = PublishedKeys(of: Self.service, at: Self.url, now: { [clock] in clock.now })
        issuer = try IssuerKey.shared.get()
    }

    private func payload(of token: String, _ script: AccountScript) throws -> String {
        String(decoding: try keys.verifiedPayload(of: token, through: script.client), as: UTF8.self)
    }

    @Test("Keys are fetched once and cached as long as the issuer allows, but at least five minutes")
    func remembered() throws {
        let token = try issuer.token(["sub": "1"])
        let script = AccountScript(["keys": try IssuerKey.published([issuer], cacheControl: "public, max-age=600")])

        for _ in 0..<3 { #expect(try payload(of: token, script) == #"{"sub":"1"}"#) }
        clock.advance(.seconds(599))
        _ = try payload(of: token, script)
        #expect(script.paths == [Self.url])

        clock.advance(.seconds(1))
        _ = try payload(of: token, script)
        #expect(script.paths.count == 2)
    }

    @Test(
        "The time for which keys may be kept has a lower and an upper bound",
        arguments: [
            ("max-age=1", 300), ("max-age=86401", 86_400), ("no-store", 300), ("max-age=-5", 300),
            ("max-age=\"1000\"", 1_000), ("x-max-age=900", 300),
        ])
    func bounds(cacheControl: String, seconds: Int) throws {
        let token = try issuer.token([:])
        let script = AccountScript(["keys": try IssuerKey.published([issuer], cacheControl: cacheControl)])

        _ = try payload(of: token, script)
        clock.advance(.seconds(seconds - 1))
        _ = try payload(of: token, script)
        #expect(script.paths.count == 1)
        clock.advance(.seconds(1))
        _ = try payload(of: token, script)
        #expect(script.paths.count == 2)
    }

    @Test("Unknown keys cause one request in five minutes, however many are invented")
    func unknownKeys() throws {
        let newcomer = try IssuerKey("K2")
        let old = AccountScript(["keys": try IssuerKey.published([issuer], cacheControl: "max-age=86400")])
        let new = AccountScript(["keys": try IssuerKey.published([issuer, newcomer], cacheControl: "max-age=86400")])
        let token = try newcomer.token([:])

        // Fetched for this token, so not again.
        #expect(throws: AccountError.rejected) { try payload(of: token, old) }
        #expect(old.paths.count == 1)
        for number in 0..<20 {
            let madeUp = try issuer.token([:], header: ["kid": "made up \(number)"])
            #expect(throws: AccountError.rejected) { try payload(of: madeUp, old) }
        }
        #expect(old.paths.count == 1)

        clock.advance(.seconds(300))
        #expect(throws: Never.self) { try payload(of: token, new) }
        #expect(new.paths.count == 1)
        #expect(throws: Never.self) { try payload(of: try issuer.token([:]), new) }
        #expect(new.paths.count == 1)
    }

    @Test("A wrong signature or algorithm is rejected without another request for keys")
    func wrongSignature() throws {
        let script = AccountScript(["keys": try IssuerKey.published([issuer])])
        _ = try payload(of: try issuer.token([:]), script)
        clock.advance(.seconds(299))

        let impostor = try IssuerKey("K1")
        #expect(throws: AccountError.rejected) { try payload(of: try impostor.token([:]), script) }
        #expect(throws: AccountError.rejected) {
            try payload(of: try issuer.token([:], header: ["alg": "none"]), script)
        }
        #expect(throws: AccountError.rejected) { try payload(of: "junk", script) }
        #expect(script.paths.count == 1)
    }

    @Test("If an issuer returns no keys, no token is rejected", arguments: [503, 404, 200])
    func unreachable(status: Int) throws {
        let script = AccountScript(["keys": Reply(status, "no keys")])
        do {
            _ = try payload(of: try issuer.token([:]), script)
            Issue.record("accepted")
        } catch {
            switch error {
            case AccountError.unavailable where status != 503, AccountError.notAsked where status == 503: break
            default: throw error
            }
        }
        do {
            _ = try payload(of: try issuer.token([:]), AccountScript(failing: .timedOut))
            Issue.record("accepted")
        } catch {
            #expect(error as? AccountError == .timedOut)
        }
    }

    @Test("While the issuer is unreachable, cached keys stay valid, and unknown keys are neither valid nor invalid")
    func stale() throws {
        let away = AccountScript(["keys": Reply(404)])
        let token = try issuer.token([:])
        _ = try payload(of: token, AccountScript(["keys": try IssuerKey.published([issuer])]))
        clock.advance(.seconds(301))

        for _ in 0..<5 { #expect(throws: Never.self) { try payload(of: token, away) } }
        #expect(away.paths.count == 1)
        let unknown = try issuer.token([:], header: ["kid": "K2"])
        #expect(
            throws: AccountError.notAsked(retryAfter: Pauses.usual, detail: "keys could not be fetched a moment ago")
        ) {
            try payload(of: unknown, away)
        }
        #expect(away.paths.count == 1)
        clock.advance(.seconds(30))
        #expect(throws: Never.self) { try payload(of: token, away) }
        #expect(away.paths.count == 2)
    }
}
