import Foundation
import HTTPTypes
import Logging
import SyncProtocol
import SyncServerConnection
import Synchronization
import Testing

@Suite("Server state derived from replies")
struct ServerStateTests {
    private func bench(_ replies: Result<HTTPReply, TransportFailure>..., minimum: ServerVersion? = nil) -> Bench {
        Bench(
            ScriptedExecutor(replies),
            change: {
                $0.minimumServerVersion = minimum
                $0.maintenanceMessageURL = URL(string: "https://status.example.com/sync.txt?lang=en")
            })
    }

    private func uploads(_ bench: Bench) async -> ServerConnectionError? {
        await failure { () throws(ServerConnectionError) in try await bench.connection.uploads(in: Sample.group) }
    }

    private static let listed = #"{"uploads":[]}"#

    @Test("A server with the minimum version or a newer one is accepted")
    func goodVersion() async {
        for version in ["0.25.1", "0.26.0", "1.0.0"] {
            let bench = bench(.success(.reply(200, Self.listed, version: version)), minimum: ServerVersion(0, 25, 1))
            #expect(await uploads(bench) == nil)
            #expect(await bench.connection.serverVersion?.rawValue == version)
        }
    }

    @Test(
        "An older server, or a different one, ends this request and all others", arguments: ["0.25.0", "0.9.9", "x"])
    func badVersion(version: String) async {
        let bench = bench(.success(.reply(200, Self.listed, version: version)), minimum: ServerVersion(0, 25, 1))

        #expect(await uploads(bench)?.code == .serverVersionTooOld)
        #expect(await uploads(bench)?.code == .serverVersionTooOld)
        #expect(bench.requestCount == 1, "the second request was not sent")
    }

    @Test(
        "A reply without a version comes from a proxy or network: no sign-out, nothing gone, nothing learned",
        arguments: [200, 204, 301, 302, 304, 400, 401, 403, 404, 405, 409, 410, 411, 413, 414, 422, 431, 451])
    func foreign(status: Int) async throws {
        for headers in [["Content-Type": "text/html"], ["WWW-Authenticate": "Basic realm=\"Hotel\""]] {
            let foreign = HTTPReply.reply(status, "<html>Welcome</html>", headers: headers, version: nil)
            let bench = bench(
                .success(Bench.index), .success(foreign), .success(foreign), .success(foreign), .success(foreign),
                .success(foreign), .success(.reply(200, Self.listed)), minimum: ServerVersion(0, 25, 1))
            _ = try await bench.connection.index(IndexRequest())

            let error = await uploads(bench)

            #expect(error?.code == .invalidReply, "\(status)")
            #expect(error?.isRetryable == ![413, 414, 431].contains(status))
            #expect(bench.credentials.refreshes.isEmpty)
            #expect(!bench.recorder.events.contains(.signInRequired))
            let first = self.bench(.success(foreign))
            #expect(await uploads(first)?.code == .invalidReply, "even as the very first reply: \(status)")
            let extra = await failure { () throws(ServerConnectionError) in
                try await first.connection.discardUploads(DiscardUploadsRequest(sharingGroupUUID: Sample.group))
            }
            #expect(extra?.code == .invalidReply, "does not indicate an older server: \(status)")
        }
    }

    @Test("A proxy's own state is respected: too many requests, failures, closed")
    func foreignStates() async {
        for (status, code) in [
            (429, ServerConnectionError.Code.busy), (408, .busy), (500, .serverFailed), (502, .serverFailed),
            (504, .serverFailed), (503, .serverUnavailable),
        ] {
            let bench = bench(.success(.reply(status, "<html>", version: nil)))
            #expect(await uploads(bench)?.code == code, "\(status)")
        }
    }

    @Test("A check that finds a sufficient version admits requests again")
    func checkAgain() async throws {
        let health = HealthCheckResponse(
            currentServerDateTime: Sample.date, serverUptime: 1, deployedGitTag: "1.0.0")
        let body = String(decoding: health.body, as: UTF8.self)
        let bench = bench(
            .success(.reply(200, Self.listed, version: "0.1.0")), .success(.reply(200, body, version: "0.2.0")),
            .success(.reply(200, body)), .success(.reply(200, Self.listed)), minimum: ServerVersion(0, 25, 1))
        #expect(await uploads(bench)?.code == .serverVersionTooOld)

        let still = await failure { () throws(ServerConnectionError) in
            try await bench.connection.checkServerVersion()
        }
        #expect(still?.code == .serverVersionTooOld)
        #expect(await uploads(bench)?.code == .serverVersionTooOld)
        #expect(bench.requestCount == 2)

        try await bench.connection.checkServerVersion()
        #expect(await uploads(bench) == nil)
    }

