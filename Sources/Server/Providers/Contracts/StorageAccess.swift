public import HTTPTransport

/// What a provider needs to act on one person's storage for the length of one request.
public struct StorageAccess {
    public var transport: Transport
    /// The person's access token, and how to renew it.
    public var tokens: any AccessTokens
    /// The folder in which the person's files lie, for providers that have one.
    public var folder: any FolderMemory
    public var deadline: Deadline
    /// How to wait between attempts.
    public var backoff: Backoff

    public init(
        transport: Transport, tokens: any AccessTokens, folder: any FolderMemory, deadline: Deadline, backoff: Backoff
    ) {
        self.transport = transport
        self.tokens = tokens
        self.folder = folder
        self.deadline = deadline
        self.backoff = backoff
    }
}

/// One person's access token.
public protocol AccessTokens: AnyObject {
    /// Distinguishes accounts, for caches of this process.
    var accountKey: Int64 { get }
    /// Where the storage is that the token returned last opens, as ``StoredCredentials/location`` has it; `nil` for
    /// companies' storages, whose adapters know.
    var location: String? { get }
    /// The token to try first.
    func current() throws(CloudStorageError) -> String
    /// A token that is not `rejected`: another process may have renewed it already, otherwise it is renewed now.
    ///
    /// - Parameter deadline: of the renewal; an operation that takes long may need it when the request's own has
    ///   passed.
    /// - Throws: ``CloudStorageError/authorizationRevoked`` if the provider says that no renewal is possible; anything
    ///   else if it could not be asked.
    func renewed(insteadOf rejected: String, by deadline: Deadline) throws(CloudStorageError) -> String
}

extension AccessTokens {
    public var location: String? { nil }
}

/// Remembers where a person's folder is, for all processes.
public protocol FolderMemory: AnyObject {
    /// The name the person chose when they signed up; `nil` if their account type has no folder.
    var name: String? { get }
    /// The identifier of the folder, once it is known.
    var folderID: String? { get }
    /// Replaces `old` by `new` unless another process was faster, and returns what is remembered now.
    func replace(_ old: String?, by new: String) throws(CloudStorageError) -> String
    /// Whether the folder should be looked at again before it is used; true at most once every few minutes.
    func isDueForVerification() -> Bool
    /// Makes the next ``isDueForVerification()`` return true, since the provider cannot find the folder.
    func markDoubtful()
}
