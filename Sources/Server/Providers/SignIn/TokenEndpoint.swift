import FoundationEssentials
import HTTPTransport
import HTTPTypes
import SyncProtocol
import UntrustedInput

/// The token endpoint of one provider (RFC 6749, section 3.2), called as the client that the app maker registered
/// there.
struct TokenEndpoint: Sendable {
    /// The purpose of a token request.
    enum Purpose: Sendable {
        /// The first tokens, in exchange for a value that a phone sent.
        case exchange
        /// The first tokens, in exchange for a code that a browser delivered to a redirect URI, which the caller names.
        case exchangeAfterRedirect
        /// New tokens, in exchange for a refresh token.
        case renewal
    }

    /// The meaning of an unsuccessful reply.
    typealias RefusalReader = @Sendable (_ reply: Reply, _ purpose: Purpose) -> AccountError

    /// How the client authenticates itself (RFC 6749, section 2.3.1).
    enum ClientAuthentication: Sendable {
        /// By form parameters; without a secret if there is none.
        case parameters
        /// By the `Authorization` header, which every server supports; requires a secret.
        case basic
    }

    private let service: ExternalService
    private let url: String
    private let destination: OutgoingRequest.Destination
    private let identification: [(name: String, value: String)]
    private let authorization: String?
    private let refusal: RefusalReader

    /// - Parameters:
    ///   - provider: the provider's name, for the log.
    ///   - destination: who determined the host in `url`.
    ///   - clientSecret: `nil` for a public client.
    ///   - refusal: interprets rejections; `nil` if they follow RFC 6749, section 5.2.
    init(
        of service: ExternalService, named provider: String, at url: String,
        _ destination: OutgoingRequest.Destination = .company, clientID: String, clientSecret: String?,
        authentication: ClientAuthentication = .parameters, refusal: RefusalReader? = nil
    ) {
        self.service = service
        self.url = url
        self.destination = destination
        if authentication == .basic, let clientSecret {
            let text = PercentEncoding.encode(clientID) + ":" + PercentEncoding.encode(clientSecret)
            authorization = "Basic " + Data(text.utf8).base64EncodedString()
            identification = []
        } else {
            authorization = nil
            identification =
                [(name: "client_id", value: clientID)] + (clientSecret.map { [("client_secret", $0)] } ?? [])
        }
        self.refusal = refusal ?? { reply, purpose in Self.standardRefusal(reply, purpose, of: provider) }
    }

    /// Exchanges an authorization code, which works once (RFC 6749, section 4.1.3).
    ///
    /// - Parameter details: further parameters, such as the redirect URI.
    /// - Throws: ``AccountError/codeRejected``; ``AccountError/notAsked(retryAfter:detail:)`` if the code was certainly
    ///   not used.
    func exchange(
        code: String, _ details: [(name: String, value: String)] = [], through client: AccountClient
    ) throws(AccountError) -> OAuthTokens {
        try ask(
            [("grant_type", "authorization_code"), ("code", code)], details, for: .exchange, isRepeatable: false,
            through: client)
    }

    /// Exchanges an authorization code with those parameters of its authorization request that the caller names.
    ///
    /// - Parameters:
    ///   - standardRedirectURI: sent if the caller names none; `nil` to omit the parameter.
    ///   - details: further parameters.
    /// - Throws: ``AccountError/codeRejected``; ``AccountError/notAsked(retryAfter:detail:)`` if the code was certainly
    ///   not used.
    func exchange(
        _ code: PresentedCode, standardRedirectURI: String?, _ details: [(name: String, value: String)] = [],
        through client: AccountClient
    ) throws(AccountError) -> OAuthTokens {
        let redirect = (code.redirectURI ?? standardRedirectURI).map { [(name: "redirect_uri", value: $0)] } ?? []
        return try ask(
            [("grant_type", "authorization_code"), ("code", code.value)], details + code.proof + redirect,
            for: code.redirectURI == nil ? .exchange : .exchangeAfterRedirect, isRepeatable: false, through: client)
    }

    /// Exchanges a credential that works more than once, by an extension grant (RFC 6749, section 4.5).
    func exchange(
        grant type: String, _ details: [(name: String, value: String)], through client: AccountClient
    ) throws(AccountError) -> OAuthTokens {
        try ask([("grant_type", type)], details, for: .exchange, through: client)
    }

    /// Requests new tokens (RFC 6749, section 6).
    /// - Throws: ``AccountError/revoked`` if the refresh token no longer works.
    func refresh(
        _ refreshToken: String, _ details: [(name: String, value: String)] = [], through client: AccountClient
    ) throws(AccountError) -> OAuthTokens {
        try ask(
            [("grant_type", "refresh_token"), ("refresh_token", refreshToken)], details, for: .renewal,
            through: client)
    }

