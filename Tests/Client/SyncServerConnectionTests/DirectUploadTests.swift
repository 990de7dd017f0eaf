import Foundation
import HTTPTypes
import SyncProtocol
import SyncServerConnection
import Testing

@Suite("Uploads to an address at the owner's storage, as the replies decide")
struct DirectUploadTests {
    private static let lengthBytes = 3 << 20
    private static let upload = "55555555-5555-4555-8555-555555555555"
    private static let staged = HTTPReply.message(
        UploadFileResponse.staged(creationDate: Sample.date, updateDate: Sample.date))

    private let file = FileManager.default.temporaryDirectory.appending(path: "direct-\(UUID().uuidString)")

    private static func created(
        _ form: String? = "resumable", url: String = "https://storage.test/session?id=1",
        expires: String = "2999-01-01 00:00:00"
    ) -> HTTPReply {
        let direct = form.map { form in
            #", "directUpload": {"url": "\#(url)", "form": "\#(form)", "contentType": "text/plain", "#
                + #""granularityBytes": 262144, "expires": "\#(expires)"}"#
        }
        let message = #"{"uploadUUID": "\#(upload)"\#(direct ?? "")}"#
        return .reply(201, "", headers: ["syncserver-message-params": message, "upload-offset": "0"])
    }

    /// What is sent for each of some uploads of a file, if the server and the storage reply like this.
    private func sent(
        _ replies: [Result<HTTPReply, TransportFailure>], isDirect: Bool = true, times: Int = 1
    ) async throws -> (exchanges: [HTTPExchange], error: ServerConnectionError?) {
        try Data(count: Self.lengthBytes).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let executor = ScriptedExecutor(sendsParts: true) { [replies] _, n throws(TransportFailure) in
            n == 0 ? Bench.index : try replies[min(n - 1, replies.count - 1)].get()
        }
        let bench = Bench(executor, change: { $0.directUploads = isDirect })
        _ = try await bench.connection.index(IndexRequest())
        var error: ServerConnectionError?
        for _ in 0..<times {
            error = await failure { () throws(ServerConnectionError) in
                try await bench.connection.uploadFile(Sample.upload, from: file)
            }
        }
        return (Array(executor.exchanges.dropFirst()), error)
    }

    @Test(
        "The bytes go to the address, without credentials, and the server is told", arguments: ["resumable", "whole"])
    func direct(form: String) async throws {
        let (exchanges, error) = try await sent(
            [.success(Self.created(form)), .success(.reply(200, "")), .success(Self.staged)])

        #expect(error == nil)
        let method = form == "whole" ? "POST" : "PUT"
        #expect(exchanges.map(\.request.method.rawValue) == ["POST", method, "PATCH"])
        #expect(exchanges[1].request.authority == "storage.test" && exchanges[1].request.path == "/session?id=1")
        #expect(exchanges[1].body == .file(file))
        #expect(exchanges[1].request.headerFields.map(\.name) == [.contentType])
        #expect(exchanges[2].request.path?.contains("direct=") == true && exchanges[2].body == .none)
        #expect(exchanges[2].request.headerFields[HTTPField.Name("Upload-Offset")!] == "\(Self.lengthBytes)")
    }

    @Test("If the storage refuses, or is out of reach, the bytes go through the server")
    func refused() async throws {
        let failures: [Result<HTTPReply, TransportFailure>] = [
            .success(.reply(403, "")), .success(.reply(308, "")), .failure(TransportFailure(.notConnected)),
        ]
        for failure in failures {
            let (exchanges, error) = try await sent([.success(Self.created()), failure, .success(Self.staged)])
            #expect(error == nil)
            #expect(exchanges.last?.body == .part(of: file, 0..<Int64(Self.lengthBytes)), "\(failure)")
            #expect(exchanges.count == 3)
        }
    }

    @Test("After a lost reply of the storage the server is asked, which may not find the object")
    func lostReply() async throws {
        let mismatch = HTTPReply.error(409, "upload_offset_mismatch")
        let (exchanges, error) = try await sent(
            [.success(Self.created()), .lost, .success(mismatch), .success(Self.staged)])

        #expect(error == nil)
        #expect(exchanges.count == 4)
        #expect(exchanges[2].request.path?.contains("direct=") == true)
        #expect(exchanges[3].body == .part(of: file, 0..<Int64(Self.lengthBytes)))
    }

    @Test("An address that is not protected, or has expired, and a form that is not known, are not used")
    func useless() async throws {
        for created in [
            Self.created(url: "http://storage.test/session"), Self.created(expires: "2001-01-01 00:00:00"),
            Self.created("unheard-of"),
        ] {
            let (exchanges, error) = try await sent([.success(created), .success(Self.staged)])
            #expect(error == nil)
            #expect(exchanges.count == 2 && exchanges[1].body == .part(of: file, 0..<Int64(Self.lengthBytes)))
        }
    }

    @Test("Without an address the group's next file is sent as ever, and so is each if the app has not asked for it")
    func absent() async throws {
        let (asked, _) = try await sent(
            [.success(Self.created(nil)), .success(Self.staged), .success(Self.staged)], times: 2)
        #expect(asked.map(\.request.method.rawValue) == ["POST", "PATCH", "POST"])
        #expect(asked.last?.body == .file(file))

        let (exchanges, _) = try await sent([.success(Self.staged)], isDirect: false)
        #expect(exchanges.count == 1 && exchanges[0].body == .file(file))
    }
}
