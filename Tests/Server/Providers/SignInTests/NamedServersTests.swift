import HTTPTransport
import Providers
import Testing

@Suite("Servers that users may name")
struct NamedServersTests {
    private func destination(
        _ text: String, listed: [String] = [], anyPublic: Bool = false
    ) throws -> OutgoingRequest.Destination? {
        let servers = NamedServers(
            listed: try listed.map { try #require(ServerAddress($0)) }, admitsAnyPublic: anyPublic)
        return servers.destination(of: try #require(ServerAddress(text)))
    }

    @Test("By default users may name no server", arguments: ["https://cloud.example.com/", "http://127.0.0.1:9000/"])
    func none(text: String) throws {
        #expect(try destination(text) == nil)
    }

    @Test("Listed servers are trusted, with their port and without TLS, and no others")
    func listed() throws {
        let listed = ["http://127.0.0.1:9000", "https://cloud.example.com/dav"]

        #expect(try destination("http://127.0.0.1:9000/", listed: listed) == .listed)
        #expect(try destination("https://cloud.example.com/dav/alice/", listed: listed) == .listed)
        #expect(try destination("http://127.0.0.1:9001/", listed: listed) == nil)
        #expect(try destination("https://127.0.0.1:9000/", listed: listed) == nil)
        #expect(try destination("https://cloud.example.com/", listed: listed) == nil)
        #expect(try destination("https://cloud.example.com:8443/dav/", listed: listed) == nil)
    }

    @Test("If any public server may be named, it needs a name, TLS and the https port")
    func anyPublic() throws {
        #expect(try destination("https://cloud.example.com/dav/", anyPublic: true) == .named)
        for text in [
            "http://cloud.example.com/", "https://cloud.example.com:8443/", "https://cloud.example.com:22/",
            "https://localhost/", "https://a.localhost/", "https://nas/", "https://8.8.8.8/", "https://10.0.0.1/",
            "https://[2606:4700::1111]/", "https://[::1]/",
        ] {
            #expect(try destination(text, anyPublic: true) == nil, "\(text)")
        }
    }
}
