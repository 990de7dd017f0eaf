import Foundation
import Glibc
import HTTPTypes
import Posix
import SyncServerConnection
import Synchronization
import TestSupport
import Testing

/// Known faults of FoundationNetworking (docs/adr/0092-libcurl-on-linux.md), and servers that never finish.
@Suite("The platform's executor, with unresponsive and disconnecting servers")
struct UncooperativeServerTests {
    private let executor = PlatformExecutor()
    private let folder: URL
    /// Time allowed for operations that take milliseconds or one second, since other tests use the processors. The
    /// wrong outcomes that the tests exclude take longer.
    private static let soon: Duration = .seconds(25)

    init() throws {
        folder = FileManager.default.temporaryDirectory.appending(path: "uncooperative-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    }

    private func exchange(
        _ port: UInt16, _ method: HTTPRequest.Method = .get, scheme: String = "http", body: HTTPExchange.Body = .none,
        destination: URL? = nil, partial: PartialDownload? = nil, idleTimeout: Duration = .seconds(60)
    ) -> HTTPExchange {
        HTTPExchange(
            request: HTTPRequest(
                method: method, scheme: scheme, authority: "127.0.0.1:\(port)", path: "/",
                headerFields: partial?.requestHeaders ?? [:]),
            body: body, destination: destination, partial: partial, idleTimeout: idleTimeout)
    }

    /// The failure and its delay; nil if there is a reply.
    private func failure(_ exchange: HTTPExchange) async -> (
        kind: TransportFailure.Kind?, duration: Duration, description: String
    ) {
        let begin = ContinuousClock.now
        do throws(TransportFailure) {
            _ = try await executor.execute(exchange)
            return (nil, .now - begin, "")
        } catch {
            return (error.kind, .now - begin, String(reflecting: error.underlying))
        }
    }

    private func file(_ bytes: Int) throws -> URL {
        let file = folder.appending(path: "\(bytes)-\(UUID().uuidString)")
        try Data(repeating: 0x61, count: bytes).write(to: file)
        return file
    }

    // MARK: Waiting

    @Test("Waiting for a server that accepts connections and never replies uses no processor time, and times out")
    func silentServer() async throws {
        // In a separate process, since other tests also use the processor.
        await #expect(processExitsWith: .success) {
            let server = try LocalHTTPServer { peer in peer.waitForHangUp() }
            let exchange = HTTPExchange(
                request: HTTPRequest(method: .get, scheme: "http", authority: "127.0.0.1:\(server.port)", path: "/"),
                idleTimeout: .seconds(5))
            let executor = PlatformExecutor()
            let begin = ContinuousClock.now
            let used = processorSeconds()
            do throws(TransportFailure) {
                _ = try await executor.execute(exchange, progress: nil)
                exit(2)
            } catch {
                guard error.kind == .timedOut else { exit(3) }
            }
            guard (.seconds(5)...(.seconds(7))).contains(.now - begin) else { exit(4) }
            guard processorSeconds() - used < 0.25 else { exit(5) }
        }
    }

    @Test(
        "If the TLS handshake does not start, the request times out, and nothing was sent",
        arguments: ["silent", "full"])
    func noConnection(how: String) async throws {
        let silent = try LocalHTTPServer { peer in peer.waitForHangUp() }
        let full = try FullListener()
        let failure = await failure(
            how == "silent"
                ? exchange(silent.port, scheme: "https", idleTimeout: .seconds(1))
                : exchange(full.port, idleTimeout: .seconds(1)))
        #expect(failure.kind == .notConnected)
        #expect((.seconds(1)...Self.soon).contains(failure.duration))
        withExtendedLifetime((silent, full)) {}
    }

    @Test("Endless headers do not count as progress")
    func drippingHead() async throws {
        let server = try LocalHTTPServer { peer in
            guard peer.readRequest() != nil else { return }
            peer.send("HTTP/1.1 200 OK\r\n")
            while peer.send(Array("X: y\r\n".utf8)) { peer.waitUntilGone(within: .milliseconds(100)) }
        }
        let failure = await failure(exchange(server.port, idleTimeout: .seconds(1)))
        #expect(failure.kind == .timedOut)
        #expect(failure.duration < Self.soon)
    }

    @Test("A slowly arriving body counts as progress; one that stalls does not")
    func slowBody() async throws {
        let server = try LocalHTTPServer { peer in
            guard let request = peer.readRequest() else { return }
            peer.send("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 15\r\n\r\n")
            for _ in 0..<15 {
                peer.send("x")
                peer.waitUntilGone(within: .milliseconds(100))
                if request.method == "DELETE" { return peer.waitForHangUp() }
            }
        }
        #expect(try await executor.execute(exchange(server.port, idleTimeout: .seconds(1))).body.count == 15)
        #expect(await failure(exchange(server.port, .delete, idleTimeout: .seconds(1))).kind == .timedOut)
    }

    @Test("A stream is passed on while it arrives, until it falls silent; a reply with another status is kept whole")
    func stream() async throws {
        let (arrivals, arrived) = AsyncStream.makeStream(of: Data.self)
        let server = try LocalHTTPServer { peer in
            guard let request = peer.readRequest() else { return }
            if request.method == "DELETE" { return peer.respond("404 Not Found", body: "no") }
            peer.send("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n: hi\n\n")
            peer.waitForHangUp()
        }
        var (waiting, refused) = (exchange(server.port, idleTimeout: .seconds(1)), exchange(server.port, .delete))
        waiting.arriving = { arrived.yield($0) }
        refused.arriving = waiting.arriving
        let reading = Task { [waiting] in await failure(waiting).kind }
        var iterator = arrivals.makeAsyncIterator()
        #expect(await iterator.next() == Data(": hi\n\n".utf8))
        #expect(await reading.value == .timedOut)

        #expect(try await executor.execute(refused).body == Data("no".utf8))
        arrived.finish()
        #expect(await iterator.next() == nil)
    }

    @Test("If the server stops reading the body, the request times out")
    func noReader() async throws {
        let server = try LocalHTTPServer { peer in
            _ = peer.read(upTo: 100)
            peer.waitUntilGone()
        }
        let exchange = exchange(
            server.port, .post, body: .file(try file(20_000_000)), idleTimeout: .seconds(1))
        let failure = await failure(exchange)
        #expect(failure.kind == .timedOut)
        #expect(failure.duration < Self.soon)
    }

    // MARK: Cancellation

    @Test(
        "Cancellation ends a transfer immediately, in every phase",
        arguments: ["connecting", "handshake", "head", "body", "upload"])
    func cancellation(phase: String) async throws {
        let (arrivals, arrived) = AsyncStream.makeStream(of: Void.self)
        let server = try LocalHTTPServer { peer in
            if phase == "body" {
                _ = peer.readRequest()
                peer.send("HTTP/1.1 200 OK\r\nContent-Length: 15\r\n\r\nx")
            } else {
                _ = peer.read(upTo: 5)
            }
            arrived.yield()
            peer.waitUntilGone()
        }
        let full = try FullListener()
        let exchange =
            switch phase {
            case "connecting": exchange(full.port)
            case "handshake": exchange(server.port, scheme: "https")
            case "upload": exchange(server.port, .post, body: .file(try file(20_000_000)))
            default: exchange(server.port)
            }
        let task = Task { await failure(exchange) }
        if phase == "connecting" {
            try await eventually("a connection is pending") { full.isAwaited }
        } else {
            for await _ in arrivals { break }
        }

        let begin = ContinuousClock.now
        task.cancel()
        let kind = await task.value.kind

        #expect(kind == .cancelled)
        #expect(.now - begin < Self.soon)
        withExtendedLifetime((server, full)) {}
    }

    @Test("Cancelling one transfer does not affect others")
    func cancelledAmongOthers() async throws {
        let server = try LocalHTTPServer { peer in
            guard let request = peer.readRequest() else { return }
            if request.method == "DELETE" { return peer.waitForHangUp() }
            peer.waitUntilGone(within: .milliseconds(300))
            peer.respond(body: "here")
        }
        let (cancelled, other) = (exchange(server.port, .delete), exchange(server.port))
        let waiting = Task { await failure(cancelled).kind }
        let served = Task { try await executor.execute(other).body }
        try await eventually("both requests have arrived") { server.requests.count == 2 }
        waiting.cancel()
        #expect(await waiting.value == .cancelled)
        #expect(try await served.value == Data("here".utf8))
    }

    // MARK: Unusual replies

    @Test(
        "A 401 is a reply, regardless of its challenge",
        arguments: ["Basic realm=\"x\"", "Bearer", "Digest realm=\"x\", nonce=\"1\"", "Negotiate"])
    func challenge(value: String) async throws {
        let server = try LocalHTTPServer { peer in
            while peer.readRequest() != nil {
                peer.respond("401 Unauthorized", headers: ["WWW-Authenticate: \(value)"], body: "no")
            }
        }
        for body in [HTTPExchange.Body.none, .bytes(Data("body".utf8)), .file(try file(100_000))] {
            let reply = try await executor.execute(exchange(server.port, .post, body: body))
            #expect(reply.response.status.code == 401)
            #expect(reply.body == Data("no".utf8))
        }
        #expect(server.requests.count == 3)
    }

    @Test("No redirect is followed, with or without a body", arguments: [301, 302, 303, 307, 308])
    func redirect(status: Int) async throws {
        let server = try LocalHTTPServer { peer in
            while let request = peer.readRequest() {
                peer.respond("\(status) Elsewhere", headers: ["Location: /there"], body: "\(request.body.count)")
            }
        }
        for (method, body) in [
            (HTTPRequest.Method.get, HTTPExchange.Body.none), (.post, .bytes(Data("four".utf8))),
            (.put, .file(try file(4))), (.put, .part(of: try file(8), 2..<6)),
        ] {
            let reply = try await executor.execute(exchange(server.port, method, body: body))
            #expect(reply.response.status.code == status)
            #expect(reply.body == Data((body == .none ? "0" : "4").utf8))
        }
        #expect(server.requests.count == 4)
    }

    @Test("A body is sent with a length and no other framing, even if the caller sets one")
    func framing() async throws {
        let server = try LocalHTTPServer { peer in while peer.readRequest() != nil { peer.respond() } }
        let file = try file(3_000_000)
        for (body, length) in [
            (HTTPExchange.Body.none, 0), (.bytes(Data(repeating: 1, count: 70_000)), 70_000), (.file(file), 3_000_000),
            (.part(of: file, 10..<2_000_010), 2_000_000), (.file(try self.file(0)), 0),
        ] {
            for method in [HTTPRequest.Method.post, .put, .patch] {
                var exchange = exchange(server.port, method, body: body)
                exchange.request.headerFields[.contentLength] = "\(length)"
                _ = try await executor.execute(exchange)
                let request = try #require(server.requests.last)
                let head = request.head.lowercased()
                #expect(head.components(separatedBy: "content-length:").count == 2, "\(head)")
                #expect(request.header("Content-Length") == "\(length)")
                #expect(!head.contains("transfer-encoding:"))
                #expect(!head.contains("expect:"))
                #expect(request.body.count == length)
            }
        }
    }

    @Test(
        "A connection that closes within the headers is an interruption",
        arguments: [
            "", "HTT", "HTTP/1.1 20", "HTTP/1.1 200 OK\r\n", "HTTP/1.1 200 OK\r\nContent-Le",
            "HTTP/1.1 200 OK\r\nA: b\r\n",
        ])
    func cutHead(head: String) async throws {
        let server = try LocalHTTPServer { peer in
            _ = peer.readRequest()
            peer.send(head)
        }
        #expect(await failure(exchange(server.port, .post)).kind == .interrupted)
    }

    @Test("A reply that is not HTTP is malformed")
    func noHTTP() async throws {
        let server = try LocalHTTPServer { peer in
            _ = peer.readRequest()
            peer.send("SSH-2.0-OpenSSH_9.2\r\n\r\n")
        }
        #expect(await failure(exchange(server.port)).kind == .malformed)
    }

    // MARK: Connections

    @Test("Connections are reused")
    func reuse() async throws {
        let server = try LocalHTTPServer { peer in while peer.readRequest() != nil { peer.respond() } }
        for _ in 0..<20 { _ = try await executor.execute(exchange(server.port, .post)) }
        #expect(server.connectionCount == 1)
    }

    @Test("A request that changes data is sent once, even if a reused connection closes without a reply")
    func sentOnce() async throws {
        let server = try LocalHTTPServer { peer in
            guard peer.readRequest() != nil else { return }
            peer.respond()
            _ = peer.readRequest()
        }
        let body = HTTPExchange.Body.file(try file(1_000))
        for body in [HTTPExchange.Body.none, .bytes(Data("body".utf8)), body] {
            let before = server.requests.count
            _ = try await executor.execute(exchange(server.port))
            #expect(await failure(exchange(server.port, .post, body: body)).kind == .interrupted)
            #expect(server.requests.count == before + 2)
        }
    }

    // MARK: Files

    @Test("100 MB are sent and received in a few MB of memory")
    func flatMemory() async throws {
        await #expect(processExitsWith: .success) {
            let size = 100_000_000
            let server = try LocalHTTPServer { peer in
                while let head = peer.readHead() {
                    var missing = head.hasPrefix("POST") ? size : 0
                    while missing > 0 {
                        guard let bytes = peer.read(upTo: min(65_536, missing)) else { return }
                        missing -= bytes.count
                    }
                    if head.hasPrefix("POST") {
                        peer.respond()
                    } else {
                        peer.send("HTTP/1.1 200 OK\r\nContent-Length: \(size)\r\n\r\n")
                        let piece = [UInt8](repeating: 0x62, count: 100_000)
                        for _ in 0..<size / piece.count { peer.send(piece) }
                    }
                }
            }
            let file = FileManager.default.temporaryDirectory.appending(path: "flat-\(UUID().uuidString)")
            defer { try? FileManager.default.removeItem(at: file) }
            guard FileManager.default.createFile(atPath: file.path, contents: nil) else { exit(2) }
            guard unsafe truncate(file.path, size) == 0 else { exit(2) }
            func exchange(_ method: HTTPRequest.Method) -> HTTPExchange {
                HTTPExchange(
                    request: HTTPRequest(
                        method: method, scheme: "http", authority: "127.0.0.1:\(server.port)", path: "/"))
            }
            let executor = PlatformExecutor()
            let before = peakBytes()
            var upload = exchange(.post)
            upload.body = .file(file)
            guard try await executor.execute(upload, progress: nil).response.status == .ok else { exit(3) }
            var download = exchange(.get)
            download.destination = file
            guard try await executor.execute(download, progress: nil).fileLength == Int64(size) else { exit(4) }
            guard peakBytes() - before < 40_000_000 else { exit(5) }
        }
    }

