import Foundation
import HTTPTypes
import SyncProtocol
import SyncServerConnection
import Testing

@Suite("Downloads from an address at the owner's storage, decided by the replies")
struct DirectDownloadTests {
    private static let hello = Data("Hello World".utf8)

    private let file = FileManager.default.temporaryDirectory.appending(path: "direct-\(UUID().uuidString)")

    private static func elsewhere(
        _ url: String = "https://storage.test/file?key=1", expires: String = "2999-01-01 00:00:00"
    ) -> HTTPReply {
        .message(
            DownloadFileResponse.elsewhere(
                DirectDownload(url: url, expires: WireDate(expires)!), appMetaData: "about it",
                cloudStorageType: .microsoft, checkSum: CheckSum.of(hello, flavour: .sha1), contentsChanged: true))
    }

    /// A reply with bytes, of the server or of the storage.
    private func bytes(_ bytes: Data, isServer: Bool) throws -> HTTPReply {
        try bytes.write(to: file)
        var reply =
            isServer
            ? HTTPReply.message(
                DownloadFileResponse.found(
                    appMetaData: nil, cloudStorageType: .microsoft,
                    checkSum: CheckSum.of(Self.hello, flavour: .sha1), contentsChanged: false))
            : .reply(200, "", version: nil)
        reply.fileLength = Int64(bytes.count)
        return reply
    }

    /// The requests of a download, given these replies from the server and storage.
    private func asked(
        isDirect: Bool = true, sendsParts: Bool = true,
        _ replies: @escaping @Sendable (Int) throws -> Result<HTTPReply, TransportFailure>
    ) async -> (exchanges: [HTTPExchange], outcome: Outcome<DownloadedFile>?) {
        defer { try? FileManager.default.removeItem(at: file) }
        let executor = ScriptedExecutor(sendsParts: sendsParts) { _, n throws(TransportFailure) in
            let reply: Result<HTTPReply, TransportFailure>
            do { reply = try replies(n) } catch { throw TransportFailure(.fileUnwritable) }
            return try reply.get()
        }
        let bench = Bench(executor, change: { $0.directDownloads = isDirect })
        let outcome = try? await bench.connection.downloadFile(Sample.download, to: file)
        return (executor.exchanges, outcome)
    }

    @Test("The bytes come from the address, without credentials, and are verified")
    func direct() async throws {
        let (exchanges, outcome) = await asked { n in
            .success(n == 0 ? Self.elsewhere() : try bytes(Self.hello, isServer: false))
        }

        #expect(
            outcome
                == .success(
                    DownloadedFile(
                        appMetaData: "about it", cloudStorageType: .microsoft,
                        checkSum: CheckSum.of(Self.hello, flavour: .sha1), contentsChanged: true, length: 11)))
        #expect(exchanges.count == 2)
        #expect(exchanges[0].request.path?.contains("direct=1") == true)
        #expect(exchanges[1].request.method == .get && exchanges[1].request.headerFields.isEmpty)
        #expect(exchanges[1].request.authority == "storage.test" && exchanges[1].request.path == "/file?key=1")
        #expect(exchanges[1].destination == file && exchanges[1].partial != nil)
    }

    @Test("Unavailable or unexpected bytes are fetched through the server")
    func through() async throws {
        let obstacles: [@Sendable () throws -> Result<HTTPReply, TransportFailure>] = [
            { .success(.reply(403, "", version: nil)) }, { .success(.reply(404, "", version: nil)) },
            { .success(.reply(410, "", version: nil)) }, { .success(.reply(302, "", version: nil)) },
            { .failure(TransportFailure(.notConnected)) }, { .failure(TransportFailure(.untrusted)) },
            { [self] in .success(try bytes(Data("Hello Warld".utf8), isServer: false)) },
            { [self] in .success(try bytes(Data("Hello".utf8), isServer: false)) },
        ]
        for obstacle in obstacles {
            let (exchanges, outcome) = await asked { n in
                switch n {
                case 0: .success(Self.elsewhere())
                case 1: try obstacle()
                default: .success(try bytes(Self.hello, isServer: true))
                }
            }
            #expect(outcome?.value?.contentsChanged == false)
            #expect(exchanges.count == 3)
            #expect(exchanges[2].request.path?.contains("direct") == false)
            #expect(exchanges[2].request.authority == "sync.example.com:8443")
        }
    }

    @Test("A failing storage is tried as often as a server, and then abandoned")
    func unavailable() async throws {
        let (exchanges, outcome) = await asked { n in
            switch n {
            case 0: .success(Self.elsewhere())
            case 1...5: n % 2 == 0 ? .lost : .success(.reply(503, "", version: nil))
            default: .success(try bytes(Self.hello, isServer: true))
            }
        }
        #expect(outcome?.value != nil)
        #expect(exchanges.count == 7)
    }

    @Test("An unencrypted or expired address is not used")
    func useless() async throws {
        for elsewhere in [Self.elsewhere("http://storage.test/file"), Self.elsewhere(expires: "2001-01-01 00:00:00")] {
            let (exchanges, outcome) = await asked { n in
                .success(n == 0 ? elsewhere : try bytes(Self.hello, isServer: true))
            }
            #expect(outcome?.value != nil)
            #expect(exchanges.count == 2)
        }
    }

    @Test("An address is requested only if configured, and not for transfers that outlive the process")
    func notAsked() async throws {
        for (isDirect, sendsParts) in [(false, true), (true, false)] {
            let (exchanges, outcome) = await asked(isDirect: isDirect, sendsParts: sendsParts) { _ in
                .success(try bytes(Self.hello, isServer: true))
            }
            #expect(outcome?.value != nil)
            #expect(exchanges.count == 1 && exchanges[0].request.path?.contains("direct") == false)
        }
    }

    @Test("If the server sends the bytes anyway, they are the file")
    func sentByServer() async throws {
        let (exchanges, outcome) = await asked { _ in .success(try bytes(Self.hello, isServer: true)) }
        #expect(outcome?.value?.length == 11)
        #expect(exchanges.count == 1)
    }
}
