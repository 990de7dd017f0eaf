import Foundation
import HTTPTypes
import SyncProtocol
import SyncServerConnection
import Testing

@Suite("Downloads to files")
struct DownloadTests {
    private let file = FileManager.default.temporaryDirectory.appending(path: "download-\(UUID().uuidString)")

    private static let hello = Data("Hello World".utf8)

    /// Writes `bytes` as a session does, and replies with the server's description of them.
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

    @Test("The bytes are compared with the announced checksum, for each storage", arguments: CloudStorageType.allCases)
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

    @Test("Bytes that differ from the announced ones are fetched again")
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

    @Test("Such bytes never remain as the file")
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

    @Test("A wrong number of bytes is rejected as well, except for an encoded body")
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

    @Test("Stale and gone results leave no file, not even an empty one")
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

    private static let withMetaData = DownloadFileRequest(
        fileUUID: Sample.file, fileVersion: .first, masterVersion: Sample.version, sharingGroupUUID: Sample.group,
        appMetaDataVersion: AppMetaDataVersion(2))

    /// Downloads a file whose metadata are not in the header.
    /// - Parameter metaData: The reply to the nth request for the metadata.
    private func downloadOmitted(
        gone: Bool = false, _ metaData: @escaping @Sendable (Int) -> HTTPReply
    ) async throws -> (outcome: Outcome<DownloadedFile>, asked: [HTTPExchange]) {
        let executor = ScriptedExecutor { exchange, n throws(TransportFailure) in
            guard n == 0 else { return metaData(n) }
            if gone {
                return .message(
                    DownloadFileResponse.gone(
                        appMetaData: .omitted, cloudStorageType: .google, reason: .fileRemovedOrRenamed))
            }
            do { try Self.hello.write(to: file) } catch { throw TransportFailure(.fileUnwritable) }
            var reply = HTTPReply.message(
                DownloadFileResponse.found(
                    appMetaData: .omitted, cloudStorageType: .google,
                    checkSum: CheckSum.of(Self.hello, flavour: .md5), contentsChanged: false))
            reply.fileLength = 11
            return reply
        }
        let bench = Bench(executor)
        let outcome = try await bench.connection.downloadFile(Self.withMetaData, to: file)
        return (outcome, executor.exchanges)
    }

    @Test("Metadata too long for a header are fetched in a second request")
    func omitted() async throws {
        defer { try? FileManager.default.removeItem(at: file) }
        let long = String(repeating: "ü", count: 60_000)

        let (outcome, asked) = try await downloadOmitted { _ in
            .reply(200, String(decoding: DownloadAppMetaDataResponse.found(appMetaData: long).body, as: UTF8.self))
        }

        #expect(outcome.value?.appMetaData == long)
        #expect(outcome.value?.lacksAppMetaData == false)
        #expect(asked.count == 2)
        #expect(asked[0].request.path?.contains("omitLongAppMetaData=") == true)
        #expect(asked[1].request.path?.hasPrefix("/prefix/DownloadAppMetaData/?appMetaDataVersion=2&") == true)
        #expect(try Data(contentsOf: file) == Self.hello)

        let gone = try await downloadOmitted(gone: true) { _ in .reply(200, #"{"appMetaData":"all of it"}"#) }
        #expect(
            gone.outcome
                == .gone(Gone(.fileRemovedOrRenamed, appMetaData: "all of it", cloudStorageType: .google)))
    }

    @Test("Bytes remain valid if the group changes while they arrive, unless the metadata have changed")
    func omittedAndStale() async throws {
        defer { try? FileManager.default.removeItem(at: file) }
        let moved = try await downloadOmitted { n in
            n < 3
                ? .reply(200, #"{"masterVersionUpdate":\#(4 + n)}"#) : .reply(200, #"{"appMetaData":"still these"}"#)
        }
        #expect(moved.outcome.value?.appMetaData == "still these")
        #expect(moved.asked.count == 4)
        #expect(moved.asked[3].request.path?.contains("masterVersion=6") == true)

        let replaced = try await downloadOmitted { n in
            n == 1 ? .reply(200, #"{"masterVersionUpdate":9}"#) : .error(409, "app_meta_data_version_mismatch")
        }
        #expect(replaced.outcome == .stale(current: MasterVersion(9)))
        #expect(!exists)
    }

    @Test("An empty file is valid")
    func empty() async throws {
        defer { try? FileManager.default.removeItem(at: file) }
        let bench = bench { _ in try served(Data(), storage: .dropbox) }
        #expect(try await bench.connection.downloadFile(Sample.download, to: file).value?.length == 0)
        #expect(exists)
    }
}
