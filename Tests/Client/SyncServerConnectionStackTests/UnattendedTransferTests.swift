import Foundation
import HTTPTypes
import TestSupport
import Testing

@testable import SyncServerConnection

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Tasks whose start the delegate has not seen simulate those of an earlier process; Linux has no background sessions.
@Suite("Transfers that outlive the process that started them")
struct UnattendedTransferTests {
    private let folder = FileManager.default.temporaryDirectory.appending(path: "unattended-\(UUID().uuidString)")

    init() throws { try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true) }

    /// Runs a task that no caller waits for, and returns the transfer that is reported for it.
    private func end(_ make: (URLSession) -> URLSessionTask) async throws -> UnattendedTransfer {
        let (ended, end) = AsyncStream.makeStream(of: UnattendedTransfer.self)
        let registry = TaskRegistry(unattended: UnattendedTransfers(folder: folder, ended: { end.yield($0) }))
        let session = URLSession(
            configuration: URLSessionExecutor.configuration(), delegate: SessionDelegate(registry), delegateQueue: nil)
        defer { session.invalidateAndCancel() }
        let task = make(session)
        task.taskDescription = "file 7"
        task.resume()
        for await transfer in ended { return transfer }
        throw CancellationError()
    }

    private func request(_ server: LocalHTTPServer, _ method: String = "GET") -> URLRequest {
        var request = URLRequest(url: URL(string: server.url())!)
        request.httpMethod = method
        return request
    }

    @Test("A download is reported with its label, reply and bytes")
    func download() async throws {
        let server = try LocalHTTPServer { peer in
            guard peer.readRequest() != nil else { return }
            peer.respond(headers: ["syncserver-version: 1.0.0"], body: "the bytes")
        }
        let transfer = try await end { $0.downloadTask(with: request(server)) }

        #expect(transfer.label == "file 7")
        let reply = try transfer.result.get()
        #expect(reply.response.headerFields[HTTPField.Name("syncserver-version")!] == "1.0.0")
        #expect(reply.fileLength == 9)
        #expect(try Data(contentsOf: try #require(transfer.file)) == Data("the bytes".utf8))
    }

    @Test("An upload is reported with its reply")
    func upload() async throws {
        let server = try LocalHTTPServer { peer in
            guard peer.readRequest() != nil else { return }
            peer.respond("410 Gone", body: #"{"goneReason":"userRemoved"}"#)
        }
        let file = folder.appending(path: "file")
        try Data("bytes".utf8).write(to: file)
        let transfer = try await end { $0.uploadTask(with: request(server, "POST"), fromFile: file) }

        #expect(transfer.label == "file 7")
        #expect(transfer.file == nil)
        #expect(try transfer.result.get().body == Data(#"{"goneReason":"userRemoved"}"#.utf8))
        #expect(server.requests.first?.body == Array("bytes".utf8))
    }

    @Test("A failed transfer is also reported")
    func failed() async throws {
        let server = try LocalHTTPServer { peer in _ = peer.readRequest() }
        let transfer = try await end { $0.downloadTask(with: request(server)) }
        #expect(throws: TransportFailure.self) { try transfer.result.get() }
        #expect(transfer.file == nil)
    }

    @Test("The labels of transfers in progress can be listed")
    func labels() async throws {
        let (arriving, arrived) = AsyncStream.makeStream(of: Void.self)
        let server = try LocalHTTPServer { peer in
            _ = peer.readRequest()
            arrived.yield()
            peer.waitForHangUp()
        }
        let executor = URLSessionExecutor()
        let exchange = HTTPExchange(
            request: HTTPRequest(method: .get, scheme: "http", authority: "127.0.0.1:\(server.port)", path: "/"),
            destination: folder.appending(path: "download"), label: "file 8")
        let waiting = Task { try? await executor.execute(exchange) }
        for await _ in arriving { break }

        #expect(await executor.labelsOfTransfers() == ["file 8"])

        waiting.cancel()
        #expect(await waiting.value == nil)
    }
}
