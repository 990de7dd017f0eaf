import HTTPTransport
import Testing

@Suite("URLs from provider replies")
struct HTTPSAddressTests {
    @Test(
        "Host and path are parsed",
        arguments: [
            ("https://www.googleapis.com/drive/v3/files?fields=id", "www.googleapis.com", "/drive/v3/files"),
            ("https://WWW.GoogleAPIs.com", "www.googleapis.com", ""),
            ("https://a.sharepoint.com?x=1", "a.sharepoint.com", ""),
            ("https://a.sharepoint.com#x", "a.sharepoint.com", ""),
        ])
    func read(url: String, host: String, path: String) throws {
        let address = try #require(HTTPSAddress(url))
        #expect(address.host == host)
        #expect(address.path == path)
    }

    @Test(
        "A URL that parsers could interpret differently is rejected",
        arguments: [
            "", "https://", "https:///path", "http://www.googleapis.com/", "HTTPS://www.googleapis.com/",
            "//www.googleapis.com/",
            "https://www.googleapis.com@evil.example/", "https://user:word@www.googleapis.com/",
            "https://evil.example\\.googleapis.com/", "https://www.googleapis.com:8443/", "https://[::1]/",
            "https://evil.example\u{0}.googleapis.com/", "https://www.googleapis.com/a b",
            "https://www.googleapis.com/\n",
            "https://.googleapis.com/", "https://ｗｗｗ.googleapis.com/",
        ])
    func refused(url: String) { #expect(HTTPSAddress(url) == nil) }
}
