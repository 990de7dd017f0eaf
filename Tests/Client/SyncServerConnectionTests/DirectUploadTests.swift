import Foundation
import HTTPTypes
import SyncProtocol
import SyncServerConnection
import Synchronization
import Testing

@Suite("Uploads to an address at the owner's storage, decided by the replies")
struct DirectUploadTests {
    private static let lengthBytes = 3 << 20
    private static let upload = "55555555-5555-4555-8555-555555555555"
    private static let staged = HTTPReply.message(
        UploadFileResponse.staged(creationDate: Sample.date, updateDate: Sample.date))

    private let file = FileManager.default.temporaryDirectory.appending(path: "direct-\(UUID().uuidString)")

    private static func created(
        _ form: String? = "resumable", url: String = "https://storage.test/session?id=1",
        expires: String = "2999-01-01 00:00:00", granularity: Int = 262_144
    ) -> HTTPReply {
        let direct = form.map { form in
            #", "directUpload": {"url": "\#(url)", "form": "\#(form)", "contentType": "text/plain", "#
                + #""granularityBytes": \#(granularity), "expires": "\#(expires)"}"#
        }
        let message = #"{"uploadUUID": "\#(upload)"\#(direct ?? "")}"#
        return .reply(201, "", headers: ["syncserver-message-params": message, "upload-offset": "0"])
    }

    private static func more(from position: Int) -> HTTPReply {
        .reply(308, "", headers: position == 0 ? [:] : ["Range": "bytes=0-\(position - 1)"])
    }

    private static func fragments(from position: Int, _ status: Int = 202) -> HTTPReply {
        .reply(status, #"{"nextExpectedRanges":["\#(position)-"]}"#)
    }

    /// The requests of consecutive uploads of a file with these replies of the server and storage.
    private func sent(
        _ replies: [Result<HTTPReply, TransportFailure>], isDirect: Bool = true, times: Int = 1,
        of request: UploadFileRequest = Sample.upload, lengthBytes: Int = lengthBytes
    ) async throws -> (exchanges: [HTTPExchange], error: ServerConnectionError?, pauses: Int) {
        try Data(count: lengthBytes).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let executor = ScriptedExecutor(sendsParts: true) { [replies] _, n throws(TransportFailure) in
            n == 0 ? Bench.index : try replies[min(n - 1, replies.count - 1)].get()
        }
        let pauses = Mutex(0)
        let bench = Bench(
            executor, onPause: { pauses.withLock { $0 += 1 } }, change: { $0.directUploads = isDirect })
        _ = try await bench.connection.index(IndexRequest())
        var error: ServerConnectionError?
        for _ in 0..<times {
            error = await failure { () throws(ServerConnectionError) in
                try await bench.connection.uploadFile(request, from: file)
            }
        }
        return (Array(executor.exchanges.dropFirst()), error, pauses.withLock { $0 })
    }

    private func range(_ exchange: HTTPExchange) -> String? {
        exchange.request.headerFields[.contentRange]
    }

    @Test("The bytes go to the address, without credentials, and the server is notified")
    func whole() async throws {
        let (exchanges, error, _) = try await sent(
            [.success(Self.created("whole")), .success(.reply(200, "")), .success(Self.staged)])

        #expect(error == nil)
        #expect(exchanges.map(\.request.method.rawValue) == ["POST", "POST", "PATCH"])
        #expect(exchanges[1].request.authority == "storage.test" && exchanges[1].request.path == "/session?id=1")
        #expect(exchanges[1].body == .file(file))
        #expect(exchanges[1].request.headerFields.map(\.name) == [.contentType])
        #expect(exchanges[2].request.path?.contains("direct=") == true && exchanges[2].body == .none)
        #expect(exchanges[2].request.headerFields[HTTPField.Name("Upload-Offset")!] == "\(Self.lengthBytes)")
    }

    @Test(
        "A session is asked for its offset, and receives all bytes in one request",
        arguments: ["resumable", "fragments"])
    func session(form: String) async throws {
        let isGoogle = form == "resumable"
        let (exchanges, error, pauses) = try await sent([
            .success(Self.created(form)), .success(isGoogle ? Self.more(from: 0) : Self.fragments(from: 0, 200)),
            .success(.reply(isGoogle ? 200 : 201, "{}")), .success(Self.staged),
        ])

        #expect(error == nil && pauses == 0)
        #expect(exchanges.map(\.request.method.rawValue) == ["POST", isGoogle ? "PUT" : "GET", "PUT", "PATCH"])
        #expect(range(exchanges[1]) == (isGoogle ? "bytes */\(Self.lengthBytes)" : nil))
        #expect(range(exchanges[2]) == "bytes 0-\(Self.lengthBytes - 1)/\(Self.lengthBytes)")
        #expect(exchanges[1].body == .none && exchanges[2].body == .file(file))
        let names = Set(exchanges[1...2].flatMap { $0.request.headerFields.map(\.name) })
        #expect(names == [.contentType, .contentRange])
    }

    @Test(
        "After a failure the session is asked again, and receives the missing bytes",
        arguments: ["resumable", "fragments"])
    func continued(form: String) async throws {
        let isGoogle = form == "resumable"
        func expecting(_ position: Int, isQuestion: Bool) -> Result<HTTPReply, TransportFailure> {
            .success(isGoogle ? Self.more(from: position) : Self.fragments(from: position, isQuestion ? 200 : 202))
        }
        let (exchanges, error, pauses) = try await sent([
            .success(Self.created(form)), expecting(262_144, isQuestion: true), .lost,
            expecting(524_288, isQuestion: true), expecting(1_048_576, isQuestion: false),
            .success(.reply(200, "{}")), .success(Self.staged),
        ])

        #expect(error == nil && pauses == 1)
        let total = Self.lengthBytes
        #expect(
            exchanges.map(range).filter { $0?.contains("*") == false }
                == [262_144, 524_288, 1_048_576].map { "bytes \($0)-\(total - 1)/\(total)" })
        #expect(exchanges[2].body == .part(of: file, 262_144..<Int64(total)))
        #expect(exchanges.last?.request.path?.contains("direct=") == true)
    }