    @Test("Progress increases up to the number of bytes, in both directions")
    func progress() async throws {
        let server = try LocalHTTPServer { peer in
            while let request = peer.readRequest() {
                peer.respond(body: request.method == "POST" ? "" : String(repeating: "x", count: 3_000_000))
            }
        }
        let seen = Mutex([TransferProgress]())
        let report: @Sendable (TransferProgress) -> Void = { progress in seen.withLock { $0.append(progress) } }
        let file = try file(3_000_000)
        let part = HTTPExchange.Body.part(of: file, 0..<2_000_000)
        _ = try await executor.execute(exchange(server.port, .post, body: part), progress: report)
        let sent = seen.withLock { $0 }
        #expect(sent.last == TransferProgress(sentBytes: 2_000_000, totalBytes: 2_000_000))
        #expect(sent.map(\.sentBytes) == sent.map(\.sentBytes).sorted())
        #expect(sent.count > 1)

        seen.withLock { $0 = [] }
        _ = try await executor.execute(
            exchange(server.port, destination: folder.appending(path: "down")), progress: report)
        let received = seen.withLock { $0 }
        #expect(received.last == TransferProgress(receivedBytes: 3_000_000, totalBytes: 3_000_000))
        #expect(received.map(\.receivedBytes) == received.map(\.receivedBytes).sorted())
    }

