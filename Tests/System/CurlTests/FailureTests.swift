import Curl
import TestSupport
import Testing

@Suite("Transfers that fail")
struct FailureTests {
    /// The error of a request; nil if it succeeded.
    private func failure(of request: Request, on handle: inout EasyHandle) -> CurlError? {
        do {
            _ = try handle.perform(request)
            return nil
        } catch {
            return error
        }
    }

    @Test("Without a listener, nothing was sent")
    func nobodyListens() throws {
        let port: UInt16
        do { port = try LocalHTTPServer { _ in }.port }
        var handle = try EasyHandle(allowsPlainHTTP: true)
        let error = failure(of: Request(url: "http://127.0.0.1:\(port)/"), on: &handle)
        #expect(error?.kind == "not sent")
        #expect(error?.mayHaveBeenSent == false)
        #expect(error?.description.contains("127.0.0.1") == false)
    }

    @Test("If the host does not exist, nothing was sent")
    func unknownHost() throws {
        var handle = try EasyHandle(allowsPlainHTTP: true)
        let error = failure(of: Request(url: "http://host.invalid/"), on: &handle)
        #expect(error?.kind == "not sent")
    }

    @Test("After a failed name lookup, the same handle performs any following request", arguments: 1...3)
    func lookupFailsOnce(failures: Int) throws {
        let server = try LocalHTTPServer { peer in
            while peer.readRequest() != nil { peer.respond() }
        }
        var handle = try EasyHandle(allowsPlainHTTP: true)
        for _ in 0..<failures {
            #expect(failure(of: Request(url: "http://host.invalid/"), on: &handle)?.kind == "not sent")
        }
        #expect(try handle.perform(Request(url: server.url())).head.status == 200)
        #expect(failure(of: Request(url: "http://host.invalid/"), on: &handle)?.kind == "not sent")
        var upload = Request(method: "PUT", url: server.url(), body: .bytes([UInt8](repeating: 1, count: 300_000)))
        upload.uploadBufferBytes = 100_000
        #expect(try handle.perform(upload).head.status == 200)
    }

    @Test("A server without the required HTTP/2 has sent no reply")
    func otherVersion() throws {
        let server = try LocalHTTPServer { peer in
            _ = peer.readRequest()
            peer.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        }
        var handle = try EasyHandle(allowsPlainHTTP: true)
        var request = Request(url: server.url())
        request.httpVersion = .http2Only
        let error = failure(of: request, on: &handle)
        #expect(error == .otherHTTPVersion)
        #expect(error?.mayHaveBeenSent == true)
    }

    @Test("A connection that breaks during the TLS handshake has sent nothing", arguments: [true, false])
    func brokenHandshake(isReset: Bool) throws {
        let server = try LocalHTTPServer { peer in
            _ = peer.read(upTo: 4_096)
            if isReset { peer.reset() }
        }
        var handle = try EasyHandle()
        let error = failure(of: Request(url: "https://127.0.0.1:\(server.port)/"), on: &handle)
        #expect(error?.kind == "not sent")
    }

    @Test("A connection that is closed without a reply leaves the outcome unknown", arguments: [true, false])
    func closedWithoutAnswer(isReset: Bool) throws {
        let server = try LocalHTTPServer { peer in
            _ = peer.readRequest()
            if isReset { peer.reset() }
        }
        var handle = try EasyHandle(allowsPlainHTTP: true)
        let error = failure(of: Request(method: "POST", url: server.url(), body: .bytes([1, 2, 3])), on: &handle)
        #expect(error?.kind == "interrupted")
        #expect(error?.mayHaveBeenSent == true)
        #expect(server.requests.count == 1)
    }

