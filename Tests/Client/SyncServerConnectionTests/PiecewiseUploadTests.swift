import Foundation
import HTTPTypes
import SyncProtocol
import SyncServerConnection
import Testing

@Suite("Uploads in pieces, decided by the server's replies")
struct PiecewiseUploadTests {
    private static let lengthBytes = 20 << 20
    private static let upload = UploadUUID("55555555-5555-4555-8555-555555555555")!
    private static let staged = HTTPReply.message(
        UploadFileResponse.staged(creationDate: Sample.date, updateDate: Sample.date))

    private static let reupload = ReuploadFileRequest(
        fileUUID: Sample.file, sharingGroupUUID: Sample.group, fileVersion: FileVersion(3),
        mimeType: MIMEType("text/plain")!, checkSum: CheckSum("b10a8db164e0754105b7a99be72e3fe5")!)

    private let file = FileManager.default.temporaryDirectory.appending(path: "piecewise-\(UUID().uuidString)")

    private static func created(at offset: String?) -> HTTPReply {
        var headers = ["syncserver-message-params": #"{"uploadUUID":"\#(upload.rawValue)"}"#]
        headers["upload-offset"] = offset
        return .reply(201, "", headers: headers)
    }

    private static func incomplete(at offset: String) -> HTTPReply {
        .reply(204, "", headers: ["upload-offset": offset, "syncserver-message-params": "{}"])
    }

    /// The requests for a file with these replies, after a reply to Index.
    private func sent(
        _ replies: [Result<HTTPReply, TransportFailure>], index: HTTPReply = Bench.index, sendsParts: Bool = true,
        lengthBytes: Int = lengthBytes, again: Bool = false
    ) async throws -> (exchanges: [HTTPExchange], error: ServerConnectionError?) {
        try Data().write(to: file)
        let handle = try FileHandle(forWritingTo: file)
        try handle.truncate(atOffset: UInt64(lengthBytes))
        try handle.close()
        defer { try? FileManager.default.removeItem(at: file) }
        let executor = ScriptedExecutor(sendsParts: sendsParts) { [replies] _, n throws(TransportFailure) in
            n == 0 ? index : try replies[min(n - 1, replies.count - 1)].get()
        }
        let bench = Bench(executor)
        _ = try await bench.connection.index(IndexRequest())
        let error = await failure { () throws(ServerConnectionError) in
            if again {
                _ = try await bench.connection.reuploadFile(Self.reupload, from: file)
            } else {
                _ = try await bench.connection.uploadFile(Sample.upload, from: file)
            }
        }
        return (Array(executor.exchanges.dropFirst()), error)
    }

    /// The method, resource and bytes of each request.
    private func summary(_ exchanges: [HTTPExchange]) -> [String] {
        exchanges.map { exchange in
            let resource = exchange.request.path?.split(separator: "/").dropFirst().first ?? ""
            let call = "\(exchange.request.method.rawValue) \(resource)"
            return switch exchange.body {
            case .none, .bytes: call
            case .file: "\(call) whole"
            case .part(_, let range): "\(call) \(range.lowerBound)..<\(range.upperBound)"
            }
        }
    }

    @Test("The pieces follow each other, and the last one is marked as complete")
    func pieces() async throws {
        let (exchanges, error) = try await sent(
            [.success(Self.created(at: "0")), .success(Self.incomplete(at: "16777216")), .success(Self.staged)])

        #expect(error == nil)
        #expect(
            summary(exchanges) == [
                "POST CreateUpload", "PATCH Upload 0..<16777216", "PATCH Upload 16777216..<20971520",
            ])
        #expect(exchanges[0].request.headerFields[HTTPField.Name("Upload-Length")!] == "20971520")
        let complete = exchanges.map { $0.request.headerFields[HTTPField.Name("Upload-Complete")!] }
        #expect(complete == [nil, "?0", "?1"])
        #expect(exchanges[1].request.headerFields[.contentType] == "application/partial-upload")
    }

