import Foundation
import SyncProtocol

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// The token endpoint of a scheme's provider, called as the program's own client (RFC 6749, section 3.2).
struct TokenClient: Sendable {
    let scheme: AccountScheme
    let transport: ProviderTransport
    let now: @Sendable () -> Date

    /// The reply of a token endpoint (RFC 6749, section 5.1).
    struct Tokens: Sendable, Equatable, Decodable {
        var accessToken: String
        var refreshToken: String?
        var idToken: String?
        /// Lifetime of the access token, in seconds.
        var expiresIn: Double?

        private enum CodingKeys: String, CodingKey {
            case accessToken = "access_token"
            case refreshToken = "refresh_token"
            case idToken = "id_token"
            case expiresIn = "expires_in"
        }
    }

    private struct ErrorBody: Decodable {
        var error: String
    }

    /// The credentials of a completed sign-in: exchanges the program's own code, and asks for its user.
    /// - Parameter grant: the server's code.
    func credentials(
        _ code: String, of attempt: AuthorizationAttempt, grant: AccountCredentials.ServerGrant?
    ) async throws(SignInError) -> AccountCredentials {
        let tokens = try await exchange(code, of: attempt)
        var credentials = credentials(tokens, of: try await person(of: tokens))
        credentials.serverGrant = grant
        return credentials
    }

    /// Exchanges the program's own code (RFC 6749, section 4.1.3; RFC 7636, section 4.5).
    private func exchange(_ code: String, of attempt: AuthorizationAttempt) async throws(SignInError) -> Tokens {
        try await ask(
            [
                ("grant_type", "authorization_code"), ("code", code), ("redirect_uri", attempt.redirectURI),
                ("code_verifier", attempt.proof.verifier.rawValue),
            ], isRefresh: false)
    }

    /// Requests new tokens (RFC 6749, section 6).
    func refresh(_ refreshToken: String) async throws(SignInError) -> Tokens {
        try await ask([("grant_type", "refresh_token"), ("refresh_token", refreshToken)], isRefresh: true)
    }

    private func ask(
        _ grant: [(name: String, value: String)], isRefresh: Bool
    ) async throws(SignInError) -> Tokens {
        var items = grant
        var authorization: String?
        switch (scheme.site, scheme.program.clientSecret) {
        // ownCloud authenticates clients with HTTP Basic only (RFC 6749, section 2.3.1).
        case (.some, let secret?):
            let pair = PercentEncoding.encode(scheme.program.clientID) + ":" + PercentEncoding.encode(secret)
            authorization = "Basic " + Data(pair.utf8).base64EncodedString()
        case (nil, let secret?):
            items += [("client_id", scheme.program.clientID), ("client_secret", secret)]
        case (_, nil): items.append(("client_id", scheme.program.clientID))
        }
        // Microsoft requires the scopes again; without `openid` there would be no ID token.
        if scheme.accountType == .microsoft {
            items.append(("scope", scheme.program.scopes.joined(separator: " ")))
        }
        var request = try Self.request(scheme.tokenEndpoint)
        request.httpMethod = "POST"
        if let authorization { request.setValue(authorization, forHTTPHeaderField: "Authorization") }
        request.setValue("application/x-www-form-urlencoded", forHTTPHeaderField: "Content-Type")
        request.httpBody = Data(FormText.encode(items).utf8)
        let reply = try await send(request)
        guard reply.status == 200 else { throw refusal(reply, isRefresh: isRefresh) }
        return try Self.decode(Tokens.self, reply)
    }

    /// The person to whom a token belongs, according to the provider.
    func person(of tokens: Tokens) async throws(SignInError) -> AccountCredentials.Person {
        let profile = PersonProfile(of: scheme)
        guard let profile else { throw SignInError(.misconfigured, "no profile for \(scheme.accountType.rawValue)") }
        var request = try Self.request(profile.url)
        request.setValue("Bearer " + tokens.accessToken, forHTTPHeaderField: "Authorization")
        if scheme.site != nil { request.setValue("true", forHTTPHeaderField: NextcloudUser.requestHeader) }
        if profile.takesPost {
            request.httpMethod = "POST"
            request.setValue("application/json", forHTTPHeaderField: "Content-Type")
            request.httpBody = Data("null".utf8)
        }
        let reply = try await send(request)
        guard reply.status == 200 else {
            throw SignInError(
                reply.status == 429 || reply.status >= 500 ? .providerUnavailable : .failed,
                "profile: status \(reply.status)")
        }
        guard let person = profile.read(reply.body) else {
            throw SignInError(.providerUnavailable, "profile unreadable")
        }
        return person
    }

