import Curl
import Foundation
import Synchronization
import TestSupport
import Testing

@Suite("Bodies sent while they arrive")
struct ArrivingBodyTests {
    private let bytes = (0..<1_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31 ^ $0 >> 8) }

    /// A body with all of `bytes`, in pieces of at most `pieces` bytes.
    private func body(
        pieces: Int = 10_000, patience: Duration = .seconds(20),
        beforePiece: @escaping @Sendable (Int) -> Bool = { _ in true }
    ) -> ArrivingBody {
        ArrivingBody(lengthBytes: bytes.count, patience: patience) { [bytes] position, buffer in
            guard beforePiece(position) else { return nil }
            let count = min(pieces, buffer.count, bytes.count - position)
            for index in 0..<count { buffer[index] = bytes[position + index] }
            return count
        }
    }

    @Test(
        "A body is sent completely, with its length, for all methods and piece sizes",
        arguments: ["PUT", "POST", "PATCH"],
        [1_000, 1_000_000])
    func whole(method: String, pieces: Int) throws {
        let server = try LocalHTTPServer { peer in while peer.readRequest() != nil { peer.respond() } }
        var handle = try EasyHandle(allowsPlainHTTP: true)

        for _ in 0..<2 {
            let response = try handle.perform(
                Request(method: method, url: server.url(), body: .arriving(body(pieces: pieces))))
            #expect(response.status == 200)
        }

        #expect(server.connectionCount == 1)
        for received in server.requests {
            #expect(received.method == method)
            #expect(received.body == bytes)
            #expect(received.header("Content-Length") == "1000000")
            for name in ["Content-Type", "Expect", "Transfer-Encoding"] { #expect(received.header(name) == nil) }
        }
        #expect(server.requests.count == 2)
    }

    @Test("If the body stops, the connection is closed before its announced end")
    func broken() throws {
        let server = try LocalHTTPServer { peer in while peer.readRequest() != nil { peer.respond() } }
        var handle = try EasyHandle(allowsPlainHTTP: true)

        #expect(throws: CurlError.cancelled) {
            _ = try handle.perform(
                Request(method: "PUT", url: server.url(), body: .arriving(body { $0 < 900_000 })))
        }

        #expect(server.requests.isEmpty)
        let next = try handle.perform(Request(method: "PUT", url: server.url(), body: .arriving(body())))
        #expect(next.status == 200 && server.connectionCount == 2)
    }

    @Test("A rejection ends the request although most of the body has not been sent")
    func earlyRefusal() throws {
        let refused = Mutex(false)
        let server = try LocalHTTPServer { peer in
            _ = peer.read(upTo: 50_000)
            peer.respond("403 Forbidden")
            refused.withLock { $0 = true }
            while peer.read(upTo: 65_536) != nil {}
        }
        var handle = try EasyHandle(allowsPlainHTTP: true)
        let last = Mutex(0)

        let response = try handle.perform(
            Request(
                method: "PUT", url: server.url(),
                body: .arriving(
                    body { position in
                        last.withLock { $0 = position }
                        // The body arrives more slowly than the rejection.
                        if position >= 100_000 { return wait { refused.withLock { $0 } } }
                        return true
                    })))

        #expect(response.status == 403)
        #expect(last.withLock { $0 } < 900_000)
    }

    @Test("The server's timeout starts after the last bytes sent to it")
    func patience() throws {
        let server = try LocalHTTPServer { peer in
            guard peer.readRequest() != nil else { return }
            while peer.read(upTo: 1) != nil {}
        }
        var handle = try EasyHandle(allowsPlainHTTP: true)
        let began = ContinuousClock.now
        let arrivedAt = began + .seconds(1.2)

        #expect {
            _ = try handle.perform(
                Request(
                    method: "PUT", url: server.url(),
                    body: .arriving(
                        body(patience: .milliseconds(400)) { position in
                            position < 990_000 || wait { ContinuousClock.now >= arrivedAt }
                        })))
        } throws: { error in
            if case CurlError.timedOut = error { true } else { false }
        }

        // The second of waiting for the body did not count; libcurl checks about once a second.
        #expect(server.requests.count == 1)
        #expect(began.duration(to: .now) >= .seconds(1.6))
        #expect(began.duration(to: .now) < .seconds(10))
    }

    @Test("If a reused connection is dead, the body is sent again from its beginning")
    func deadConnection() throws {
        let connections = Mutex(0)
        let server = try LocalHTTPServer { peer in
            let number = connections.withLock { count in
                count += 1
                return count
            }
            guard number == 1 else {
                while peer.readRequest() != nil { peer.respond() }
                return
            }
            guard peer.readRequest() != nil else { return }
            peer.respond()
            // Reads the beginning of the second request, and disconnects.
            _ = peer.read(upTo: 100)
        }
        var handle = try EasyHandle(allowsPlainHTTP: true)
        _ = try handle.perform(Request(url: server.url()))

        let response = Result { try handle.perform(Request(method: "PUT", url: server.url(), body: .arriving(body()))) }

        // libcurl repeats the request only if it detected the dead connection; then with the whole body.
        if case .success(let response) = response {
            #expect(response.status == 200)
            #expect(server.requests.last?.body == bytes)
        } else {
            #expect(server.requests.count == 1)
        }
    }

    /// Whether the condition becomes true within ten seconds.
    private func wait(until condition: () -> Bool) -> Bool {
        let end = ContinuousClock.now + .seconds(10)
        while !condition() {
            guard ContinuousClock.now < end else { return false }
            Thread.sleep(forTimeInterval: 0.002)
        }
        return true
    }
}
