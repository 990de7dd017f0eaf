import Foundation
import HTTPTypes
import SyncProtocol
import SyncServerConnection
import Synchronization

/// An executor with scripted replies, which records its requests.
final class ScriptedExecutor: HTTPExecutor {
    /// Replies to request number `n`, counted from 0.
    typealias Script = @Sendable (_ exchange: HTTPExchange, _ n: Int) async throws(TransportFailure) -> HTTPReply

    private let script: Script
    private let recorded = Mutex([HTTPExchange]())

    init(sendsParts: Bool = false, streamsReplies: Bool = false, _ script: @escaping Script) {
        self.sendsParts = sendsParts
        self.streamsReplies = streamsReplies
        self.script = script
    }

    let sendsParts: Bool
    let streamsReplies: Bool

    /// Sends these replies in order, and then repeats the last one.
    convenience init(_ replies: [Result<HTTPReply, TransportFailure>]) {
        self.init { _, n throws(TransportFailure) in try replies[min(n, replies.count - 1)].get() }
    }

    /// The requests so far.
    var exchanges: [HTTPExchange] { recorded.withLock { $0 } }

    func execute(
        _ exchange: HTTPExchange, progress: (@Sendable (TransferProgress) -> Void)?
    ) async throws(TransportFailure) -> HTTPReply {
        let n = recorded.withLock { exchanges in
            exchanges.append(exchange)
            return exchanges.count - 1
        }
        return try await script(exchange, n)
    }
}

extension HTTPReply {
    /// A reply with headers as text, and the version header that the server always sends, unless overridden.
    static func reply(
        _ status: Int = 200, _ body: String = "{}", headers: [String: String] = [:], version: String? = "1.0.0"
    ) -> HTTPReply {
        var fields = HTTPFields()
        for (name, value) in headers { fields[HTTPField.Name(name)!] = value }
        if let version { fields[HTTPField.Name("syncserver-version")!] = version }
        return HTTPReply(
            response: HTTPResponse(status: .init(code: status), headerFields: fields), body: Data(body.utf8))
    }

    /// An error in this server's format.
    static func error(
        _ status: Int, _ code: String, retryable: Bool = false, goneReason: GoneReason? = nil,
        headers: [String: String] = [:]
    ) -> HTTPReply {
        let body = ErrorBody(
            error: "Text", code: code, requestId: "request-7", retryable: retryable, goneReason: goneReason,
            status: status)
        return reply(
            status, String(decoding: body.body, as: UTF8.self),
            headers: headers.merging(["syncserver-error-code": code]) { $1 })
    }

    /// A reply whose message is in the header.
    static func message(_ message: some ResponseMessage, headers: [String: String] = [:]) -> HTTPReply {
        reply(200, "", headers: headers.merging(["syncserver-message-params": message.headerText]) { $1 })
    }
}

/// Credentials controlled by a test.
final class TestCredentials: CredentialProvider {
    private let state: Mutex<(current: Credentials?, refreshes: [Credentials])>
    private let whileRefreshing: @Sendable (Credentials) async throws -> Credentials

    /// Starts with `token`; a refresh appends a prime by default.
    init(
        _ token: String? = "token",
        refresh: @escaping @Sendable (Credentials) async throws -> Credentials = {
            var credentials = $0
            credentials.accessToken = Secret($0.accessToken.value + "'")
            return credentials
        }
    ) {
        state = Mutex((token.map { Credentials(accountType: .google, accessToken: Secret($0)) }, []))
        whileRefreshing = refresh
    }

    private let taken = Mutex<[(credentials: Credentials, newToken: String?)]>([])

    /// The accepted sign-ins, in order.
    var accepted: [Credentials] { taken.withLock { $0.map(\.credentials) } }
    /// The tokens received with them.
    var newTokens: [String?] { taken.withLock { $0.map(\.newToken) } }

    func serverAccepted(_ accepted: Credentials, newAccessToken: Secret?) async {
        taken.withLock { $0.append((accepted, newAccessToken?.value)) }
    }

    /// The rejected credentials, in order.
    var refreshes: [Credentials] { state.withLock { $0.refreshes } }

    func set(_ token: String?) {
        state.withLock { $0.current = token.map { Credentials(accountType: .google, accessToken: Secret($0)) } }
    }

    func credentials() async -> Credentials? { state.withLock { $0.current } }

