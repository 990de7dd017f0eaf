import HTTPTransport
import HTTPTypes
public import Providers
import SyncProtocol
import TestSupport
import Testing

@Suite("Codes obtained through a redirect URI")
struct RedirectedCodeTests {
    static let redirectURI = "http://127.0.0.1:49152/code"
    static let verifier = CodeVerifier(String(repeating: "v-._~", count: 10))!
    static let code = PresentedCode("4/code+=&", redirectURI: redirectURI, verifier: verifier)
    /// The parameters that every exchange must send.
    static let sent = [
        "code=4%2Fcode%2B%3D%26", "redirect_uri=http%3A%2F%2F127.0.0.1%3A49152%2Fcode",
        "code_verifier=\(verifier.rawValue)",
    ]
    static let graphUser = Reply(200, #"{"id": "8f3a0d1c2b4e5f60", "displayName": "Alice Example"}"#)

    private func parameters(_ script: AccountScript) -> [String] {
        (script.transport.requests.first?.bodyText ?? "").split(separator: "&").map(String.init)
    }

    @Test("Google receives the caller's redirect URI and verifier instead of an empty redirect URI")
    func google() throws {
        let script = AccountScript(["token": GoogleTokenTests.tokens(), "userinfo": GoogleVerificationTests.user])

        let kept = try GoogleTokenTests.account.exchange(
            code: Self.code, of: GoogleTokenTests.profile, through: script.client)

        #expect(kept?.refreshToken == "1//refresh")
        #expect(Set(Self.sent).isSubset(of: parameters(script)))
        #expect(!parameters(script).contains("redirect_uri="))
    }

    @Test(
        "A wrong redirect URI from the caller invalidates the code; one from the server is a misconfiguration")
    func redirectMismatch() {
        let reply = Reply(400, #"{"error": "redirect_uri_mismatch", "error_description": "Bad Request"}"#)

        #expect(throws: AccountError.codeRejected) {
            try GoogleTokenTests.account.exchange(
                code: Self.code, of: GoogleTokenTests.profile, through: AccountScript(["token": reply]).client)
        }
        #expect(
            throws: AccountError.misconfigured(detail: "Google's token endpoint replied redirect_uri_mismatch")
        ) {
            try GoogleTokenTests.account.exchange(
                code: "4/code", of: GoogleTokenTests.profile, through: AccountScript(["token": reply]).client)
        }
    }

    @Test("Dropbox receives the caller's redirect URI instead of the configured one")
    func dropbox() throws {
        let account = DropboxAccount(
            appKey: "key", appSecret: "secret", redirectURI: "db-key://2/token", allowsBareTokens: true)
        let script = AccountScript(["token": DropboxAccountTests.tokens()])

        let kept = try account.exchange(code: Self.code, of: DropboxAccountTests.profile, through: script.client)

        #expect(kept?.refreshToken == "refresh")
        #expect(Set(Self.sent).isSubset(of: parameters(script)))
        #expect(parameters(script).filter { $0.hasPrefix("redirect_uri=") }.count == 1)
    }

