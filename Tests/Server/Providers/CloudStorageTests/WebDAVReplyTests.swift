import HTTPTransport
import HTTPTypes
import Providers
import SyncProtocol
import Synchronization
import TestSupport
import Testing

@Suite("WebDAV: interpretation of replies")
struct WebDAVReplyTests {
    private static let address = "https://cloud.example.com/dav/"
    private static let location = "{\"address\":\"\(address)\",\"user\":\"alice\"}"

    private let servers = NamedServers(listed: [ServerAddress(address)].compactMap(\.self), admitsAnyPublic: false)
    private let provider: WebDAV

    init() { provider = WebDAV(servers: servers) }

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
        // A missing property means that the server does not support it: without an identifier, the name identifies the
        // object.
        #expect(found.objectID == "name:a%26b%20%25%C3%A9.jpg")
        #expect(found.sizeBytes == 5 && found.revision == "t" && found.providerHash == nil)
    }

    @Test("A search whose result has no identifier does not prove that the file is missing")
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

    @Test("A deletion answered with a page has not happened")
    func deletionWithBody() throws {
        #expect(throws: CloudStorageError.unavailable(detail: "")) {
            try provider.delete(objectID: "name:a.jpg", in: storage(Reply(200, "<html>")).access())
        }
        for reply in [Reply(204), Reply(200)] {
            try provider.delete(objectID: "name:a.jpg", in: storage(reply).access())
        }
    }

    @Test("A deletion confirmed in a server's own words counts if the object is no longer there")
    func deletionInWords() throws {
        let gone = storage(Reply(200, "deleted 1 files (and 0/0 folders)"), Reply(404, ""))

        try provider.delete(objectID: "name:a.jpg", in: gone.access())

        #expect(gone.transport.requests.map(\.method.rawValue) == ["DELETE", "PROPFIND"])
        let present = storage(Reply(200, "deleted 1 files (and 0/0 folders)"), Self.file)
        #expect(throws: CloudStorageError.unavailable(detail: "")) {
            try provider.delete(objectID: "name:a.jpg", in: present.access())
        }
    }

    @Test("An object on a Nextcloud server has a number and an MD5, and is found by a search")
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

    @Test("A search names the person's folder unescaped, without percent-encoding, as XML text")
    func searchScope() throws {
        let files = "https://cloud.example.com/dav/remote.php/dav/files/alice%40example.com/Fotos%20%C3%A4%26%3C%CC%81"
        let location = "{\"address\":\"\(files)/\",\"user\":\"alice@example.com\"}"
        let storage = ScriptedStorage(
            [Self.resource(files + "/b.jpg", Self.properties)], location: location)

        #expect(try provider.describe(objectID: "id:17", in: storage.access()).name == "b.jpg")

        let sent = try #require(storage.transport.requests.first)
        #expect(sent.bodyText.contains("<d:href>/files/alice@example.com/Fotos ä&amp;&lt;\u{301}</d:href>"))
    }

    private static let cloud =
        "{\"address\":\"https://cloud.example.com/dav/remote.php/dav/files/Alice/\",\"user\":\"a\"}"
    private static let properties =
        "<D:getcontentlength>5</D:getcontentlength><D:getetag>\"t\"</D:getetag><oc:fileid>17</oc:fileid>"

    @Test("A search result may spell the user's name in another letter case; a file found elsewhere is not gone")
    func unexpectedAddress() throws {
        let storage = ScriptedStorage(
            [Self.resource("/dav/remote.php/dav/files/alice/b.jpg", Self.properties)], location: Self.cloud)
        #expect(try provider.describe(objectID: "id:17", in: storage.access()).name == "b.jpg")

        for address in ["/other/b.jpg", "/dav/remote.php/dav/files/", "/dav/remote.php/dav/files/alice/%2e%2e/b.jpg"] {
            let elsewhere = ScriptedStorage([Self.resource(address, Self.properties)], location: Self.cloud)
            #expect(throws: CloudStorageError.unavailable(detail: "")) {
                _ = try provider.describe(objectID: "id:17", in: elsewhere.access())
            }
            #expect(throws: CloudStorageError.unavailable(detail: "")) {
                let again = ScriptedStorage([Self.resource(address, Self.properties)], location: Self.cloud)
                try provider.delete(objectID: "id:17", in: again.access())
            }
        }
    }

    @Test("ownCloud, which has no search, reports the path of a file's number, and is not asked to search again")
    func withoutSearch() throws {
        let path = Self.resource(
            "/dav/remote.php/dav/meta/17/", "<oc:meta-path-for-user>/In/b.jpg</oc:meta-path-for-user>")
        let file = Self.resource("/dav/remote.php/dav/files/Alice/In/b.jpg", Self.properties)
        let storage = ScriptedStorage([Reply(501, "<d:error/>"), path, file, path, file], location: Self.cloud)

        for _ in 0..<2 { #expect(try provider.describe(objectID: "id:17", in: storage.access()).name == "b.jpg") }

        let sent = storage.transport.requests.map { "\($0.method.rawValue) \($0.url.dropFirst(41))" }
        #expect(
            sent == [
                "SEARCH dav/", "PROPFIND dav/meta/17/", "PROPFIND dav/files/Alice/In/b.jpg", "PROPFIND dav/meta/17/",
                "PROPFIND dav/files/Alice/In/b.jpg",
            ])
    }

    @Test(
        "A number unknown to ownCloud means a missing file if the server responds; another file at that path is not it")
    func unknownNumber() {
        let provider = { WebDAV(servers: self.servers) }
        let folder = Self.resource(
            "/dav/remote.php/dav/files/Alice/", "<D:resourcetype><D:collection/></D:resourcetype>")
        let gone = ScriptedStorage([Reply(501, ""), Reply(404, ""), folder], location: Self.cloud)
        #expect(throws: CloudStorageError.notFound) {
            _ = try provider().describe(objectID: "id:17", in: gone.access())
        }
        let path = Self.resource(
            "/dav/remote.php/dav/meta/17/", "<oc:meta-path-for-user>/b.jpg</oc:meta-path-for-user>")
        let other = Self.resource(
            "/dav/remote.php/dav/files/Alice/b.jpg", Self.properties.replacing(">17<", with: ">18<"))
        let moved = ScriptedStorage([Reply(501, ""), path, other], location: Self.cloud)
        #expect(throws: CloudStorageError.unavailable(detail: "")) {
            _ = try provider().describe(objectID: "id:17", in: moved.access())
        }
    }

    @Test(
        "If the server cannot find files by number, they are found by name",
        arguments: [
            ("https://cloud.example.com/dav/remote.php/webdav/", "17"),
            ("https://cloud.example.com/dav/remote.php/dav/files/alice/", "a1$b2!c3"),
        ])
    func numbersOfNoUse(address: String, identifier: String) throws {
        let file = Self.resource(
            "/x", Self.properties.replacing(">17<", with: ">\(identifier)<"))
        let storage = ScriptedStorage([file], location: "{\"address\":\"\(address)\",\"user\":\"alice\"}")

        #expect(try provider.find(name: "a.jpg", in: storage.access())?.objectID == "name:a.jpg")
    }

    @Test("A folder is deleted at its address without a trailing slash, or with one if the server requires it")
    func removedFolder() throws {
        let url = "https://cloud.example.com/dav/Sync%20Tests"
        for (replies, urls) in [
            ([Reply(204)], [url]), ([Reply(404, "")], [url]), ([Reply(301, "<html>"), Reply(204)], [url, url + "/"]),
            ([Reply(409, ""), Reply(404, "")], [url, url + "/"]),
        ] {
            let storage = ScriptedStorage(replies, location: Self.location)

            try provider.removeEmptyFolder(in: storage.access())

            #expect(storage.transport.requests.map(\.url) == urls)
        }
    }

    @Test(
        "Each status has its meaning",
        arguments: [
            (403, CloudStorageError.rejected(code: "")), (405, .rejected(code: "")), (413, .rejected(code: "")),
            (415, .rejected(code: "")), (501, .rejected(code: "")), (508, .rejected(code: "")), (507, .quotaExceeded),
            (409, .unavailable(detail: "")), (301, .rejected(code: "")),
        ])
    func meanings(status: Int, meaning: CloudStorageError) {
        let storage = storage(Reply(status, "<html>"))

        #expect(throws: meaning) { _ = try provider.find(name: "a.jpg", in: storage.access()) }
        #expect(storage.steps.count == 1)
    }

    @Test(
        "Locks, throttling and maintenance cause a wait",
        arguments: [408, 423, 429, 500, 502, 503, 504, 509, 521, 524, 530])
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
        "A reply that is not a multistatus is a temporary failure",
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

    @Test("A rejected password is not tried again by the same operation")
    func refused() {
        let storage = ScriptedStorage(
            [Reply(401, "", headers: [.wwwAuthenticate: "Basic realm=\"files\""]), Self.file], location: Self.location,
            renews: false)
        #expect(throws: CloudStorageError.unavailable(detail: "")) {
            _ = try provider.find(name: "a.jpg", in: storage.access())
        }
        #expect(storage.steps.count == 1)
    }

    @Test("If a server rejects a URL as a move's destination, the move is repeated with a path, which is remembered")
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

    @Test("An upload without a spare name uses the same temporary name in each attempt, so nothing is left behind")
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

    @Test("The next lookup of a spare name deletes the remains of an interrupted upload to it")
    func leftovers() throws {
        let storage = storage(Reply(404, ""), Reply(204, ""))

        #expect(try provider.find(name: "a~0123abcd.jpg", in: storage.access()) == nil)

        #expect(storage.transport.requests.map(\.method.rawValue) == ["PROPFIND", "DELETE"])
        #expect(storage.transport.requests[1].url.hasSuffix("/a~0123abcd.jpg.uploading"))
    }

    @Test(
        "A checksum error is a mismatch, lost bytes may be sent again, and any other refusal is final",
        arguments: [
            (
                "<s:message>The computed checksum does not match the one received from the client.</s:message>",
                CloudStorageError.contentMismatch
            ),
            (
                #"<s:exception>OCA\DAV\Connector\Sabre\Exception\InvalidPath</s:exception>"#
                    + "<s:message>File name contains at least one invalid character</s:message>", .rejected(code: "")
            ),
            (
                #"<s:exception>Sabre\DAV\Exception\BadRequest</s:exception><s:message>Expected filesize of 1 byte</s:message>"#,
                .unavailable(detail: "")
            ),
        ])
    func refusedBytes(body: String, meaning: CloudStorageError) throws {
        let storage = storage(Reply(400, body))
        let reservation = try provider.reserve(name: "a.jpg", in: storage.access())

        #expect(throws: meaning) {
            _ = try provider.upload(
                BytesContent([1], for: .webDAV), as: reservation, mimeType: "image/jpeg", to: storage.access())
        }
    }

    // MARK: Failures with an unknown outcome

    /// A server's reply, or `nil` for a connection that ends before it.
    private typealias Step = Reply?

    /// Uploads five bytes to a server with these replies.
    private func upload(_ steps: Step...) throws -> (
        requests: [String], urls: [String], result: Result<StoredObject, any Error>
    ) {
        let rest = Mutex(steps[...])
        let storage = ScriptedStorage { _ throws(TransportError) in
            guard let step = rest.withLock({ $0.popFirst() }), let reply = step else { throw .interrupted }
            return reply
        }
        storage.location = Self.location
        // A fresh provider, without the knowledge of the previous one.
        let provider = WebDAV(servers: servers)
        let result = Result {
            try provider.upload(
                BytesContent(Array("hello".utf8), for: .webDAV),
                as: try provider.reserve(name: "a.jpg", in: storage.access()), mimeType: "image/jpeg",
                to: storage.access())
        }
        let requests = storage.transport.requests
        return (requests.map(\.method.rawValue), requests.map(\.url), result)
    }

    private static let bytes = Reply(200, "hello")
    private static let folderFound = resource("/dav/Sync%20Tests/", "<D:resourcetype><D:collection/></D:resourcetype>")

    @Test(
        "A missing folder is created even if a PUT into it is answered with 500, as nginx does", arguments: [500, 503])
    func missingFolder(status: Int) throws {
        let (requests, _, result) = try upload(
            Reply(status, ""), Reply(404, ""), Reply(201, ""), Reply(201, ""), Self.bytes, Reply(201, ""), Self.file)

        _ = try result.get()
        #expect(requests == ["PUT", "PROPFIND", "MKCOL", "PUT", "GET", "MOVE", "PROPFIND"])
    }

    @Test("Possible remains of a failed PUT are deleted before the bytes are sent again, as soon as that is possible")
    func repeatedPut() throws {
        for failed in [nil, Reply(500, "")] {
            let (requests, urls, result) = try upload(
                failed, Self.folderFound, Reply(423, ""), Reply(204, ""), Reply(201, ""), Self.bytes, Reply(201, ""),
                Self.file)

            _ = try result.get()
            #expect(requests == ["PUT", "PROPFIND", "DELETE", "DELETE", "PUT", "GET", "MOVE", "PROPFIND"])
            #expect(Set([0, 2, 3, 4].map { urls[$0] }).count == 1)
        }
    }

    @Test("If a server stores a copy instead of overwriting, the copy and the file at the target are deleted")
    func misplacedBytes() throws {
        let asked = Mutex("")
        let replies = Mutex(
            [Reply(200, "deleted"), Reply(404, ""), Reply(204), Reply(201, ""), Self.bytes, Reply(201, ""), Self.file][
                ...])
        let storage = ScriptedStorage { request throws(TransportError) in
            let isFirst = asked.withLock { asked in
                defer { if asked.isEmpty { asked = request.url } }
                return asked.isEmpty
            }
            let copy =
                "http://inner:8080/" + request.url.split(separator: "/").suffix(2).joined(separator: "/") + "-1795-4wVO"
            if isFirst { return Reply(201, "", headers: [.location: copy]) }
            guard let reply = replies.withLock({ $0.popFirst() }) else { throw .interrupted }
            return reply
        }
        storage.location = Self.location
        _ = try provider.upload(
            BytesContent(Array("hello".utf8), for: .webDAV),
            as: try provider.reserve(name: "a.jpg", in: storage.access()),
            mimeType: "image/jpeg", to: storage.access())

        let sent = storage.transport.requests
        #expect(
            sent.map(\.method.rawValue)
                == ["PUT", "DELETE", "PROPFIND", "DELETE", "PUT", "GET", "MOVE", "PROPFIND"])
        #expect(sent[1].url == sent[0].url + "-1795-4wVO" && sent[3].url == sent[0].url && sent[4].url == sent[0].url)
    }

    @Test(
        "A move whose reply was lost has succeeded regardless of the next reply, even if that is the first received",
        arguments: [400, 403, 404, 405, 409, 500, 502, 507])
    func lostMove(status: Int) throws {
        let passing = [400, 502].contains(status)
        for isSeen in [true, false] {
            var steps: [Step] = [Reply(201, ""), Self.bytes]
            // The first check comes too early.
            if isSeen { steps += [nil, Reply(404, "")] }
            steps += [Reply(status, "")] + (passing ? [Reply(status, "")] : [])
            steps += [Self.file, Self.bytes, Reply(404, "")]
            let rest = Mutex(steps[...])
            let storage = ScriptedStorage { _ throws(TransportError) in
                guard let step = rest.withLock({ $0.popFirst() }), let reply = step else { throw .interrupted }
                return reply
            }
            storage.location = Self.location
            let provider = WebDAV(servers: servers)

            let stored = try provider.upload(
                BytesContent(Array("hello".utf8), for: .webDAV),
                as: try provider.reserve(name: "a.jpg", in: storage.access()), mimeType: "image/jpeg",
                to: storage.access())

            #expect(stored.name == "a.jpg" && rest.withLock { $0.isEmpty })
            #expect(storage.transport.requests.last?.method == .delete)
        }
    }

    @Test("A move rejected by the server fails if the target is missing")
    func refusedMove() throws {
        let (requests, _, result) = try upload(Reply(201, ""), Self.bytes, Reply(403, ""), Reply(404, ""))

        #expect(throws: CloudStorageError.rejected(code: "")) { _ = try result.get() }
        #expect(requests == ["PUT", "GET", "MOVE", "PROPFIND"])
    }

    // MARK: Nextcloud's chunks

    private static let large = [UInt8](repeating: 7, count: (6 << 20) + 1)

    /// Sends content in pieces, with the test's replies.
    private func sendPieces(
        _ content: PieceContent, _ replies: Reply...
    ) throws -> (steps: [String], result: Result<StoredObject, any Error>) {
        let storage = ScriptedStorage(replies, location: Self.cloud)
        let reservation = try provider.reserve(name: "a.jpg", in: storage.access())
        let result = Result {
            try provider.upload(content, as: reservation, mimeType: "image/jpeg", to: storage.access())
        }
        let steps = storage.transport.requests.map { request in
            let path = request.url.split(separator: "/").suffix(2).joined(separator: "/")
            return "\(request.method.rawValue) \(path)"
        }
        return (steps, result)
    }

    @Test("An upload that Nextcloud has lost starts over", arguments: [404, 409, 412])
    func forgottenUpload(status: Int) throws {
        var record = PieceContent.Record()
        record.session = #"{"chunks":1,"tailBytes":0,"isProven":true}"#
        record.position = 5 << 20
        let content = PieceContent(Self.large, for: .nextcloud, from: record, cut: nil)

        let (steps, result) = try sendPieces(content, Reply(status, ""))

        #expect(throws: CloudStorageError.unavailable(detail: "")) { _ = try result.get() }
        #expect(content.hasStartedOver)
        #expect(steps.count == 1 && steps[0].hasPrefix("PUT ") && steps[0].hasSuffix("/00002"), "\(steps)")
    }

    @Test(
        "After any failure of its assembly, even the first, a file of chunks is looked up",
        arguments: [404, 409, 403, 500])
    func lostAssembly(status: Int) throws {
        var replies = [
            Self.resource("/dav/remote.php/dav/files/Alice/Sync%20Tests/", "<D:resourcetype/>"), Reply(201, ""),
            Reply(201, "", headers: [HTTPField.Name("X-Hash-MD5")!: Self.md5(Self.large.prefix(5 << 20))]),
            Reply(201, "", headers: [HTTPField.Name("X-Hash-MD5")!: Self.md5(Self.large.dropFirst(5 << 20))]),
        ]
        let whole = Self.resource(
            "/dav/remote.php/dav/files/Alice/Sync%20Tests/a.jpg",
            "<D:getcontentlength>\(Self.large.count)</D:getcontentlength><D:getetag>\"t\"</D:getetag><oc:fileid>17</oc:fileid>"
        )
        replies += [Reply(status, ""), whole, Reply(201, ""), whole]
        let storage = ScriptedStorage(replies, location: Self.cloud)

        let stored = try provider.upload(
            PartedContent(Self.large, for: .nextcloud), as: try provider.reserve(name: "a.jpg", in: storage.access()),
            mimeType: "image/jpeg", to: storage.access())

        #expect(stored.objectID == "id:17")
        #expect(
            storage.transport.requests.map(\.method.rawValue)
                == ["PROPFIND", "MKCOL", "PUT", "PUT", "MOVE", "PROPFIND", "MOVE", "PROPFIND"])
    }

    private static func md5(_ bytes: ArraySlice<UInt8>) -> String {
        var hasher = ContentHasher(for: .webDAV)
        hasher.update(Array(bytes))
        return hasher.finish().providerHash
    }

    @Test("An upload that starts over deletes the chunks of the former attempt")
    func startingOver() throws {
        let content = PieceContent(Self.large, for: .nextcloud, from: PieceContent.Record(), cut: 1_000)
        let folder = Self.resource("/dav/remote.php/dav/files/Alice/Sync%20Tests/", "<D:resourcetype/>")

        let (steps, result) = try sendPieces(
            content, folder, Reply(405, ""), Reply(204), Reply(201, ""), Reply(201, ""))

        #expect(throws: CloudStorageError.contentFailed(PieceContent.Broken())) { _ = try result.get() }
        #expect(steps.map { $0.prefix { $0 != " " } } == ["PROPFIND", "MKCOL", "DELETE", "MKCOL", "PUT"])
        #expect(Set(steps[1...3].map { $0.drop { $0 != " " } }).count == 1)
        // The received bytes are next to the final file, not at its address.
        #expect(steps.last?.hasSuffix(".uploading.tail") == true, "\(steps)")
        #expect(content.record.position == 1_000)
    }
}
