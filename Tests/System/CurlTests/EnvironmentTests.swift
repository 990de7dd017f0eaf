import Curl
import Glibc
import Synchronization
import TestSupport
import Testing

@Suite("libcurl's defaults that are overridden")
struct EnvironmentTests {
    @Test("A proxy from the environment is not used, and the request succeeds")
    func proxy() throws {
        let proxy = try LocalHTTPServer { peer in _ = peer.readRequest() }
        let server = try LocalHTTPServer { peer in if peer.readRequest() != nil { peer.respond(body: "direct") } }
        // No other code in this process reads these variables.
        let variables = [
            "http_proxy": proxy.url(), "ALL_PROXY": proxy.url(), "all_proxy": proxy.url(), "no_proxy": "",
            "NO_PROXY": "",
        ]
        for (name, value) in variables { unsafe setenv(name, value, 1) }
        defer { for name in variables.keys { unsafe unsetenv(name) } }

        var handle = try EasyHandle(allowsPlainHTTP: true)
        #expect(try handle.perform(Request(url: server.url())).body == Array("direct".utf8))
        #expect(proxy.connectionCount == 0)
    }

    @Test("TLS versions below 1.2 are not offered")
    func oldVersions() throws {
        let hello = Mutex<[UInt8]>([])
        let server = try LocalHTTPServer { peer in
            let bytes = peer.read(upTo: 8_192) ?? []
            hello.withLock { $0 = bytes }
        }
        var handle = try EasyHandle()

        #expect(throws: CurlError.self) { _ = try handle.perform(Request(url: "https://127.0.0.1:\(server.port)/")) }

        #expect(supportedVersions(in: hello.withLock { $0 }) == [0x0304, 0x0303])
    }

    /// The versions in a ClientHello's extension `supported_versions` (RFC 8446, sections 4.1.2 and 4.2.1); empty
    /// without this extension.
    private func supportedVersions(in hello: [UInt8]) -> [Int] {
        func number(_ start: Int, _ count: Int) -> Int {
            guard start + count <= hello.count else { return 0 }
            return hello[start..<start + count].reduce(0) { $0 << 8 | Int($1) }
        }
        // Skips the record header, message header, version and random number, and three fields of variable length.
        var position = 5 + 4 + 2 + 32
        position += 1 + number(position, 1)
        position += 2 + number(position, 2)
        position += 1 + number(position, 1)
        position += 2
        while position + 4 <= hello.count {
            let (kind, length) = (number(position, 2), number(position + 2, 2))
            if kind == 43 {
                return stride(from: position + 5, to: position + 4 + length, by: 2).map { number($0, 2) }
            }
            position += 4 + length
        }
        return []
    }
}
