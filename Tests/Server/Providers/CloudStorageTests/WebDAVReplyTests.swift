import HTTPTransport
import HTTPTypes
import Providers
import SyncProtocol
import TestSupport
import Testing

@Suite("WebDAV: interpretation of replies")
struct WebDAVReplyTests {
    private static let address = "https://cloud.example.com/dav/"
    private static let location = "{\"address\":\"\(address)\",\"user\":\"alice\"}"

    private let provider = WebDAV(
        servers: NamedServers(listed: [ServerAddress(address)].compactMap(\.self), admitsAnyPublic: false))

    private func storage(_ replies: Reply...) -> ScriptedStorage { ScriptedStorage(replies, location: Self.location) }

    /// A multistatus about one resource.
    private static func resource(_ href: String, _ properties: String) -> Reply {
        Reply(
            207,
            "<D:multistatus xmlns:D='DAV:' xmlns:oc='http://owncloud.org/ns'><D:response><D:href>\(href)</D:href>"
                + "<D:propstat><D:prop>\(properties)</D:prop><D:status>HTTP/1.1 200 OK</D:status></D:propstat>"
                + "<D:propstat><D:prop><oc:fileid>5</oc:fileid></D:prop><D:status>HTTP/1.1 404 Not Found</D:status>"
                + "</D:propstat></D:response></D:multistatus>")
    }

    private static let file = resource(
        "/dav/Sync%20Tests/a.jpg", "<D:getcontentlength>5</D:getcontentlength><D:getetag>W/\"t\"</D:getetag>")

    @Test("User and password are sent, and names are escaped")
    func request() throws {
        let storage = storage(Self.file)

        let found = try #require(try provider.find(name: "a&b %é.jpg", in: storage.access()))

        let sent = try #require(storage.transport.requests.first)
        #expect(sent.method.rawValue == "PROPFIND" && sent.headers[HTTPField.Name("Depth")!] == "0")
        #expect(sent.url == "https://cloud.example.com/dav/Sync%20Tests/a%26b%20%25%C3%A9.jpg")
        #expect(sent.headers[.authorization] == "Basic YWxpY2U6VDA=")
        #expect(sent.destination == .listed)
        // What the server does not have is not a property: without an identifier the object is its name.
        #expect(found.objectID == "name:a%26b%20%25%C3%A9.jpg")
        #expect(found.sizeBytes == 5 && found.revision == "t" && found.providerHash == nil)
    }

