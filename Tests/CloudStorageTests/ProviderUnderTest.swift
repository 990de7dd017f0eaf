import Accounts
import CloudStorage
import HTTPTransport
import SyncProtocol
import TestSupport
import Testing

/// What ``CloudProviderContract`` needs to know about a provider besides its interface.
///
/// A new provider brings one of these, in a file of its own, and a line in ``all``.
struct ProviderUnderTest: Sendable, CustomTestStringConvertible {
    /// Its name in test reports.
    let name: String
    let sandboxProvider: SandboxProvider
    /// A provider as a process that has just started has it.
    let makeProvider: @Sendable () -> any CloudProvider
    let account: any AccountProvider
    /// What the owner of a storage does behind our back.
    let owner: any StorageOwner
    /// The host of everything that concerns objects.
    let host: String
    /// How the paths of requests begin that bring an object's bytes.
    let uploadPath: String
    /// The method of the requests that bring one part of a large upload.
    let partMethod: String
    /// The host that renews tokens.
    let tokenHost: String
    /// What its error for a full storage looks like: status and reason.
    let quotaError: (status: Int, reason: String)
    /// What parts of an upload are multiples of.
    let granularity: Int
    /// Whether objects lie in a folder that is known by an identifier.
    let hasFolders: Bool

    var testDescription: String { name }

    static let all: [ProviderUnderTest] = [.googleDrive]
    static let allWithFolders = all.filter(\.hasFolders)
}

/// What people do with their own storage, in ways that the sandbox's control interface does not offer.
protocol StorageOwner: Sendable {
    /// Gives the object another name.
    func rename(_ objectID: String, to name: String, in storage: ContractStorage) throws
    /// Puts the object at the storage's root.
    func moveToRoot(_ objectID: String, from folderID: String?, in storage: ContractStorage) throws
    /// Puts an object or folder into the bin.
    func trash(_ id: String, in storage: ContractStorage) throws
    /// Deletes an object or folder for good.
    func delete(_ id: String, in storage: ContractStorage) throws
    /// Makes a folder at the root; its identifier.
    func makeFolder(_ name: String, in storage: ContractStorage) throws -> String
    /// The identifiers of the folders of that name at the root that are not in the bin.
    func folders(_ name: String, in storage: ContractStorage) throws -> [String]
}
