import Foundation
import HTTPTypes
import SyncServerConnection
import Synchronization
import TestSupport
import Testing

/// Guarantees that every executor must satisfy on each platform.
@Suite("The platform's executor, with servers that behave in different ways")
struct ExecutorTests {
    private let executor = PlatformExecutor()
    private let folder = FileManager.default.temporaryDirectory.appending(path: "session-\(UUID().uuidString)")

    init() throws { try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true) }

    private func exchange(
        _ server: LocalHTTPServer, _ method: HTTPRequest.Method = .get, body: HTTPExchange.Body = .none,
        destination: URL? = nil, idleTimeout: Duration = .seconds(20)
    ) -> HTTPExchange {
        HTTPExchange(
            request: HTTPRequest(
                method: method, scheme: "http", authority: "127.0.0.1:\(server.port)", path: "/Index/?a=b%26c",
                headerFields: [HTTPField.Name("access_token")!: "hush"]),
            body: body, destination: destination, idleTimeout: idleTimeout)
    }

    private func kind(_ exchange: HTTPExchange) async -> TransportFailure.Kind? {
        do throws(TransportFailure) {
            _ = try await executor.execute(exchange)
            return nil
        } catch {
            return error.kind
        }
    }

    @Test("Method, target, headers and bodies arrive unchanged; so do the reply's status, headers and body")
    func plain() async throws {
        let server = try LocalHTTPServer { peer in
            while peer.readRequest() != nil {
                peer.respond(
                    "409 Conflict", headers: ["syncserver-version: 1.0.0", "ETag: \"x\"", "Set-Cookie: a=b"], body: "{}"
                )
            }
        }
        let file = folder.appending(path: "body")
        try Data("from a file".utf8).write(to: file)

        for (method, body, text) in [
            (HTTPRequest.Method.get, HTTPExchange.Body.none, ""), (.post, .none, ""), (.delete, .none, ""),
            (.patch, .bytes(Data("in memory".utf8)), "in memory"), (.post, .file(file), "from a file"),
        ] {
            let reply = try await executor.execute(exchange(server, method, body: body))
            #expect(reply.response.status.code == 409)
            #expect(reply.response.headerFields[HTTPField.Name("SyncServer-Version")!] == "1.0.0")
            #expect(reply.response.headerFields[.eTag] == "\"x\"")
            #expect(reply.body == Data("{}".utf8))
            #expect(reply.fileLength == nil)

            let request = try #require(server.requests.last)
            #expect(request.head.hasPrefix("\(method.rawValue) /Index/?a=b%26c HTTP/1.1"))
            #expect(request.header("access_token") == "hush")
            #expect(request.header("Cookie") == nil)
            #expect(String(decoding: request.body, as: UTF8.self) == text)
            if method != .get { #expect(request.header("Content-Length") == String(text.utf8.count)) }
        }
    }

    @Test("A redirect is a reply, and its target receives no request")
    func redirect() async throws {
        let target = try LocalHTTPServer { peer in
            guard peer.readRequest() != nil else { return }
            peer.respond()
        }
        let server = try LocalHTTPServer { peer in
            guard peer.readRequest() != nil else { return }
            peer.respond("302 Found", headers: ["Location: \(target.url())"])
        }
        let reply = try await executor.execute(exchange(server))
        #expect(reply.response.status.code == 302)
        #expect(target.connectionCount == 0)
    }

    @Test("A file's bytes are written to the destination, replacing an existing file; errors stay in memory")
    func download() async throws {
        let server = try LocalHTTPServer { peer in
            guard let request = peer.readRequest() else { return }
            _ = request
            peer.respond(headers: ["X-Kind: file"], body: "the bytes")
        }
        let destination = folder.appending(path: "download")
        try Data("older and longer bytes".utf8).write(to: destination)
        let reply = try await executor.execute(exchange(server, destination: destination))
        #expect(reply.fileLength == 9)
        #expect(reply.body.isEmpty)
        #expect(try Data(contentsOf: destination) == Data("the bytes".utf8))

        let refusing = try LocalHTTPServer { peer in
            guard peer.readRequest() != nil else { return }
            peer.respond("410 Gone", body: #"{"goneReason":"userRemoved"}"#)
        }
        let other = folder.appending(path: "other")
        let refusal = try await executor.execute(exchange(refusing, destination: other))
        #expect(refusal.body == Data(#"{"goneReason":"userRemoved"}"#.utf8))
        #expect(refusal.fileLength == nil)
        #expect(!FileManager.default.fileExists(atPath: other.path))
    }

    @Test("An empty file is downloaded as an empty file")
    func emptyDownload() async throws {
        let server = try LocalHTTPServer { peer in
            guard peer.readRequest() != nil else { return }
            peer.respond()
        }
        let destination = folder.appending(path: "empty")
        #expect(try await executor.execute(exchange(server, destination: destination)).fileLength == 0)
        #expect(try Data(contentsOf: destination).isEmpty)
    }

    @Test("A truncated reply is an error, in memory and in a file")
    func cutOff() async throws {
        let server = try LocalHTTPServer { peer in
            guard peer.readRequest() != nil else { return }
            peer.send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nonly this")
        }
        let destination = folder.appending(path: "cut")
        #expect(await kind(exchange(server)) == .interrupted)
        #expect(await kind(exchange(server, destination: destination)) == .interrupted)
        #expect(!FileManager.default.fileExists(atPath: destination.path))
    }

    @Test("An error does not contain the URL, whose query may contain secrets")
    func address() async throws {
        let server = try LocalHTTPServer { peer in _ = peer.readRequest() }
        do throws(TransportFailure) {
            _ = try await executor.execute(exchange(server))
            Issue.record("expected an error")
        } catch {
            #expect(!String(reflecting: error).contains("b%26c"), "\(String(reflecting: error))")
            #expect(error.underlying != nil)
        }
    }

    @Test("A connection that ends without a reply may have transmitted the request")
    func noReply() async throws {
        let server = try LocalHTTPServer { peer in _ = peer.readRequest() }
        #expect(await kind(exchange(server, .post)) == .interrupted)
    }

    @Test("Without a listener, nothing is sent")
    func refused() async throws {
        var server: LocalHTTPServer? = try LocalHTTPServer { _ in }
        let exchange = self.exchange(try #require(server))
        server = nil
        // The listening socket may close with a delay.
        var found = await kind(exchange)
        while found != .notConnected {
            try #require(found == .interrupted)
            found = await kind(exchange)
        }
    }

    @Test("A server that does not reply times out")
    func silent() async throws {
        let server = try LocalHTTPServer { peer in
            _ = peer.readRequest()
            peer.waitForHangUp()
        }
        #expect(await kind(exchange(server, idleTimeout: .seconds(1))) == .timedOut)
    }

    @Test("A cancelled task ends its transfer, at any time")
    func cancelled() async throws {
        let (arriving, arrived) = AsyncStream.makeStream(of: Void.self)
        let server = try LocalHTTPServer { peer in
            _ = peer.readRequest()
            arrived.yield()
            peer.waitForHangUp()
        }
        let exchange = self.exchange(server)
        let waiting = Task { await kind(exchange) }
        for await _ in arriving { break }
        waiting.cancel()
        #expect(await waiting.value == .cancelled)

        let early = Task {
            unsafe withUnsafeCurrentTask { unsafe $0?.cancel() }
            return await kind(exchange)
        }
        #expect(await early.value == .cancelled)
    }

    @Test("Files that cannot be read or written are separate errors")
    func files() async throws {
        let server = try LocalHTTPServer { peer in
            guard peer.readRequest() != nil else { return }
            peer.respond(body: "bytes")
        }
        let missing = folder.appending(path: "missing")
        #expect(await kind(exchange(server, .post, body: .file(missing))) == .fileUnreadable)
        let nowhere = folder.appending(path: "no/such/folder/file")
        #expect(await kind(exchange(server, destination: nowhere)) == .fileUnwritable)
        #expect(server.requests.count == 1)
    }

    @Test("The number of transfers in progress is limited as configured", arguments: [1, 3, 16])
    func transfersAtOnce(limit: Int) async throws {
        let executor = PlatformExecutor(maximumTransfers: limit)
        let meeting = Meeting(of: limit)
        let server = try LocalHTTPServer { peer in
            guard peer.readRequest() != nil else { return }
            meeting.attend()
            peer.respond(headers: ["Connection: close"], body: "bytes")
        }
        let exchanges = (0..<limit * 2).map {
            exchange(server, destination: folder.appending(path: "\($0)"), idleTimeout: .seconds(120))
        }

        try await withThrowingTaskGroup { group in
            for exchange in exchanges { group.addTask { try await executor.execute(exchange) } }
            try await group.waitForAll()
        }

        #expect(meeting.mostPresent == limit)
    }

    @Test("Simultaneous requests each receive their own reply")
    func many() async throws {
        let server = try LocalHTTPServer { peer in
            guard let request = peer.readRequest() else { return }
            peer.respond(headers: ["Connection: close"], body: String(decoding: request.body, as: UTF8.self))
        }
        let replies = await withTaskGroup(of: (Int, String?).self) { tasks in
            for n in 0..<40 {
                let exchange = self.exchange(server, .post, body: .bytes(Data("body \(n)".utf8)))
                tasks.addTask {
                    let reply = try? await executor.execute(exchange)
                    return (n, reply.map { String(decoding: $0.body, as: UTF8.self) })
                }
            }
            return await tasks.reduce(into: [Int: String?]()) { $0[$1.0] = $1.1 }
        }
        for n in 0..<40 { #expect(replies[n] == "body \(n)") }
    }
}

/// Releases waiting participants once a fixed number has arrived.
private final class Meeting: Sendable {
    private struct State {
        /// The number of arrivals since the last release.
        var waiting = 0
        /// The number of participants present, including those already released.
        var present = 0
        var mostPresent = 0
    }

    private let size: Int
    private let state = Mutex(State())
    private let ended = DispatchSemaphore(value: 0)

    init(of size: Int) { self.size = size }

    var mostPresent: Int { state.withLock { $0.mostPresent } }

    func attend() {
        let isComplete = state.withLock { state in
            state.waiting += 1
            state.present += 1
            state.mostPresent = max(state.mostPresent, state.present)
            guard state.waiting == size else { return false }
            state.waiting = 0
            return true
        }
        if isComplete { for _ in 1..<size { ended.signal() } } else { ended.wait() }
        state.withLock { $0.present -= 1 }
    }
}
