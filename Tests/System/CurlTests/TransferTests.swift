import Curl
import TestSupport
import Testing

@Suite("Requests and responses")
struct TransferTests {
    /// A server that answers every request on a connection with 200 and an empty body.
    private func makeServer() throws -> LocalHTTPServer {
        try LocalHTTPServer { peer in while peer.readRequest() != nil { peer.respond() } }
    }

    @Test("Ten requests use one connection")
    func connectionReuse() throws {
        let server = try makeServer()
        var handle = try EasyHandle(allowsPlainHTTP: true)
        for number in 0..<10 {
            var request = Request(method: number % 2 == 0 ? "GET" : "POST", url: server.url("/\(number)"))
            if number % 2 == 1 { request.body = .bytes(Array("body \(number)".utf8)) }
            #expect(try handle.perform(request).status == 200)
        }
        #expect(server.connectionCount == 1)
        #expect(server.requests.count == 10)
        #expect(server.requests[9].body == Array("body 9".utf8))
    }

    @Test("A request that requires a fresh connection uses one")
    func freshConnection() throws {
        let server = try makeServer()
        var handle = try EasyHandle(allowsPlainHTTP: true)
        var request = Request(url: server.url())
        _ = try handle.perform(request)
        request.usesFreshConnection = true
        _ = try handle.perform(request)
        #expect(server.connectionCount == 2)
    }

    @Test("A second status line is ignored like an invalid header: the first one counts")
    func secondStatusLine() throws {
        let server = try LocalHTTPServer { peer in
            guard peer.readRequest() != nil else { return }
            peer.send("HTTP/1.1 304 N\r\nHTTP/1.1 200 :\r\nContent-Length: -9223372036854775808\r\n\r\n")
        }
        var handle = try EasyHandle(allowsPlainHTTP: true)

        #expect(try handle.perform(Request(url: server.url())).status == 304)
    }

