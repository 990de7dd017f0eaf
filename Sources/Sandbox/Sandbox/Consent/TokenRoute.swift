import FoundationEssentials

/// An OAuth 2 token route (RFC 6749, section 3.2) for codes and for refresh tokens that do not rotate, as Google's and
/// Dropbox's.
protocol TokenRoute {
    static var mistakes: TokenMistakes { get }
    var server: SandboxServer { get }

    /// The reply to a grant without a client; `nil` for all others.
    func response(withoutClient form: QueryItems, to request: SandboxRequest) throws(OAuthError) -> SandboxResponse?

    /// The calling app, after checking its secret.
    func client(_ id: String?, _ secret: String?, _ request: SandboxRequest) throws(OAuthError) -> TokenClient

    /// The tokens for a code of `account`. Runs under the server's lock.
    func redeem(
        _ code: AuthorizationCode, _ form: QueryItems, by client: TokenClient, of account: inout Account, at now: Date
    ) throws(OAuthError) -> (access: AccessToken, refresh: RefreshToken?)

    /// A new access token for a refresh token that is not revoked.
    func renew(
        _ token: RefreshToken, by client: TokenClient, _ request: SandboxRequest
    ) throws(OAuthError) -> AccessToken

    /// - Parameter isRenewed: whether the access token is from a refresh token.
    func response(
        _ access: AccessToken, refresh: RefreshToken?, of account: Account, isRenewed: Bool
    ) -> SandboxResponse

    func response(to error: OAuthError) -> SandboxResponse
}

/// What a provider replies to mistakes that are the same everywhere.
struct TokenMistakes: Sendable {
    let noForm: OAuthError
    let grantType: @Sendable (String?) -> OAuthError
    let noCode: OAuthError
    /// `nil` if `redirect_uri` may be missing.
    let noRedirect: OAuthError?
    let unknownCode: OAuthError
    let noRefreshToken: OAuthError
    let unknownRefreshToken: OAuthError
}

/// The app that calls a token route.
struct TokenClient {
    let id: String
    let holder: TokenHolder
}

extension TokenRoute {
    func response(withoutClient form: QueryItems, to request: SandboxRequest) throws(OAuthError) -> SandboxResponse? {
        nil
    }

    /// Handles a request to the route.
    func token(_ request: SandboxRequest) throws -> SandboxResponse {
        do {
            guard request.method == "POST", let form = try request.readForm() else {
                server.note(request, "token-form", "the token route requires a POST of a form")
                throw Self.mistakes.noForm
            }
            if let response = try response(withoutClient: form, to: request) { return response }
            let (id, secret) = Self.credentials(request, form)
            let client = try client(id, secret, request)
            switch form["grant_type"] {
            case "authorization_code": return try exchange(request, form, client)
            case "refresh_token": return try refresh(request, form, client)
            case let type:
                server.note(request, "grant-type", "grant_type is \(type ?? "missing")")
                throw Self.mistakes.grantType(type)
            }
        } catch let error as OAuthError {
            return response(to: error)
        }
    }

    /// The client's ID and secret: from HTTP Basic authentication, otherwise from the form (RFC 6749, section 2.3.1).
    private static func credentials(_ request: SandboxRequest, _ form: QueryItems) -> (id: String?, secret: String?) {
        if let header = request.header("authorization"), header.lowercased().hasPrefix("basic "),
            let data = Data(base64Encoded: String(header.dropFirst(6)))
        {
            let halves = String(decoding: data, as: UTF8.self).split(
                separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            if halves.count == 2 {
                return (
                    PercentEncoding.decode(halves[0], plusIsBlank: true),
                    PercentEncoding.decode(halves[1], plusIsBlank: true)
                )
            }
        }
        return (form["client_id"], form["client_secret"])
    }

    private func exchange(
        _ request: SandboxRequest, _ form: QueryItems, _ client: TokenClient
    ) throws -> SandboxResponse {
        guard let value = form["code"] else {
            server.note(request, "code", "code is missing")
            throw Self.mistakes.noCode
        }
        if let error = Self.mistakes.noRedirect, form["redirect_uri"] == nil {
            server.note(request, "redirect-uri", "redirect_uri is missing; for codes from a device it must be empty")
            throw error
        }
        guard let id = server.withState({ $0.owners[value] }) else { throw Self.mistakes.unknownCode }
        let now = server.now
        var outcome: Result<(access: AccessToken, refresh: RefreshToken?), OAuthError> =
            .failure(Self.mistakes.unknownCode)
        let account = try server.changeAccount(id) { account in
            guard let index = account.codes.firstIndex(where: { $0.value == value }) else { return }
            let code = account.codes[index]
            outcome = Result { () throws(OAuthError) in
                try redeem(code, form, by: client, of: &account, at: now)
            }
            guard case .success(let tokens) = outcome else { return }
            account.codes[index].isUsed = true
            account.add(tokens.access)
            if let refresh = tokens.refresh { account.add(refresh) }
        }
        if case .failure(let error) = outcome, error.isReuse {
            server.note(request, "code-reused", "this authorization code was used before")
        }
        let tokens = try outcome.get()
        return response(tokens.access, refresh: tokens.refresh, of: account, isRenewed: false)
    }

    private func refresh(
        _ request: SandboxRequest, _ form: QueryItems, _ client: TokenClient
    ) throws -> SandboxResponse {
        guard let value = form["refresh_token"] else {
            server.note(request, "refresh-token", "refresh_token is missing")
            throw Self.mistakes.noRefreshToken
        }
        guard let (account, token) = server.withState({ $0.refreshToken(value) }), !token.isRevoked else {
            throw Self.mistakes.unknownRefreshToken
        }
        let access = try renew(token, by: client, request)
        try server.changeAccount(account.id) { $0.add(access) }
        return response(access, refresh: nil, of: account, isRenewed: true)
    }
}

extension SandboxState {
    /// The account and refresh token for a token's text, including revoked tokens.
    func refreshToken(_ value: String) -> (account: Account, token: RefreshToken)? {
        guard let account = owners[value].flatMap({ accounts[$0] }),
            let token = account.refreshTokens.last(where: { $0.value == value })
        else { return nil }
        return (account, token)
    }

    /// The account and authorization code for a code's text, including used and expired codes.
    func code(_ value: String) -> (account: Account, code: AuthorizationCode)? {
        guard let account = owners[value].flatMap({ accounts[$0] }),
            let code = account.codes.first(where: { $0.value == value })
        else { return nil }
        return (account, code)
    }
}

/// An error of a token route (RFC 6749, section 5.2).
struct OAuthError: Error, Equatable {
    let status: Int
    let code: String
    let text: String
    /// Whether the client used a code again.
    let isReuse: Bool

    init(_ status: Int, _ code: String, _ text: String, isReuse: Bool = false) {
        self.status = status
        self.code = code
        self.text = text
        self.isReuse = isReuse
    }

    /// The response in Google's form.
    var response: SandboxResponse {
        SandboxResponse(status, json: ["error": .string(code), "error_description": .string(text)])
    }
}
