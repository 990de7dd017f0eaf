import FoundationEssentials
import UntrustedInput

/// Apple's report to the server about a person ("Processing changes for Sign in with Apple accounts").
public struct AppleNotice: Equatable, Sendable {
    /// The reported event.
    public enum Event: Equatable, Sendable {
        /// The person no longer uses Sign in with Apple for the app, or no longer has an Apple account.
        case leaves(providerUserID: String)
        /// An event that changes nothing for us, such as one about mail forwarding; `type` is Apple's word.
        case other(type: String)
    }

    /// How long after its creation a notice is accepted, in seconds. Apple sends each notice once, soon after the
    /// event.
    static let longestAgeSeconds = 30.0 * 86_400
    private static let futureLeewaySeconds = 120.0
    private static let leavingTypes: Set = ["consent-revoked", "account-delete", "account-deleted"]

    /// Identifies the notice; repeated deliveries have the same identifier.
    public let identifier: String
    public let event: Event
    /// Whether the notice is too old to take effect.
    public let isStale: Bool

    /// Reads the payload of a token whose signature is Apple's.
    ///
    /// - Throws: ``AccountError/rejected`` if it is not a notice, or not for one of `audiences`. An identity token of a
    ///   person is not a notice, although Apple signs both the same way.
    init(payload: [UInt8], issuer: String, audiences: Set<String>, at now: Date) throws(AccountError) {
        guard let claims = try? UntrustedJSON.decode(Claims.self, from: payload), claims.iss == issuer,
            claims.audience.count == 1, audiences.isSuperset(of: claims.audience), !claims.jti.isEmpty,
            let details = claims.events
        else { throw .rejected }
        let now = now.timeIntervalSince1970
        guard claims.iat <= now + Self.futureLeewaySeconds else { throw .rejected }
        identifier = claims.jti
        isStale = claims.iat < now - Self.longestAgeSeconds || claims.exp.map { $0 < now } ?? false
        if Self.leavingTypes.contains(details.type), let sub = details.sub, !sub.isEmpty {
            event = .leaves(providerUserID: sub)
        } else {
            event = .other(type: String(details.type.prefix(40)))
        }
    }

    private struct Details: Decodable {
        let type: String
        let sub: String?
    }

    private struct Claims: Decodable {
        let iss: String
        let audience: [String]
        let iat: Double
        let exp: Double?
        let jti: String
        let events: Details?

        private enum Member: CodingKey { case iss, aud, iat, exp, jti, events }

        init(from decoder: any Decoder) throws {
            let members = try decoder.container(keyedBy: Member.self)
            iss = try members.decode(String.self, forKey: .iss)
            if let single = try? members.decode(String.self, forKey: .aud) {
                audience = [single]
            } else {
                audience = try members.decode([String].self, forKey: .aud)
            }
            iat = try members.decode(Double.self, forKey: .iat)
            exp = try members.decodeIfPresent(Double.self, forKey: .exp)
            jti = try members.decode(String.self, forKey: .jti)
            // Apple sends the object as a string; its documentation shows an object.
            if let text = try? members.decode(String.self, forKey: .events) {
                events = try UntrustedJSON.decode(Details.self, from: text.utf8)
            } else {
                events = try members.decodeIfPresent(Details.self, forKey: .events)
            }
        }
    }
}
