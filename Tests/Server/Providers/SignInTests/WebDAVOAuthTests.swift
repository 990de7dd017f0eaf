import Foundation
import HTTPTransport
import HTTPTypes
import Providers
import SyncProtocol
import Synchronization
import TestSupport
import Testing

@Suite("OAuth 2.0 at WebDAV servers")
struct WebDAVOAuthTests {
    private static let servers = NamedServers(
        listed: ["https://cloud.example.com/", "https://login.example.com/"].compactMap { ServerAddress($0) },
        admitsAnyPublic: true)
    private static let files = "https://cloud.example.com/oc/remote.php/dav/files/alice/"
    private static let details = "{\"address\":\"\(files)\"}"
    private static let profile = SignInProfile(
        providerUserID: "alice@cloud.example.com/oc/remote.php/dav/files/alice/", displayName: "alice")
    private static let tokens = Reply(
        200,
        #"{"access_token": "server", "token_type": "Bearer", "expires_in": 3600, "refresh_token": "r1", "user_id": "a"}"#
    )
    private static let stored = StoredCredentials(accessToken: "server", refreshToken: "r1", location: details)

    private static func account(
        secret: String? = "s/+", tokenEndpoint: String? = nil, now: @escaping @Sendable () -> Date = { Date() }
    ) -> WebDAVAccount {
        WebDAVAccount(
            servers: servers,
            oauth: WebDAVOAuthClient(clientID: "client", clientSecret: secret, tokenEndpoint: tokenEndpoint), now: now)
    }

    private static func code(
        _ details: String? = details, redirectURI: String? = RedirectedCodeTests.redirectURI
    ) -> PresentedCode {
        PresentedCode(
            "c&", redirectURI: redirectURI, verifier: RedirectedCodeTests.verifier, accountDetails: details)
    }

    private static func folder(of user: String = "alice") -> Reply {
        Reply(
            207,
            "<d:multistatus xmlns:d='DAV:' xmlns:oc='http://owncloud.org/ns'><d:response><d:href>/x/</d:href><d:propstat>"
                + "<d:prop><d:resourcetype><d:collection/></d:resourcetype><oc:fileid>3</oc:fileid>"
                + "<d:current-user-principal><d:href>/oc/remote.php/dav/principals/users/\(user)/</d:href>"
                + "</d:current-user-principal></d:prop><d:status>HTTP/1.1 200 OK</d:status></d:propstat></d:response>"
                + "</d:multistatus>")
    }

    // MARK: Codes