    @Test("The named part of a file is sent; one beyond the file's end is not")
    func parts() async throws {
        let server = try LocalHTTPServer { peer in while peer.readRequest() != nil { peer.respond() } }
        let file = folder.appending(path: "digits")
        try Data("0123456789".utf8).write(to: file)
        _ = try await executor.execute(exchange(server.port, .patch, body: .part(of: file, 3..<7)))
        #expect(server.requests.last?.body == Array("3456".utf8))
        #expect(await failure(exchange(server.port, .patch, body: .part(of: file, 8..<11))).kind == .fileUnreadable)
        #expect(server.requests.count == 1)
    }

    @Test("A download resumes where it stopped, and leaves no temporary files")
    func resumed() async throws {
        let server = try LocalHTTPServer { peer in
            guard let request = peer.readRequest() else { return }
            if request.header("Range") == "bytes=4-", request.header("If-Range") == "\"tag\"" {
                peer.respond(
                    "206 Partial Content", headers: ["Content-Range: bytes 4-9/10", "ETag: \"tag\""], body: "456789")
            } else {
                peer.send("HTTP/1.1 200 OK\r\nETag: \"tag\"\r\nContent-Length: 10\r\n\r\n0123")
            }
        }
        let destination = folder.appending(path: "whole")
        let partial = PartialDownload(folder.appending(path: "partial"))
        #expect(
            await failure(exchange(server.port, destination: destination, partial: partial)).kind == .interrupted)
        #expect(partial.receivedBytes == 4)
        let reply = try await executor.execute(exchange(server.port, destination: destination, partial: partial))
        #expect(reply.fileLength == 10)
        #expect(try Data(contentsOf: destination) == Data("0123456789".utf8))
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["whole"])
    }

    #if os(Linux)
        @Test("The size of a reply in memory is limited")
        func boundedReply() async throws {
            let server = try LocalHTTPServer { peer in
                _ = peer.readRequest()
                peer.send("HTTP/1.1 200 OK\r\n\r\n")
                while peer.send([UInt8](repeating: 0x20, count: 10_000)) {}
            }
            let executor = CurlExecutor(maximumBodyBytes: 100_000)
            await #expect { try await executor.execute(exchange(server.port)) } throws: {
                ($0 as? TransportFailure)?.kind == .malformed
            }
        }

        @Test(
            "A compressed reply is decoded, and its limit applies to the decoded size", arguments: [90_000, 50_000_000])
        func compressedReply(bytes: Int) async throws {
            let file = folder.appending(path: "zeros.gz").path
            try #require(try Command("/bin/sh", ["-c", "head -c \(bytes) /dev/zero | gzip >'\(file)'"]).status == 0)
            let body = [UInt8](try Data(contentsOf: URL(filePath: file)))
            try #require(body.count < 90_000)
            let server = try LocalHTTPServer { peer in
                guard peer.readRequest()?.header("Accept-Encoding")?.contains("gzip") == true else { return }
                peer.send("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: \(body.count)\r\n\r\n")
                peer.send(body)
            }
            let executor = CurlExecutor(maximumBodyBytes: 100_000)
            if bytes <= 100_000 {
                #expect(try await executor.execute(exchange(server.port)).body == Data(count: bytes))
            } else {
                await #expect { try await executor.execute(exchange(server.port)) } throws: {
                    ($0 as? TransportFailure)?.kind == .malformed
                }
            }
        }

        @Test("Certificates of a private authority are accepted if configured, and only for their names")
        func privateAuthority() async throws {
            let server = try TLSServer(name: "IP:127.0.0.1")
            let other = try TLSServer(name: "DNS:other.example")
            let trusting = CurlExecutor(certificateAuthorities: URL(filePath: server.certificateFile))
            let reply = try await trusting.execute(exchange(server.port, scheme: "https"))
            #expect(reply.response.status == .ok)
            #expect(await failure(exchange(server.port, scheme: "https")).kind == .untrusted)

            let misled = CurlExecutor(certificateAuthorities: URL(filePath: other.certificateFile))
            await #expect { try await misled.execute(exchange(other.port, scheme: "https")) } throws: {
                ($0 as? TransportFailure)?.kind == .untrusted
            }
        }

        @Test("An interrupted handshake is not reported as an untrusted server")
        func brokenHandshake() async throws {
            for isReset in [false, true] {
                let server = try LocalHTTPServer { peer in
                    _ = peer.read(upTo: 5)
                    if isReset { peer.reset() }
                }
                let failure = await failure(exchange(server.port, scheme: "https"))
                #expect(failure.kind == .notConnected, "\(failure.description)")
            }
        }
    #endif
}