    @Test(
        "A reply with oversized headers, or one that is not HTTP, leaves the outcome unknown",
        arguments: [
            "HTTP/1.1 200 OK\r\nX-Huge: " + String(repeating: "z", count: 400_000) + "\r\n\r\n", "\u{1}\u{2} no HTTP",
        ])
    func malformedReply(reply: String) throws {
        let server = try LocalHTTPServer { peer in
            _ = peer.readRequest()
            peer.send(reply)
        }
        var handle = try EasyHandle(allowsPlainHTTP: true)
        let error = failure(of: Request(method: "POST", url: server.url(), body: .bytes([1])), on: &handle)
        #expect(error?.kind == "interrupted")
        #expect(error?.mayHaveBeenSent == true)
        #expect(server.requests.count == 1)
    }

    @Test("A reset during an upload leaves the outcome unknown")
    func resetDuringUpload() throws {
        let server = try LocalHTTPServer { peer in
            _ = peer.read(upTo: 50_000)
            peer.reset()
        }
        var handle = try EasyHandle(allowsPlainHTTP: true)
        let request = Request(method: "PUT", url: server.url(), body: .bytes([UInt8](repeating: 1, count: 20_000_000)))
        let error = failure(of: request, on: &handle)
        #expect(error?.kind == "interrupted")
    }

    @Test("A reused connection that the server has closed is replaced before anything is sent")
    func closedWhileIdle() throws {
        let server = try LocalHTTPServer { peer in
            if peer.readRequest() != nil { peer.respond() }
        }
        var handle = try EasyHandle(allowsPlainHTTP: true)
        for _ in 0..<5 {
            let request = Request(method: "POST", url: server.url(), body: .bytes([1]))
            #expect(try handle.perform(request).status == 200)
        }
        #expect(server.requests.count == 5)
    }

    @Test("libcurl repeats a request that fails on a reused connection, but not one on a fresh connection")
    func repetition() throws {
        let server = try LocalHTTPServer { peer in
            // Answers the first request of each connection, and accepts the second without an answer.
            if peer.readRequest() != nil { peer.respond() }
            _ = peer.readRequest()
        }
        var handle = try EasyHandle(allowsPlainHTTP: true)
        var request = Request(method: "POST", url: server.url(), body: .bytes([1]))
        _ = try handle.perform(request)
        _ = try handle.perform(request)
        // One answered, one unanswered, and one repeated by libcurl.
        #expect(server.requests.count == 3)

        request.usesFreshConnection = true
        _ = try handle.perform(request)
        #expect(server.requests.count == 4)
    }

    @Test("A truncated body is partial")
    func truncated() throws {
        let server = try LocalHTTPServer { peer in
            _ = peer.readRequest()
            peer.send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nonly this")
        }
        var handle = try EasyHandle(allowsPlainHTTP: true)
        let error = failure(of: Request(url: server.url()), on: &handle)
        #expect(error?.kind == "partial")
    }

    @Test("A server that does not reply times out; the low-speed limit ends a slow reply")
    func timeouts() throws {
        let server = try LocalHTTPServer { peer in
            _ = peer.readRequest()
            peer.send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n.")
            peer.waitForHangUp()
        }
        var handle = try EasyHandle(allowsPlainHTTP: true)
        var request = Request(url: server.url())
        request.totalTimeout = .milliseconds(200)
        let start = ContinuousClock.now
        let silence = failure(of: request, on: &handle)
        #expect(silence?.kind == "timed out")
        #expect(ContinuousClock.now - start < .seconds(2))

        request.totalTimeout = nil
        request.lowSpeedLimitBytesPerSecond = 1000
        request.lowSpeedTime = .seconds(1)
        let error = failure(of: request, on: &handle)
        #expect(error?.kind == "too slow")
        #expect(ContinuousClock.now - start < .seconds(6))
    }

