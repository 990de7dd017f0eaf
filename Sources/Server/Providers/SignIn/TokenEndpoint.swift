import FoundationEssentials
import HTTPTransport
import HTTPTypes
import SyncProtocol
import UntrustedInput

/// The token endpoint of one provider (RFC 6749, section 3.2), asked as the client that the app maker registered there.
struct TokenEndpoint: Sendable {
    /// What tokens are requested for.
    enum Purpose: Sendable {
        /// For the first time, with what a phone sent.
        case exchange
        /// For the first time, with a code that a browser took to a redirect URI, which the caller names.
        case exchangeAfterRedirect
        /// With a refresh token.
        case renewal
    }

    /// The meaning of an unsuccessful reply.
    typealias RefusalReader = @Sendable (_ reply: Reply, _ purpose: Purpose) -> AccountError

    /// How the client proves who it is (RFC 6749, section 2.3.1).
    enum ClientAuthentication: Sendable {
        /// By parameters of the form; without a secret if there is none.
        case parameters
        /// By the header `Authorization`, which every server understands, but only with a secret.
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
    ///   - destination: whose word the host in `url` is.
    ///   - clientSecret: `nil` for a public client.
    ///   - refusal: interprets refusals; `nil` if they follow RFC 6749, section 5.2.
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
    /// - Throws: ``AccountError/codeRejected``; ``AccountError/notAsked(retryAfter:detail:)`` if the code was surely not used.
    func exchange(
        code: String, _ details: [(name: String, value: String)] = [], through client: AccountClient
    ) throws(AccountError) -> OAuthTokens {
        try ask(
            [("grant_type", "authorization_code"), ("code", code)], details, for: .exchange, isRepeatable: false,
            through: client)
    }

    /// Exchanges an authorization code with the parameters of its authorization request, as far as the caller names
    /// them.
    ///
    /// - Parameters:
    ///   - standardRedirectURI: sent if the caller names none; `nil` to leave the parameter out.
    ///   - details: further parameters.
    /// - Throws: ``AccountError/codeRejected``; ``AccountError/notAsked(retryAfter:detail:)`` if the code was surely not used.
    func exchange(
        _ code: PresentedCode, standardRedirectURI: String?, _ details: [(name: String, value: String)] = [],
        through client: AccountClient
    ) throws(AccountError) -> OAuthTokens {
        let redirect = (code.redirectURI ?? standardRedirectURI).map { [(name: "redirect_uri", value: $0)] } ?? []
        return try ask(
            [("grant_type", "authorization_code"), ("code", code.value)], details + code.proof + redirect,
            for: code.redirectURI == nil ? .exchange : .exchangeAfterRedirect, isRepeatable: false, through: client)
    }

    /// Exchanges something that works more than once, by an extension grant (RFC 6749, section 4.5).
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

    /// The tokens that replace those stored: a new access token, and a new refresh token if there is one.
    /// - Throws: ``AccountError/revoked`` if the refresh token no longer works, or there is none.
    func renew(
        _ stored: StoredCredentials, _ details: [(name: String, value: String)] = [], through client: AccountClient
    ) throws(AccountError) -> StoredCredentials {
        guard let refreshToken = stored.refreshToken else { throw .revoked }
        let tokens = try refresh(refreshToken, details, through: client)
        return StoredCredentials(accessToken: tokens.accessToken, refreshToken: tokens.refreshToken)
    }

    /// Whether the provider knows this client: a client that it knows is told that an invented refresh token is none
    /// (`invalid_grant`), another one that it is not known (`invalid_client`; RFC 6749, section 5.2).
    ///
    /// A provider that looked at the form of the token first would say `invalid_grant` to both; the RFC leaves the order
    /// open.
    /// - Throws: ``AccountError/misconfigured(detail:)`` if it does not.
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

    /// RFC 6749, section 5.2: only `invalid_grant` is about the person; everything else is about us.
    static func standardRefusal(_ reply: Reply, _ purpose: Purpose, of provider: String) -> AccountError {
        let word: String
        // A reply that says nothing, such as a proxy's page, concludes nothing, neither about the person nor about us.
        do { word = try AccountJSON.decode(OAuthErrorBody.self, reply).error } catch { return error }
        // Google's code for a redirect URI that is not registered, or not the code's own.
        if purpose == .exchangeAfterRedirect, word == "redirect_uri_mismatch" { return .codeRejected }
        guard reply.status == 400, word == "invalid_grant" else {
            return .misconfigured(detail: "\(provider)'s token endpoint says \(word)")
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
    /// Google: only at the first consent. Dropbox: only for codes requested with `token_access_type=offline`. Apple:
    /// only for a code. Microsoft: a new one each time; the previous one keeps working for a while.
    var refreshToken: String?
    /// Granted scopes, separated by blanks; may be fewer than requested.
    var scope: String?
    /// Who signed in (OpenID Connect Core, section 3.1.3.3).
    var idToken: String?
    /// Dropbox: whose tokens these are; not with a refresh.
    var accountId: String?

    /// All of them together, sealed, must fit into their column; providers' have up to 4,000 characters.
    private static let maximumLength = 6_000

    /// Tokens are visible ASCII (RFC 6749, appendix A.12) and go into headers. Scopes that nobody has are no statement about
    /// what a person has granted.
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
