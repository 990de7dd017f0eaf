import Foundation
import SyncProtocol
import SyncServerConnection
import Synchronization
import Testing

@testable import SyncAccounts

/// Credentials in memory; saving them can be made to fail.
final class MemoryStore: CredentialStore {
    private let kept: Mutex<AccountCredentials?>
    private let refuses = Mutex(false)

    init(_ credentials: AccountCredentials? = nil) { kept = Mutex(credentials) }

    var now: AccountCredentials? { kept.withLock { $0 } }
    func refuse(_ isRefusing: Bool) { refuses.withLock { $0 = isRefusing } }
    func load() throws(SignInError) -> AccountCredentials? { now }

    func save(_ credentials: AccountCredentials) throws(SignInError) {
        if refuses.withLock({ $0 }) { throw SignInError(.storageFailed) }
        kept.withLock { $0 = credentials }
    }

    func remove() throws(SignInError) { kept.withLock { $0 = nil } }
}

@Suite("Sessions")
struct AccountSessionTests {
    private func session(_ store: MemoryStore, _ provider: ScriptedProvider = .google()) throws -> AccountSession {
        try AccountSession(
            .googleForTests, store: store, transport: provider.transport,
            now: { Date(timeIntervalSince1970: 1_000) })
    }

    @Test("Each account type gets the headers that it needs")
    func headers() {
        var dropbox = AccountCredentials(
            accountType: .dropbox, person: AccountCredentials.Person(id: "dbid:a"), accessToken: "sl.a")
        let microsoft = AccountCredentials(
            accountType: .microsoft, person: AccountCredentials.Person(id: "8f"), accessToken: "EwB", idToken: "eyJ")
        let apple = AccountCredentials.apple(
            identityToken: "eyA", authorizationCode: "c1", details: #"{"fullName": "A"}"#,
            person: AccountCredentials.Person(id: "001"))

        #expect(
            AccountCredentials.alice.headers == [
                .tokenType: "GoogleToken", .accessToken: "ya29.old", .authorizationCode: "4/code",
                .redirectURI: "http://127.0.0.1:49152/server", .codeVerifier: String(repeating: "v", count: 43),
            ])
        #expect(dropbox.headers == [.tokenType: "DropboxToken", .accessToken: "sl.a", .accountID: "dbid:a"])
        dropbox.serverGrant = AccountCredentials.ServerGrant(code: "by hand")
        #expect(dropbox.headers[.authorizationCode] == "by hand" && dropbox.headers[.redirectURI] == nil)
        #expect(
            microsoft.headers == [.tokenType: "MicrosoftToken", .accessToken: "eyJ", .microsoftAccessToken: "EwB"])
        #expect(
            apple.headers == [
                .tokenType: "AppleSignInToken", .accessToken: "eyA", .authorizationCode: "c1",
                .accountDetails: #"{"fullName":"A"}"#,
            ])
        #expect(
            AccountCredentials.facebook(accessToken: "EAA", person: AccountCredentials.Person(id: "1")).headers
                == [.tokenType: "FacebookToken", .accessToken: "EAA"])
    }

    @Test("Tokens of the providers' own libraries become the same headers")
    func librariesTokens() {
        let person = AccountCredentials.Person(id: "dbid:a")
        #expect(
            AccountCredentials.google(accessToken: "ya29", serverAuthCode: "4/code", person: person).headers
                == [.tokenType: "GoogleToken", .accessToken: "ya29", .authorizationCode: "4/code"])
        #expect(
            AccountCredentials.dropbox(
                accessToken: "sl.a", serverGrant: .init(code: "c", redirectURI: "db-key://done", codeVerifier: "v"),
                person: person
            ).headers == [
                .tokenType: "DropboxToken", .accessToken: "sl.a", .accountID: "dbid:a", .authorizationCode: "c",
                .redirectURI: "db-key://done", .codeVerifier: "v",
            ])
        #expect(
            AccountCredentials.microsoft(accessToken: "EwB", idToken: "eyJ", person: person).headers
                == [.tokenType: "MicrosoftToken", .accessToken: "eyJ", .microsoftAccessToken: "EwB"])
    }

    @Test("A provider's library renews the credentials, once for all callers, and a code for the server is kept")
    func renewedByLibrary() async throws {
        let store = MemoryStore(.alice)
        let calls = Mutex(0)
        let session = try AccountSession(.google, store: store) { refused in
            calls.withLock { $0 += 1 }
            return .google(accessToken: "ya29.new", serverAuthCode: nil, person: refused.person)
        }

        let tokens = try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 0..<10 { group.addTask { try await session.refresh(.alice).accessToken } }
            return try await group.reduce(into: Set<String>()) { $0.insert($1) }
        }

        #expect(tokens == ["ya29.new"] && calls.withLock { $0 } == 1)
        #expect(store.now?.accessToken == "ya29.new" && store.now?.serverGrant == AccountCredentials.alice.serverGrant)
    }

    @Test(
        "A library that cannot renew now is asked again later; any other failure, or another account, needs the user",
        arguments: [
            (CredentialRefreshFailure.unreachable as any Error, true), (SignInError(.providerUnavailable), true),
            (SignInError(.failed), false), (CancellationError(), false), (nil, false),
        ] as [((any Error)?, Bool)])
    func libraryFails(error: (any Error)?, isTemporary: Bool) async throws {
        let store = MemoryStore(.alice)
        let session = try AccountSession(.google, store: store) { _ in
            if let error { throw error }
            return .google(accessToken: "ya29.bob", serverAuthCode: nil, person: .init(id: "another"))
        }

        let failure = await #expect(throws: (any Error).self) {
            _ = try await session.refresh(AccountCredentials.alice.credentials)
        }

        #expect((failure as? CredentialRefreshFailure == .unreachable) == isTemporary)
        #expect(isTemporary || (failure as? SignInError)?.code == .signInRequired)
        #expect(store.now == .alice)
    }

    @Test("Descriptions of credentials contain no secrets")
    func redaction() {
        for text in ["\(AccountCredentials.alice)", String(reflecting: AccountCredentials.alice)] {
            #expect(!text.contains("ya29") && !text.contains("1//") && !text.contains("4/code"))
        }
        var dumped = ""
        dump(AccountCredentials.alice, to: &dumped)
        #expect(!dumped.contains("ya29") && !dumped.contains("4/code"))
    }

    @Test("Ten callers whose token was rejected cause one refresh, whose result is stored")
    func singleRefresh() async throws {
        let (store, provider) = (MemoryStore(.alice), ScriptedProvider.google())
        let session = try session(store, provider)

        let tokens = try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 0..<10 { group.addTask { try await session.refresh(.alice).accessToken } }
            return try await group.reduce(into: Set<String>()) { $0.insert($1) }
        }

        #expect(tokens == ["ya29.renewed"])
        #expect(provider.requests.count == 1)
        #expect(provider.requests[0].form["refresh_token"] == "1//refresh")
        #expect(store.now?.accessToken == "ya29.renewed" && store.now?.refreshToken == "1//refresh")
        #expect(store.now?.expires == Date(timeIntervalSince1970: 4_599))
        #expect(await session.account?.accessToken == "ya29.renewed")
    }

    @Test("A rejected token that is not the current one does not cause a call to the provider")
    func lateRefusal() async throws {
        let provider = ScriptedProvider.google()
        let session = try session(MemoryStore(.alice), provider)
        _ = try await session.refresh(.alice)

        let again = try await session.refresh(.alice)

        #expect(again.accessToken == "ya29.renewed" && provider.requests.count == 1)
    }

    @Test("A new refresh token replaces the old one")
    func rotation() async throws {
        let store = MemoryStore(.alice)
        let provider = ScriptedProvider { _ in (200, #"{"access_token": "a", "refresh_token": "next"}"#) }

        _ = try await session(store, provider).refresh(.alice)

        #expect(store.now?.refreshToken == "next")
    }

    @Test(
        "A failed refresh signs nobody out, and reports whether the user must act",
        arguments: [
            (400, #"{"error": "invalid_grant"}"#, SignInError.Code.signInRequired),
            (400, #"{"error": "interaction_required"}"#, .signInRequired), (500, "", .providerUnavailable),
            (429, #"{"error": "invalid_grant"}"#, .providerUnavailable),
            (401, #"{"error": "invalid_client"}"#, .misconfigured),
        ])
    func failedRefresh(status: Int, body: String, code: SignInError.Code) async throws {
        let store = MemoryStore(.alice)
        let session = try session(store, ScriptedProvider { _ in (status, body) })

        let error = await #expect(throws: SignInError.self) { try await session.refresh(.alice) }

        #expect(error?.code == code)
        #expect(await session.account == .alice && store.now == .alice)
    }

    @Test("An unreachable provider is called again next time")
    func noNetwork() async throws {
        let isDown = Mutex(true)
        let provider = ScriptedProvider { _ in
            if isDown.withLock({ $0 }) { throw URLError(.notConnectedToInternet) }
            return (200, #"{"access_token": "new"}"#)
        }
        let session = try session(MemoryStore(.alice), provider)

        let error = await #expect(throws: SignInError.self) { try await session.refresh(.alice) }
        isDown.withLock { $0 = false }

        #expect(error?.code == .providerUnavailable)
        #expect(try await session.refresh(.alice).accessToken == "new")
    }

    @Test("Credentials that cannot be stored are not used")
    func storeFails() async throws {
        let store = MemoryStore(.alice)
        let session = try session(store)
        store.refuse(true)

        let error = await #expect(throws: SignInError.self) { try await session.refresh(.alice) }
        await #expect(throws: SignInError.self) {
            var other = AccountCredentials.alice
            other.accessToken = "other"
            try await session.signIn(other)
        }

        #expect(error?.code == .storageFailed)
        #expect(await session.account == .alice)
    }

    @Test("A sign-out during a refresh remains effective")
    func signOutMeanwhile() async throws {
        let store = MemoryStore(.alice)
        let box = Mutex<AccountSession?>(nil)
        let provider = ScriptedProvider { _ in
            try await box.withLock { $0 }?.signOut()
            return (200, #"{"access_token": "late"}"#)
        }
        let session = try session(store, provider)
        box.withLock { $0 = session }

        let error = await #expect(throws: SignInError.self) { try await session.refresh(.alice) }

        #expect(error?.code == .signInRequired)
        #expect(await session.account == nil && store.now == nil)
    }

    @Test("The server's code is sent until the server accepts it; a newer code is not affected")
    func serverGrant() async throws {
        let store = MemoryStore()
        let session = try session(store)
        try await session.signIn(.alice)
        var newer = AccountCredentials.alice
        newer.serverGrant = AccountCredentials.ServerGrant(code: "newer")

        try await session.signIn(newer)
        await session.serverAccepted(AccountCredentials.alice.credentials, newAccessToken: nil)
        #expect(await session.account?.headers[.authorizationCode] == "newer")
        await session.serverAccepted(newer.credentials, newAccessToken: nil)

        #expect(await session.account?.serverGrant == nil && store.now?.serverGrant == nil)
    }

    @Test("A token rejected by the server is refreshed, unless it is no longer the current one")
    func refreshForTheServer() async throws {
        let (store, provider) = (MemoryStore(.alice), ScriptedProvider.google())
        let session = try session(store, provider)
        let shown = try #require(await session.credentials())

        let renewed = try await session.refresh(shown)
        let again = try await session.refresh(shown)

        #expect(renewed.accessToken.value == "ya29.renewed" && again == renewed)
        #expect(provider.requests.count == 1)
    }

    @Test("An unreachable provider is retryable; a required sign-in is not")
    func unreachableForTheServer() async throws {
        let shown = AccountCredentials.alice.credentials
        let away = try session(MemoryStore(.alice), ScriptedProvider { _ in (500, "") })
        let over = try session(MemoryStore(.alice), ScriptedProvider { _ in (400, #"{"error": "invalid_grant"}"#) })

        await #expect(throws: CredentialRefreshFailure.unreachable) { try await away.refresh(shown) }
        await #expect(throws: SignInError.self) { try await over.refresh(shown) }
        await #expect(throws: SignInError.self) { try await session(MemoryStore()).refresh(shown) }
    }

    @Test("A long-lived token from the server replaces the one that was sent")
    func longLivedToken() async throws {
        let store = MemoryStore(.alice)
        let session = try session(store)
        let shown = try #require(await session.credentials())

        await session.serverAccepted(shown, newAccessToken: Secret("long"))
        #expect(await session.account?.accessToken == "long" && store.now?.accessToken == "long")
        await session.serverAccepted(shown, newAccessToken: Secret("late"))
        #expect(await session.account?.accessToken == "long")
        store.refuse(true)
        await session.serverAccepted(try #require(await session.credentials()), newAccessToken: Secret("unstored"))
        #expect(await session.account?.accessToken == "long")
    }

    @Test("A session continues from the last one, but not with another account type")
    func restored() async throws {
        let facebook = AccountCredentials.facebook(
            accessToken: "EAA", person: AccountCredentials.Person(id: "1098"))

        #expect(try await session(MemoryStore(.alice)).account == .alice)
        #expect(try await session(MemoryStore(facebook)).account == nil)
        await #expect(throws: SignInError.self) { try await session(MemoryStore()).signIn(facebook) }
        await #expect(throws: SignInError.self) { try await session(MemoryStore()).refresh(.alice) }
    }

    @Test("Fixed credentials cannot be refreshed")
    func given() async {
        let provider = GivenCredentials(.alice)

        let given = AccountCredentials.alice.credentials
        let error = await #expect(throws: SignInError.self) { try await provider.refresh(given) }

        #expect(await provider.credentials() == given && error?.code == .signInRequired)
    }

    @Test("A sandbox user signs in with the headers returned by the sandbox")
    func sandbox() async throws {
        let sandbox = ScriptedProvider { _ in
            (
                200,
                #"{"id": "8f", "name": "Bob", "headers": {"X-token-type": "MicrosoftToken", "access_token": "eyJ", "X-microsoft-access-token": "EwB"}}"#
            )
        }
        let provider = SandboxSignIn(
            sandbox: try #require(URL(string: "http://127.0.0.1:8081")), accountID: "dbid:a b",
            transport: sandbox.transport)

        let credentials = try await provider.account()

        #expect(await provider.credentials() == credentials.credentials && sandbox.requests.count == 1)
        #expect(sandbox.requests[0].url == "http://127.0.0.1:8081/sandbox/accounts/dbid:a%20b")
        #expect(credentials.person == AccountCredentials.Person(id: "8f", name: "Bob"))
        #expect(
            credentials.headers == [.tokenType: "MicrosoftToken", .accessToken: "eyJ", .microsoftAccessToken: "EwB"])
    }
}