    func refresh(_ refused: Credentials) async throws -> Credentials {
        state.withLock { $0.refreshes.append(refused) }
        let credentials = try await whileRefreshing(refused)
        state.withLock { $0.current = credentials }
        return credentials
    }
}

/// Records pauses instead of waiting, and events.
final class Recorder: Sendable {
    private let state = Mutex((pauses: [Duration](), events: [ConnectionEvent]()))

    var pauses: [Duration] { state.withLock { $0.pauses } }
    var events: [ConnectionEvent] { state.withLock { $0.events } }

    func add(_ pause: Duration) { state.withLock { $0.pauses.append(pause) } }
    func add(_ event: ConnectionEvent) { state.withLock { $0.events.append(event) } }
}

/// Values shared by the tests.
enum Sample {
    static let file = FileUUID("11111111-1111-4111-8111-11111111111A")!
    static let group = SharingGroupUUID("22222222-2222-4222-8222-22222222222b")!
    static let device = DeviceUUID("33333333-3333-4333-8333-333333333333")!
    static let invitation = SharingInvitationUUID("44444444-4444-4444-8444-444444444444")!
    static let commit = CommitID("77777777-7777-4777-8777-77777777777b")!
    static let date = WireDate("2020-05-01 09:30:00")!
    static let now = Date(timeIntervalSince1970: 1_588_325_400)  // the same
    static let version = MasterVersion(4)

    static let upload = UploadFileRequest(
        fileUUID: file, sharingGroupUUID: group, mimeType: MIMEType("text/plain")!, fileVersion: .first,
        masterVersion: version, checkSum: CheckSum("b10a8db164e0754105b7a99be72e3fe5")!)
    static let download = DownloadFileRequest(
        fileUUID: file, fileVersion: .first, masterVersion: version, sharingGroupUUID: group)
    static let deletion = UploadDeletionRequest(
        fileUUID: file, fileVersion: .first, masterVersion: version, sharingGroupUUID: group)
    static let commitWithID = DoneUploadsRequest(
        masterVersion: version, sharingGroupUUID: group, commitID: commit)
    static let commitWithoutID = DoneUploadsRequest(masterVersion: version, sharingGroupUUID: group)
}

/// A connection on a scripted executor.
struct Bench: Sendable {
    let connection: ServerConnection
    let executor: ScriptedExecutor
    let credentials: TestCredentials
    let recorder = Recorder()

    /// Random numbers are always `fraction`.
    init(
        _ executor: ScriptedExecutor, credentials: TestCredentials = TestCredentials(), fraction: Double = 1,
        onPause: @escaping @Sendable () async throws -> Void = {},
        change: (inout ServerConnectionConfiguration) -> Void = { _ in }
    ) {
        self.executor = executor
        self.credentials = credentials
        let recorder = recorder
        var configuration = ServerConnectionConfiguration(
            baseURL: URL(string: "https://sync.example.com:8443/prefix")!, deviceUUID: Sample.device,
            observer: { recorder.add($0) })
        change(&configuration)
        connection = ServerConnection(
            configuration, credentialProvider: credentials, executor: executor,
            environment: ConnectionEnvironment(
                sleep: {
                    recorder.add($0)
                    try await onPause()
                },
                randomFraction: { fraction }, now: { Sample.now }))
    }

    init(_ replies: Result<HTTPReply, TransportFailure>...) {
        self.init(ScriptedExecutor(replies))
    }

    /// The number of requests sent.
    var requestCount: Int { executor.exchanges.count }

    /// The access tokens of the requests, in order.
    var tokens: [String?] {
        executor.exchanges.map { $0.request.headerFields[HTTPField.Name("access-token")!] }
    }

    /// Lets the connection detect the server's extensions, from the tag of its index.
    static let index = HTTPReply.reply(200, #"{"sharingGroups":[]}"#, headers: ["etag": "\"1\""])
}

/// The error with which `body` ends; nil if it ends without one.
func failure(
    _ body: () async throws(ServerConnectionError) -> some Any
) async -> ServerConnectionError? {
    do throws(ServerConnectionError) {
        _ = try await body()
        return nil
    } catch {
        return error
    }
}

extension Result where Failure == TransportFailure {
    /// The connection closes before a reply arrives.
    static var lost: Self { .failure(TransportFailure(.interrupted)) }
    /// There is no network connection.
    static var offline: Self { .failure(TransportFailure(.notConnected)) }
}
