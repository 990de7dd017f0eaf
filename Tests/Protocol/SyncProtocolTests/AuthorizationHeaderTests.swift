import SyncProtocol
import Testing

@Suite("Parameters of an authorization code")
struct AuthorizationHeaderTests {
    @Test(
        "A redirect URI on loopback is parsed",
        arguments: [
            ("http://127.0.0.1:49152/code", LoopbackRedirectURI.Host.ipv4, 49_152, "/code"),
            ("http://[::1]:1/", .ipv6, 1, "/"), ("http://localhost:65535", .localhost, 65_535, ""),
            ("http://localhost:8080/a/b%20c~", .localhost, 8_080, "/a/b%20c~"),
        ] as [(String, LoopbackRedirectURI.Host, UInt16, String)])
    func loopback(text: String, host: LoopbackRedirectURI.Host, port: UInt16, path: String) throws {
        let uri = try #require(LoopbackRedirectURI(text))

        #expect(uri.rawValue == text)
        #expect(uri.host == host && uri.port == port && uri.path == path)
        #expect(LoopbackRedirectURI(host: host, port: port, path: path) == uri)
    }

    @Test(
        "All other URIs are rejected",
        arguments: [
            "", "http://", "https://127.0.0.1:1/", "HTTP://127.0.0.1:1/", "http://127.0.0.1/", "http://127.0.0.1:/",
            "http://127.0.0.1:0/", "http://127.0.0.1:080/", "http://127.0.0.1:+80/", "http://127.0.0.1:65536/",
            "http://127.0.0.2:80/", "http://127.0.0.1.example.com:80/", "http://localhost.example.com:80/",
            "http://127.0.0.1:80@example.com/", "http://me@127.0.0.1:80/", "http://127.0.0.1:80.example.com/",
            "http://LOCALHOST:80/", "http://::1:80/", "http://[::2]:80/", "http://127.0.0.1:80\\a", "http://0:80/",
            "http://127.0.0.1:80/a?b=c", "http://127.0.0.1:80/#", "http://127.0.0.1:80/a b", "http://127.0.0.1:80/ä",
            "http://127.0.0.1:80/%2", "http://127.0.0.1:80/%zz", "http://127.0.0.1:80/\r\nX: y",
            " http://127.0.0.1:80/",
            "http://127.0.0.1:８０/", "http://127.0.0.1:80/" + String(repeating: "a", count: 236),
        ])
    func elsewhere(text: String) {
        #expect(LoopbackRedirectURI(text) == nil)
    }

    @Test("A verifier has 43 to 128 unreserved characters, and is not printed")
    func verifier() throws {
        let plain = String(repeating: "aZ09-._~", count: 16)

        #expect(CodeVerifier(plain)?.rawValue == plain)
        #expect(CodeVerifier(String(plain.prefix(43))) != nil)
        #expect(CodeVerifier(String(plain.prefix(42))) == nil)
        #expect(CodeVerifier(plain + "a") == nil)
        for character in ["+", "/", "=", " ", "\n", "ä", "%"] {
            #expect(CodeVerifier(plain.prefix(60) + character) == nil)
        }
        let verifier = try #require(CodeVerifier(plain))
        #expect(!"\(verifier)".contains("aZ09") && !String(reflecting: verifier).contains("aZ09"))
    }
}
