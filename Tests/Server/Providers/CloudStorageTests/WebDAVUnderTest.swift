import Foundation
import HTTPTransport
import HTTPTypes
import Providers
import SyncProtocol
import Synchronization
import TestSupport

extension ProviderUnderTest {
    /// The sandbox's Nextcloud.
    static let nextcloud: ProviderUnderTest = {
        let host = "nextcloud.sandbox.test"
        var kind = webDAV(
            "Nextcloud", host, uploadPath: "/remote.php/dav/files/", owner: NextcloudOwner(), absent: "id:999999")
        kind.partPath = "/remote.php/dav/uploads/"
        kind.storeCalls = (first: 2, later: 2)
        kind.forbiddenCharacters = ["\\"]
        return kind
    }()
    /// Apache's mod_dav.
    static let apache = webDAV("WebDAV (apache)", PlainServer(kind: .apache))
    static let wsgiDAV = webDAV("WebDAV (wsgidav)", PlainServer(kind: .wsgiDAV))
    static let rcloneWebDAV = webDAV("WebDAV (rclone)", PlainServer(kind: .rcloneWebDAV))
    /// lighttpd's mod_webdav.
    static let lighttpd = webDAV("WebDAV (lighttpd)", PlainServer(kind: .lighttpd))
    /// nginx with ngx_http_dav_module and nginx-dav-ext-module.
    static let nginx = webDAV("WebDAV (nginx)", PlainServer(kind: .nginx))
    static let copyparty = webDAV("WebDAV (copyparty)", PlainServer(kind: .copyparty))
    static let asgiWebDAV = webDAV("WebDAV (ASGIWebDAV)", PlainServer(kind: .asgiWebDAV))
    static let seaweedWebDAV = webDAV("WebDAV (SeaweedFS)", SeaweedServer(), host: SeaweedServer.host)
    static let plainWebDAV = [
        apache, wsgiDAV, rcloneWebDAV, lighttpd, nginx, copyparty, asgiWebDAV, seaweedWebDAV,
    ]

    /// A server without identifiers, checksums and chunks.
    private static func webDAV(_ name: String, _ server: PlainServer) -> ProviderUnderTest {
        var kind = webDAV(name, server, host: server.host)
        // Behind a proxy that ends TLS, these accept the target of a move only as a path.
        if [.wsgiDAV, .lighttpd, .nginx].contains(server.kind) { kind.storeCalls.first += 1 }
        // copyparty confirms a deletion in its own words.
        if server.kind == .copyparty { kind.deleteCalls = 2 }
        return kind
    }

    private static func webDAV(_ name: String, _ server: any RealStorage, host: String) -> ProviderUnderTest {
        var kind = webDAV(
            name, host, isReal: true, uploadPath: "/", owner: NobodyElse(),
            absent: "name:nothing.bin")
        kind.real = server
        kind.hasQuota = false
        kind.hasIdentifiers = false
        kind.hasParts = false
        kind.reportsHash = false
        // WsgiDAV decodes the target of a move before it parses the address.
        kind.forbiddenCharacters = ["%", "?"]
        // The bytes, a read that verifies them, the move, and a check of the result.
        kind.storeCalls = (first: 4, later: 3)
        return kind
    }

    private static func webDAV(
        _ name: String, _ host: String, isReal: Bool = false, uploadPath: String, owner: any StorageOwner,
        absent: String
    ) -> ProviderUnderTest {
        let servers = NamedServers(
            listed: [ServerAddress("https://\(host)/")].compactMap(\.self), admitsAnyPublic: false)
        var kind = ProviderUnderTest(
            name: name, sandboxProvider: isReal ? nil : .webdav, makeProvider: { WebDAV(servers: servers) },
            account: WebDAVAccount(servers: servers), owner: owner, host: host, uploadPath: uploadPath,
            partMethod: "PUT", tokenHost: "", quotaError: (507, "Sabre\\DAV\\Exception\\InsufficientStorage"),
            granularity: 5 << 20, hasFolders: false, repeatsNames: false, absentObjectID: absent,
            hasReadableBin: false)
        kind.wholeBytes = 5 << 20
        kind.renewsTokens = false
        kind.revokesAtOnce = false
        kind.ownerFolder = kind.folderName
        return kind
    }
}

/// One server of `scripts/lib/storage-server`, with a folder for each person.
struct PlainServer: RealStorage {
    private static let user = "tester"
    private static let password = "secret-of-the-tests"
    private static let lastPerson = Mutex(0)

    let kind: StorageServerProcess.Kind
    var host: String { "\(kind.rawValue).sandbox.test" }