    /// A user's credentials with new tokens; keeps values that are missing from the new tokens.
    func credentials(
        _ tokens: Tokens, of person: AccountCredentials.Person, keeping old: AccountCredentials? = nil
    ) -> AccountCredentials {
        AccountCredentials(
            accountType: scheme.accountType, person: person, accessToken: tokens.accessToken,
            idToken: scheme.accountType == .microsoft ? tokens.idToken ?? old?.idToken : nil,
            refreshToken: tokens.refreshToken ?? old?.refreshToken,
            expires: tokens.expiresIn.map { now().addingTimeInterval($0) }, serverGrant: old?.serverGrant,
            accountDetails: scheme.site.flatMap {
                NextcloudUser.details(of: person.id, at: $0.absoluteString, name: nil)
            })
    }

    private func send(_ request: URLRequest) async throws(SignInError) -> ProviderTransport.Reply {
        do {
            return try await transport.send(request)
        } catch {
            if Task.isCancelled { throw SignInError(.cancelled) }
            throw SignInError(.providerUnavailable, "no reply")
        }
    }

    private static func request(_ url: String) throws(SignInError) -> URLRequest {
        guard let url = URL(string: url) else { throw SignInError(.misconfigured, "a provider's address") }
        var request = URLRequest(url: url)
        request.setValue("application/json", forHTTPHeaderField: "Accept")
        return request
    }

    private static func decode<T: Decodable>(_ type: T.Type, _ reply: ProviderTransport.Reply) throws(SignInError) -> T
    {
        do { return try JSONDecoder().decode(type, from: reply.body) } catch {
            throw SignInError(.providerUnavailable, "unreadable reply with status \(reply.status)")
        }
    }

    /// RFC 6749, section 5.2: only `invalid_grant` concerns the user; Microsoft uses other codes for some cases, and a
    /// Nextcloud returns `invalid_request` for an unknown code or refresh token.
    private func refusal(_ reply: ProviderTransport.Reply, isRefresh: Bool) -> SignInError {
        guard reply.status != 429, reply.status < 500, let body = try? Self.decode(ErrorBody.self, reply) else {
            return SignInError(.providerUnavailable, "status \(reply.status)")
        }
        let word = String(body.error.filter { $0.isASCII && ($0.isLetter || $0 == "_") }.prefix(64))
        return switch word {
        case "invalid_grant", "interaction_required", "consent_required":
            SignInError(isRefresh ? .signInRequired : .failed, word)
        case "invalid_request" where scheme.site != nil:
            SignInError(isRefresh ? .signInRequired : .failed, word)
        case "temporarily_unavailable": SignInError(.providerUnavailable, word)
        default: SignInError(.misconfigured, word)
        }
    }
}

/// A provider's endpoint that identifies a token's user, and the format of its reply.
struct PersonProfile {
    let url: String
    let takesPost: Bool
    let read: (Data) -> AccountCredentials.Person?

    /// `nil` for accounts whose sign-in already identifies the user.
    init?(of scheme: AccountScheme) {
        switch scheme.accountType {
        case .google:
            url = "https://openidconnect.googleapis.com/v1/userinfo"
            takesPost = false
            read = Self.google
        case .dropbox:
            url = "https://api.dropboxapi.com/2/users/get_current_account"
            takesPost = true
            read = Self.dropbox
        case .microsoft:
            url = "https://graph.microsoft.com/v1.0/me"
            takesPost = false
            read = Self.microsoft
        case .webDAV:
            guard let site = scheme.site else { return nil }
            url = NextcloudUser.address(at: site)
            takesPost = false
            read = NextcloudUser.read
        case .facebook, .appleSignIn, .s3: return nil
        }
    }

    private static func google(_ body: Data) -> AccountCredentials.Person? {
        struct Info: Decodable {
            var sub: String
            var name: String?
            var email: String?
        }
        return (try? JSONDecoder().decode(Info.self, from: body))
            .map { AccountCredentials.Person(id: $0.sub, name: $0.name ?? "", email: $0.email) }
    }

    private static func dropbox(_ body: Data) -> AccountCredentials.Person? {
        struct User: Decodable {
            struct Name: Decodable { var displayName: String? }
            var accountId: String
            var name: Name?
            var email: String?
        }
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        return (try? decoder.decode(User.self, from: body))
            .map { AccountCredentials.Person(id: $0.accountId, name: $0.name?.displayName ?? "", email: $0.email) }
    }

    private static func microsoft(_ body: Data) -> AccountCredentials.Person? {
        struct User: Decodable {
            var id: String
            var displayName: String?
            var mail: String?
            var userPrincipalName: String?
        }
        return (try? JSONDecoder().decode(User.self, from: body)).map {
            AccountCredentials.Person(
                id: $0.id, name: $0.displayName ?? "", email: $0.mail ?? $0.userPrincipalName)
        }
    }
}