    @Test(
        "A body above the limit is rejected, and one at the limit is not, with or without an announced length",
        arguments: [true, false])
    func bodyLimit(isAnnounced: Bool) throws {
        let server = try LocalHTTPServer { peer in
            while peer.readRequest() != nil {
                let body = String(repeating: "x", count: 1000)
                if isAnnounced {
                    peer.respond(body: body)
                } else {
                    peer.send("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + body)
                    return
                }
            }
        }
        var handle = try EasyHandle(allowsPlainHTTP: true)
        var request = Request(url: server.url())
        request.responseBodyLimit = 999
        #expect(failure(of: request, on: &handle) == .responseTooLarge(limitBytes: 999))
        request.responseBodyLimit = 1000
        #expect(try handle.perform(request).body.count == 1000)
    }

    @Test("Endless headers are rejected")
    func headerLimit() throws {
        let server = try LocalHTTPServer { peer in
            _ = peer.readRequest()
            peer.send("HTTP/1.1 200 OK\r\n")
            while peer.send(Array("X-Filler: \(String(repeating: "y", count: 1000))\r\n".utf8)) {}
        }
        var handle = try EasyHandle(allowsPlainHTTP: true)
        #expect(failure(of: Request(url: server.url()), on: &handle) == .responseTooLarge(limitBytes: 256 * 1024))
    }

    @Test("A closure that returns false stops the transfer, and the handle stays usable")
    func cancelled() throws {
        let server = try LocalHTTPServer { peer in
            while peer.readRequest() != nil { peer.respond(body: String(repeating: "x", count: 500_000)) }
        }
        var handle = try EasyHandle(allowsPlainHTTP: true)
        #expect(throws: CurlError.cancelled) {
            try handle.perform(Request(url: server.url()), onHead: { _ in false }, onBody: { _ in true })
        }
        #expect(throws: CurlError.cancelled) {
            try handle.perform(Request(url: server.url()), onHead: { _ in true }, onBody: { _ in false })
        }
        #expect(try handle.perform(Request(url: server.url())).body.count == 500_000)
    }

    @Test("A reply before the end of the upload is the response")
    func earlyAnswer() throws {
        let server = try LocalHTTPServer { peer in
            _ = peer.read(upTo: 1000)
            peer.send("HTTP/1.1 413 Too Large\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
            peer.waitForHangUp()
        }
        var handle = try EasyHandle(allowsPlainHTTP: true)
        let request = Request(method: "PUT", url: server.url(), body: .bytes([UInt8](repeating: 1, count: 20_000_000)))
        #expect(try handle.perform(request).status == 413)
    }

    @Test("A peer without TLS causes a TLS error, and nothing was sent")
    func noTLS() throws {
        let server = try LocalHTTPServer { peer in
            _ = peer.read(upTo: 1000)
            peer.send("HTTP/1.1 400 Bad Request\r\n\r\n")
        }
        var handle = try EasyHandle()
        let error = failure(of: Request(url: "https://127.0.0.1:\(server.port)/"), on: &handle)
        #expect(error?.kind == "TLS")
        #expect(error?.mayHaveBeenSent == false)
        #expect(server.requests.isEmpty)
    }

    @Test("Opening, failing and closing 300 times leaks nothing and never terminates the program")
    func openFailClose() throws {
        let server = try LocalHTTPServer { peer in
            _ = peer.readRequest()
            peer.send("HTTP/1.1 200 OK\r\nX-A: 1\r\nContent-Length: 100\r\n\r\nonly this")
        }
        for _ in 0..<100 {
            var handle = try EasyHandle(routing: Routing(connectTo: "127.0.0.1:\(server.port)"), allowsPlainHTTP: true)
            let post = Request(
                method: "POST", url: "http://example.com/", headers: [("X-B", "2")], body: .bytes([1, 2, 3]))
            for request in [post, Request(url: "nonsense://"), Request(url: "http://example.com/")] {
                #expect(throws: CurlError.self) { _ = try handle.perform(request) }
            }
        }
    }
}

extension CurlError {
    /// The kind of error, with which the debug description begins.
    fileprivate var kind: String { String(debugDescription.prefix { $0 != ":" }) }
}