    func addPerson(to sandbox: SandboxControl) throws -> PresentedCredentials {
        let server = try StorageServerProcess.of(kind)
        try sandbox.addBackend(host: host, port: server.port)
        let number = Self.lastPerson.withLock { last in
            last += 1
            return last
        }
        let folder = "Zo%C3%AB%20%26%20\(number)"
        try server.makeFolder(folder, password: Self.password)
        return PresentedCredentials(
            accountType: .webDAV, accessToken: Self.password,
            accountDetails: """
                {"address": "https://\(host)/\(folder)/", "user": "\(Self.user)"}
                """)
    }

    /// Creates a world-writable folder, because Apache does not run as root, even if the tests do.
    private static func makeFolder(_ folder: URL) throws {
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        try FileManager.default.setAttributes([.posixPermissions: 0o777], ofItemAtPath: folder.path)
    }

    /// The person's folder on this machine.
    private func folder(_ person: PresentedCredentials) throws -> URL {
        let details = try JSONDecoder().decode([String: String].self, from: Data((person.accountDetails ?? "").utf8))
        let path = details["address"].flatMap { URL(string: $0)?.path } ?? "/"
        return try StorageServerProcess.of(kind).files.appending(path: String(path.dropFirst()))
    }

    /// Excludes Apache's own `.DAV`.
    func files(of person: PresentedCredentials) throws -> [StoredFile] {
        let root = try folder(person)
        let paths = try FileManager.default.subpathsOfDirectory(atPath: root.path)
        return try paths.compactMap { path in
            let file = try FileManager.default.attributesOfItem(atPath: root.appending(path: path).path)
            guard file[.type] as? FileAttributeType == .typeRegular, !path.contains(".DAV/") else { return nil }
            let names = path.split(separator: "/")
            return StoredFile(
                name: String(names.last ?? ""), folder: names.dropLast().joined(separator: "/"),
                size: file[.size] as? Int ?? -1)
        }
    }

    private func file(_ name: String, _ person: PresentedCredentials) throws -> URL {
        try folder(person).appending(path: "Sync Tests/" + name)
    }

    func contents(of name: String, of person: PresentedCredentials) throws -> [UInt8]? {
        try? Array(Data(contentsOf: file(name, person)))
    }

    func store(_ bytes: [UInt8], as name: String, of person: PresentedCredentials) throws {
        let file = try file(name, person)
        try Self.makeFolder(file.deletingLastPathComponent())
        try Data(bytes).write(to: file)
        try StorageServerProcess.of(kind).noticeChanges()
    }

    func delete(_ name: String, of person: PresentedCredentials) throws {
        try FileManager.default.removeItem(at: file(name, person))
        try StorageServerProcess.of(kind).noticeChanges()
    }

    func revoke(_ person: PresentedCredentials, in sandbox: SandboxControl) throws {
        try sandbox.inject(SandboxFault(host: host, status: 401))
    }
}

/// SeaweedFS, which keeps files in its own volumes; the interface of its filer shows them.
struct SeaweedServer: RealStorage {
    static let host = "webdav-seaweed.sandbox.test"
    private static let lastPerson = Mutex(0)

    private struct Listing: Decodable {
        struct Entry: Decodable {
            var path: String
            var sizeBytes: Int
            /// The mode in Go's format, where the highest bit marks folders.
            var mode: UInt32

            enum CodingKeys: String, CodingKey {
                case path = "FullPath"
                case sizeBytes = "FileSize"
                case mode = "Mode"
            }
        }
        var entries: [Entry]?

        enum CodingKeys: String, CodingKey {
            case entries = "Entries"
        }
    }

    func addPerson(to sandbox: SandboxControl) throws -> PresentedCredentials {
        let server = try StorageServerProcess.of(.seaweedWebDAV)
        try sandbox.addBackend(host: Self.host, port: server.port)
        let number = Self.lastPerson.withLock { last in
            last += 1
            return last
        }
        let folder = "Zo%C3%AB%20%26%20\(number)"
        try server.makeFolder(folder, password: "any")
        return PresentedCredentials(
            accountType: .webDAV, accessToken: "any",
            accountDetails: "{\"address\": \"https://\(Self.host)/\(folder)/\", \"user\": \"tester\"}")
    }

    /// The path of the person's folder.
    private func folder(_ person: PresentedCredentials) throws -> String {
        let details = try JSONDecoder().decode([String: String].self, from: Data((person.accountDetails ?? "").utf8))
        return details["address"].flatMap { URL(string: $0)?.path(percentEncoded: true) } ?? "/"
    }

    private func ask(
        _ method: String, _ path: String, headers: [(String, String)] = [], body: [UInt8]? = nil
    ) throws -> HTTPReply {
        let port = try StorageServerProcess.of(.seaweedWebDAV).controlPort ?? 0
        return try HTTPAddress("http://127.0.0.1:\(port)")
            .perform(HTTPCall(method, path, headers: headers, body: body))
    }

