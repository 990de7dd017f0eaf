import Dispatch
import HTTPTransport
import Providers
import SyncProtocol
import Synchronization
import TestSupport
import Testing

@Suite("Sign-in: two concurrent requests")
struct SimultaneousQuestionsTests {
    /// Answers both of two requests as soon as both have been sent, and with 500 if that does not happen.
    private final class Meeting: Sendable {
        private let sent = [DispatchSemaphore(value: 0), DispatchSemaphore(value: 0)]

        func reply(_ request: OutgoingRequest) -> Reply {
            let isFirst = request.url.contains("tokeninfo") || request.url.contains("debug_token")
            sent[isFirst ? 0 : 1].signal()
            guard sent[isFirst ? 1 : 0].wait(timeout: .now() + .seconds(30)) == .success else { return Reply(400) }
            if request.url.contains("tokeninfo") { return GoogleVerificationTests.tokenInfo() }
            if request.url.contains("userinfo") { return GoogleVerificationTests.user }
            return isFirst ? FacebookAccountTests.inspection() : FacebookAccountTests.me
        }
    }

    private static func client(
        on background: @escaping Background,
        _ reply: @escaping @Sendable (OutgoingRequest) throws(TransportError) -> Reply
    ) -> AccountClient {
        let transport = Transport(
            send: { request, _ throws(TransportError) in try reply(request) },
            stream: { _, _, _, _ throws(TransportError) in throw .refused("nothing is streamed here") })
        return AccountClient(
            transport: transport, deadline: .after(.seconds(60)), backoff: PauseRecord().backoff(),
            background: background)
    }

    private static let anotherThread: Background = { body in DispatchQueue.global().async { body() } }
    private struct NoThread: Error {}
    private static let noThread: Background = { _ in throw NoThread() }
    private static let accounts: [any AccountProvider] = [
        GoogleVerificationTests.account, FacebookAccountTests.account,
    ]

    @Test("The token's app and its user are requested at the same time", arguments: [0, 1])
    func together(index: Int) throws {
        let meeting = Meeting()
        let client = Self.client(on: Self.anotherThread, meeting.reply)

        let profile = try Self.accounts[index].verify([.google, .facebook][index], through: client)

        #expect(profile.providerUserID == ["1098", "42"][index])
    }

    @Test("If the token belongs to another app, the sign-in ends after both requests")
    func rejected() {
        let isRejected = DispatchSemaphore(value: 0)
        let hasEnded = Mutex(false)
        let client = Self.client(on: Self.anotherThread) { request in
            if request.url.contains("tokeninfo") {
                isRejected.signal()
                return GoogleVerificationTests.tokenInfo(aud: "another-app")
            }
            isRejected.wait()
            hasEnded.withLock { $0 = true }
            return GoogleVerificationTests.user
        }

        #expect(throws: AccountError.rejected) { try Self.accounts[0].verify(.google, through: client) }
        #expect(hasEnded.withLock { $0 })
    }

    @Test("A failure of the first request takes precedence over a failure of the second")
    func precedence() {
        let client = Self.client(on: Self.anotherThread) { request in
            request.url.contains("tokeninfo") ? Reply(400, #"{"error": "invalid_token"}"#) : Reply(404)
        }

        #expect(throws: AccountError.rejected) { try Self.accounts[0].verify(.google, through: client) }
    }

    @Test(
        "A failure of the early request does not count: the request is sent again after the first",
        arguments: [TransportError.withheld(.busy), .interrupted, .timedOut, nil])
    func failure(error: TransportError?) throws {
        let asked = Mutex<[String]>([])
        let client = Self.client(on: Self.anotherThread) { request throws(TransportError) in
            if request.isEarly {
                guard let error else { return Reply(503) }
                throw error
            }
            asked.withLock { $0.append(request.url.contains("tokeninfo") ? "tokeninfo" : "userinfo") }
            return request.url.contains("tokeninfo")
                ? GoogleVerificationTests.tokenInfo() : GoogleVerificationTests.user
        }

        #expect(try Self.accounts[0].verify(.google, through: client).providerUserID == "1098")
        #expect(asked.withLock { $0 } == ["tokeninfo", "userinfo"])
    }

    @Test("Without another thread the second request follows the first, and only after a success")
    func oneThread() throws {
        let asked = Mutex<[String]>([])
        let aud = Mutex("1234567890-ios.apps.googleusercontent.com")
        let client = Self.client(on: Self.noThread) { request in
            asked.withLock { $0.append(String(request.url.prefix { $0 != "?" }.split(separator: "/").last ?? "")) }
            return request.url.contains("tokeninfo")
                ? GoogleVerificationTests.tokenInfo(aud: aud.withLock { $0 }) : GoogleVerificationTests.user
        }

        #expect(try Self.accounts[0].verify(.google, through: client).providerUserID == "1098")
        aud.withLock { $0 = "another-app" }
        #expect(throws: AccountError.rejected) { try Self.accounts[0].verify(.google, through: client) }
        #expect(asked.withLock { $0 } == ["tokeninfo", "userinfo", "tokeninfo"])
    }
}
