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

    /// The storage of `user`.
    /// - Throws: ``CloudStorageError/authorizationRevoked`` if their account type is no longer enabled here.
    public func storage(
        of user: UserRecord, transport: Transport, deadline: Deadline, logger: Logger
    ) throws(CloudStorageError) -> UserStorage {
        try storage(of: user, transport: transport, deadline: deadline, logger: logger, beginning: nil)
    }

    /// The user's storage twice, for two threads that begin at the same time: the tokens are read once for both.
    public func storages(
        of user: UserRecord, transport: Transport, deadline: Deadline, logger: Logger
    ) throws(CloudStorageError) -> (UserStorage, UserStorage) {
        let beginning = TokensAtBeginning()
        return (
            try storage(of: user, transport: transport, deadline: deadline, logger: logger, beginning: beginning),
            try storage(of: user, transport: transport, deadline: deadline, logger: logger, beginning: beginning)
        )
    }

    private func storage(
        of user: UserRecord, transport: Transport, deadline: Deadline, logger: Logger, beginning: TokensAtBeginning?
    ) throws(CloudStorageError) -> UserStorage {
        guard let type = user.accountType.cloudStorageType, let provider = providers[type],
            let account = accounts[user.accountType]
        else { throw .authorizationRevoked }
        let tokens = UserTokens(
            user: user, store: store, vault: vault, account: account, transport: transport, backoff: backoff,
            logger: logger, beginning: beginning)
        let folder = UserFolder(user: user, store: store, checks: folderChecks)
        return UserStorage(
            provider: provider, accountEpoch: user.accountEpoch,
            access: StorageAccess(
                transport: transport, tokens: tokens, folder: folder, deadline: deadline, backoff: backoff))
    }

    /// The storage of a removed user, to clear it.
    /// - Parameter sealed: the tokens from the user's row.
    /// - Throws: ``CloudStorageError/authorizationRevoked`` if their account type is no longer enabled here;
    ///   ``CloudStorageError/unavailable(detail:)`` if the tokens cannot be opened.
    public func storage(
        ofDeparted user: UserRecord, sealed: [UInt8], transport: Transport, deadline: Deadline, logger: Logger
    ) throws(CloudStorageError) -> UserStorage {
        guard let type = user.accountType.cloudStorageType, let provider = providers[type],
            let account = accounts[user.accountType]
        else { throw .authorizationRevoked }
        let credentials = try opened(sealed, from: .user(user.userID), logger)
        let vault = vault
        let tokens = HeldTokens(
            credentials, accountKey: user.accountKey, account: account, transport: transport, backoff: backoff
        ) { try vault.keep($0, renewedFrom: $1, ofDeparted: user.userID, logger) }
        return UserStorage(
            provider: provider, accountEpoch: user.accountEpoch,
            access: StorageAccess(
                transport: transport, tokens: tokens,
                folder: UserFolder(user: user, store: store, checks: folderChecks),
                deadline: deadline, backoff: backoff))
    }

    /// The storage of an account that a user has left, for reading while contents are moved out of it.
    /// - Throws: ``CloudStorageError/authorizationRevoked`` if the move has ended, or the account type is no longer
    ///   enabled here; ``CloudStorageError/unavailable(detail:)`` if the tokens cannot be opened.
    public func storage(
        ofFormerAccountIn move: AccountMove, transport: Transport, deadline: Deadline, logger: Logger
    ) throws(CloudStorageError) -> UserStorage {
        let user = move.former
        guard let sealed = move.credentials, let type = user.accountType.cloudStorageType,
            let provider = providers[type], let account = accounts[user.accountType]
        else { throw .authorizationRevoked }
        let credentials = try opened(sealed, from: .formerAccount(user.userID, user.accountEpoch), logger)
        let vault = vault
        let tokens = HeldTokens(
            credentials, accountKey: user.accountKey, account: account, transport: transport, backoff: backoff
        ) { try vault.keep($0, renewedFrom: $1, of: move, logger) }
        return UserStorage(
            provider: provider, accountEpoch: user.accountEpoch,
            access: StorageAccess(
                transport: transport, tokens: tokens,
                folder: CandidateFolder(name: user.cloudFolderName, folderID: user.cloudFolderID),
                deadline: deadline, backoff: backoff))
    }

    private func opened(
        _ sealed: [UInt8], from place: CredentialSealer.Place, _ logger: Logger
    ) throws(CloudStorageError) -> StoredCredentials {
        let opened: StoredCredentials?
        do { opened = try vault.open(sealed, from: place, logger) } catch { throw .localFailure(error) }
        guard let opened else { throw .unavailable(detail: "the tokens cannot be opened") }
        return opened
    }

    /// The storage of an account that a user is about to switch to.
    /// - Throws: ``CloudStorageError/authorizationRevoked`` if the account type has no storage, or is not enabled here.
    public func storage(
        ofCandidate type: AccountType, _ credentials: StoredCredentials, folderName: String?, transport: Transport,
        deadline: Deadline
    ) throws(CloudStorageError) -> CandidateStorage {
        guard let storageType = type.cloudStorageType, let provider = providers[storageType],
            let account = accounts[type]
        else { throw .authorizationRevoked }
        // A key that is not used elsewhere.
        let tokens = HeldTokens(
            credentials, accountKey: .random(in: .min..<0), account: account, transport: transport, backoff: backoff)
        let folder = CandidateFolder(name: folderName)
        return CandidateStorage(
            provider: provider,
            access: StorageAccess(
                transport: transport, tokens: tokens, folder: folder, deadline: deadline, backoff: backoff),
            tokens: tokens, folder: folder)
    }
}

/// The storage of an account that a user is about to switch to, for the duration of one request.
public struct CandidateStorage {
    public let provider: any CloudProvider
    public let access: StorageAccess
    /// The tokens, which may be renewed in the course of the request.
    public let tokens: HeldTokens
    /// The folder, which may be found in the course of the request.
    public let folder: CandidateFolder
}

/// One user's storage, for the duration of one request.
public struct UserStorage {
    public let provider: any CloudProvider
    /// The account of the user to which it belongs.
    public let accountEpoch: AccountEpoch
    public var access: StorageAccess
}

extension UserRecord {
    /// Distinguishes accounts in this process's caches: a user who switches accounts gets a new key.
    var accountKey: Int64 { userID.rawValue | accountEpoch.rawValue << 44 }
}