    /// Renewed tokens to replace the stored ones: a new access token and, if the provider sent one, a new refresh
    /// token.
    /// - Throws: ``AccountError/revoked`` if the refresh token no longer works or is missing.
    func renew(
        _ stored: StoredCredentials, _ details: [(name: String, value: String)] = [], through client: AccountClient
    ) throws(AccountError) -> StoredCredentials {
        guard let refreshToken = stored.refreshToken else { throw .revoked }
        let tokens = try refresh(refreshToken, details, through: client)
        return StoredCredentials(accessToken: tokens.accessToken, refreshToken: tokens.refreshToken)
    }

    /// Checks whether the provider knows this client, by sending an invented refresh token: for a known client the
    /// reply is `invalid_grant`, for an unknown one `invalid_client` (RFC 6749, section 5.2).
    ///
    /// A provider that checked the token's format first would reply `invalid_grant` in both cases; the RFC leaves the
    /// order open.
    /// - Throws: ``AccountError/misconfigured(detail:)`` if the client is unknown.
    func checkClient(through client: AccountClient) throws(AccountError) {
        do throws(AccountError) {
            _ = try refresh("invented-by-syncctl-doctor", through: client)
        } catch .revoked {
            return
        }
    }

    private func ask(
        _ grant: [(name: String, value: String)], _ details: [(name: String, value: String)], for purpose: Purpose,
        isRepeatable: Bool = true, through client: AccountClient
    ) throws(AccountError) -> OAuthTokens {
        var request = OutgoingRequest.form(
            service, purpose == .renewal ? .refresh : .token, url, grant + identification + details)
        request.destination = destination
        if let authorization { request.headers[.authorization] = authorization }
        let reply = try client.send(request, isRepeatable: isRepeatable)
        guard reply.status == 200 else { throw refusal(reply, purpose) }
        return try AccountJSON.decode(OAuthTokens.self, reply)
    }

    /// RFC 6749, section 5.2: only `invalid_grant` concerns the person; every other code concerns us.
    static func standardRefusal(_ reply: Reply, _ purpose: Purpose, of provider: String) -> AccountError {
        let word: String
        // A meaningless reply, such as a proxy's page, proves nothing about the person or about us.
        do { word = try AccountJSON.decode(OAuthErrorBody.self, reply).error } catch { return error }
        // Google's code for a redirect URI that is not registered, or that differs from the code's own.
        if purpose == .exchangeAfterRedirect, word == "redirect_uri_mismatch" { return .codeRejected }
        guard reply.status == 400, word == "invalid_grant" else {
            return .misconfigured(detail: "\(provider)'s token endpoint replied \(word)")
        }
        return switch purpose {
        case .exchange, .exchangeAfterRedirect: .codeRejected
        case .renewal: .revoked
        }
    }
}

/// Reply of a token endpoint (RFC 6749, section 5.1); members are named as on the wire, but in camel case.
struct OAuthTokens: Decodable, PlausibilityChecked {
    var accessToken: String
    /// Google: sent only at the first consent. Dropbox: only for codes requested with `token_access_type=offline`.
    /// Apple: only for a code. Microsoft: a new one each time; the previous one keeps working for a while.
    var refreshToken: String?
    /// Granted scopes, separated by spaces; possibly fewer than requested.
    var scope: String?
    /// Identifies the person who signed in (OpenID Connect Core, section 3.1.3.3).
    var idToken: String?
    /// Dropbox: the account to which the tokens belong; absent after a refresh.
    var accountId: String?

    /// All tokens together, sealed, must fit into their column; providers' tokens have up to 4,000 characters.
    private static let maximumLength = 6_000

    /// Tokens are visible ASCII (RFC 6749, appendix A.12) and become headers. An implausibly long scope says nothing
    /// about the person's grant.
    var isPlausible: Bool {
        [accessToken, refreshToken].compactMap(\.self).allSatisfy { $0.isIdentifier(upTo: Self.maximumLength) }
            && scope?.utf8.count ?? 0 <= Self.maximumLength
    }

    /// The granted scopes; `nil` if the provider does not repeat them.
    var scopes: Set<String>? { scope.map { Set($0.split(separator: " ").map(String.init)) } }
}

/// The error body of OAuth's endpoints (RFC 6749, section 5.2).
struct OAuthErrorBody: Decodable {
    var error: String
}