    @Test("A session without progress is abandoned, and the bytes go through the server")
    func stuck() async throws {
        let bytes = Int64(Self.lengthBytes)
        let (exchanges, error, pauses) = try await sent(
            [.success(Self.created())] + Array(repeating: .success(.reply(503, "")), count: 5)
                + [.success(Self.staged)])
        #expect(error == nil && pauses == 4 && exchanges.count == 7)
        #expect(exchanges.last?.body == .part(of: file, 0..<bytes))

        // The same applies if it stores none of what it receives.
        let (other, _, _) = try await sent(
            [.success(Self.created())] + Array(repeating: .success(Self.more(from: 0)), count: 6)
                + [.success(Self.staged)])
        #expect(other.count { $0.body == .file(file) } == 5 && other.last?.body == .part(of: file, 0..<bytes))
    }

    @Test("An unknown session has ended or is new: it is asked twice, and then the server is used")
    func unknownSession() async throws {
        let missing = HTTPReply.error(409, "upload_offset_mismatch")
        for found in [true, false] {
            let (exchanges, error, pauses) = try await sent([
                .success(Self.created("fragments")), .success(.reply(404, "")), .success(.reply(404, "")),
                .success(found ? Self.staged : missing), .success(Self.staged),
            ])
            #expect(error == nil && pauses == 1)
            #expect(exchanges.count == (found ? 4 : 5))
            #expect(exchanges[3].request.path?.contains("direct=") == true)
        }
    }

