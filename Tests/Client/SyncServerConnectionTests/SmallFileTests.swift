import Foundation
import HTTPTypes
import SyncProtocol
import SyncServerConnection
import Testing

@Suite("Many small files in one request")
struct SmallFileTests {
    private static let files = (0..<3).map { number in
        ServerConnection.SmallFileUpload(Sample.upload, contents: Data("contents \(number)\r\n--".utf8))
    }
    private static let staged = UploadSmallFilesResponse.Result.message(
        .staged(creationDate: Sample.date, updateDate: Sample.date))

    private static func reply(_ results: [UploadSmallFilesResponse.Result]) -> HTTPReply {
        .reply(200, String(decoding: UploadSmallFilesResponse(results: results).body, as: UTF8.self))
    }

    private static func refused(
        _ code: ErrorCode, goneReason: GoneReason? = nil, retryAfter: Int64? = nil
    ) -> UploadSmallFilesResponse.Result {
        .refused(
            ErrorBody(
                error: "Text", code: code.rawValue, requestId: "request-7", retryable: code.isRetryable,
                goneReason: goneReason, status: code.status), retryAfter: retryAfter)
    }

    @Test("The body is a form: the list of files, then their contents")
    func body() async throws {
        let bench = Bench(.success(Self.reply([Self.staged, Self.staged, Self.staged])))

        let results = try await bench.connection.uploadSmallFiles(Self.files, to: Sample.group)

        let outcome = Outcome.success(StagedFile(creationDate: Sample.date, updateDate: Sample.date))
        #expect(try results.map { try $0.get() } == [outcome, outcome, outcome])
        let exchange = try #require(bench.executor.exchanges.last)
        #expect(exchange.request.path?.hasPrefix("/prefix/UploadSmallFiles/?sharingGroupUUID=") == true)
        let form = try #require(exchange.request.headerFields[.contentType].flatMap(SmallFileForm.init(contentType:)))
        guard case .bytes(let body) = exchange.body else {
            Issue.record("\(exchange.body)")
            return
        }
        let list = Self.files.map { SmallFile($0.request, sizeBytes: Int64($0.contents.count)) }
        var expected = Data(form.head(list)) + Self.files[0].contents
        expected += Data(form.beginning) + Self.files[1].contents
        expected += Data(form.beginning) + Self.files[2].contents + Data(form.end)
        #expect(body == expected)
    }

    @Test("Each refusal is the error or outcome that a separate upload would have")
    func refusals() async throws {
        let bench = Bench(
            .success(
                Self.reply([
                    Self.refused(.unknownMimeType), Self.refused(.ownerRemoved, goneReason: .userRemoved),
                    .message(.stale(current: Sample.version)),
                ])))

        let results = try await bench.connection.uploadSmallFiles(Self.files, to: Sample.group)

        guard case .failure(let error) = results[0] else {
            Issue.record("\(results[0])")
            return
        }
        #expect(error.code == .refused)
        #expect(error.serverCode == .known(.unknownMimeType))
        #expect(error.status == 400)
        #expect(try results[1].get() == .gone(Gone(.userRemoved, serverCode: .known(.ownerRemoved))))
        #expect(try results[2].get() == .stale(current: Sample.version))
    }

    @Test("Files that the server could not store at the time are sent again together, after the requested wait")
    func repeated() async throws {
        let executor = ScriptedExecutor([
            .success(
                Self.reply([
                    Self.refused(.cloudUnavailable), Self.staged, Self.refused(.cloudRateLimited, retryAfter: 7),
                ])),
            .success(Self.reply([Self.staged, Self.refused(.cloudQuotaExceeded)])),
        ])
        let bench = Bench(executor)

        let results = try await bench.connection.uploadSmallFiles(Self.files, to: Sample.group)

        #expect(executor.exchanges.count == 2)
        #expect(bench.recorder.pauses.allSatisfy { $0 >= .seconds(7) })
        #expect(results.map { (try? $0.get()) != nil } == [true, true, false])
    }

    @Test("A reply with too few results is an error, and so is a server that does not know the request")
    func incomplete() async {
        let bench = Bench(.success(Self.reply([Self.staged])))
        let missing = await failure { () throws(ServerConnectionError) in
            try await bench.connection.uploadSmallFiles(Self.files, to: Sample.group)
        }
        #expect(missing?.code == .invalidReply)

        let older = Bench(.success(.error(404, "endpoint_unknown")))
        let unknown = await failure { () throws(ServerConnectionError) in
            try await older.connection.uploadSmallFiles(Self.files, to: Sample.group)
        }
        #expect(unknown?.code == .notSupported)
    }

    @Test("The limits are those of HealthCheck, for an executor that sends files in the foreground")
    func limits() async throws {
        let health = HealthCheckResponse(
            currentServerDateTime: Sample.date, serverUptime: 1, deployedGitTag: "1.0.0", uploadSmallFiles: .current)
        let reply = HTTPReply.reply(200, String(decoding: health.body, as: UTF8.self))
        let foreground = Bench(ScriptedExecutor(sendsParts: true) { _, _ in reply })
        #expect(try await foreground.connection.smallFileLimits() == .current)
        let background = Bench(ScriptedExecutor(sendsParts: false) { _, _ in reply })
        #expect(try await background.connection.smallFileLimits() == nil)
        #expect(background.executor.exchanges.isEmpty)
    }
}
