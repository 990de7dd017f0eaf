import Foundation
import HTTPTransport
import Providers
import SyncProtocol
import Synchronization
import TestSupport

/// A third-party server that is already running and described by the environment (`scripts/judges`). It is behind the
/// sandbox like the others, so faults affect it as well.
///
/// The owner's view and actions use a separate adapter, directly to the server.
struct GivenStorage: RealStorage {
    private static let environment = ProcessInfo.processInfo.environment
    private static let lastPerson = Mutex(0)
    /// Unique for each run, so that files of an earlier run do not interfere.
    private static let run = "judges-\(ProcessInfo.processInfo.processIdentifier)"

    let type: AccountType
    let port: UInt16
    let secret: String
    /// S3: region, bucket and id of the key. WebDAV: the path of the folder, with a trailing slash, and the user.
    private let words: [String]

    static let host = "judge.sandbox.test"

    /// `nil` without a description in the environment.
    init?() {
        func word(_ name: String) -> String? { Self.environment["SYNC_JUDGE_" + name] }
        guard let port = word("PORT").flatMap({ UInt16($0) }), let secret = word("SECRET") else { return nil }
        self.port = port
        self.secret = secret
        if let bucket = word("BUCKET"), let key = word("KEY") {
            (type, words) = (.s3, [word("REGION") ?? "us-east-1", bucket, key])
        } else if let path = word("PATH"), let user = word("USER") {
            (type, words) = (.webDAV, [path, user])
        } else {
            return nil
        }
    }

    /// The credentials that a phone presents for a user with this folder or prefix.
    private func presented(_ folder: String, at origin: String) -> PresentedCredentials {
        let details =
            type == .s3
            ? [
                "address": origin, "region": words[0], "bucket": words[1], "accessKeyID": words[2], "prefix": folder,
            ] : ["address": "\(origin)\(words[0])\(folder)/", "user": words[1]]
        let text = (try? JSONEncoder().encode(details)).map { String(decoding: $0, as: UTF8.self) }
        return PresentedCredentials(accountType: type, accessToken: secret, accountDetails: text)
    }

    func addPerson(to sandbox: SandboxControl) throws -> PresentedCredentials {
        try sandbox.addBackend(host: Self.host, port: port)
        let number = Self.lastPerson.withLock { last in
            last += 1
            return last
        }
        let folder = "\(Self.run)-\(number)"
        if type == .webDAV {
            let proof = Data("\(words[1]):\(secret)".utf8).base64EncodedString()
            let reply = try HTTPAddress("http://127.0.0.1:\(port)")
                .perform(HTTPCall("MKCOL", "\(words[0])\(folder)/", headers: [("Authorization", "Basic \(proof)")]))
            guard reply.status == 201 else { throw UnexpectedReply("make folder \(folder)", reply) }
        }
        return presented(folder, at: "https://\(Self.host)")
    }

    func revoke(_ person: PresentedCredentials, in sandbox: SandboxControl) throws {
        var fault = SandboxFault(host: Self.host, status: type == .s3 ? 403 : 401)
        if type == .s3 { fault.reason = "InvalidAccessKeyId" }
        try sandbox.inject(fault)
    }

    // MARK: The owner

    private struct Owner {
        let provider: any CloudProvider
        let access: StorageAccess
    }

    private func owner(_ person: PresentedCredentials) throws -> Owner {
        let origin = "http://127.0.0.1:\(port)"
        let servers = NamedServers(listed: [ServerAddress(origin + "/")].compactMap(\.self), admitsAnyPublic: false)
        var direct = person
        direct.accountDetails = person.accountDetails?.replacingOccurrences(of: "\\/", with: "/")
            .replacingOccurrences(of: "https://\(Self.host)", with: origin)
        let account: any AccountProvider = type == .s3 ? S3Account(servers: servers) : WebDAVAccount(servers: servers)
        return Owner(
            provider: type == .s3 ? S3(servers: servers) : WebDAV(servers: servers),
            access: StorageAccess(
                transport: CurlSenderPool().transport,
                tokens: OwnersKey(secret: secret, location: account.credentials(from: direct).location),
                folder: RememberedFolder(name: "Sync Tests"), deadline: .after(.seconds(60)),
                backoff: PauseRecord().backoff()))
    }