    @Test("A search that finds something without an identifier does not say that there is no such file")
    func unidentified() throws {
        let location = "{\"address\":\"https://cloud.example.com/dav/remote.php/dav/files/alice/\",\"user\":\"alice\"}"
        let path = "/dav/remote.php/dav/files/alice/a.jpg"
        for identifier in ["", "<oc:fileid>many</oc:fileid>"] {
            let storage = ScriptedStorage([Self.resource(path, identifier)], location: location)

            #expect(throws: CloudStorageError.unavailable(detail: "")) {
                try provider.delete(objectID: "id:17", in: storage.access())
            }
        }
    }

    @Test("A deletion that is answered with a page has not been made")
    func deletionWithBody() throws {
        #expect(throws: CloudStorageError.unavailable(detail: "")) {
            try provider.delete(objectID: "name:a.jpg", in: storage(Reply(200, "<html>")).access())
        }
        for reply in [Reply(204), Reply(200)] {
            try provider.delete(objectID: "name:a.jpg", in: storage(reply).access())
        }
    }

    @Test("An object of Nextcloud has its number, its MD5, and is found by searching")
    func nextcloud() throws {
        let location = "{\"address\":\"https://cloud.example.com/dav/remote.php/dav/files/alice/\",\"user\":\"alice\"}"
        let reply = Self.resource(
            "https://cloud.example.com/dav/remote.php/dav/files/alice/Elsewhere/b%2ejpg",
            "<D:getcontentlength>5</D:getcontentlength><D:getetag>\"t\"</D:getetag><oc:fileid>17</oc:fileid>"
                + "<oc:checksums><oc:checksum>SHA1:00 MD5:5D41402ABC4B2A76B9719D911017C592</oc:checksum></oc:checksums>"
        )
        let storage = ScriptedStorage([reply], location: location)

        let found = try provider.describe(objectID: "id:17", in: storage.access())

        #expect(found.objectID == "id:17" && found.name == "b.jpg")
        #expect(found.providerHash == "5d41402abc4b2a76b9719d911017c592")
        let sent = try #require(storage.transport.requests.first)
        #expect(sent.method.rawValue == "SEARCH" && sent.url == "https://cloud.example.com/dav/remote.php/dav/")
        #expect(sent.bodyText.contains("<d:href>/files/alice</d:href>") && sent.bodyText.contains("<d:literal>17<"))
    }

    @Test(
        "Each status has its meaning",
        arguments: [
            (403, CloudStorageError.rejected(code: "")), (405, .rejected(code: "")), (413, .rejected(code: "")),
            (415, .rejected(code: "")), (501, .rejected(code: "")), (507, .quotaExceeded),
            (409, .unavailable(detail: "")), (301, .rejected(code: "")),
        ])
    func meanings(status: Int, meaning: CloudStorageError) {
        let storage = storage(Reply(status, "<html>"))

        #expect(throws: meaning) { _ = try provider.find(name: "a.jpg", in: storage.access()) }
        #expect(storage.steps.count == 1)
    }

    @Test("Locks, throttling and maintenance are waited for", arguments: [408, 423, 429, 500, 502, 503, 504])
    func passing(status: Int) throws {
        let storage = storage(Reply(status, ""), Self.file)

        #expect(try provider.find(name: "a.jpg", in: storage.access()) != nil)
        #expect(storage.pauses.pauses.count == 1)
    }

    @Test("A 404 counts only if the server has the rest of the account")
    func notFound() {
        let gone = storage(Reply(404, ""), Self.resource("/dav/", "<D:resourcetype><D:collection/></D:resourcetype>"))
        #expect(throws: CloudStorageError.notFound) {
            _ = try provider.describe(objectID: "name:a.jpg", in: gone.access())
        }
        let away = storage(Reply(404, ""), Reply(404, ""))
        #expect(throws: CloudStorageError.unavailable(detail: "")) {
            _ = try provider.describe(objectID: "name:a.jpg", in: away.access())
        }
    }

    @Test(
        "What is no multistatus is a failure that may pass",
        arguments: ["", "{}", "<html/>", "<D:multistatus xmlns:D='DAV:'>", "<!DOCTYPE a [<!ENTITY b 'c'>]><a>&b;</a>"])
    func unreadable(body: String) {
        #expect(throws: CloudStorageError.unavailable(detail: "")) {
            _ = try provider.find(name: "a.jpg", in: storage(Reply(207, body)).access())
        }
    }

    @Test("A server that the operator no longer lists is not asked")
    func unlisted() {
        let storage = storage(Self.file)
        let other = WebDAV(servers: NamedServers(listed: [], admitsAnyPublic: false))
        #expect(throws: CloudStorageError.serverNotAllowed) {
            _ = try other.find(name: "a.jpg", in: storage.access())
        }
        #expect(storage.steps.isEmpty)
    }

    @Test("A refused password is not tried again by the same operation")
    func refused() {
        let storage = ScriptedStorage([Reply(401, ""), Self.file], location: Self.location, renews: false)
        #expect(throws: CloudStorageError.unavailable(detail: "")) {
            _ = try provider.find(name: "a.jpg", in: storage.access())
        }
        #expect(storage.steps.count == 1)
    }

    @Test("A move whose destination a server refuses as a URL is repeated with a path, which is remembered")
    func destinations() throws {
        let bytes = Reply(200, "\u{1}\u{2}\u{3}\u{4}\u{5}")
        let storage = storage(
            Reply(201, ""), bytes, Reply(502, ""), Reply(201, ""), Self.file, Reply(201, ""), Reply(201, ""), Self.file)

        for name in ["a.jpg", "b.jpg"] {
            let reservation = try provider.reserve(name: name, in: storage.access())
            _ = try provider.upload(
                BytesContent([1, 2, 3, 4, 5], for: .webDAV), as: reservation, mimeType: "image/jpeg",
                to: storage.access())
        }

        let destinations = storage.transport.requests.compactMap { $0.headers[HTTPField.Name("Destination")!] }
        #expect(
            destinations == [
                "https://cloud.example.com/dav/Sync%20Tests/a.jpg", "/dav/Sync%20Tests/a.jpg",
                "/dav/Sync%20Tests/b.jpg",
            ])
        // The second upload is not read back.
        #expect(
            storage.transport.requests.map(\.method.rawValue)
                == ["PUT", "GET", "MOVE", "MOVE", "PROPFIND", "PUT", "MOVE", "PROPFIND"])
    }

    @Test("An upload without a spare name has the same temporary name in each attempt, so that nothing stays behind")
    func repeatedAttempts() throws {
        let storage = storage(Reply(201), Reply(200, "hello"), Reply(403), Reply(201), Reply(200, "hello"), Reply(403))
        let reservation = ObjectReservation(name: "README.txt", objectID: nil, spareName: nil)

        for _ in 1...2 {
            #expect(throws: CloudStorageError.self) {
                _ = try provider.upload(
                    BytesContent(Array("hello".utf8), for: .webDAV), as: reservation, mimeType: "text/plain",
                    to: storage.access())
            }
        }

        let uploads = storage.transport.requests.filter { $0.method == .put }.map(\.url)
        #expect(uploads.count == 2 && Set(uploads).count == 1)
    }

    @Test("What an interrupted upload to a spare name left is removed by whoever looks for that name")
    func leftovers() throws {
        let storage = storage(Reply(404, ""), Reply(204, ""))

        #expect(try provider.find(name: "a~0123abcd.jpg", in: storage.access()) == nil)

        #expect(storage.transport.requests.map(\.method.rawValue) == ["PROPFIND", "DELETE"])
        #expect(storage.transport.requests[1].url.hasSuffix("/a~0123abcd.jpg.part"))
    }
}
