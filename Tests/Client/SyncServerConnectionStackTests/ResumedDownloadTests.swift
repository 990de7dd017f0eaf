import Foundation
import HTTPTypes
import SyncProtocol
import SyncServerConnection
import Synchronization
import TestSupport
import Testing

@Suite("Downloads whose connection is lost")
struct ResumedDownloadTests {
    private let folder = FileManager.default.temporaryDirectory.appending(path: "resumed-\(UUID().uuidString)")
    private let bytes = RandomData.bytes(300_000)
    private let tag = "\"0-sum\""

    init() throws { try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true) }

    /// The server's reaction to one request.
    private enum Turn {
        /// Sends the whole file or the requested range, but at most so many bytes of it.
        case serve(upTo: Int)
        /// Ignores the requested range and sends everything, like servers of the previous generation.
        case ignoreRange(upTo: Int)
        /// Replies with this status.
        case refuse(String)
    }

    private func server(_ turns: [Turn], tag: String?, metadata: String? = "about it") throws -> LocalHTTPServer {
        let bytes = bytes
        let next = Mutex(0)
        let parameters = DownloadFileResponse.found(
            appMetaData: .present(metadata), cloudStorageType: .google,
            checkSum: CheckSum(Checksum.of(bytes, in: .google))!, contentsChanged: false
        ).headerText
        return try LocalHTTPServer { peer in
            guard let request = peer.readRequest() else { return }
            let turn = next.withLock { number in
                defer { number += 1 }
                return turns[min(number, turns.count - 1)]
            }
            var head = ["syncserver-version: 1.0.0", "syncserver-message-params: \(parameters)"]
            if let tag { head.append("etag: \(tag)") }
            let start = request.header("Range").flatMap { Int($0.dropFirst("bytes=".count).dropLast()) } ?? 0
            switch turn {
            case .serve(let limit) where start > 0 && request.header("If-Range") == tag:
                head += ["Content-Range: bytes \(start)-\(bytes.count - 1)/\(bytes.count)"]
                head += ["Content-Length: \(bytes.count - start)", "Connection: close"]
                peer.send("HTTP/1.1 206 Partial Content\r\n\(head.joined(separator: "\r\n"))\r\n\r\n")
                peer.send(Array(bytes[start..<min(bytes.count, start + limit)]))
            case .serve(let limit), .ignoreRange(let limit):
                head += ["Content-Length: \(bytes.count)", "Connection: close"]
                peer.send("HTTP/1.1 200 OK\r\n\(head.joined(separator: "\r\n"))\r\n\r\n")
                peer.send(Array(bytes.prefix(limit)))
            case .refuse(let status):
                peer.respond(status, headers: ["syncserver-version: 1.0.0"])
            }
        }
    }

    private func connection(to server: LocalHTTPServer) throws -> ServerConnection {
        ServerConnection(
            ServerConnectionConfiguration(
                baseURL: URL(string: server.url())!, deviceUUID: DeviceUUID(UUID().uuidString)!),
            credentialProvider: FixedCredentials(),
            environment: ConnectionEnvironment(sleep: { _ in }, randomFraction: { 0 }, now: { Date() }))
    }

    private func download(from server: LocalHTTPServer) async throws -> Outcome<DownloadedFile> {
        let request = DownloadFileRequest(
            fileUUID: FileUUID(UUID().uuidString)!, fileVersion: .first, masterVersion: MasterVersion(1),
            sharingGroupUUID: SharingGroupUUID(UUID().uuidString)!)
        return try await connection(to: server).downloadFile(request, to: folder.appending(path: "file"))
    }

    private func ranges(_ server: LocalHTTPServer) -> [String?] { server.requests.map { $0.header("Range") } }

    @Test("A download resumes where it stopped, as often as necessary, and the whole file is verified")
    func resumed() async throws {
        let server = try server(
            [.serve(upTo: 100_000), .serve(upTo: 50_000), .refuse("502 Bad Gateway"), .serve(upTo: 1 << 20)], tag: tag)

        let outcome = try await download(from: server)

        let file = try #require(outcome.value)
        #expect(file.length == 300_000 && file.appMetaData == "about it")
        #expect(Array(try Data(contentsOf: folder.appending(path: "file"))) == bytes)
        let asked = ranges(server)
        #expect(asked.count == 4 && asked[0] == nil)
        // The system may drop the last bytes before the cut.
        let positions = asked.dropFirst().compactMap { $0.flatMap { Int($0.dropFirst(6).dropLast()) } }
        #expect(positions.count == 3 && positions[0] > 0 && positions[0] <= 100_000)
        #expect(positions[1] == positions[2] && positions[1] >= positions[0])
        #expect(server.requests.dropFirst().allSatisfy { $0.header("If-Range") == tag })
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["file"])
    }

    @Test("It restarts if the server ignores the range, or if the bytes have changed")
    func ignored() async throws {
        let server = try server(
            [.serve(upTo: 100_000), .ignoreRange(upTo: 200_000), .ignoreRange(upTo: 1 << 20)], tag: tag)

        #expect(try await download(from: server).value?.length == 300_000)

        #expect(Array(try Data(contentsOf: folder.appending(path: "file"))) == bytes)
    }

    @Test("It restarts if the bytes have no entity tag, or only a weak one", arguments: [nil, "W/\"0-sum\""])
    func untagged(tag: String?) async throws {
        let server = try server([.serve(upTo: 100_000), .serve(upTo: 1 << 20)], tag: tag)

        #expect(try await download(from: server).value?.length == 300_000)

        #expect(ranges(server) == [nil, nil])
    }

    @Test("It restarts if the server reports that the range is beyond the end")
    func beyond() async throws {
        let server = try server(
            [.serve(upTo: 100_000), .refuse("416 Range Not Satisfiable"), .serve(upTo: 1 << 20)], tag: tag)

        #expect(try await download(from: server).value?.length == 300_000)

        #expect(ranges(server).map { $0 == nil } == [true, false, true])
    }

    @Test("It ends after as many attempts as any other request, and leaves no file")
    func bounded() async throws {
        let server = try server([.serve(upTo: 10)], tag: tag)

        await #expect(throws: ServerConnectionError.self) { _ = try await download(from: server) }

        #expect(server.requests.count == 5)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).isEmpty)
    }
}

/// Credentials that the server ignores.
private struct FixedCredentials: CredentialProvider {
    private let fixed = Credentials(accountType: .google, accessToken: Secret("token"))

    func credentials() async -> Credentials? { fixed }
    func refresh(_ refused: Credentials) async throws -> Credentials { fixed }
    func serverAccepted(_ accepted: Credentials, newAccessToken: Secret?) async {}
}
