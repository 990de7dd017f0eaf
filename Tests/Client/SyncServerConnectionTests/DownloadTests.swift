import Foundation
import SyncProtocol
import SyncServerConnection
import Testing

@Suite("Downloads to files")
struct DownloadTests {
    private let file = FileManager.default.temporaryDirectory.appending(path: "download-\(UUID().uuidString)")

    private static let hello = Data("Hello World".utf8)

    /// Writes `bytes` as a session does, and answers with what the server says of them.
    private func served(
        _ bytes: Data, announced: Data? = nil, storage: CloudStorageType = .google, length: Int? = nil,
        headers: [String: String] = [:]
    ) throws -> HTTPReply {
        try bytes.write(to: file)
        let response = DownloadFileResponse.found(
            appMetaData: "about it", cloudStorageType: storage,
            checkSum: CheckSum.of(announced ?? bytes, flavour: storage.checkSumFlavour), contentsChanged: false)
        var headers = headers
        headers["Content-Length"] = String(length ?? bytes.count)
        var reply = HTTPReply.message(response, headers: headers)
        reply.fileLength = Int64(bytes.count)
        return reply
    }

    private func bench(_ reply: @escaping @Sendable (Int) throws -> HTTPReply) -> Bench {
        Bench(
            ScriptedExecutor { exchange, n throws(TransportFailure) in
                #expect(exchange.destination == file)
                do { return try reply(n) } catch { throw TransportFailure(.fileUnwritable) }
            })
    }

    private var exists: Bool { FileManager.default.fileExists(atPath: file.path) }

    @Test("The bytes are compared with the announced checksum, of each storage", arguments: CloudStorageType.allCases)
    func found(storage: CloudStorageType) async throws {
        defer { try? FileManager.default.removeItem(at: file) }
        let bench = bench { _ in try served(Self.hello, storage: storage) }

        let outcome = try await bench.connection.downloadFile(Sample.download, to: file)

        #expect(
            outcome
                == .success(
                    DownloadedFile(
                        appMetaData: "about it", cloudStorageType: storage,
                        checkSum: CheckSum.of(Self.hello, flavour: storage.checkSumFlavour), contentsChanged: false,
                        length: 11)))
        #expect(try Data(contentsOf: file) == Self.hello)
    }

    @Test("Other bytes than announced are fetched again")
    func mismatchOnce() async throws {
        defer { try? FileManager.default.removeItem(at: file) }
        let bench = bench { n in
            try n == 0 ? served(Data("Hello Warld".utf8), announced: Self.hello) : served(Self.hello)
        }

        let outcome = try await bench.connection.downloadFile(Sample.download, to: file)

        #expect(outcome.value?.length == 11)
        #expect(bench.requestCount == 2)
        #expect(try Data(contentsOf: file) == Self.hello)
    }

    @Test("They are never left as the file")
    func mismatch() async throws {
        let bench = bench { _ in try served(Data("Hello Warld".utf8), announced: Self.hello) }
        let error = await failure { () throws(ServerConnectionError) in
            try await bench.connection.downloadFile(Sample.download, to: file)
        }
        #expect(error?.code == .contentMismatch)
        #expect(error?.isRetryable == true)
        #expect(bench.requestCount == 5)
        #expect(!exists)
    }

    @Test("So are fewer or more bytes than announced, except for an encoded body")
    func length() async throws {
        defer { try? FileManager.default.removeItem(at: file) }
        for length in [10, 12] {
            let bench = bench { _ in try served(Self.hello, length: length) }
            let error = await failure { () throws(ServerConnectionError) in
                try await bench.connection.downloadFile(Sample.download, to: file)
            }
            #expect(error?.code == .contentMismatch)
        }
        let coded = bench { _ in try served(Self.hello, length: 30, headers: ["Content-Encoding": "gzip"]) }
        #expect(try await coded.connection.downloadFile(Sample.download, to: file).value?.length == 11)
    }

    @Test("Stale and gone leave no file, not even an empty one")
    func withoutBytes() async throws {
        for (response, expected) in [
            (
                DownloadFileResponse.stale(current: MasterVersion(9)),
                Outcome<DownloadedFile>.stale(current: MasterVersion(9))
            ),
            (
                .gone(appMetaData: "about it", cloudStorageType: .dropbox, reason: .fileRemovedOrRenamed),
                .gone(Gone(.fileRemovedOrRenamed, appMetaData: "about it", cloudStorageType: .dropbox))
            ),
        ] {
            let bench = bench { _ in
                try Data().write(to: file)
                var reply = HTTPReply.message(response)
                reply.fileLength = 0
                return reply
            }
            #expect(try await bench.connection.downloadFile(Sample.download, to: file) == expected)
            #expect(!exists)
        }
    }

    @Test("An empty file is a file")
    func empty() async throws {
        defer { try? FileManager.default.removeItem(at: file) }
        let bench = bench { _ in try served(Data(), storage: .dropbox) }
        #expect(try await bench.connection.downloadFile(Sample.download, to: file).value?.length == 0)
        #expect(exists)
    }
}
