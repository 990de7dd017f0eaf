import Foundation
import SyncAccounts
import SyncServerConnection
import TestSupport
import Testing

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

@Suite("Requests to providers, with servers that behave in different ways")
struct ProviderTransportTests {
    private let transport = ProviderTransport.system(timeout: .seconds(2))

    private func request(_ server: LocalHTTPServer, _ method: String = "GET", body: String? = nil) throws -> URLRequest
    {
        var request = URLRequest(url: try #require(URL(string: server.url("/a%20b?c=%26"))))
        request.httpMethod = method
        request.setValue("App/1", forHTTPHeaderField: "User-Agent")
        request.httpBody = body.map { Data($0.utf8) }
        return request
    }

    @Test(
        "A 401 is returned immediately, regardless of its challenge",
        arguments: ["Basic realm=\"x\"", "Bearer", "Digest realm=\"x\""])
    func challenge(value: String) async throws {
        let server = try LocalHTTPServer { peer in
            while peer.readRequest() != nil {
                peer.respond("401 Unauthorized", headers: ["WWW-Authenticate: \(value)"], body: "no")
            }
        }
        let reply = try await ProviderTransport.system().send(try request(server, "POST", body: "a=b"))
        #expect(reply.status == 401)
        #expect(reply.body == Data("no".utf8))
        #expect(server.requests.count == 1)
        #expect(server.requests.last?.head.hasPrefix("POST /a%20b?c=%26 HTTP/1.1\r\n") == true)
        #expect(server.requests.last?.header("User-Agent") == "App/1")
        #expect(server.requests.last?.header("Content-Length") == "3")
    }

    @Test("No redirect is followed, and no request is repeated without its body", arguments: [301, 302, 303, 307, 308])
    func redirect(status: Int) async throws {
        let server = try LocalHTTPServer { peer in
            while peer.readRequest() != nil { peer.respond("\(status) Elsewhere", headers: ["Location: /there"]) }
        }
        for method in ["GET", "POST", "PUT"] {
            let reply = try await ProviderTransport.system().send(
                try request(server, method, body: method == "GET" ? nil : "a=b"))
            #expect(reply.status == status)
        }
        #expect(server.requests.map(\.body.count) == [0, 3, 3])
    }

    @Test("The timeout covers the whole request, including replies that arrive slowly or never start")
    func timeout() async throws {
        let server = try LocalHTTPServer { peer in
            guard let request = peer.readRequest() else { return }
            if request.method == "DELETE" { return peer.waitForHangUp() }
            peer.send("HTTP/1.1 200 OK\r\n")
            if request.method == "POST" { peer.send("Content-Length: 1000\r\n\r\n") }
            while peer.send(Array("X: y\r\n".utf8)) { peer.waitUntilGone(within: .milliseconds(100)) }
        }
        for method in ["POST", "GET", "DELETE"] {
            let begin = ContinuousClock.now
            await #expect(throws: TransportFailure.self) { try await transport.send(try request(server, method)) }
            #expect((.seconds(1)...(.seconds(25))).contains(.now - begin))
        }
    }

    @Test("A cancelled request ends immediately")
    func cancelled() async throws {
        let server = try LocalHTTPServer { peer in
            _ = peer.readRequest()
            peer.waitForHangUp()
        }
        let request = try request(server)
        let patient = ProviderTransport.system()
        let waiting = Task { try await patient.send(request).status }
        try await eventually("the request has arrived") { !server.requests.isEmpty }
        let begin = ContinuousClock.now
        waiting.cancel()
        await #expect(throws: (any Error).self) { try await waiting.value }
        #expect(.now - begin < .seconds(25))
    }

    @Test("A reply that is too long is an error, and is not read further")
    func tooLong() async throws {
        let server = try LocalHTTPServer { peer in
            _ = peer.readRequest()
            peer.send("HTTP/1.1 200 OK\r\n\r\n")
            while peer.send([UInt8](repeating: 0x20, count: 100_000)) {}
        }
        let request = try request(server)
        await #expect(throws: TransportFailure.self) { try await transport.send(request) }
    }

    @Test("An address that is not HTTP is an error")
    func address() async throws {
        for text in ["ftp://127.0.0.1/", "file:///etc/passwd", "http:///x"] {
            let url = try #require(URL(string: text))
            await #expect(throws: TransportFailure.self) { try await transport.send(URLRequest(url: url)) }
        }
    }
}