    @Test("Rejected credentials, a closed server, and errors without a version do not block")
    func versionOfErrors() async {
        for reply in [
            HTTPReply.reply(401, "", version: nil), .reply(401, "", version: "0.1.0"), .reply(503, "", version: nil),
            .reply(400, "<html>", version: nil), .reply(302, "", version: nil),
        ] {
            let bench = bench(.success(reply), minimum: ServerVersion(0, 25, 1))
            let error = await uploads(bench)
            #expect(error != nil)
            #expect(error?.code != .serverVersionTooOld, "\(reply.response.status)")
        }
        let old = bench(.success(.reply(400, "", version: "0.1.0")), minimum: ServerVersion(0, 25, 1))
        #expect(await uploads(old)?.code == .serverVersionTooOld)
    }

    @Test("A closed server receives no more requests; the reason is fetched from another URL, without credentials")
    func maintenance() async throws {
        let bench = bench(
            .success(.error(503, "maintenance", retryable: true, headers: ["Retry-After": "120"])),
            .success(.reply(200, "Back at noon.", version: nil)))

        let error = await uploads(bench)

        #expect(error?.code == .serverUnavailable)
        #expect(error?.maintenanceMessage == "Back at noon.")
        #expect(error?.retryAfter == .seconds(120))
        #expect(error?.isRetryable == true)
        #expect(bench.requestCount == 2)
        #expect(bench.recorder.events.contains(.serverUnavailable(message: "Back at noon.")))
        let question = bench.executor.exchanges[1].request
        #expect(question.authority == "status.example.com")
        #expect(question.path == "/sync.txt?lang=en")
        #expect(question.headerFields.isEmpty)
    }

