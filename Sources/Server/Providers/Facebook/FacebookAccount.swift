import FoundationEssentials
import HTTPTransport
import HTTPTypes
import OpenSSLCrypto
public import SyncProtocol
import UntrustedInput

/// Facebook accounts, which identify a person and include no storage (Facebook Login, "Access tokens").
///
/// Phones present an access token or, for a person who did not allow tracking, the identity token of Limited Login
/// ("Limited Login", "Validating the OIDC Token").
public struct FacebookAccount: AccountProvider {
    private static let limitedKeys = "https://limited.facebook.com/.well-known/oauth/openid/jwks/"
    /// Discovery documents have used both values.
    private static let limitedIssuers: Set = ["https://www.facebook.com", "https://limited.facebook.com"]
    /// Error code of an inspection: the token belongs to another app, or is not a token at all.
    private static let wrongParameter = 100
    /// Codes of temporary failures, of throttling of the app or a person, and of blocks for suspicious behaviour.
    private static let passingCodes: Set = [1, 2, 4, 17, 32, 341, 368, 613]

    private let appID: String
    private let appSecret: String
    private let graph: String
    private let keys: PublishedKeys
    private let policy: IDTokenPolicy
    private let now: @Sendable () -> Date

    /// - Parameter graphVersion: version of the Graph API, such as `v25.0`.
    public init(appID: String, appSecret: String, graphVersion: String) {
        self.init(appID: appID, appSecret: appSecret, graphVersion: graphVersion, now: { Date() })
    }

    /// - Parameter now: the clock, for tests to control.
    init(appID: String, appSecret: String, graphVersion: String, now: @escaping @Sendable () -> Date) {
        self.appID = appID
        self.appSecret = appSecret
        self.now = now
        graph = "https://graph.facebook.com/" + graphVersion
        keys = PublishedKeys(of: .facebook, at: Self.limitedKeys)
        policy = IDTokenPolicy(issuer: .oneOf(Self.limitedIssuers), audiences: [appID])
    }

    public var accountType: AccountType { .facebook }
    public var acceptsPasswords: Bool { false }

    public func verify(
        _ presented: PresentedCredentials, through client: AccountClient
    ) throws(AccountError) -> SignInProfile {
        if Self.isIdentityToken(presented.accessToken) { return try verifyIdentityToken(presented, through: client) }
        return try verifyAccessToken(presented, through: client)
    }

    /// Access tokens are a single word; identity tokens have three parts (RFC 7515, section 3.1).
    private static func isIdentityToken(_ token: String) -> Bool { token.contains(".") }

    private func verifyIdentityToken(
        _ presented: PresentedCredentials, through client: AccountClient
    ) throws(AccountError) -> SignInProfile {
        let payload = try keys.verifiedPayload(of: presented.accessToken, through: client)
        let now = now()
        let claims = try policy.claims(in: payload, at: now)
        guard !policy.isExpired(claims, at: now) else { throw .rejected }
        return SignInProfile(
            providerUserID: claims.sub, displayName: claims.name ?? "", tokenLifetime: claims.lifetime(at: now))
    }

    /// `/me` alone would accept a token issued for any app, so `debug_token` is asked for the token's app.
    private func verifyAccessToken(
        _ presented: PresentedCredentials, through client: AccountClient
    ) throws(AccountError) -> SignInProfile {
        let ((userID, lifetime), reply) = try client.send(
            inspectionRequest(presented.accessToken), beside: userRequest(presented.accessToken)
        ) { reply throws(AccountError) in
            let token = try Self.inspection(in: reply)
            let lifetime = token.lifetime(at: now())
            guard token.isValid, token.appId == appID, token.type == "USER", lifetime != .zero,
                let userID = token.userId
            else { throw .rejected }
            return (userID, lifetime)
        }
        guard reply.status == 200 else { throw Self.failure(reply) }
        let user = try AccountJSON.decode(FacebookUser.self, reply)
        guard user.id == userID else { throw .rejected }
        return SignInProfile(providerUserID: user.id, displayName: user.name ?? "", tokenLifetime: lifetime)
    }

    private func inspectionRequest(_ token: String) -> OutgoingRequest {
        let url = OutgoingRequest.url(
            graph + "/debug_token", [("input_token", token), ("access_token", "\(appID)|\(appSecret)")])
        return OutgoingRequest(.facebook, .identity, .get, url)
    }

    private static func inspection(in reply: Reply) throws(AccountError) -> FacebookTokenInspection.Content {
        guard reply.status == 200 else { throw failure(ofInspection: reply) }
        return try AccountJSON.decode(FacebookTokenInspection.self, reply).data
    }