    @Test("Dropbox receives the header's verifier, even if another follows the code")
    func oneVerifier() throws {
        var code = Self.code
        code.value = "plain other-verifier"
        let script = AccountScript(["token": DropboxAccountTests.tokens()])

        _ = try DropboxAccountTests.account.exchange(
            code: code, of: DropboxAccountTests.profile, through: script.client)

        #expect(parameters(script).contains("code=plain"))
        #expect(
            parameters(script).filter { $0.hasPrefix("code_verifier=") } == [
                "code_verifier=\(Self.verifier.rawValue)"
            ])
    }

    @Test("Microsoft exchanges a code for tokens of the caller's account")
    func microsoft() throws {
        let script = AccountScript(["token": MicrosoftTokenTests.tokens(), "me": Self.graphUser])

        let kept = try MicrosoftTokenTests.account.exchange(
            code: Self.code, of: MicrosoftTokenTests.profile, through: script.client)

        #expect(kept?.accessToken == "EwB.server" && kept?.refreshToken == "M.C5.new")
        #expect(Set(Self.sent + ["grant_type=authorization_code"]).isSubset(of: parameters(script)))
        #expect(parameters(script).contains { $0.hasPrefix("scope=") && $0.hasSuffix("%20offline_access") })
        #expect(script.transport.requests[1].headers[.authorization] == "Bearer EwB.server")
    }

    @Test("Microsoft's codes without a redirect URI, as deployed apps send them, are not exchanged")
    func microsoftWithoutRedirect() throws {
        let script = AccountScript(["token": MicrosoftTokenTests.tokens()])

        let kept = try MicrosoftTokenTests.account.exchange(
            code: PresentedCode("code", verifier: Self.verifier), of: MicrosoftTokenTests.profile,
            through: script.client)

        #expect(kept == nil && script.paths.isEmpty)
    }

    @Test("Microsoft's codes without a redirect URI are exchanged with the configured one")
    func microsoftWithConfiguredRedirect() throws {
        let account = MicrosoftAccount(
            clientID: MicrosoftTokenMaker.clientID, clientSecret: "s", redirectURI: "msauth.app://auth")
        let script = AccountScript(["token": MicrosoftTokenTests.tokens(), "me": Self.graphUser])

        let kept = try account.exchange(code: "M.code", of: MicrosoftTokenTests.profile, through: script.client)

        #expect(kept?.refreshToken == "M.C5.new")
        #expect(parameters(script).contains("redirect_uri=msauth.app%3A%2F%2Fauth"))
        let used = AccountScript(["token": MicrosoftTokenTests.refusal(400, "invalid_grant", 54005)])
        #expect(throws: AccountError.codeRejected) {
            try account.exchange(code: "M.code", of: MicrosoftTokenTests.profile, through: used.client)
        }
    }

    @Test("Another account's code at Microsoft is rejected, and so is one without the scope for files")
    func microsoftForeign() {
        #expect(throws: AccountError.codeRejected) {
            try MicrosoftTokenTests.account.exchange(
                code: Self.code, of: SignInProfile(providerUserID: "8f3a0d1c2b4e5f61", displayName: "Bob"),
                through: AccountScript(["token": MicrosoftTokenTests.tokens(), "me": Self.graphUser]).client)
        }
        #expect(throws: AccountError.scopeMissing) {
            try MicrosoftTokenTests.account.exchange(
                code: Self.code, of: MicrosoftTokenTests.profile,
                through: AccountScript([
                    "token": MicrosoftTokenTests.tokens(scope: "https://graph.microsoft.com/User.Read")
                ]).client)
        }
    }

    @Test(
        "Microsoft's rejections of a code",
        arguments: [
            ("invalid_grant", 54005, AccountError.codeRejected), ("invalid_grant", 70008, .codeRejected),
            ("invalid_grant", 501_481, .codeRejected), ("invalid_grant", 50148, .codeRejected),
            ("invalid_client", 500_112, .codeRejected), ("invalid_request", 50011, .codeRejected),
            ("invalid_grant", 70000, .codeRejected), ("invalid_grant", 65001, .scopeMissing),
            (
                "invalid_client", 700_025,
                .misconfigured(detail: "Microsoft's token endpoint replied invalid_client AADSTS700025")
            ),
        ])
    func microsoftRefusals(word: String, number: Int, expected: AccountError) {
        let script = AccountScript(["token": MicrosoftTokenTests.refusal(400, word, number)])

        #expect(throws: expected) {
            try MicrosoftTokenTests.account.exchange(
                code: Self.code, of: MicrosoftTokenTests.profile, through: script.client)
        }
    }
}

/// Codes from phones, with neither redirect URI nor verifier.
extension PresentedCode: ExpressibleByStringLiteral {
    public init(stringLiteral value: String) { self.init(value) }
}