    func files(of person: PresentedCredentials) throws -> [StoredFile] {
        let owner = try owner(person)
        var files: [StoredFile] = []
        try owner.provider.list(in: owner.access) { page in
            files += page.map {
                StoredFile(name: $0.name, folder: type == .s3 ? "" : "Sync Tests", size: Int($0.sizeBytes))
            }
        }
        return files
    }

    func contents(of name: String, of person: PresentedCredentials) throws -> [UInt8]? {
        let owner = try owner(person)
        guard let found = try owner.provider.find(name: name, in: owner.access) else { return nil }
        var bytes: [UInt8] = []
        try owner.provider.download(objectID: found.objectID, from: owner.access) { part in
            for index in part.indices { bytes.append(part[index]) }
            return true
        }
        return bytes
    }

    func store(_ bytes: [UInt8], as name: String, of person: PresentedCredentials) throws {
        let owner = try owner(person)
        if let old = try owner.provider.find(name: name, in: owner.access) {
            try owner.provider.delete(objectID: old.objectID, in: owner.access)
        }
        var reservation = try owner.provider.reserve(name: name, in: owner.access)
        reservation.spareName = nil
        _ = try owner.provider.upload(
            BytesContent(bytes, for: owner.provider.storageType), as: reservation, mimeType: "text/plain",
            to: owner.access)
    }

    func delete(_ name: String, of person: PresentedCredentials) throws {
        let owner = try owner(person)
        guard let found = try owner.provider.find(name: name, in: owner.access) else { return }
        try owner.provider.delete(objectID: found.objectID, in: owner.access)
    }
}

/// The secret from the environment.
private final class OwnersKey: AccessTokens {
    let accountKey: Int64 = -1
    private let secret: AccessToken

    init(secret: String, location: String?) { self.secret = AccessToken(secret, at: location) }

    func current() -> AccessToken { secret }

    func renewed(insteadOf rejected: String, by deadline: Deadline) throws(CloudStorageError) -> AccessToken {
        throw .authorizationRevoked
    }
}

/// An owner's changes to identifiers cannot be tested here, because only names are compared.
private struct NobodyElse: StorageOwner {
    func rename(_ objectID: String, to name: String, in storage: ContractStorage) {}
    func moveAway(_ objectID: String, from folderID: String?, in storage: ContractStorage) {}
    func trash(_ id: String, in storage: ContractStorage) {}
    func delete(_ id: String, in storage: ContractStorage) {}
    func folders(_ name: String, in storage: ContractStorage) -> [String] { [] }
}

extension ProviderUnderTest {
    /// `nil` if the environment describes no server.
    static let given: ProviderUnderTest? = GivenStorage().map { storage in
        let isS3 = storage.type == .s3
        let host = GivenStorage.host
        let servers = NamedServers(
            listed: [ServerAddress("https://\(host)/")].compactMap(\.self), admitsAnyPublic: false)
        var kind = ProviderUnderTest(
            name: "judge", sandboxProvider: nil,
            makeProvider: { () -> any CloudProvider in isS3 ? S3(servers: servers) : WebDAV(servers: servers) },
            account: isS3 ? S3Account(servers: servers) : WebDAVAccount(servers: servers), owner: NobodyElse(),
            host: host, uploadPath: "/", partMethod: "PUT", tokenHost: "", quotaError: (507, "QuotaExceeded"),
            granularity: 5 << 20, hasFolders: false, folderName: isS3 ? "" : "Sync Tests", repeatsNames: false,
            absentObjectID: isS3 ? "nothing.bin" : "name:nothing.bin", hasReadableBin: false)
        kind.real = storage
        kind.renewsTokens = false
        kind.hasQuota = false
        kind.hasIdentifiers = false
        kind.hasParts = isS3
        kind.reportsHash = isS3
        kind.revokesAtOnce = isS3
        kind.wholeBytes = 5 << 20
        kind.honoursConditions = ProcessInfo.processInfo.environment["SYNC_JUDGE_OVERWRITES"] == nil
        if !isS3 {
            kind.forbiddenCharacters = ["%", "?", "\\"]
            kind.storeCalls = (first: 4, later: 3)
        }
        return kind
    }
}