/// The processor time of this process so far.
private func processorSeconds() -> Double {
    var usage = rusage()
    unsafe getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
    func seconds(_ time: timeval) -> Double { Double(time.tv_sec) + Double(time.tv_usec) / 1e6 }
    return seconds(usage.ru_utime) + seconds(usage.ru_stime)
}

/// The peak memory usage of this process.
private func peakBytes() -> Int {
    var usage = rusage()
    unsafe getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
    return usage.ru_maxrss * 1024
}

/// A listening socket whose queue is full: it neither accepts nor refuses connections.
private final class FullListener: Sendable {
    let port: UInt16
    private let descriptors: [Int32]

    init() throws {
        func loopback(_ port: UInt16) -> sockaddr_in {
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_port = port.bigEndian
            address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
            return address
        }
        func call(
            _ address: sockaddr_in, _ body: (UnsafeMutablePointer<sockaddr>, inout socklen_t) -> Int32
        ) -> sockaddr_in {
            var address = address
            var length = socklen_t(MemoryLayout<sockaddr_in>.size)
            unsafe withUnsafeMutablePointer(to: &address) { address in
                unsafe address.withMemoryRebound(to: sockaddr.self, capacity: 1) { _ = unsafe body($0, &length) }
            }
            return address
        }
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        _ = unsafe call(loopback(0)) { unsafe bind(listener, $0, $1) }
        listen(listener, 0)
        port = UInt16(bigEndian: unsafe call(loopback(0)) { unsafe getsockname(listener, $0, &$1) }.sin_port)
        var descriptors = [listener]
        for _ in 0..<4 {
            let filler = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue), 0)
            _ = unsafe call(loopback(port)) { unsafe connect(filler, $0, $1) }
            descriptors.append(filler)
        }
        self.descriptors = descriptors
    }

    deinit { for descriptor in descriptors { Glibc.close(descriptor) } }

    /// Whether a connection other than the fillers' is pending (`SYN_SENT` in proc(5), `/proc/net/tcp`).
    var isAwaited: Bool {
        let port = String(format: ":%04X", Int(port))
        // Reads to the end in pieces, since the file's reported size is 0.
        let file = FileHandle(forReadingAtPath: "/proc/net/tcp")
        var bytes = Data()
        while let piece = try? file?.read(upToCount: 65_536), !piece.isEmpty { bytes += piece }
        let table = String(decoding: bytes, as: UTF8.self)
        let rows = table.split(separator: "\n").map { $0.split(separator: " ") }
        return rows.count { $0.count > 3 && $0[2].hasSuffix(port) && ["01", "02"].contains($0[3]) } >= descriptors.count
    }
}

