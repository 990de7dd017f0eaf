import HTTPTransport
import HTTPTypes
import Providers
import SyncProtocol
import TestSupport
import Testing

@Suite("Microsoft: the server's tokens")
struct MicrosoftTokenTests {
    static let account = MicrosoftAccount(clientID: MicrosoftTokenMaker.clientID, clientSecret: "s~+/=")
    static let profile = SignInProfile(providerUserID: "8f3a0d1c2b4e5f60", displayName: "Alice Example")
    static let presented = PresentedCredentials(
        accountType: .microsoft, accessToken: "eyJ.id.token", microsoftAccessToken: "EwB")
    static let scope = "https://graph.microsoft.com/User.Read https://graph.microsoft.com/Files.ReadWrite.AppFolder"

    static func tokens(scope: String = scope, refreshToken: String? = "M.C5.new") -> Reply {
        var members = [
            #""token_type": "Bearer", "access_token": "EwB.server", "scope": "\#(scope)", "expires_in": 3736"#
        ]
        if let refreshToken { members.append("\"refresh_token\": \"\(refreshToken)\"") }
        return Reply(200, "{\(members.joined(separator: ", "))}")
    }

    static func refusal(_ status: Int, _ error: String, _ code: Int) -> Reply {
        Reply(
            status,
            #"{"error": "\#(error)", "error_description": "AADSTS\#(code): No.", "error_codes": [\#(code)]}"#)
    }

    @Test("The id token alone is exchanged for a refresh token on behalf of the user [36]")
    func onBehalfOf() throws {
        let script = AccountScript(["token": Self.tokens()])

        let kept = try Self.account.exchange(Self.presented, of: Self.profile, through: script.client)

        #expect(kept?.accessToken == "EwB.server" && kept?.refreshToken == "M.C5.new")
        let request = script.transport.requests[0]
        #expect(request.method == .post)
        #expect(request.url == "https://login.microsoftonline.com/common/oauth2/v2.0/token")
        #expect(request.headers[.authorization] == nil)
        #expect(
            request.bodyText
                == "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer"
                + "&client_id=\(MicrosoftTokenMaker.clientID)&client_secret=s~%2B%2F%3D&assertion=eyJ.id.token"
                + "&scope=https%3A%2F%2Fgraph.microsoft.com%2FUser.Read%20"
                + "https%3A%2F%2Fgraph.microsoft.com%2FFiles.ReadWrite.AppFolder%20offline_access"
                + "&requested_token_use=on_behalf_of")
    }

