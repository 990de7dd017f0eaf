import Foundation
import HTTPTransport
import Providers
import SyncProtocol
import TestSupport
import Testing

/// What ``CloudProviderContract`` needs to know about a provider besides its interface.
///
/// A new provider brings one of these, in a file of its own, and a line in ``all``.
struct ProviderUnderTest: Sendable, CustomTestStringConvertible {
    /// Its name in test reports.
    let name: String
    /// What emulates it; `nil` for a ``real`` server.
    let sandboxProvider: SandboxProvider?
    /// A provider as a process that has just started has it.
    let makeProvider: @Sendable () -> any CloudProvider
    let account: any AccountProvider
    /// What the owner of a storage does behind our back.
    let owner: any StorageOwner
    /// The host of everything that concerns objects, or several with commas between them; `nil` if their paths tell.
    let host: String?
    /// How the paths of these requests begin, if others go to the same hosts.
    var pathPrefix: String? = nil
    /// How the paths of requests begin that bring an object's bytes.
    let uploadPath: String
    /// The method of the requests that bring one part of a large upload.
    let partMethod: String
    /// The method and, if it tells them apart, the beginning of the path of downloads.
    var download: (method: String, pathPrefix: String?) = ("GET", nil)
    /// The host that renews tokens, and where.
    let tokenHost: String
    var tokenPath: String? = nil
    /// What its error for a full storage looks like: status and reason.
    let quotaError: (status: Int, reason: String)
    /// What parts of an upload are multiples of.
    let granularity: Int
    /// Whether objects lie in a folder that is known by an identifier.
    let hasFolders: Bool
    /// The folder of new objects as their owner sees it.
    var folderName = "Sync Tests"
    /// Whether names may repeat; else objects are identified only afterwards, and other contents get a spare name.
    var repeatsNames = true
    /// An identifier in the provider's form that no object has, where none can be had beforehand.
    var absentObjectID: String?
    /// Whether what the owner throws away can still be read.
    var hasReadableBin = true
    /// Whether the requests that bring parts of an upload show the access token.
    var partsCarryToken = true
    /// How the paths of requests begin that bring a part of a large upload, if others bring small ones.
    var partPath: String? = nil
    /// Content up to this size is sent in one request.
    var wholeBytes = 262_144
    /// Whether large content is sent in several requests.
    var hasParts = true
    /// Whether the provider reports the hash that clients compare.
    var reportsHash = true
    /// Whether the first refusal of a token means that it was revoked.
    var revokesAtOnce = true
    /// Whether access tokens expire and are renewed.
    var renewsTokens = true
    /// How many requests store a small file in a folder that is there: the first time that a process does it, and later.
    var storeCalls = (first: 2, later: 1)
    /// How many requests delete an object.
    var deleteCalls = 1
    /// What the owner, who sees all of their storage, calls the folder; `nil` if they see nothing else.
    var ownerFolder: String? = nil
    /// The server behind the sandbox, if it is a real one.
    var real: (any RealStorage)?
    /// Whether a storage can be made that holds no more than so many bytes.
    var hasQuota = true
    /// Whether objects have identifiers that stay when their owner renames and moves them.
    var hasIdentifiers = true
    /// Whether the server itself refuses to overwrite an object.
    var honoursConditions = true
    /// What no name may contain.
    var forbiddenCharacters: Set<Character> = []

    /// A fault of everything that concerns objects.
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

    /// A number of bytes that takes three parts.
    var partedBytes: Int { max(700_000, granularity * 8 / 3) }

    /// Those whose names contain the text in the environment's SYNC_CONTRACT_OF, all without it.
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

/// What people do with their own storage, in ways that the sandbox's control interface does not offer.
protocol StorageOwner: Sendable {
    /// Gives the object another name.
    func rename(_ objectID: String, to name: String, in storage: ContractStorage) throws
    /// Puts the object where we keep no files: at the storage's root, or if we keep them there into a folder.
    func moveAway(_ objectID: String, from folderID: String?, in storage: ContractStorage) throws
    /// Puts an object or folder into the bin.
    func trash(_ id: String, in storage: ContractStorage) throws
    /// Deletes an object or folder for good.
    func delete(_ id: String, in storage: ContractStorage) throws
    /// The identifiers of the folders of that name at the root that are not in the bin.
    func folders(_ name: String, in storage: ContractStorage) throws -> [String]
}

/// A provider has refused what its owner asked for.
struct OwnerFailure: Error {
    let reply: Reply
}
