import HTTPTransport
import Testing

@Suite("Addresses of servers named by users")
struct ServerAddressTests {
    @Test(
        "An address has one spelling",
        arguments: [
            ("https://cloud.example.com", "https://cloud.example.com/"),
            ("HTTPS://Cloud.Example.COM:443/dav", "https://cloud.example.com/dav/"),
            ("http://cloud.example.com:80/", "http://cloud.example.com/"),
            ("https://cloud.example.com:8443/a/b/", "https://cloud.example.com:8443/a/b/"),
            ("https://cloud.example.com/%41%7e%c3%bc%20b", "https://cloud.example.com/A~%C3%BC%20b/"),
            ("https://cloud.example.com/a@b:c", "https://cloud.example.com/a@b:c/"),
            ("http://127.0.0.1:9000", "http://127.0.0.1:9000/"), ("http://[::1]:9000/x", "http://[::1]:9000/x/"),
            ("http://minio:9000", "http://minio:9000/"),
        ])
    func canonical(text: String, spelling: String) throws {
        let address = try #require(ServerAddress(text))

        #expect(address.text == spelling)
        #expect(ServerAddress(spelling) == address)
    }

    @Test(
        "A text that parsers could assign to different hosts, or that is not a server's address, is rejected",
        arguments: [
            "", "cloud.example.com", "//cloud.example.com/", "ftp://cloud.example.com/", "file:///etc/passwd",
            "gopher://cloud.example.com/", "https:/cloud.example.com/", "https:cloud.example.com", "https://",
            "https:///dav", "https://user@cloud.example.com/", "https://user:pw@cloud.example.com/",
            "https://cloud.example.com@127.0.0.1/", "https://cloud.example.com\\@127.0.0.1/",
            "https://127.0.0.1#@cloud.example.com/", "https://cloud.example.com?x", "https://cloud.example.com/?x",
            "https://cloud.example.com/#x", "https://cloud.example.com./", "https://.example.com/",
            "https://cloud..example.com/", "https://-cloud.example.com/", "https://cloud-.example.com/",
            "https://cloud_1.example.com/", "https://cloud%2eexample.com/", "https://127.0.0.1%2f.example.com/",
            "https://clo\u{FC}d.example.com/", "https://\u{2460}27.0.0.1/", "https://cloud.example.com\u{3002}/",
            "https://cloud.example.com /", " https://cloud.example.com/", "https://cloud.example.com\t/",
            "https://cloud.example.com\r\nX: y/", "https://0x7f.1/", "https://0x7f000001/", "https://2130706433/",
            "https://0177.0.0.1/", "https://127.1/", "https://127.0.0.01/", "https://127.0.0.1.2/",
            "https://256.0.0.1/", "https://1.2.3/", "https://cloud.example.0x1/", "https://cloud.example.1/",
            "https://[::1/", "https://::1/", "https://[fe80::1%25eth0]/", "https://[::ffff:127.0.0.1]/",
            "https://[cloud.example.com]/", "https://[]/", "https://[::1]x/",
            "https://cloud.example.com:/", "https://cloud.example.com:0/", "https://cloud.example.com:65536/",
            "https://cloud.example.com:0443/", "https://cloud.example.com:+443/", "https://cloud.example.com:443:1/",
            "https://cloud.example.com/a//b", "https://cloud.example.com//", "https://cloud.example.com/./a",
            "https://cloud.example.com/../a", "https://cloud.example.com/%2e%2E/a", "https://cloud.example.com/a%2fb",
            "https://cloud.example.com/a%5Cb", "https://cloud.example.com/a\\b", "https://cloud.example.com/a%00",
            "https://cloud.example.com/a%0d%0aX", "https://cloud.example.com/a%7F", "https://cloud.example.com/%",
            "https://cloud.example.com/%4", "https://cloud.example.com/%+1", "https://cloud.example.com/%zz",
            "https://cloud.example.com/\u{FC}", "https://cloud.example.com/a\"b", "https://cloud.example.com/..;/a",
            "https://cloud.example.com/%2e%2e;x=1/a",
            "https://cloud.example.com/" + String(repeating: "a", count: ServerAddress.maximumBytes),
            "https://" + String(repeating: "a", count: 64) + ".example.com/",
        ])
    func refused(text: String) { #expect(ServerAddress(text) == nil) }

    @Test(
        "Public names, local names and numeric addresses are distinguished",
        arguments: [
            ("https://cloud.example.com", ServerAddress.HostKind.domainName), ("https://localhost", .localName),
            ("https://a.localhost", .localName), ("https://nas", .localName), ("https://10.0.0.1", .literal),
            ("https://[2001:db8::1]", .literal), ("https://1.example.com", .domainName),
        ])
    func kinds(text: String, kind: ServerAddress.HostKind) throws {
        #expect(try #require(ServerAddress(text)).hostKind == kind)
    }

    @Test("An address contains another only on the same server, and at a segment boundary")
    func within() throws {
        let root = try #require(ServerAddress("https://cloud.example.com/dav"))
        for (text, isWithin) in [
            ("https://cloud.example.com/dav/", true), ("https://cloud.example.com/dav/alice", true),
            ("https://cloud.example.com/david", false), ("https://cloud.example.com/", false),
            ("http://cloud.example.com/dav/", false), ("https://cloud.example.com:444/dav/", false),
            ("https://cloud.example.com.example.org/dav/", false),
        ] {
            #expect(try #require(ServerAddress(text)).isWithin(root) == isWithin, "\(text)")
        }
    }
}
