import FoundationEssentials
import HTTPTransport
import HTTPTypes
import OpenSSLCrypto
public import SyncProtocol

/// Facebook accounts: they identify a person and bring no storage (Facebook Login, "Access tokens").
public struct FacebookAccount: AccountProvider {
    private let appID: String
    private let appSecret: String
    private let graph: String

    /// - Parameter graphVersion: version of the Graph API, such as `v25.0`.
    public init(appID: String, appSecret: String, graphVersion: String) {
        self.appID = appID
        self.appSecret = appSecret
        graph = "https://graph.facebook.com/" + graphVersion
    }

    public var accountType: AccountType { .facebook }

    /// `/me` alone would accept a token made for any app, so `debug_token` is asked whose it is.
    public func verify(
        _ presented: PresentedCredentials, through client: AccountClient
    ) throws(AccountError) -> SignInProfile {
        let url = PercentEncoding.url(
            graph + "/debug_token",
            [("input_token", presented.accessToken), ("access_token", "\(appID)|\(appSecret)")])
        let reply = try client.send(OutgoingRequest(.get, url))
        // The access token of this call is our own, so a refusal concerns us and not the user.
        guard reply.status == 200 else { throw Self.failure(reply, ofOurOwn: true) }
        let token = try AccountJSON.decode(FacebookTokenInspection.self, reply).data
        let lifetime = token.lifetime(at: Date())
        guard token.isValid, token.appId == appID, token.type == "USER", lifetime != .zero, let userID = token.userId
        else { throw .rejected }
        let user = try me(presented.accessToken, through: client)
        guard user.id == userID else { throw .rejected }
        return SignInProfile(providerUserID: user.id, displayName: user.name ?? "", tokenLifetime: lifetime)
    }

    /// Facebook's tokens are of no use to the server, so none is kept.
    public func credentials(from presented: PresentedCredentials) -> StoredCredentials { StoredCredentials() }

    /// A token that lives about sixty days instead of one or two hours.
    public func replacementToken(
        for presented: PresentedCredentials, through client: AccountClient
    ) throws(AccountError) -> String? {
        let url = PercentEncoding.url(
            graph + "/oauth/access_token",
            [
                ("grant_type", "fb_exchange_token"), ("client_id", appID), ("client_secret", appSecret),
                ("fb_exchange_token", presented.accessToken),
            ])
        let reply = try client.send(OutgoingRequest(.get, url))
        guard reply.status == 200 else { throw Self.failure(reply, ofOurOwn: false) }
        return try AccountJSON.decode(FacebookTokens.self, reply).accessToken
    }

    private func me(_ token: String, through client: AccountClient) throws(AccountError) -> FacebookUser {
        let proof = hmacSHA256(key: Array(appSecret.utf8), message: Array(token.utf8)).hexLowercase
        let url = PercentEncoding.url(
            graph + "/me", [("fields", "id,name"), ("access_token", token), ("appsecret_proof", proof)])
        let reply = try client.send(OutgoingRequest(.get, url))
        guard reply.status == 200 else { throw Self.failure(reply, ofOurOwn: false) }
        return try AccountJSON.decode(FacebookUser.self, reply)
    }

    /// Sorts an error by its code (Graph API, "Handle errors").
    private static func failure(_ reply: Reply, ofOurOwn isOurs: Bool) -> AccountError {
        guard let error = try? AccountJSON.decode(FacebookErrorBody.self, reply).error else {
            return .unavailable(detail: "status \(reply.status)")
        }
        switch error.code {
        case 1, 2, 4, 17, 32, 613: return .unavailable(detail: "Facebook error \(error.code)")
        default: return isOurs ? .misconfigured(detail: "Facebook error \(error.code)") : .rejected
        }
    }
}
