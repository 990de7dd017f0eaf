public import HTTPTransport
public import Logging
public import Providers
public import Store
public import SyncProtocol

/// Opens the storage of any user: finds the provider, the tokens and the folder.
///
/// Shared by all threads.
public struct StorageRegistry: Sendable {
    public let store: MetadataStore
    /// Opens and changes users' tokens.
    public let vault: CredentialVault
    public let backoff: Backoff
    private let providers: [CloudStorageType: any CloudProvider]
    private let accounts: [AccountType: any AccountProvider]
    private let folderChecks = FolderChecks()

    /// - Parameter unreadable: called for each sealed record that cannot be opened, for statistics.
    public init(
        store: MetadataStore, sealer: CredentialSealer, backoff: Backoff, providers: [any CloudProvider],
        accounts: [any AccountProvider], unreadable: @escaping @Sendable () -> Void = {}
    ) {
        self.store = store
        vault = CredentialVault(store: store, sealer: sealer, unreadable: unreadable)
        self.backoff = backoff
        self.providers = Dictionary(uniqueKeysWithValues: providers.map { ($0.storageType, $0) })
        self.accounts = Dictionary(uniqueKeysWithValues: accounts.map { ($0.accountType, $0) })
    }

    /// The provider for an account type; `nil` if sign-in with it is not enabled here.
    public func account(_ type: AccountType) -> (any AccountProvider)? { accounts[type] }

    /// The account of a user whose storage is opened.
    public enum Account {
        /// The current one; its tokens are in the user's row.
        case current
        /// That of a removed user, to clear it; with the tokens from the user's row.
        case departed(sealed: [UInt8])
        /// The one that the user has left, for reading while contents are moved out of it.
        case former(AccountMove)
        /// One to which the user is about to switch, for the duration of one request.
        case candidate(StoredCredentials)
    }

    /// The storage of a user.
    /// - Parameter user: the user with this account and its epoch.
    /// - Throws: ``CloudStorageError/authorizationRevoked`` if the account type has no storage or is not enabled here,
    ///   or if the move out of a former account has ended; ``CloudStorageError/unavailable(detail:)`` if the tokens of
    ///   a departed user or of a former account cannot be opened.
    public func storage(
        of user: UserRecord, account: Account = .current, transport: Transport, deadline: Deadline, logger: Logger
    ) throws(CloudStorageError) -> UserStorage {
        guard let type = user.accountType.cloudStorageType, let provider = providers[type],
            let service = accounts[user.accountType]
        else { throw .authorizationRevoked }
        let held = { (credentials: StoredCredentials, key: Int64, keep: @escaping HeldTokens.Keeping) in
            HeldTokens(
                credentials, accountKey: key, account: service, transport: transport, backoff: backoff, keep: keep)
        }
        let tokens: any AccessTokens
        let folder: any FolderMemory
        switch account {
        case .current:
            tokens = AccountTokens(
                user: user, store: store, vault: vault, account: service, transport: transport, backoff: backoff,
                logger: logger)
            folder = UserFolder(user: user, store: store, checks: folderChecks)
        case .departed(let sealed):
            tokens = held(try opened(sealed, from: .user(user.userID), logger), user.accountKey) { [vault] in
                try vault.keep($0, renewedFrom: $1, ofDeparted: user.userID, logger)
            }
            folder = UserFolder(user: user, store: store, checks: folderChecks)
        case .former(let move):
            guard let sealed = move.credentials else { throw .authorizationRevoked }
            let place = CredentialSealer.Place.formerAccount(user.userID, user.accountEpoch)
            tokens = held(try opened(sealed, from: place, logger), user.accountKey) { [vault] in
                try vault.keep($0, renewedFrom: $1, of: move, logger)
            }
            folder = CandidateFolder(name: user.cloudFolderName, folderID: user.cloudFolderID)
        case .candidate(let credentials):
            // A key that is not used elsewhere.
            tokens = held(credentials, .random(in: .min..<0)) { fresh, old in old.updated(with: fresh) }
            folder = CandidateFolder(name: user.cloudFolderName, folderID: user.cloudFolderID)
        }
        return UserStorage(
            provider: provider, accountEpoch: user.accountEpoch,
            access: StorageAccess(
                transport: transport, tokens: tokens, folder: folder, deadline: deadline, backoff: backoff))
    }

    private func opened(
        _ sealed: [UInt8], from place: CredentialSealer.Place, _ logger: Logger
    ) throws(CloudStorageError) -> StoredCredentials {
        let opened: StoredCredentials?
        do { opened = try vault.open(sealed, from: place, logger) } catch { throw .localFailure(error) }
        guard let opened else { throw .unavailable(detail: "the tokens cannot be opened") }
        return opened
    }
}

/// One user's storage, for the duration of one request. That of a current account may be used by several threads.
public struct UserStorage {
    public let provider: any CloudProvider
    /// The account of the user to which it belongs.
    public let accountEpoch: AccountEpoch
    public var access: StorageAccess

    /// The tokens after the latest renewal; `nil` for a current account, whose tokens are in the store.
    public var heldCredentials: StoredCredentials? { (access.tokens as? HeldTokens)?.credentials }

    /// Called by each thread except the one that opened the storage, before it uses the storage: the first use reads
    /// the tokens, once for all threads.
    public func join() { (access.tokens as? AccountTokens)?.join() }
}

extension UserRecord {
    /// Distinguishes accounts in this process's caches: a user who switches accounts gets a new key.
    var accountKey: Int64 { userID.rawValue | accountEpoch.rawValue << 44 }
}