    @Test("A code is exchanged at the user's own server, with all parameters of its request")
    func exchanged() throws {
        let script = AccountScript(["token": Self.tokens, "alice/": Self.folder()])

        let kept = try Self.account().exchange(code: Self.code(), of: Self.profile, through: script.client)

        #expect(kept == Self.stored)
        let request = try #require(script.transport.requests.first)
        #expect(request.url == "https://cloud.example.com/oc/index.php/apps/oauth2/api/v1/token")
        #expect(request.destination == .listed && !request.isRepeatable)
        #expect(request.headers[.authorization] == "Basic " + Data("client:s%2F%2B".utf8).base64EncodedString())
        let parameters = Set(request.bodyText.split(separator: "&").map(String.init))
        #expect(
            parameters == [
                "grant_type=authorization_code", "code=c%26", "redirect_uri=http%3A%2F%2F127.0.0.1%3A49152%2Fcode",
                "code_verifier=\(RedirectedCodeTests.verifier.rawValue)",
            ])
        #expect(script.transport.requests.last?.headers[.authorization] == "Bearer server")
    }

    @Test(
        "The token endpoint may be elsewhere: on the same server, or on another one",
        arguments: [
            ("/konnect/v1/token", "https://cloud.example.com/konnect/v1/token", OutgoingRequest.Destination.listed),
            ("https://login.example.com/realms/x/token", "https://login.example.com/realms/x/token", .listed),
            ("https://id.example.org/token", "https://id.example.org/token", .named),
        ])
    func elsewhere(setting: String, url: String, destination: OutgoingRequest.Destination) throws {
        let script = AccountScript(["token": Self.tokens, "alice/": Self.folder()])
        let account = Self.account(secret: nil, tokenEndpoint: setting)

        #expect(try account.exchange(code: Self.code(), of: Self.profile, through: script.client) != nil)

        let request = try #require(script.transport.requests.first)
        #expect(request.url == url && request.destination == destination)
        // A client without a secret identifies itself in the form.
        #expect(request.headers[.authorization] == nil && request.bodyText.contains("client_id=client"))
    }

    @Test(
        "Codes without a client, a redirect URI or matching details are not exchanged; no other server sees the secret",
        arguments: [
            (WebDAVAccount(servers: servers), code()), (account(), code(redirectURI: nil)), (account(), code(nil)),
            (account(), code("{\"address\":\"\(files)\",\"user\":\"alice\"}")),
            (account(), code("{\"address\":\"https://elsewhere.example.org/remote.php/dav/files/alice/\"}")),
        ])
    func leftAlone(account: WebDAVAccount, code: PresentedCode) throws {
        let script = AccountScript([:])
        #expect(try account.exchange(code: code, of: Self.profile, through: script.client) == nil)
        #expect(script.transport.requests.isEmpty)
    }

    @Test(
        "A rejected code is the user's error, regardless of the server's wording; a rejected client is the operator's",
        arguments: [
            ("invalid_grant", AccountError.codeRejected), ("invalid_request", .codeRejected),
            ("invalid_client", .misconfigured(detail: "cloud.example.com's token endpoint replied invalid_client")),
        ])
    func refusedCode(word: String, error: AccountError) {
        let script = AccountScript(["token": Reply(400, "{\"error\": \"\(word)\"}")])
        #expect(throws: error) {
            try Self.account().exchange(code: Self.code(), of: Self.profile, through: script.client)
        }
    }

    @Test(
        "Tokens of another user are rejected; if the user is unknown, the code is spent and must not be sent again")
    func whose() {
        // A server may report another user's folder as missing.
        for reply in [Self.folder(of: "bob"), Reply.refusedPassword, Reply(404, "")] {
            let other = AccountScript(["token": Self.tokens, "alice/": reply])
            #expect(throws: AccountError.codeRejected) {
                try Self.account().exchange(code: Self.code(), of: Self.profile, through: other.client)
            }
        }
        let silent = AccountScript(["token": Self.tokens, "alice/": Reply(503, "")])
        #expect(throws: AccountError.unavailable(detail: "status 503")) {
            try Self.account().exchange(code: Self.code(), of: Self.profile, through: silent.client)
        }
    }

    // MARK: Renewal

    @Test("A renewal replaces both tokens")
    func renewed() throws {
        let fresh = Reply(200, #"{"access_token": "a2", "expires_in": 3600, "refresh_token": "r2"}"#)
        let script = AccountScript(["token": fresh])

        let kept = Self.stored.updated(with: try Self.account().refresh(Self.stored, through: script.client))

        #expect(kept == StoredCredentials(accessToken: "a2", refreshToken: "r2", location: Self.details))
        #expect(script.transport.requests.first?.bodyText == "grant_type=refresh_token&refresh_token=r1")
    }

    @Test(
        "A refresh token is withdrawn when it is rejected twice, a minute apart, and it is not tried in between",
        arguments: ["invalid_grant", "invalid_request"])
    func refused(word: String) throws {
        let seconds = Mutex(1_000_000.0)
        let account = Self.account { Date(timeIntervalSince1970: seconds.withLock { $0 }) }
        let script = AccountScript(["token": Reply(400, "{\"error\": \"\(word)\"}")])
        var stored = Self.stored

        stored = stored.updated(with: try account.refresh(stored, through: script.client))
        #expect(stored.usableToken == "server" && account.isResting(stored))
        seconds.withLock { $0 += 59 }
        stored = stored.updated(with: try account.refresh(stored, through: script.client))
        #expect(script.transport.requests.count == 1)
        seconds.withLock { $0 += 1 }
        stored = stored.updated(with: try account.refresh(stored, through: script.client))
        #expect(stored.usableToken == nil && script.transport.requests.count == 2)

        // Then the phone's bearer token is better than nothing, and the withdrawn refresh token is discarded.
        let bearer = account.credentials(
            from: PresentedCredentials(accountType: .webDAV, accessToken: "phone", accountDetails: Self.details))
        #expect(!stored.outlasts(bearer))
        #expect(stored.updated(with: bearer) == StoredCredentials(accessToken: "phone", location: Self.details))
    }

    @Test("A rejected client is the operator's problem; without a client, the phone's own token is used")
    func withoutClient() throws {
        let script = AccountScript(["token": Reply(400, #"{"error": "invalid_client"}"#)])
        #expect(
            throws: AccountError.misconfigured(detail: "cloud.example.com's token endpoint replied invalid_client")
        ) {
            try Self.account().refresh(Self.stored, through: script.client)
        }

        let refused = try WebDAVAccount(servers: Self.servers).refresh(Self.stored, through: script.client)
        #expect(refused.refusal?.isFinal == false && script.transport.requests.count == 1)
    }

    // MARK: Precedence

    @Test("A password replaces renewable tokens, and a bearer token replaces neither")
    func lasting() throws {
        let account = Self.account()
        func credentials(_ user: String?) -> StoredCredentials {
            let user = user.map { ",\"user\":\"\($0)\"" } ?? ""
            return account.credentials(
                from: PresentedCredentials(
                    accountType: .webDAV, accessToken: "new",
                    accountDetails: "{\"address\":\"\(Self.files)\"\(user)}"))
        }
        let (bearer, password) = (credentials(nil), credentials("alice"))

        #expect(!bearer.hasOfflineAccess && password.hasOfflineAccess && Self.stored.hasOfflineAccess)
        #expect(Self.stored.outlasts(bearer) && password.outlasts(bearer))
        #expect(!Self.stored.outlasts(password) && !bearer.outlasts(bearer))
        #expect(Self.stored.updated(with: password) == password)
        #expect(password.updated(with: Self.stored) == Self.stored)
        // Not even for a code, if it yields no refresh token; and a refresh token that was set aside is valid as
        // before.
        #expect(password.updated(with: bearer) == password)
        var withdrawn = password
        withdrawn.refusal = CredentialRefusal(firstAt: 1, isFinal: true)
        #expect(withdrawn.updated(with: bearer) == bearer)
    }

    // MARK: Departure

    @Test("When a user leaves, the server's token is revoked, but not a phone's bearer token")
    func revocation() throws {
        let script = AccountScript(["apppassword": Reply(200, "")])
        var bearer = Self.stored
        bearer.refreshToken = nil

        try Self.account().revoke(bearer, through: script.client)
        try Self.account().revoke(Self.stored, through: script.client)

        let requests = script.transport.requests
        #expect(requests.map(\.url) == ["https://cloud.example.com/oc/ocs/v2.php/core/apppassword"])
        #expect(requests.first?.headers[.authorization] == "Bearer server")
    }

    @Test("If the access token has expired, it is renewed to end the grant")
    func revocationOfExpired() throws {
        let fresh = Reply(200, #"{"access_token": "a2", "expires_in": 3600, "refresh_token": "r2"}"#)
        let script = AccountScript(inOrder: [.refusedPassword, fresh, Reply(200, "")])

        try Self.account().revoke(Self.stored, through: script.client)

        #expect(script.transport.requests.map { $0.headers[.authorization] }.last == "Bearer a2")
        #expect(script.transport.requests.count == 3)
        // A rejected token has ended already.
        let ended = AccountScript(inOrder: [.refusedPassword, Reply(400, #"{"error": "invalid_request"}"#)])
        try Self.account().revoke(Self.stored, through: ended.client)
        #expect(ended.transport.requests.count == 2)
    }
}