    @Test("Files too large for one request to OneDrive are sent in fragments of the documented multiple")
    func manyFragments() async throws {
        let total = (60 << 20) + 5
        let piece = 16_711_680
        let (exchanges, error, _) = try await sent(
            [.success(Self.created("fragments", granularity: 327_680)), .success(Self.fragments(from: 0, 200))]
                + (1...3).map { .success(Self.fragments(from: $0 * piece)) }
                + [.success(.reply(201, "{}")), .success(Self.staged)], lengthBytes: total)

        #expect(error == nil)
        let ends = [0, piece, 2 * piece, 3 * piece, total]
        #expect(
            exchanges.compactMap(range)
                == zip(ends, ends.dropFirst()).map { "bytes \($0)-\($1 - 1)/\(total)" })
        #expect(piece % 327_680 == 0)
    }

    @Test("OneDrive's own hash is sent with the checksum, but not for other storages")
    func storageHash() async throws {
        let oneDrive = UploadFileRequest(
            fileUUID: Sample.file, sharingGroupUUID: Sample.group, mimeType: MIMEType("text/plain")!,
            fileVersion: .first, masterVersion: Sample.version,
            checkSum: CheckSum(String(repeating: "A", count: 40))!)
        let (exchanges, _, _) = try await sent([.success(Self.created(nil)), .success(Self.staged)], of: oneDrive)
        // With 3 MiB of zeros, only the length contributes.
        #expect(
            exchanges.first?.request.path?.contains("storageHash=AAAAAAAAAAAAAAAAAAAwAAAAAAA%3D") == true,
            "\(exchanges.first?.request.path ?? "")")

        let (others, _, _) = try await sent([.success(Self.created(nil)), .success(Self.staged)])
        #expect(others.first?.request.path?.contains("storageHash") == false)
    }

    @Test("If the storage rejects the bytes or is unreachable, they go through the server")
    func refused() async throws {
        let failures: [Result<HTTPReply, TransportFailure>] = [
            .success(.reply(403, "")), .success(.reply(308, "", headers: ["Range": "bytes=7-9"])),
            .failure(TransportFailure(.notConnected)),
        ]
        for failure in failures {
            let (exchanges, error, _) = try await sent([.success(Self.created()), failure, .success(Self.staged)])
            #expect(error == nil)
            #expect(exchanges.last?.body == .part(of: file, 0..<Int64(Self.lengthBytes)), "\(failure)")
            #expect(exchanges.count == 3)
        }
    }

    @Test("After the storage's reply is lost, the server is asked, which may not find the object")
    func lostReply() async throws {
        let mismatch = HTTPReply.error(409, "upload_offset_mismatch")
        let (exchanges, error, _) = try await sent(
            [.success(Self.created("whole")), .lost, .success(mismatch), .success(Self.staged)])

        #expect(error == nil)
        #expect(exchanges.count == 4)
        #expect(exchanges[2].request.path?.contains("direct=") == true)
        #expect(exchanges[3].body == .part(of: file, 0..<Int64(Self.lengthBytes)))
    }

    @Test("An unencrypted or expired address, and an unknown form, are not used")
    func useless() async throws {
        for created in [
            Self.created(url: "http://storage.test/session"), Self.created(expires: "2001-01-01 00:00:00"),
            Self.created("unheard-of"), Self.created("whole", url: "http://storage.test/link"),
        ] {
            let (exchanges, error, _) = try await sent([.success(created), .success(Self.staged)])
            #expect(error == nil)
            #expect(exchanges.count == 2 && exchanges[1].body == .part(of: file, 0..<Int64(Self.lengthBytes)))
        }
    }

    @Test("Without an address, or if the app did not request one, files are sent through the server as usual")
    func absent() async throws {
        let (asked, _, _) = try await sent(
            [.success(Self.created(nil)), .success(Self.staged), .success(Self.staged)], times: 2)
        #expect(asked.map(\.request.method.rawValue) == ["POST", "PATCH", "POST"])
        #expect(asked.last?.body == .file(file))

        let (exchanges, _, _) = try await sent([.success(Self.staged)], isDirect: false)
        #expect(exchanges.count == 1 && exchanges[0].body == .file(file))
    }
}