    @Test("If id tokens are not exchanged, an access token for our own API is, and only with a scope")
    func accessTokenForOurAPI() throws {
        let account = MicrosoftAccount(
            clientID: MicrosoftTokenMaker.clientID, clientSecret: "s", allowsIDTokens: false)
        let maker = try MicrosoftTokenMaker.shared.get()
        let exchange = { (token: String) in
            let script = try AccountScript.microsoft(["token": Self.tokens()])
            let presented = PresentedCredentials(
                accountType: .microsoft, accessToken: token, microsoftAccessToken: "EwB")
            let kept = try account.exchange(presented, of: Self.profile, through: script.client)
            return (kept, script.transport.calls.map(\.operation))
        }

        #expect(throws: AccountError.rejected) { try exchange(maker.token()) }
        #expect(throws: AccountError.rejected) {
            try exchange(maker.token(["scp": "access_as_user", "aud": "another"]))
        }
        let (kept, operations) = try exchange(maker.token(["scp": "access_as_user"]))
        #expect(kept?.refreshToken == "M.C5.new" && operations == [.token], "the keys are already known")
    }

    @Test("Without permission to store files no tokens are issued")
    func scopeMissing() {
        for reply in [
            Self.tokens(scope: "https://graph.microsoft.com/User.Read"), Self.refusal(400, "invalid_grant", 65001),
        ] {
            #expect(throws: AccountError.scopeMissing) {
                try Self.account.exchange(
                    Self.presented, of: Self.profile, through: AccountScript(["token": reply]).client)
            }
        }
    }

    @Test("Unknown scopes do not mean that the permission is missing")
    func implausibleScope() {
        for scope in [String(repeating: "A", count: 1_000_000), String(repeating: "a b ", count: 10_000)] {
            let script = AccountScript(["token": Self.tokens(scope: scope)])
            do {
                _ = try Self.account.exchange(Self.presented, of: Self.profile, through: script.client)
                Issue.record("The reply is accepted.")
            } catch {
                #expect(error != .scopeMissing)
            }
        }
    }

    @Test(
        "The token endpoint's error decides who is to blame",
        arguments: [
            (400, "invalid_grant", 70000, AccountError.revoked), (400, "invalid_grant", 70008, .revoked),
            (400, "invalid_grant", 700_082, .revoked), (400, "invalid_grant", 700_084, .revoked),
            (400, "invalid_grant", 50173, .revoked), (400, "invalid_grant", 65001, .revoked),
            (400, "interaction_required", 50076, .revoked), (400, "interaction_required", 50079, .revoked),
            (400, "consent_required", 1, .revoked), (400, "invalid_grant", 12345, .revoked),
            (
                401, "invalid_client", 7_000_215,
                .misconfigured(detail: "Microsoft's token endpoint replied invalid_client AADSTS7000215")
            ),
            (
                401, "invalid_client", 7_000_222,
                .misconfigured(detail: "Microsoft's token endpoint replied invalid_client AADSTS7000222")
            ),
            (
                400, "unauthorized_client", 700_016,
                .misconfigured(detail: "Microsoft's token endpoint replied unauthorized_client AADSTS700016")
            ),
            (400, "temporarily_unavailable", 90033, .unavailable(detail: "temporarily_unavailable AADSTS90033")),
            (400, "invalid_grant", 90033, .unavailable(detail: "invalid_grant AADSTS90033")),
            (400, "invalid_grant", 50196, .unavailable(detail: "invalid_grant AADSTS50196")),
            (429, "throttled", 90055, .notAsked(retryAfter: Pauses.usual, detail: "status 429")),
            (503, "down", 90033, .notAsked(retryAfter: Pauses.usual, detail: "status 503")),
        ])
    func refreshErrors(status: Int, word: String, code: Int, expected: AccountError) {
        let script = AccountScript(["token": Self.refusal(status, word, code)])

        #expect(throws: expected) {
            try Self.account.refresh(StoredCredentials(refreshToken: "M.C5.old"), through: script.client)
        }
    }

    @Test("An unreadable rejection revokes nothing")
    func unreadable() {
        let script = AccountScript(["token": Reply(400, "<html>Bad Request</html>")])

        #expect(throws: AccountError.unavailable(detail: "unreadable reply with status 400")) {
            try Self.account.refresh(StoredCredentials(refreshToken: "M.C5.old"), through: script.client)
        }
    }

    @Test("An assertion of the wrong kind is a client error", arguments: [50027, 50013, 500_131, 500_133, 240_002])
    func wrongAssertion(code: Int) {
        let script = AccountScript(["token": Self.refusal(400, "invalid_request", code)])

        #expect(throws: AccountError.rejected) {
            try Self.account.exchange(Self.presented, of: Self.profile, through: script.client)
        }
    }

    @Test("Each refresh returns a new refresh token, stored together with the access token [37]")
    func rotation() throws {
        let stored = StoredCredentials(accessToken: "EwB.old", refreshToken: "M.C5.old+", codeHash: "abc")
        let script = AccountScript(["token": Self.tokens()])

        let fresh = try Self.account.refresh(stored, through: script.client)

        #expect(fresh == StoredCredentials(accessToken: "EwB.server", refreshToken: "M.C5.new"))
        #expect(script.transport.requests[0].bodyText.hasPrefix("grant_type=refresh_token&refresh_token=M.C5.old%2B&"))
        let kept = try Self.account.refresh(
            stored, through: AccountScript(["token": Self.tokens(refreshToken: nil)]).client)
        #expect(kept == StoredCredentials(accessToken: "EwB.server"))
    }

    @Test("Without a refresh token no request is sent, and the user must sign in again")
    func nothingToRefresh() {
        let script = AccountScript(["token": Self.tokens()])

        #expect(throws: AccountError.revoked) {
            try Self.account.refresh(StoredCredentials(accessToken: "EwB"), through: script.client)
        }
        #expect(script.paths.isEmpty)
    }

    @Test(
        "Only Graph's statement that no OneDrive exists is final, and the log names the cause",
        arguments: [
            (404, "ResourceNotFound", "User's mysite not found.", "never set up (mysite not found)"),
            (404, "UnknownError", "Unable to retrieve user's mysite URL.", "never set up (mysite not found)"),
            (400, "BadRequest", "Tenant does not have a SPO license.", "no license for OneDrive (SharePoint Online)"),
            (404, "itemNotFound", "The resource could not be found.", nil), (400, "BadRequest", "Mystery", nil),
            (403, "accessDenied", "User's mysite not found.", nil), (200, "", "", nil),
        ] as [(Int, String, String, String?)])
    func missingDrive(status: Int, code: String, message: String, detail: String?) throws {
        let body = #"{"error": {"code": "\#(code)", "message": "\#(message)", "innerError": {"request-id": "1"}}}"#
        let script = AccountScript(["special/approot": Reply(status, body)])
        let require = {
            try Self.account.requireStorage(with: StoredCredentials(accessToken: "EwB"), through: script.client)
        }

        if let detail {
            let error = #expect(throws: AccountError.self, performing: require)
            guard case .storageMissing(let text) = error else { throw try #require(error) }
            #expect(text.hasSuffix(detail))
        } else {
            try require()
        }
        #expect(script.transport.requests.count == 1)
        #expect(script.transport.requests[0].headers[.authorization] == "Bearer EwB")
    }

    @Test("The phone's own tokens are not stored")
    func nothingFromThePhone() {
        #expect(Self.account.credentials(from: Self.presented) == StoredCredentials())
    }
}