    @Test(
        "The message is taken from the 503 itself, in any format",
        arguments: [
            ("text/plain", "Back at ten, OK?\n", "Back at ten, OK?"),
            (
                "text/html; charset=utf-8",
                """
                <!DOCTYPE html><html><head><title>No</title><style>p { }</style></head>
                <body><h1>Closed.</h1><p class="x">Back&nbsp;at <b>ten</b>, OK? &lt;3</p></body></html>
                """, "Closed. Back at ten, OK? <3"
            ),
            ("application/json", #"{"error":"Back at ten, OK?","code":"maintenance"}"#, "Back at ten, OK?"),
            ("application/problem+json", #"{"title":"Closed","detail":"Back at ten, OK?"}"#, "Back at ten, OK?"),
            ("application/json", #"{"message":"Back at ten, OK?"}"#, "Back at ten, OK?"),
            ("application/json", #""Back at ten, OK?""#, "Back at ten, OK?"),
            ("", "Back at ten,\r\n\u{7}OK?", "Back at ten, OK?"),
            ("text/plain", String(repeating: "x", count: 2_000), String(repeating: "x", count: 1_000)),
            ("text/plain", " \n", nil), ("application/json", "{}", nil),
            ("application/json", #"{"error":"for developers","code":"database_unavailable"}"#, nil),
        ] as [(String, String, String?)])
    func ownMessage(type: String, body: String, message: String?) async {
        let bench = Bench(
            .success(.reply(503, body, headers: ["Content-Type": type, "Retry-After": "30"], version: nil)))
        let error = await uploads(bench)
        #expect(error?.code == .serverUnavailable)
        #expect(error?.maintenanceMessage == message)
        #expect(error?.retryAfter == .seconds(30))
        #expect(bench.recorder.events.contains(.serverUnavailable(message: message)))
    }

    @Test("Without a reply from that URL, the error has no text")
    func noMaintenanceMessage() async {
        for second in [Result<HTTPReply, TransportFailure>.offline, .success(.reply(404, "Not found"))] {
            let bench = bench(.success(.reply(503, "")), second)
            let error = await uploads(bench)
            #expect(error?.code == .serverUnavailable)
            #expect(error?.maintenanceMessage == nil)
            #expect(bench.recorder.events.contains(.serverUnavailable(message: nil)))
        }
    }

    @Test("The minimum version of the app is reported once, and again when it changes")
    func minimumAppVersion() async {
        func reply(_ version: String) -> Result<HTTPReply, TransportFailure> {
            .success(.reply(200, Self.listed, headers: ["syncserver-minimum-ios-client-app-version": version]))
        }
        let bench = bench(reply("19.3.0"), reply("19.3.0"), reply("20.0.0"), reply("soon"))
        for _ in 1...4 { _ = await uploads(bench) }
        #expect(
            bench.recorder.events == [
                .minimumIOSClientAppVersion(ServerVersion(19, 3, 0)),
                .minimumIOSClientAppVersion(ServerVersion(20, 0, 0)),
            ])
    }

    @Test("Extensions are detected by the tag of an index or the code of an error; other replies prove nothing")
    func extensions() async {
        let plain = bench(.success(.reply(200, Self.listed)))
        _ = await uploads(plain)
        #expect(await plain.connection.extensions == .unknown)

        let error = bench(.success(.error(409, "permission_too_low")))
        _ = await uploads(error)
        #expect(await error.connection.extensions == .present)
        #expect(error.recorder.events == [.extensions(.present)])

        let older = bench(.success(.reply(200, #"{"sharingGroups":[]}"#)), .success(.reply(400, "")))
        _ = try? await older.connection.index(IndexRequest())
        _ = await uploads(older)
        #expect(await older.connection.extensions == .absent)
        #expect(older.recorder.events == [.extensions(.absent)])
    }

    @Test("The log contains no secrets and no parameters, for successes and failures")
    func log() async {
        let lines = Lines()
        let secret = "hush"
        let executor = ScriptedExecutor { _, n in
            switch n {
            case 0: .reply(200, #"{"userId":1}"#, headers: ["syncserver-access-token": secret])
            case 1: .error(401, "credentials_rejected")
            case 2: .reply(400, #"{"error":"hush is wrong","code":"malformed_parameter","requestId":"r-1"}"#)
            default: .reply(200, "hush")
            }
        }
        let bench = Bench(
            executor, credentials: TestCredentials(secret),
            change: { $0.logger = Logger(label: "test") { _ in LineHandler(lines: lines) } })
        _ = try? await bench.connection.checkCredentials()
        let request = RegisterPushNotificationTokenRequest(pushNotificationToken: secret)
        for _ in 1...2 { try? await bench.connection.registerPushNotificationToken(request) }

        let texts = lines.all
        #expect(texts.count == bench.requestCount)
        #expect(texts.contains { $0.contains("RegisterPushNotificationToken") && $0.contains("request_id=r-1") })
        #expect(texts.allSatisfy { $0.contains("duration_ms=") && !$0.contains(secret) })
    }

    @Test("An error's description contains the server's request id, but not the server's message")
    func description() async {
        let bench = bench(.success(.error(409, "permission_too_low")))
        let error = await uploads(bench)
        #expect(error?.description == "refused, in GetUploads, status 409, permission_too_low, request request-7")
        #expect(error?.debugDescription == "\(error?.description ?? ""): Text")
    }

    @Test("Problem details are decoded as well; so is the header's code without a body")
    func problem() async {
        let body = ErrorBody(
            error: "Text", code: "permission_too_low", requestId: "r", retryable: false, status: 409, isProblem: true)
        let problem = bench(
            .success(
                .reply(
                    409, String(decoding: body.body, as: UTF8.self),
                    headers: ["Content-Type": "application/problem+json"])))
        #expect(await uploads(problem)?.serverCode == .known(.permissionTooLow))
        let header = bench(.success(.reply(409, "", headers: ["syncserver-error-code": "permission_too_low"])))
        #expect(await uploads(header)?.serverCode == .known(.permissionTooLow))
    }
}

/// The lines of a log.
private final class Lines: Sendable {
    private let lines = Mutex([String]())
    var all: [String] { lines.withLock { $0 } }
    func add(_ line: String) { lines.withLock { $0.append(line) } }
}

private struct LineHandler: LogHandler {
    let lines: Lines
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.trace

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        let pairs = (event.metadata ?? [:]).map { "\($0.key)=\($0.value)" }.joined(separator: " ")
        lines.add("\(event.message) \(pairs)")
    }
}