    private func userRequest(_ token: String) -> OutgoingRequest {
        let proof = hmacSHA256(key: Array(appSecret.utf8), message: Array(token.utf8)).hexLowercase
        let url = OutgoingRequest.url(
            graph + "/me", [("fields", "id,name"), ("access_token", token), ("appsecret_proof", proof)])
        return OutgoingRequest(.facebook, .identity, .get, url)
    }

    /// Inspects an invented token, which only the app itself may do; Facebook must report it as invalid.
    public func checkRegistration(through client: AccountClient) throws(AccountError) {
        do throws(AccountError) {
            _ = try Self.inspection(in: try client.send(inspectionRequest("invented-by-syncctl-doctor")))
        } catch .rejected {
            return
        }
    }

    /// The server does not need Facebook's tokens, so it stores none.
    public func credentials(from presented: PresentedCredentials) -> StoredCredentials { StoredCredentials() }

    /// A token that is valid for about sixty days instead of one or two hours; not available for an identity token.
    public func replacementToken(
        for presented: PresentedCredentials, through client: AccountClient
    ) throws(AccountError) -> String? {
        guard !Self.isIdentityToken(presented.accessToken) else { return nil }
        let url = OutgoingRequest.url(
            graph + "/oauth/access_token",
            [
                ("grant_type", "fb_exchange_token"), ("client_id", appID), ("client_secret", appSecret),
                ("fb_exchange_token", presented.accessToken),
            ])
        let reply = try client.send(OutgoingRequest(.facebook, .token, .get, url))
        guard reply.status == 200 else { throw Self.failure(reply) }
        return try AccountJSON.decode(FacebookTokens.self, reply).accessToken
    }

    /// Classifies an error by its code (Graph API, "Handle errors"). Only errors that are known to concern the token
    /// reject it: invalid, expired, withdrawn, another app's, or without a permission (200 to 299).
    private static func failure(_ reply: Reply) -> AccountError {
        guard let error = try? AccountJSON.decode(FacebookErrorBody.self, reply).error else {
            return .unavailable(detail: "status \(reply.status)")
        }
        let pause = AccountError.notAsked(retryAfter: Pauses.usual, detail: "Facebook error \(error.code)")
        switch error.code {
        case 10, 100, 102, 104, 190, 200...299, 2_500:
            return error.isTransient == true ? pause : .rejected
        case _ where error.isTransient == true || passingCodes.contains(error.code): return pause
        default: return .unavailable(detail: "Facebook error \(error.code)")
        }
    }

    /// The operator must fix a failed inspection, because its access token is the server's own. The exception is a
    /// token that Facebook does not inspect for us because it belongs to another app.
    private static func failure(ofInspection reply: Reply) -> AccountError {
        let failure = failure(reply)
        guard let error = try? AccountJSON.decode(FacebookErrorBody.self, reply).error, error.isTransient != true,
            error.code != wrongParameter, !passingCodes.contains(error.code)
        else { return failure }
        return .misconfigured(detail: "Facebook error \(error.code)")
    }
}

// Members are named as on the wire, but in camel case.

/// Reply of `/me`.
struct FacebookUser: Decodable {
    /// Identifies the person within our app.
    var id: String
    var name: String?
}

/// Reply of `debug_token`.
struct FacebookTokenInspection: Decodable {
    struct Content: Decodable {
        var appId: String?
        /// `USER` for people; pages and apps also have tokens.
        var type: String?
        var isValid: Bool
        var userId: String?
        /// Seconds since 1970; 0 means never.
        var expiresAt: Int64?

        /// The token's remaining lifetime, zero if it has expired; `nil` if it does not expire.
        func lifetime(at now: Date) -> Duration? {
            guard let expiresAt, expiresAt > 0 else { return nil }
            return .untrusted(seconds: Double(expiresAt) - now.timeIntervalSince1970)
        }
    }
    var data: Content
}

/// Reply of `oauth/access_token`.
struct FacebookTokens: Decodable, PlausibilityChecked {
    var accessToken: String

    /// The token becomes a header of the reply to the phone.
    var isPlausible: Bool { accessToken.isIdentifier(upTo: 6_000) }
}

/// The Graph API's error body.
struct FacebookErrorBody: Decodable {
    struct Content: Decodable {
        var code: Int
        /// Whether the same request may succeed later.
        var isTransient: Bool?
    }
    var error: Content
}