/// `openssl s_server -www` with a self-signed certificate, stopped with its last reference.
private final class TLSServer {
    let port: UInt16
    let certificateFile: String
    private let folder: ScratchFolder
    private let server: ChildProcess

    init(name: String) throws {
        folder = try ScratchFolder("tls")
        certificateFile = folder.path + "/certificate.pem"
        let keyFile = folder.path + "/key.pem"
        let request = try Command(
            "/usr/bin/openssl",
            [
                "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj",
                "/CN=test", "-addext", "subjectAltName=\(name)", "-keyout", keyFile, "-out", certificateFile,
            ])
        try #require(request.status == 0, "\(request.output)")
        let output = Pipe()
        server = try ChildProcess(
            [
                "/usr/bin/openssl", "s_server", "-accept", "127.0.0.1:0", "-www", "-cert", certificateFile, "-key",
                keyFile,
            ],
            output: output.fileHandleForWriting.fileDescriptor)
        try output.fileHandleForWriting.close()
        // The server prints "ACCEPT 127.0.0.1:PORT" once it listens.
        var text = ""
        while !text.hasSuffix("\n") || !text.contains("ACCEPT") {
            let data = output.fileHandleForReading.availableData
            guard !data.isEmpty else { throw CocoaError(.fileReadUnknown) }
            text += String(decoding: data, as: UTF8.self)
        }
        let line = try #require(text.split(separator: "\n").first { $0.hasPrefix("ACCEPT") })
        port = try #require(line.split(separator: ":").last.flatMap { UInt16($0) })
    }

    deinit {
        server.send(SIGTERM)
        _ = try? server.wait()
    }
}
