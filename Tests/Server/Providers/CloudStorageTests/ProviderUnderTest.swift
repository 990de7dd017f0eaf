import Foundation
import HTTPTransport
import Providers
import SyncProtocol
import TestSupport
import Testing

/// The facts about a provider that ``CloudProviderContract`` needs besides its interface.
///
/// A new provider adds one of these in a separate file, and a line in ``all``.
struct ProviderUnderTest: Sendable, CustomTestStringConvertible {
    /// Its name in test reports.
    let name: String
    /// The provider that the sandbox emulates; `nil` for a ``real`` server.
    let sandboxProvider: SandboxProvider?
    /// Creates a provider as in a process that has just started.
    let makeProvider: @Sendable () -> any CloudProvider
    let account: any AccountProvider
    /// The owner's actions on their storage, without our server.
    let owner: any StorageOwner
    /// The host of every request for objects, or several separated by commas; `nil` if paths distinguish these
    /// requests.
    let host: String?
    /// The path prefix of these requests, if other requests go to the same hosts.
    var pathPrefix: String? = nil
    /// The path prefix of requests that upload an object's bytes.
    let uploadPath: String
    /// The method of requests that upload one part of large content.
    let partMethod: String
    /// The method and, if it distinguishes them, the path prefix of downloads.
    var download: (method: String, pathPrefix: String?) = ("GET", nil)
    /// The host and path that renew tokens.
    let tokenHost: String
    var tokenPath: String? = nil
    /// The error for a full storage: status and reason.
    let quotaError: (status: Int, reason: String)
    /// The sizes of an upload's parts are multiples of this.
    let granularity: Int
    /// Whether objects are in a folder with an identifier.
    let hasFolders: Bool
    /// The folder of new objects as their owner sees it.
    var folderName = "Sync Tests"
    /// Whether names may repeat. Otherwise objects get their identifiers only afterwards, and other contents get a
    /// spare name.
    var repeatsNames = true
    /// An identifier in the provider's form that no object has, if none can be reserved.
    var absentObjectID: String?
    /// Whether deleted objects can still be read from the owner's bin.
    var hasReadableBin = true
    /// Whether requests that upload parts carry the access token.
    var partsCarryToken = true
    /// The path prefix of requests that upload a part of large content, if small content uses others.
    var partPath: String? = nil
    /// Content up to this size is sent in one request.
    var wholeBytes = 262_144
    /// Whether large content is sent in several requests.
    var hasParts = true
    /// Whether the provider reports the hash that clients compare.
    var reportsHash = true
    /// Whether the first rejection of a token means that it was revoked.
    var revokesAtOnce = true
    /// Whether access tokens expire and are renewed.
    var renewsTokens = true
    /// The number of requests that store a small file in an existing folder: a process's first time, and later.
    var storeCalls = (first: 2, later: 1)
    /// The number of requests that delete an object.
    var deleteCalls = 1
    /// The folder's path from the owner's view of all storage; `nil` if the owner sees only the folder.
    var ownerFolder: String? = nil
    /// The server behind the sandbox, if it is a real one.
    var real: (any RealStorage)?
    /// Whether a storage with a limited size can be created.
    var hasQuota = true
    /// Whether objects have identifiers that survive renaming and moving by their owner.
    var hasIdentifiers = true
    /// Whether the server itself refuses to overwrite an object.
    var honoursConditions = true
    /// Characters that names must not contain.
    var forbiddenCharacters: Set<Character> = []

    /// A fault of every request for objects.
    func fault(status: Int? = nil, times: Int? = nil) -> SandboxFault {
        SandboxFault(host: host, pathPrefix: pathPrefix, status: status, times: times)
    }

    /// A fault of downloads.
    func downloadFault(status: Int? = nil, times: Int? = nil) -> SandboxFault {
        SandboxFault(
            host: host, pathPrefix: download.pathPrefix, method: download.method, status: status, times: times)
    }

    /// Whether one of the sandbox's requests concerns objects.
    func concernsObjects(_ request: JSONValue) -> Bool {
        (host?.split(separator: ",").contains { request.host?.text == String($0) } ?? true)
            && (pathPrefix.map { request.path?.text?.hasPrefix($0) == true } ?? true)
    }

    /// Whether one of the sandbox's requests renews a token.
    func renewsToken(_ request: JSONValue) -> Bool {
        request.host?.text == tokenHost && (tokenPath.map { request.path?.text == $0 } ?? true)
    }

    var testDescription: String { name }

    /// A number of bytes that needs three parts.
    var partedBytes: Int { max(700_000, granularity * 8 / 3) }

    /// The providers whose names contain the text in the environment variable SYNC_CONTRACT_OF; without it, all.
    static let all = (every + [given].compactMap(\.self)).filter { kind in
        ProcessInfo.processInfo.environment["SYNC_CONTRACT_OF"].map { kind.name.contains($0) } ?? true
    }
    private static let every: [ProviderUnderTest] =
        [
            .googleDrive, .dropbox, .oneDrive, .s3Moto, .s3Rclone, .s3SeaweedFS, .nextcloud,
        ] + plainWebDAV
    /// One of each protocol, for tests in which our own side waits, whatever the server.
    static let oneOfEachProtocol = all.filter { kind in
        [.googleDrive, .dropbox, .oneDrive, .s3Moto, .nextcloud, plainWebDAV[0]].contains { $0.name == kind.name }
            || all.count == 1
    }
    static let allThatRenewTokens = all.filter(\.renewsTokens)
    static let allWithParts = all.filter(\.hasParts)
    static let allWithQuota = all.filter(\.hasQuota)
    static let allWithIdentifiers = all.filter(\.hasIdentifiers)
    static let allWithFolders = all.filter(\.hasFolders)
    static let allThatRepeatNames = all.filter(\.repeatsNames)
    static let allWithUniqueNames = all.filter { !$0.repeatsNames }
}

/// Owners' actions on their own storage that the sandbox's control interface does not offer.
protocol StorageOwner: Sendable {
    /// Renames the object.
    func rename(_ objectID: String, to name: String, in storage: ContractStorage) throws
    /// Moves the object away from our folder: to the root, or, if our files are there, into a folder.
    func moveAway(_ objectID: String, from folderID: String?, in storage: ContractStorage) throws
    /// Moves an object or folder to the bin.
    func trash(_ id: String, in storage: ContractStorage) throws
    /// Deletes an object or folder permanently.
    func delete(_ id: String, in storage: ContractStorage) throws
    /// The identifiers of the folders of that name at the root that are not in the bin.
    func folders(_ name: String, in storage: ContractStorage) throws -> [String]
}

/// A provider has rejected an owner's action.
struct OwnerFailure: Error {
    let reply: Reply
}
