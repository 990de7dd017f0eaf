import Foundation
import Providers
import Testing

@Suite("Claims of an identity token")
struct IDTokenPolicyTests {
    private let policy = IDTokenPolicy(issuer: .oneOf(["https://issuer.example"]), audiences: ["app", "app.web"])
    private let now = Date(timeIntervalSince1970: 1_800_000_000)
    private static var good: [String: Any] {
        [
            "iss": "https://issuer.example", "sub": "001.abc", "aud": "app", "iat": 1_799_999_990, "exp": 1_800_000_600,
        ]
    }

    private func claims(_ changes: [String: Any] = [:], without absent: String? = nil) throws -> IDTokenClaims {
        var claims = Self.good.merging(changes) { $1 }
        if let absent { claims[absent] = nil }
        return try policy.claims(in: [UInt8](try JSONSerialization.data(withJSONObject: claims)), at: now)
    }

    @Test("A valid token is accepted, with one or several audiences")
    func good() throws {
        #expect(try claims().sub == "001.abc")
        #expect(try claims(["aud": ["app"]]).audience == ["app"])
        #expect(try claims(["aud": ["app", "other"], "azp": "app"]).sub == "001.abc")
        #expect(try claims(["aud": "app.web"]).lifetime(at: now) == .seconds(600))
        #expect(try claims(without: "iat").iat == nil)
    }

    @Test("Other issuers and audiences are rejected")
    func foreign() {
        let foreign: [[String: Any]] = [
            ["iss": "https://issuer.example/"], ["iss": "http://issuer.example"], ["iss": "https://evil.example"],
            ["iss": ""], ["aud": "App"], ["aud": "other"], ["aud": ""], ["aud": [String]()],
            ["aud": ["app", "other"]], ["aud": ["app", "other"], "azp": "other"], ["azp": "other"], ["sub": ""],
            ["aud": 5], ["iss": 5], ["sub": 5], ["aud": ["app", 5] as [Any]],
        ]
        for changes in foreign {
            #expect(throws: AccountError.rejected, "\(changes)") { try claims(changes) }
        }
        for name in ["iss", "aud", "sub", "exp"] {
            #expect(throws: AccountError.rejected, "\(name)") { try claims(without: name) }
        }
        for text in ["", "[]", "null", "\"app\"", "{"] {
            #expect(throws: AccountError.rejected) { try policy.claims(in: Array(text.utf8), at: now) }
        }
    }

    @Test("A token issued up to 120 seconds in the future is accepted")
    func future() throws {
        #expect(throws: Never.self) { try claims(["iat": 1_800_000_120, "nbf": 1_800_000_120]) }
        #expect(throws: AccountError.rejected) { try claims(["iat": 1_800_000_121]) }
        #expect(throws: AccountError.rejected) { try claims(["nbf": 1_800_000_121]) }
        #expect(throws: AccountError.rejected) { try claims(["exp": "1800000600"]) }
    }

    @Test("An expired token is a separate result, with 60 seconds of leeway")
    func expiry() throws {
        let end = try claims(["exp": 1_800_000_000])
        #expect(!policy.isExpired(end, at: now.addingTimeInterval(59)))
        #expect(policy.isExpired(end, at: now.addingTimeInterval(60)))
        #expect(end.lifetime(at: now.addingTimeInterval(10)) == .zero)
    }

    @Test("A per-tenant issuer must match the token's tenant")
    func tenants() throws {
        let policy = IDTokenPolicy(
            issuer: .perTenant(template: "https://login.example/{tenantid}/v2.0"), audiences: ["app"])
        func check(_ issuer: String, _ tenant: String?) throws {
            var claims = Self.good.merging(["iss": issuer]) { $1 }
            claims["tid"] = tenant
            _ = try policy.claims(in: [UInt8](try JSONSerialization.data(withJSONObject: claims)), at: now)
        }
        #expect(throws: Never.self) { try check("https://login.example/9188040d-aa/v2.0", "9188040d-aa") }
        #expect(throws: AccountError.rejected) { try check("https://login.example/9188040d-aa/v2.0", "0000") }
        #expect(throws: AccountError.rejected) { try check("https://login.example/{tenantid}/v2.0", "{tenantid}") }
        #expect(throws: AccountError.rejected) { try check("https://login.example/x/y/v2.0", "x/y") }
        #expect(throws: AccountError.rejected) { try check("https://login.example/9188040d-aa/v2.0", nil) }
    }
}
