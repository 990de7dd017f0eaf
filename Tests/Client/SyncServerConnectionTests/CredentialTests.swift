import Foundation
import HTTPTypes
import SyncProtocol
import SyncServerConnection
import Testing

@Suite("Credentials that the server rejects")
struct CredentialTests {
    private static let refused = Result<HTTPReply, TransportFailure>.success(.error(401, "credentials_rejected"))
    private static let listed = Result<HTTPReply, TransportFailure>.success(.reply(200, #"{"uploads":[]}"#))

    @Test("They are replaced once, and the request is repeated immediately with the new ones")
    func refresh() async throws {
        let bench = Bench(Self.refused, Self.listed)

        _ = try await bench.connection.uploads(in: Sample.group)

        #expect(bench.tokens == ["token", "token'"])
        #expect(bench.credentials.refreshes.count == 1)
        #expect(bench.recorder.pauses.isEmpty)
        #expect(bench.recorder.events.contains(.refreshingCredentials))
    }

    @Test("If the new ones are also rejected, the user has to sign in, and is notified once")
    func twice() async {
        let bench = Bench(Self.refused)
        for _ in 1...3 {
            let error = await failure { () throws(ServerConnectionError) in
                try await bench.connection.uploads(in: Sample.group)
            }
            #expect(error?.code == .signInRequired)
            #expect(error?.status == 401)
        }
        #expect(bench.requestCount == 6)
        #expect(bench.recorder.events.filter { $0 == .signInRequired }.count == 1)
    }

    @Test("On sign-in, the credential provider receives the accepted code and a long-lived token; otherwise nothing")
    func accepted() async throws {
        let user = HTTPReply.reply(200, #"{"userId":7}"#, headers: ["syncserver-access-token": "long"])
        let bench = Bench(.success(user))

        _ = try await bench.connection.addUser(AddUserRequest(sharingGroupUUID: Sample.group))
        _ = try await bench.connection.checkCredentials()

        #expect(bench.credentials.accepted.map(\.accessToken.value) == ["token", "token"])
        #expect(bench.credentials.newTokens == ["long", "long"])

        let other = Bench(Self.listed)
        _ = try await other.connection.uploads(in: Sample.group)
        #expect(other.credentials.accepted.isEmpty)
    }

    @Test("A code is sent with its redirect URI and verifier")
    func code() {
        let credentials = Credentials(
            accountType: .google, accessToken: Secret("t"), authorizationCode: Secret("c"),
            redirectURI: "http://127.0.0.1:1/server", codeVerifier: Secret("v"))
        #expect(
            credentials.headers == [
                .tokenType: "GoogleToken", .accessToken: "t", .authorizationCode: "c",
                .redirectURI: "http://127.0.0.1:1/server", .codeVerifier: "v",
            ])
    }

    @Test("A valid token without a user is not replaced")
    func userUnknown() async {
        let bench = Bench(.success(.error(401, "user_unknown")))
        let error = await failure { () throws(ServerConnectionError) in
            try await bench.connection.uploads(in: Sample.group)
        }
        #expect(error?.code == .signInRequired)
        #expect(error?.serverCode == .known(.userUnknown))
        #expect(bench.credentials.refreshes.isEmpty)
    }

    /// The token under each spelling of its header, request by request.
    private static func spellings(_ bench: Bench) -> [[String?]] {
        bench.executor.exchanges.map { exchange in
            ["access-token", "access_token"].map { exchange.request.headerFields[HTTPField.Name($0)!] }
        }
    }

    @Test("The token is sent with a hyphenated header name, which proxies forward, and never with both names")
    func hyphen() async throws {
        let bench = Bench(.success(.reply(200, #"{"uploads":[]}"#)))
        _ = try await bench.connection.uploads(in: Sample.group)
        #expect(Self.spellings(bench) == [["token", nil]])
    }

    @Test(
        "A server that does not know the hyphen receives the underscore after rejecting the hyphen, without a refresh")
    func olderServer() async throws {
        let executor = ScriptedExecutor { exchange, _ in
            exchange.request.headerFields[HTTPField.Name("access_token")!] == "token"
                ? .reply(200, #"{"uploads":[]}"#) : .reply(401, "", version: nil)
        }
        let bench = Bench(executor)
        for _ in 1...2 { _ = try await bench.connection.uploads(in: Sample.group) }
        #expect(Self.spellings(bench) == [["token", nil], [nil, "token"], [nil, "token"]])
        #expect(bench.credentials.refreshes.isEmpty)
    }

    @Test("If a proxy that drops underscores replaces such a server, the hyphen is used again")
    func replacedServer() async throws {
        let executor = ScriptedExecutor { exchange, n in
            let hasHyphen = exchange.request.headerFields[HTTPField.Name("access-token")!] != nil
            if n < 2 { return hasHyphen ? .reply(401, "", version: nil) : .reply(200, #"{"uploads":[]}"#) }
            return hasHyphen ? .reply(200, #"{"uploads":[]}"#) : .error(401, "credentials_missing")
        }
        let bench = Bench(executor)
        for _ in 1...3 { _ = try await bench.connection.uploads(in: Sample.group) }
        #expect(
            Self.spellings(bench) == [
                ["token", nil], [nil, "token"], [nil, "token"], ["token", nil], ["token", nil],
            ])
        #expect(bench.credentials.refreshes.isEmpty)
    }

    @Test("A token rejected with both spellings is refreshed once, as usual")
    func rejectedByOlderServer() async {
        let bench = Bench(.success(.reply(401, "", version: nil)))
        let error = await failure { () throws(ServerConnectionError) in
            try await bench.connection.uploads(in: Sample.group)
        }
        #expect(error?.code == .signInRequired)
        #expect(Self.spellings(bench) == [["token", nil], [nil, "token"], [nil, "token'"]])
        #expect(bench.credentials.refreshes.count == 1)
    }

    @Test("Simultaneously rejected requests share one refresh")
    func shared() async throws {
        let (released, release) = AsyncStream.makeStream(of: Void.self)
        let credentials = TestCredentials(refresh: { refused in
            for await _ in released { break }
            return Credentials(accountType: refused.accountType, accessToken: Secret("new"))
        })
        let executor = ScriptedExecutor { exchange, _ in
            let token = exchange.request.headerFields[HTTPField.Name("access-token")!]
            return token == "new" ? .reply(200, #"{"uploads":[]}"#) : .error(401, "credentials_rejected")
        }
        let bench = Bench(executor, credentials: credentials)

        let requests = (1...8).map { _ in
            Task { try await bench.connection.uploads(in: Sample.group).count }
        }
        while bench.requestCount < 8 { await Task.yield() }
        release.yield()
        release.finish()
        for request in requests { #expect(try await request.value == 0) }

        #expect(credentials.refreshes.count == 1)
        #expect(bench.requestCount == 16)
        #expect(bench.recorder.events.filter { $0 == .refreshingCredentials }.count == 1)
    }

    @Test("A refresh that returns the same token is repeated by the next request")
    func sameToken() async {
        let credentials = TestCredentials(refresh: { $0 })
        let bench = Bench(ScriptedExecutor([Self.refused]), credentials: credentials)
        for _ in 1...2 {
            _ = await failure { () throws(ServerConnectionError) in try await bench.connection.uploads(in: Sample.group)
            }
        }
        #expect(credentials.refreshes.count == 2)
    }

    @Test("Credentials that the app has already replaced are used without a refresh")
    func replacedMeanwhile() async throws {
        let credentials = TestCredentials()
        let executor = ScriptedExecutor { _, n in
            guard n == 0 else { return .reply(200, #"{"uploads":[]}"#) }
            credentials.set("fresh")
            return .error(401, "credentials_rejected")
        }
        let bench = Bench(executor, credentials: credentials)

        _ = try await bench.connection.uploads(in: Sample.group)

        #expect(bench.tokens == ["token", "fresh"])
        #expect(credentials.refreshes.isEmpty)
    }

    @Test("A permanent failure to refresh requires a sign-in; a temporary one does not")
    func failingRefresh() async {
        struct NoRefreshToken: Error {}
        for (thrown, code, says) in [
            (NoRefreshToken() as any Error, ServerConnectionError.Code.signInRequired, true),
            (CredentialRefreshFailure.unreachable, .credentialsUnavailable, false),
        ] {
            let bench = Bench(
                ScriptedExecutor([Self.refused]), credentials: TestCredentials(refresh: { _ in throw thrown }))
            let error = await failure { () throws(ServerConnectionError) in
                try await bench.connection.uploads(in: Sample.group)
            }
            #expect(error?.code == code)
            #expect(bench.recorder.events.contains(.signInRequired) == says)
            #expect(bench.requestCount == 1)
        }
    }

    @Test("Without credentials nothing is sent")
    func nobody() async {
        let bench = Bench(ScriptedExecutor([Self.listed]), credentials: TestCredentials(nil))
        let error = await failure { () throws(ServerConnectionError) in
            try await bench.connection.addUser(AddUserRequest(sharingGroupUUID: Sample.group))
        }
        #expect(error?.code == .signInRequired)
        #expect(bench.requestCount == 0)
    }

    @Test("For CheckCreds, 401 is a result, and the request is sent once")
    func checkCreds() async throws {
        let bench = Bench(.success(.error(401, "user_unknown")))
        #expect(try await bench.connection.checkCredentials() == .noUser(.known(.userUnknown)))

        let older = Bench(.success(.reply(401, "", version: nil)))
        #expect(try await older.connection.checkCredentials() == .noUser(nil))
        #expect(older.requestCount == 2, "with each spelling of the token's header")

        let failing = Bench(.success(.error(502, "provider_unavailable", retryable: true)))
        let error = await failure { () throws(ServerConnectionError) in
            _ = try await failing.connection.checkCredentials()
        }
        #expect(error?.code == .serverFailed)
        #expect(bench.requestCount == 1)
        #expect(failing.requestCount == 1)
        for bench in [bench, older, failing] {
            #expect(bench.credentials.refreshes.isEmpty)
            #expect(!bench.recorder.events.contains(.signInRequired))
        }
    }

    @Test("Sign-in data in the reply are returned: a new token, and missing offline access")
    func signedInUser() async throws {
        let headers = ["syncserver-access-token": "long-lived", "syncserver-offline-access": "none"]
        let expected = SignedInUser(
            userID: UserID(9), accessToken: Secret("long-lived"), lacksOfflineAccess: true)

        let bench = Bench(.success(.reply(200, #"{"userId":9}"#, headers: headers)))
        #expect(try await bench.connection.checkCredentials() == .user(expected))
        #expect(try await bench.connection.addUser(AddUserRequest(sharingGroupUUID: Sample.group)) == expected)

        let redeeming = Bench(
            .success(.reply(200, #"{"userId":9,"sharingGroupUUID":"\#(Sample.group)"}"#, headers: headers)))
        let request = RedeemSharingInvitationRequest(sharingInvitationUUID: Sample.invitation)
        #expect(
            try await redeeming.connection.redeemSharingInvitation(request) == .joined(expected, Sample.group))

        let plain = Bench(.success(.reply(200, #"{"userId":9}"#)))
        #expect(try await plain.connection.checkCredentials() == .user(SignedInUser(userID: UserID(9))))
    }

    @Test("Descriptions contain no tokens")
    func redacted() {
        let credentials = Credentials(
            accountType: .microsoft, accessToken: Secret("hush-1"), authorizationCode: Secret("hush-2"),
            microsoftAccessToken: Secret("hush-3"))
        let user = SignedInUser(userID: UserID(1), accessToken: Secret("hush-4"))
        for text in ["\(credentials)", String(reflecting: credentials), "\(user)", String(reflecting: user)] {
            #expect(!text.contains("hush"))
        }
        var dumped = ""
        dump(credentials, to: &dumped)
        #expect(!dumped.contains("hush"))
    }
}
