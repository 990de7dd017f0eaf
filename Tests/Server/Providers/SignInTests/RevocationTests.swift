import HTTPTransport
import HTTPTypes
import JSONWebTokens
import OpenSSLCrypto
import Providers
import TestSupport
import Testing

@Suite("Revoking grants")
struct RevocationTests {
    private let stored = StoredCredentials(accessToken: "access", refreshToken: "refresh+")
    private let google = GoogleVerificationTests.account
    private let dropbox = DropboxAccountTests.account

    // MARK: Google

    @Test("Google receives the refresh token, which revokes the whole grant, or without one the access token")
    func toldByGoogle() throws {
        let script = AccountScript(["revoke": Reply(200, "{}")])

        try google.revoke(stored, through: script.client)
        try google.revoke(StoredCredentials(accessToken: "access"), through: script.client)
        try google.revoke(StoredCredentials(), through: script.client)

        #expect(script.paths == Array(repeating: "https://oauth2.googleapis.com/revoke", count: 2))
        #expect(script.transport.requests.map(\.bodyText) == ["token=refresh%2B", "token=access"])
        #expect(script.transport.requests[0].method == .post)
        #expect(script.transport.calls[0] == ProviderCall(.google, .revoke))
    }

    @Test("A grant that was already revoked counts as revoked")
    func ended() throws {
        let script = AccountScript(["revoke": Reply(400, #"{"error": "invalid_token"}"#)])

        try google.revoke(stored, through: script.client)
    }

    @Test(
        "Google's other refusals and failures are reported",
        arguments: [
            (
                400, "invalid_request",
                AccountError.misconfigured(detail: "Google's revocation endpoint replied invalid_request")
            ),
            (503, "backend", .notAsked(retryAfter: Pauses.usual, detail: "status 503")),
        ])
    func failures(status: Int, word: String, expected: AccountError) {
        let script = AccountScript(["revoke": Reply(status, "{\"error\": \"\(word)\"}")])

        #expect(throws: expected) { try google.revoke(stored, through: script.client) }
    }

    // MARK: Dropbox

    @Test("Dropbox receives an access token obtained with the refresh token, and no other grant's token")
    func toldByDropbox() throws {
        let script = AccountScript(inOrder: [DropboxAccountTests.tokens(refreshToken: nil), Reply(200, "null")])

        try dropbox.revoke(stored, through: script.client)

        #expect(
            script.paths == [
                "https://api.dropboxapi.com/oauth2/token", "https://api.dropboxapi.com/2/auth/token/revoke",
            ])
        #expect(script.transport.requests[0].bodyText.contains("refresh_token=refresh%2B"))
        #expect(script.transport.requests[1].headers[.authorization] == "Bearer sl.server")
        #expect(script.transport.requests[1].bodyText == "null")
    }

    @Test("If the refresh token is no longer valid, there is nothing to revoke")
    func goneAlready() throws {
        let script = AccountScript(inOrder: [Reply(400, #"{"error": "invalid_grant"}"#)])

        try dropbox.revoke(stored, through: script.client)

        #expect(script.paths.count == 1)
    }

    @Test("A rejection by Dropbox is reported")
    func refusedByDropbox() {
        let script = AccountScript(inOrder: [DropboxAccountTests.tokens(refreshToken: nil), Reply(403, "")])

        #expect(throws: AccountError.misconfigured(detail: "Dropbox's revocation replied with status 403")) {
            try dropbox.revoke(stored, through: script.client)
        }
    }

    @Test("A bare token belongs to the phone, and is not revoked")
    func bareToken() throws {
        let script = AccountScript(["revoke": Reply(200, "null")])

        try dropbox.revoke(StoredCredentials(accessToken: "the phone's"), through: script.client)

        #expect(script.paths.isEmpty)
    }

    // MARK: Apple, and providers without such a call

    @Test("Apple receives the refresh token, with a client secret")
    func toldByApple() throws {
        let key = try SigningKey(es256PEM: PrivateKey(generating: .es256).pem)
        let apple = AppleAccount(
            AppleAccount.Registration(
                clientID: "com.example.app", teamID: "TEAM", keyID: "KEY", key: key, redirectURI: nil))
        let script = AccountScript(["revoke": Reply(200, "")])

        try apple.revoke(StoredCredentials(refreshToken: "r.0"), through: script.client)
        try apple.revoke(StoredCredentials(identity: IdentityRecord()), through: script.client)

        #expect(script.paths == ["https://appleid.apple.com/auth/revoke"])
        let body = script.transport.requests[0].bodyText
        #expect(body.hasPrefix("client_id=com.example.app&client_secret=ey"))
        #expect(body.hasSuffix("&token=r.0&token_type_hint=refresh_token"))
        let refusing = AccountScript(["revoke": Reply(400, #"{"error": "invalid_client"}"#)])
        #expect(throws: AccountError.misconfigured(detail: "Apple's revocation endpoint replied invalid_client")) {
            try apple.revoke(StoredCredentials(refreshToken: "r.0"), through: refusing.client)
        }
    }

    @Test("Nothing is sent to Microsoft or Facebook")
    func others() throws {
        let script = AccountScript([:])

        try MicrosoftAccount(clientID: "id", clientSecret: "s").revoke(stored, through: script.client)
        try FacebookAccount(appID: "1", appSecret: "s", graphVersion: "v25.0").revoke(stored, through: script.client)

        #expect(script.paths.isEmpty)
    }

    // MARK: Requests that work only once

    @Test("A code is sent again only if the provider reports that it has not processed it", arguments: [429, 503])
    func notHandled(status: Int) {
        let script = AccountScript(["token": Reply(status, "")])

        #expect(throws: AccountError.notAsked(retryAfter: Pauses.usual, detail: "status \(status)")) {
            try google.exchange(code: "4/c", of: GoogleTokenTests.profile, through: script.client)
        }
        #expect(script.paths.count == 5)
    }

    @Test("Any other failure may have used the code", arguments: [500, 502, 504])
    func maybeHandled(status: Int) {
        let script = AccountScript(["token": Reply(status, "")])

        #expect(throws: AccountError.unavailable(detail: "status \(status)")) {
            try google.exchange(code: "4/c", of: GoogleTokenTests.profile, through: script.client)
        }
        #expect(script.paths.count == 1)
    }

    @Test("If no connection was established, the code was not used")
    func noConnection() {
        let script = AccountScript(failing: .notSent)

        #expect(throws: AccountError.notAsked(retryAfter: Pauses.usual, detail: "no connection")) {
            try google.exchange(code: "4/c", of: GoogleTokenTests.profile, through: script.client)
        }
    }
}
