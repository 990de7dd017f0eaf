import Foundation
import HTTPTransport
import HTTPTypes
import Providers
import SyncProtocol
import Synchronization
import TestSupport

extension ProviderUnderTest {
    /// moto: enforces conditions, and accepts any signature.
    static let s3Moto = s3("S3 (moto)", S3Servers(kind: .s3Moto, host: "moto.sandbox.test"), honoursConditions: true)
    /// `rclone serve s3`: verifies signatures and `Content-MD5`, and overwrites in spite of `If-None-Match`.
    static let s3Rclone = s3(
        "S3 (rclone)", S3Servers(kind: .s3Rclone, host: "rclone.sandbox.test"), honoursConditions: false)

    /// SeaweedFS: verifies signatures and checksums, enforces conditions, and requires parts as large as Amazon does.
    static let s3SeaweedFS = s3(
        "S3 (SeaweedFS)", S3Servers(kind: .s3SeaweedFS, host: "seaweedfs.sandbox.test"), honoursConditions: true,
        granularity: S3.smallestPartBytes)

    private static func s3(
        _ name: String, _ storage: S3Servers, honoursConditions: Bool, granularity: Int = S3Servers.smallestPartBytes
    ) -> ProviderUnderTest {
        let servers = NamedServers(
            listed: [ServerAddress("https://\(storage.host)")].compactMap(\.self), admitsAnyPublic: false)
        var kind = ProviderUnderTest(
            name: name, sandboxProvider: nil,
            makeProvider: { S3(servers: servers, granularity: granularity) },
            account: S3Account(servers: servers), owner: NobodyElse(), host: storage.host,
            uploadPath: "/\(S3Bucket.name)/", partMethod: "PUT", tokenHost: "", quotaError: (507, "QuotaExceeded"),
            granularity: granularity, hasFolders: false, folderName: "", repeatsNames: false,
            absentObjectID: "nothing.bin", hasReadableBin: false)
        kind.real = storage
        kind.renewsTokens = false
        kind.hasQuota = false
        kind.hasIdentifiers = false
        kind.honoursConditions = honoursConditions
        kind.wholeBytes = granularity
        return kind
    }
}

/// Renaming an S3 object creates another object, so nothing remains to be tested.
private struct NobodyElse: StorageOwner {
    func rename(_ objectID: String, to name: String, in storage: ContractStorage) {}
    func moveAway(_ objectID: String, from folderID: String?, in storage: ContractStorage) {}
    func trash(_ id: String, in storage: ContractStorage) {}
    func delete(_ id: String, in storage: ContractStorage) {}
    func folders(_ name: String, in storage: ContractStorage) -> [String] { [] }
}

/// One server of `scripts/lib/storage-server`, with a prefix for each person in its bucket.
struct S3Servers: RealStorage {
    /// The setting of moto and rclone (Tests/Oracles/storage_server.py).
    static let smallestPartBytes = 262_144
    private static let accessKeyID = "AKTEST"
    private static let secret = "secret-of-the-tests"
    private static let lastPerson = Mutex(0)

    let kind: StorageServerProcess.Kind
    let host: String

    func addPerson(to sandbox: SandboxControl) throws -> PresentedCredentials {
        try sandbox.addBackend(host: host, port: try StorageServerProcess.of(kind).port)
        let number = Self.lastPerson.withLock { last in
            last += 1
            return last
        }
        return PresentedCredentials(
            accountType: .s3, accessToken: Self.secret,
            accountDetails: """
                {"address": "https://\(host)", "region": "us-east-1", "bucket": "\(S3Bucket.name)", \
                "accessKeyID": "\(Self.accessKeyID)", "prefix": "\(Self.folder(number))"}
                """)
    }

    /// Contains characters that must be encoded in URLs.
    private static func folder(_ number: Int) -> String { "people/Zoë & \(number)" }

    private func prefix(_ person: PresentedCredentials) throws -> String {
        let details = try JSONDecoder().decode([String: String].self, from: Data((person.accountDetails ?? "").utf8))
        return (details["prefix"] ?? "") + "/"
    }

    func files(of person: PresentedCredentials) throws -> [StoredFile] {
        try S3Bucket(kind).objects(behind: try prefix(person)).map {
            StoredFile(name: $0.name, folder: "", size: $0.size)
        }
    }

    func contents(of name: String, of person: PresentedCredentials) throws -> [UInt8]? {
        try S3Bucket(kind).read(try prefix(person) + name)
    }

    func store(_ bytes: [UInt8], as name: String, of person: PresentedCredentials) throws {
        try S3Bucket(kind).write(bytes, try prefix(person) + name)
    }

    func delete(_ name: String, of person: PresentedCredentials) throws {
        try S3Bucket(kind).remove(try prefix(person) + name)
    }

    /// The number of unfinished multipart uploads of all persons; 0 if they cannot be listed.
    func unfinishedUploads() throws -> Int {
        kind == .s3Rclone ? 0 : try S3Bucket(kind).unfinishedUploads(behind: "people/")
    }

    /// Like Amazon when a key is deleted.
    func revoke(_ person: PresentedCredentials, in sandbox: SandboxControl) throws {
        var fault = SandboxFault(host: host, status: 403)
        fault.reason = "InvalidAccessKeyId"
        try sandbox.inject(fault)
    }
}