    @Test("A file uploaded again after an account switch is also sent in pieces")
    func uploadedAgain() async throws {
        let stored = HTTPReply.message(ReuploadFileResponse.stored)
        let (exchanges, error) = try await sent(
            [.success(Self.created(at: "0")), .lost, .success(Self.incomplete(at: "5242880")), .success(stored)],
            again: true)

        #expect(error == nil)
        #expect(
            summary(exchanges) == [
                "POST ReuploadFile", "PATCH Upload 0..<16777216", "HEAD Upload", "PATCH Upload 5242880..<20971520",
            ])
        #expect(exchanges[0].request.headerFields[HTTPField.Name("Upload-Length")!] == "20971520")
        #expect(exchanges[1].request.path?.contains("masterVersion") == false)
        #expect(summary(try await sent([.success(stored)], again: true).exchanges) == ["POST ReuploadFile"])
        let small = try await sent([.success(stored)], lengthBytes: 4_000_000, again: true)
        #expect(summary(small.exchanges) == ["POST ReuploadFile whole"])
    }

    @Test("After a lost connection, it resumes at the server's offset")
    func resumed() async throws {
        let (exchanges, error) = try await sent([
            .success(Self.created(at: "0")), .lost, .success(Self.incomplete(at: "5242880")), .success(Self.staged),
        ])

        #expect(error == nil)
        #expect(
            summary(exchanges) == [
                "POST CreateUpload", "PATCH Upload 0..<16777216", "HEAD Upload", "PATCH Upload 5242880..<20971520",
            ])
    }

    @Test("Without progress, it ends after as many attempts as any other request")
    func bounded() async throws {
        let turns = [Result.lost, .success(Self.incomplete(at: "0"))]
        let (exchanges, error) = try await sent(
            [.success(Self.created(at: "0"))] + Array(repeating: turns, count: 10).flatMap { $0 })

        #expect(error?.code == .connectionLost)
        #expect(summary(exchanges).count { $0.hasPrefix("PATCH") } == 5)
    }

    @Test("An expired upload is restarted")
    func expired() async throws {
        let (exchanges, error) = try await sent([
            .success(Self.created(at: "4")), .success(.error(404, "upload_unknown")), .success(Self.created(at: "0")),
            .success(Self.incomplete(at: "16777216")), .success(Self.staged),
        ])

        #expect(error == nil)
        #expect(summary(exchanges).suffix(3).first == "POST CreateUpload")
    }

    @Test(
        "A missing offset, or one outside the file, is an invalid reply",
        arguments: ["20971521", "-1", "9223372036854775808", nil])
    func absurd(offset: String?) async throws {
        let (exchanges, error) = try await sent([.success(Self.created(at: offset))])

        #expect(error?.code == .invalidReply)
        #expect(summary(exchanges) == ["POST CreateUpload"])
    }

    @Test("The file is sent whole to servers and storages that do not support pieces")
    func whole() async throws {
        let whole = ["POST UploadFile whole"]
        let older = HTTPReply.reply(200, #"{"sharingGroups":[]}"#)
        #expect(summary(try await sent([.success(Self.staged)], index: older).exchanges) == whole)
        #expect(summary(try await sent([.success(Self.staged)], sendsParts: false).exchanges) == whole)
        #expect(summary(try await sent([.success(Self.staged)], lengthBytes: 4_000_000).exchanges) == whole)
        let first = try await sent([.success(.error(404, "endpoint_unknown")), .success(Self.staged)])
        #expect(summary(first.exchanges) == ["POST CreateUpload"] + whole)
        let dav = try await sent([
            .success(Self.created(at: "0")), .success(.error(422, "piece_too_small")), .success(Self.staged),
        ])
        #expect(summary(dav.exchanges).last == "POST UploadFile whole")
    }

    @Test("A file that is already staged or stale is not sent")
    func answered() async throws {
        let (exchanges, error) = try await sent([.success(Self.staged)])
        #expect(error == nil)
        #expect(summary(exchanges) == ["POST CreateUpload"])
    }
}
