public import FoundationEssentials
import UntrustedInput

/// The conditions under which an identity token with a verified signature is accepted (OpenID Connect Core, section
/// 3.1.3.7).
public struct IDTokenPolicy: Sendable {
    /// The issuers whose tokens are accepted.
    public enum Issuer: Sendable {
        /// Any of these.
        case oneOf(Set<String>)
        /// This text with `{tenantid}` replaced by the token's own `tid` claim (Microsoft identity platform, "ID
        /// tokens").
        case perTenant(template: String)
    }

    private let issuer: Issuer
    private let audiences: Set<String>
    /// How long after its expiry a token is still accepted, to allow for clock skew.
    private let expiryLeeway: Duration
    /// How far in the future the issue time may be, to allow for clock skew.
    private let futureLeeway: Duration

    /// - Parameter audiences: our client IDs; a token for any other audience is rejected.
    public init(
        issuer: Issuer, audiences: Set<String>, expiryLeeway: Duration = .seconds(60),
        futureLeeway: Duration = .seconds(120)
    ) {
        self.issuer = issuer
        self.audiences = audiences
        self.expiryLeeway = expiryLeeway
        self.futureLeeway = futureLeeway
    }

    /// The claims of a payload if they satisfy every part of the policy except the token's expiry.
    ///
    /// The caller must check whether the token has expired: ``isExpired(_:at:)``.
    /// - Throws: ``AccountError/rejected``.
    public func claims(in payload: [UInt8], at now: Date) throws(AccountError) -> IDTokenClaims {
        guard let claims = try? UntrustedJSON.decode(IDTokenClaims.self, from: payload), isIssued(claims),
            isForUs(claims), !claims.sub.isEmpty
        else { throw .rejected }
        let latest = now.timeIntervalSince1970 + Double(futureLeeway.components.seconds)
        guard claims.iat.map({ $0 <= latest }) ?? true, claims.nbf.map({ $0 <= latest }) ?? true else {
            throw .rejected
        }
        return claims
    }

    /// Whether the token has expired.
    public func isExpired(_ claims: IDTokenClaims, at now: Date) -> Bool {
        claims.exp + Double(expiryLeeway.components.seconds) <= now.timeIntervalSince1970
    }

    private func isIssued(_ claims: IDTokenClaims) -> Bool {
        switch issuer {
        case .oneOf(let issuers): return issuers.contains(claims.iss)
        case .perTenant(let template):
            // A tenant ID is a UUID; nothing else may become part of a URL.
            guard let tenant = claims.tid, tenant.allSatisfy({ $0.isHexDigit || $0 == "-" }) else { return false }
            return claims.iss == template.replacing("{tenantid}", with: tenant)
        }
    }

    /// A token with several audiences must name us as the authorized party.
    private func isForUs(_ claims: IDTokenClaims) -> Bool {
        guard claims.audience.contains(where: audiences.contains) else { return false }
        if let party = claims.azp { return audiences.contains(party) }
        return claims.audience.count == 1
    }
}

/// The claims of an identity token that we use (OpenID Connect Core, section 2).
public struct IDTokenClaims: Sendable, Decodable {
    public let iss: String
    public let sub: String
    /// `aud`, which is a string or a list of strings.
    public let audience: [String]
    public let azp: String?
    /// Expiry, issue time and start of validity, in seconds since 1970.
    public let exp: Double
    public let iat: Double?
    public let nbf: Double?
    /// Microsoft: the tenant, and the person within it.
    public let tid: String?
    public let oid: String?
    /// The person's name.
    public let name: String?
    /// Microsoft: the scopes of an access token; ID tokens have none.
    public let scp: String?

    private enum Member: CodingKey {
        case iss, sub, aud, azp, exp, iat, nbf, tid, oid, name, scp
    }

    public init(from decoder: any Decoder) throws {
        let members = try decoder.container(keyedBy: Member.self)
        iss = try members.decode(String.self, forKey: .iss)
        sub = try members.decode(String.self, forKey: .sub)
        if let single = try? members.decode(String.self, forKey: .aud) {
            audience = [single]
        } else {
            audience = try members.decode([String].self, forKey: .aud)
        }
        azp = try members.decodeIfPresent(String.self, forKey: .azp)
        exp = try members.decode(Double.self, forKey: .exp)
        iat = try members.decodeIfPresent(Double.self, forKey: .iat)
        nbf = try members.decodeIfPresent(Double.self, forKey: .nbf)
        tid = try members.decodeIfPresent(String.self, forKey: .tid)
        oid = try members.decodeIfPresent(String.self, forKey: .oid)
        name = try? members.decodeIfPresent(String.self, forKey: .name)
        scp = try? members.decodeIfPresent(String.self, forKey: .scp)
    }

    /// The token's remaining lifetime, zero if it has expired.
    public func lifetime(at now: Date) -> Duration { .untrusted(seconds: exp - now.timeIntervalSince1970) }
}