    @Test(
        "Each method is sent under its name, with its body and length",
        arguments: ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "PROPFIND"], [0, 1, 100, 70_000, 3_000_000])
    func methods(method: String, length: Int) throws {
        let server = try makeServer()
        var handle = try EasyHandle(allowsPlainHTTP: true)
        let bytes = (0..<length + 2).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        // These tests send HEAD without a body.
        let sends = method != "HEAD" && length > 0
        let body: Request.Body = sends ? .bytes(bytes[1..<length + 1]) : .none

        let response = try handle.perform(Request(method: method, url: server.url(), body: body))

        #expect(response.status == 200)
        let received = try #require(server.requests.first)
        #expect(received.method == method)
        #expect(received.body == (sends ? Array(bytes[1..<length + 1]) : []))
        let announcesEmpty = ["POST", "PUT", "PATCH"].contains(method)
        #expect(received.header("Content-Length") == (sends ? "\(length)" : announcesEmpty ? "0" : nil))
        for name in ["Content-Type", "Expect", "Transfer-Encoding", "User-Agent"] {
            #expect(received.header(name) == nil)
        }
    }

    @Test("For POST, an empty body is the same as none")
    func emptyBytes() throws {
        let server = try makeServer()
        var handle = try EasyHandle(allowsPlainHTTP: true)
        _ = try handle.perform(Request(method: "POST", url: server.url(), body: .bytes([])))
        #expect(server.requests.first?.header("Content-Length") == "0")
        #expect(server.requests.first?.header("Content-Type") == nil)
    }

    @Test("The caller's headers are sent in order, including empty ones")
    func requestHeaders() throws {
        let server = try makeServer()
        var handle = try EasyHandle(allowsPlainHTTP: true)
        _ = try handle.perform(
            Request(
                method: "POST", url: server.url(),
                headers: [("X-One", "1"), ("Content-Type", "application/json"), ("X-Empty", ""), ("X-One", "2")],
                body: .bytes(Array("{}".utf8))))
        let head = try #require(server.requests.first).head
        #expect(head.contains("X-One: 1\r\nContent-Type: application/json\r\nX-Empty:\r\nX-One: 2"))
    }

    @Test("Response headers keep their order, case and repetitions; interim responses are discarded")
    func responseHeaders() throws {
        let server = try LocalHTTPServer { peer in
            _ = peer.readRequest()
            peer.send("HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n")
            peer.send("HTTP/1.1 308 Resume Incomplete\r\nset-cookie: a=1\r\nRange:\t bytes=0-9 \r\nSet-Cookie: b=2\r\n")
            peer.send("Location: http://127.0.0.1:1/\r\nX-Empty:\r\nContent-Length: 2\r\n\r\nok")
        }
        var handle = try EasyHandle(allowsPlainHTTP: true)

        let response = try handle.perform(Request(url: server.url()))

        #expect(response.status == 308)
        #expect(
            response.headers.map(\.name) == [
                "set-cookie", "Range", "Set-Cookie", "Location", "X-Empty", "Content-Length",
            ])
        #expect(response.value(of: "RANGE") == "bytes=0-9")
        #expect(response.head.values(of: "Set-cookie") == ["a=1", "b=2"])
        #expect(response.value(of: "x-empty") == "")
        #expect(response.value(of: "link") == nil)
        #expect(response.body == Array("ok".utf8))
    }

    @Test("A chunked body is assembled, and its trailers are not headers")
    func chunked() throws {
        let server = try LocalHTTPServer { peer in
            _ = peer.readRequest()
            peer.send(
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\nX-Late: 1\r\n\r\n")
        }
        var handle = try EasyHandle(allowsPlainHTTP: true)
        let response = try handle.perform(Request(url: server.url()))
        #expect(response.body == Array("abcde".utf8))
        #expect(response.value(of: "X-Late") == nil)
    }

    @Test("A streamed response delivers its head first and then the body in pieces")
    func streaming() throws {
        let body = String(repeating: "0123456789", count: 100_000)
        let server = try LocalHTTPServer { peer in
            _ = peer.readRequest()
            peer.respond(headers: ["X-A: 1"], body: body)
        }
        var handle = try EasyHandle(allowsPlainHTTP: true)
        var heads = 0
        var bytes = 0
        var headCameFirst = true

        try handle.perform(
            Request(url: server.url()),
            onHead: { head in
                heads += 1
                headCameFirst = bytes == 0
                return head.value(of: "x-a") == "1"
            },
            onBody: { piece in
                bytes += piece.count
                return true
            })

        #expect(heads == 1)
        #expect(headCameFirst)
        #expect(bytes == 1_000_000)
    }

    @Test("Invalid fields that could change the request are rejected before sending")
    func invalidRequests() throws {
        let server = try makeServer()
        var handle = try EasyHandle(allowsPlainHTTP: true)
        let url = server.url()
        let requests = [
            Request(method: "GET /x", url: url), Request(method: "", url: url), Request(url: url + " x"),
            Request(url: url + "é"), Request(url: "ftp://127.0.0.1/"), Request(url: "file:///etc/passwd"),
            Request(url: "nonsense://x"), Request(url: url, headers: [("X", "a\r\nY: b")]),
            Request(url: url, headers: [("X\r\nY", "b")]), Request(url: url, headers: [("X Y", "b")]),
            Request(url: url, headers: [("X", "a\0b")]), Request(url: url, headers: [("content-length", "3")]),
        ]
        for request in requests {
            do {
                _ = try handle.perform(request)
                Issue.record("sent: \(request)")
            } catch {
                guard case .invalidRequest = error else { throw error }
            }
        }
        #expect(server.connectionCount == 0)
    }

    @Test("Without the permission for tests, plain http is rejected before sending")
    func plainHTTP() throws {
        let server = try makeServer()
        var handle = try EasyHandle()
        #expect(throws: CurlError.self) { _ = try handle.perform(Request(url: server.url())) }
        #expect(server.connectionCount == 0)
    }

    @Test("A connection override sends all hosts to one address, and the request keeps its own host")
    func routing() throws {
        let server = try makeServer()
        var handle = try EasyHandle(routing: Routing(connectTo: "127.0.0.1:\(server.port)"), allowsPlainHTTP: true)
        for host in ["www.example.com", "api.example.org:8443"] {
            #expect(try handle.perform(Request(url: "http://\(host)/x")).status == 200)
        }
        #expect(server.requests.map { $0.header("Host") } == ["www.example.com", "api.example.org:8443"])
    }
}
