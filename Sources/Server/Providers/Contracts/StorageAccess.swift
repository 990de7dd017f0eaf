public import HTTPTransport

/// What a provider needs to act on one person's storage for the duration of one request.
public struct StorageAccess {
    public var transport: Transport
    /// The person's access token, and how to renew it.
    public var tokens: any AccessTokens
    /// The folder that contains the person's files, for providers that have one.
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
    /// Distinguishes accounts for caches within this process.
    var accountKey: Int64 { get }
    /// The location of the storage that the most recently returned token opens, in the form of
    /// ``StoredCredentials/location``; `nil` for companies' storages, whose adapters know it.
    var location: String? { get }
    /// The token to try first.
    func current() throws(CloudStorageError) -> String
    /// A token that differs from `rejected`: another process may have renewed it already; otherwise it is renewed now.
    ///
    /// - Parameter deadline: the deadline of the renewal; a long operation may need a new token after the request's own
    ///   deadline.
    /// - Throws: ``CloudStorageError/authorizationRevoked`` if the provider reports that no renewal is possible; a
    ///   different error if it could not be asked.
    func renewed(insteadOf rejected: String, by deadline: Deadline) throws(CloudStorageError) -> String
}

extension AccessTokens {
    public var location: String? { nil }
}

/// Remembers the location of a person's folder for all processes.
public protocol FolderMemory: AnyObject {
    /// The name that the person chose when they signed up; `nil` if their account type has no folder.
    var name: String? { get }
    /// The identifier of the folder, once it is known.
    var folderID: String? { get }
    /// Replaces `old` by `new` unless another process was faster, and returns the current value.
    func replace(_ old: String?, by new: String) throws(CloudStorageError) -> String
    /// Whether the folder should be verified before it is used; true at most once every few minutes.
    func isDueForVerification() -> Bool
    /// Called if the provider cannot find the folder: the next ``isDueForVerification()`` returns true.
    func markDoubtful()
}