    func files(of person: PresentedCredentials) throws -> [StoredFile] { try files(in: "", below: try folder(person)) }

    private func files(in folder: String, below root: String) throws -> [StoredFile] {
        let path = root + (folder.isEmpty ? "" : PercentEncoding.encode(folder) + "/")
        let reply = try ask("GET", path + "?limit=10000", headers: [("Accept", "application/json")])
        guard reply.status == 200 else { return [] }
        let entries = try JSONDecoder().decode(Listing.self, from: Data(reply.body)).entries ?? []
        return try entries.flatMap { entry in
            let name = String(entry.path.split(separator: "/").last ?? "")
            if entry.mode >> 31 == 1 { return try files(in: name, below: root) }
            return [StoredFile(name: name, folder: folder, size: entry.sizeBytes)]
        }
    }

    private func path(_ name: String, _ person: PresentedCredentials) throws -> String {
        try folder(person) + "Sync%20Tests/" + PercentEncoding.encode(name)
    }

    func contents(of name: String, of person: PresentedCredentials) throws -> [UInt8]? {
        let reply = try ask("GET", path(name, person))
        return reply.status == 200 ? reply.body : nil
    }

    func store(_ bytes: [UInt8], as name: String, of person: PresentedCredentials) throws {
        let reply = try ask("PUT", path(name, person), body: bytes)
        guard reply.status == 201 else { throw UnexpectedReply("store", reply) }
    }

    func delete(_ name: String, of person: PresentedCredentials) throws {
        let reply = try ask("DELETE", path(name, person))
        guard reply.status == 204 else { throw UnexpectedReply("delete", reply) }
    }

    func revoke(_ person: PresentedCredentials, in sandbox: SandboxControl) throws {
        try sandbox.inject(SandboxFault(host: Self.host, status: 401))
    }
}

/// Renaming a file on such a server creates another file, so nothing remains to be tested.
private struct NobodyElse: StorageOwner {
    func rename(_ objectID: String, to name: String, in storage: ContractStorage) {}
    func moveAway(_ objectID: String, from folderID: String?, in storage: ContractStorage) {}
    func trash(_ id: String, in storage: ContractStorage) {}
    func delete(_ id: String, in storage: ContractStorage) {}
    func folders(_ name: String, in storage: ContractStorage) -> [String] { [] }
}

/// The owner of storage on a Nextcloud server, through WebDAV.
private struct NextcloudOwner: StorageOwner {
    func rename(_ objectID: String, to name: String, in storage: ContractStorage) throws {
        let old = try path(objectID, storage)
        try call("MOVE", old, to: old.dropLast() + [name], storage)
    }

    func moveAway(_ objectID: String, from folderID: String?, in storage: ContractStorage) throws {
        let old = try path(objectID, storage)
        try call("MOVE", old, to: old.suffix(1), storage)
    }

    /// Items in the bin are no longer among the files.
    func trash(_ id: String, in storage: ContractStorage) throws { try delete(id, in: storage) }

    func delete(_ id: String, in storage: ContractStorage) throws {
        try call("DELETE", try path(id, storage), to: nil, storage)
    }

    func folders(_ name: String, in storage: ContractStorage) throws -> [String] { [] }

    /// The object's path below the person's root.
    private func path(_ objectID: String, _ storage: ContractStorage) throws -> [String] {
        let files = try storage.account.sandbox.requestFiles(of: storage.account.account)
        let found = files.first { "id:" + ($0.id?.text ?? "") == objectID }
        let folder = (found?.folder?.text ?? "").split(separator: "/").map(String.init)
        return folder + [found?.name?.text ?? "nothing"]
    }

    private func call(
        _ method: String, _ path: [String], to target: (some Collection<String>)?, _ storage: ContractStorage
    ) throws {
        let user = storage.account.account.id
        func url(_ names: some Collection<String>) -> String {
            "https://nextcloud.sandbox.test/remote.php/dav/files/\(user)/"
                + names.map { PercentEncoding.encode($0) }.joined(separator: "/")
        }
        var request = OutgoingRequest(.webDAV, .metadata, HTTPRequest.Method(method)!, url(path))
        let credentials = Data("\(user):\(try storage.token)".utf8).base64EncodedString()
        request.headers[.authorization] = "Basic " + credentials
        if let target { request.headers[HTTPField.Name("Destination")!] = url(target) }
        request.destination = .listed
        let reply = try storage.transport.send(request, by: .after(.seconds(20)))
        guard (200..<300).contains(reply.status) else { throw OwnerFailure(reply: reply) }
    }

    private func call(_ method: String, _ path: [String], to target: [String]? = nil, _ storage: ContractStorage) throws
    {
        try call(method, path, to: target.map { $0[...] }, storage)
    }
}
