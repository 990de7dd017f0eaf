import Dispatch
import Foundation
import HTTPTransport
import Providers
import SyncProtocol
import TestSupport
import Testing

@testable import SyncService

@Suite("Requests that wait for a sign-in without a thread")
struct ParkedSignInTests {
    /// For requests that must not be parked.
    private static let never: SignInCache.Continuation = { _ in Issue.record("the request was parked") }

    private func headers(_ token: String) -> [RequestHeader: String] {
        [.tokenType: "GoogleToken", .accessToken: token, .deviceUUID: UUID().uuidString]
    }

    /// Sends requests with the same token while the first of them blocks its thread at the provider.
    /// - Returns: the replies to the others before the answer, and after it.
    private func outcome(
        of token: String, _ server: TestServer, _ count: Int, send: (FakeConnection) -> Void
    ) async throws -> (first: FakeConnection, others: [FakeConnection]) {
        let headers = headers(token)
        server.exchanges.hold()
        let (first, hasEnded) = (FakeConnection(), DispatchSemaphore(value: 0))
        let passed = PassedToThread(first)
        Thread.detachNewThread {
            server.send("GET", "/Index/", headers: headers, on: passed.value)
            server.router.continueParked(onThreadOf: FakeConnection())
            hasEnded.signal()
        }
        try await eventually("the provider is asked") { server.exchanges.tokens.contains(token) }

        // On this one thread, where a blocking request would wait forever.
        let others = (0..<count).map { _ in FakeConnection() }
        for other in others { send(other) }
        #expect(others.allSatisfy { $0.status == nil })

        server.exchanges.release()
        try await eventually("all requests are answered") { hasEnded.wait(timeout: .now()) == .success }
        #expect(server.exchanges.tokens.count { $0 == token } == 1)
        return (first, others)
    }

    @Test("Parked requests continue once the answer to a single query to the provider arrives")
    func accepted() async throws {
        let server = try TestServer(signInsWaiting: 0)
        let token = "good newcomer"
        let headers = headers(token)

        let (first, others) = try await outcome(of: token, server, 20) {
            server.send("GET", "/Index/", headers: headers, on: $0)
        }

        for reply in [first] + others { #expect(reply.json["code"] as? String == "user_unknown") }
        #expect(server.log.lines("Request").count == 21)
    }

    @Test("Parked requests share a rejection, including requests to admit a transfer")
    func rejected() async throws {
        let server = try TestServer(signInsWaiting: 0)
        let token = "bad"
        let headers = headers(token)

        let (first, others) = try await outcome(of: token, server, 3) { connection in
            server.router.admit(
                RequestHead(
                    method: "POST", path: "/UploadFile/", query: "", contentLength: 1, requestID: "r",
                    headers: headers), on: connection, transport: .unused)
        }

        #expect(first.json["code"] as? String == "credentials_rejected")
        #expect(others.allSatisfy { $0.status == 403 })
        #expect(others.allSatisfy { $0.headers.contains { $0.name == "syncd-refusal-status" && $0.value == "401" } })
    }

    @Test("Further requests beyond a limit, and requests that cannot be continued, ask the provider themselves")
    func bound() throws {
        let cache = SignInCache(timeToLive: .seconds(60), maximumWaiting: 0, pause: { _ in })
        let presented = PresentedCredentials(accountType: .google, accessToken: "new")
        let profile = SignInProfile(providerUserID: "one", displayName: "One")
        let continued = Waits()
        var (parked, asked) = (0, 1)
        func come(goOn: SignInCache.Continuation?) throws {
            do {
                _ = try cache.profile(for: presented, goOn: goOn) {
                    asked += 1
                    return profile
                }
            } catch is SignInCache.Parked { parked += 1 }
        }

        // Each arrives while the first call is in progress.
        let found = try cache.profile(for: presented, goOn: Self.never) {
            for _ in 0..<300 { try come { if case .success(profile) = $0 { continued.note() } } }
            try come(goOn: nil)
            #expect(continued.count == 0)
            return profile
        }

        #expect(found == profile)
        #expect(parked == 256 && continued.count == 256)
        #expect(asked == 1 + 44 + 1)
    }

    @Test("No request waits for a call that no request started, because the call's thread continues no requests")
    func background() throws {
        let cache = SignInCache(timeToLive: .seconds(60), maximumWaiting: 0, pause: { _ in })
        let presented = PresentedCredentials(accountType: .google, accessToken: "new")
        let profile = SignInProfile(providerUserID: "one", displayName: "One")

        _ = try cache.profile(for: presented) {
            try cache.profile(for: presented, goOn: Self.never) { profile }
        }
    }
}
