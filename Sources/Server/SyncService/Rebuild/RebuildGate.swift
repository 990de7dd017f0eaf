import HTTPTransport
import OpenSSLCrypto
import Providers
import Store
import SyncProtocol
import Vault

/// Holds people during a rebuild until the server knows them and their groups again
/// (docs/adr/0121-a-server-rebuilt-from-manifests.md).
///
/// Deployed clients interpret a 503 as a closed server: they change nothing, and try again. The request records the
/// person's visit; the jobs role reads their folder.
struct RebuildGate {
    /// The message for people who are held.
    static let text = "The service is being restored. Nothing is lost; please try again in a few minutes."
    /// How long an owner's client waits for the folder to be read.
    private static let shortWait: Duration = .seconds(5)

    private let context: RequestContext
    private let mode: RebuildMode

    /// `nil` unless the database is being rebuilt, or was.
    init?(_ context: RequestContext) {
        guard let mode = context.services.maintenance?.rebuild else { return nil }
        self.context = context
        self.mode = mode
    }

    /// Decides about a person who makes a request that requires a user.
    /// - Parameter found: the user of their account, if there is one.
    /// - Returns: the user from now on; `nil` if they may sign up.
    /// - Throws: ``ErrorCode/restoring``; ``AccountError``, ``StoreError``.
    func admit(_ person: SignedInPerson, _ found: UserRecord?) throws -> UserRecord? {
        guard mode.isOn else { return try found ?? recognised(person) }
        if try requireReading(of: person, found, folderName: mode.cloudFolderName) == .unknownFolder { return nil }
        guard let user = try found ?? recognised(person) else { throw Self.restoring() }
        try requireAllGroups(of: user, person)
        return user
    }

    /// The same for a person who signs up, or joins a group.
    /// - Parameter folderName: the folder that the request names.
    func admit(newcomer person: SignedInPerson, folderName: String?) throws {
        let (accountType, providerUserID) = (person.presented.accountType, person.profile.providerUserID)
        let found = try context.store.withSession { try $0.user(accountType, providerUserID, device: nil)?.user }
        guard mode.isOn else {
            if found == nil { _ = try recognised(person) }
            return
        }
        let folderName = folderName ?? mode.cloudFolderName
        // The endpoint refuses a request that names none.
        if try requireReading(of: person, found, folderName: folderName) == .unknownFolder { return }
        guard let user = try found ?? recognised(person) else { throw Self.restoring() }
        try requireAllGroups(of: user, person)
    }

    /// Holds a person until all their groups are back: a list without one of them would make their devices conclude
    /// that they have left it.
    private func requireAllGroups(of user: UserRecord, _ person: SignedInPerson) throws {
        guard !mode.holdsEveryone else { throw Self.restoring() }
        switch try context.store.withSession({ try $0.awaitedGroups(of: user.userID) }) {
        case .missing: throw Self.restoring()
        case .allTaken: return
        case .allHere:
            guard notesVisits else { return }
            let places = try context.store.withSession { session in
                try session.placesOfAbsentMembers(user.accountType, user.providerUserID)
            }
            for place in places { _ = try context.store.transaction { try $0.seat(user, as: place) } }
            try context.store.transaction { try $0.forgetAwaitedGroups(of: user.userID) }
        }
    }

    private static func restoring(soon: Bool = false) -> Refusal {
        Refusal(.restoring, text, retryAfter: soon ? shortWait : nil)
    }

    /// Whether this role may add users; the other role admits nobody on its own.
    private var notesVisits: Bool { context.services.refusesDuringMaintenance }

    // MARK: People with storage

    private enum Reading {
        case done
        /// The name of the folder that contains the manifests is unknown.
        case unknownFolder
    }

    /// Returns if the folder of the person has been read, or if the person has no storage.
    private func requireReading(
        of person: SignedInPerson, _ found: UserRecord?, folderName: String?
    ) throws -> Reading {
        guard person.presented.accountType.cloudStorageType != nil else { return .done }
        let (accountType, providerUserID) = (person.presented.accountType, person.profile.providerUserID)
        let visit = try context.store.withSession { try $0.rebuildVisit(of: accountType, providerUserID) }
        switch visit?.state {
        case .read: return .done
        case .stranger:
            guard notesVisits else { break }
            // If a group that was restored meanwhile names them, their folder is read again.
            let isNamed = try context.store.withSession { session in
                try !session.placesOfAbsentMembers(accountType, providerUserID).isEmpty
            }
            guard isNamed, folderName != nil || !accountType.needsCloudFolderName else { throw Self.restoring() }
            try context.store.transaction { try $0.forgetStranger(accountType, providerUserID) }
            try note(person, nil, folderName)
        case .waiting:
            // The folder may be unread because the stored token does not work.
            if notesVisits, person.isFresh, let found { try takeOver(person, for: found) }
        case nil:
            guard found != nil || !accountType.needsCloudFolderName || folderName != nil else {
                return .unknownFolder
            }
            if notesVisits { try note(person, found, folderName) }
        }
        throw Self.restoring(soon: true)
    }

    private func note(_ person: SignedInPerson, _ found: UserRecord?, _ folderName: String?) throws {
        do {
            if let found {
                try store(person, for: found)
                return try context.store.transaction { session in
                    guard try session.holdRebuildOpen() else { throw Self.restoring(soon: true) }
                    try session.addRebuildVisit(of: found, isProvisional: false, at: context.now)
                }
            }
            let newUser = try NewUser.obtained(
                by: CredentialExchange(person, context),
                folderName: try NewUser.folderName(folderName, for: person.presented.accountType),
                acceptsUsedCode: true, in: context)
            try context.store.transaction { session in
                // This process may not know yet that the rebuild has ended.
                guard try session.holdRebuildOpen() else { throw Self.restoring(soon: true) }
                let userID = try newUser.add(to: &session, in: context)
                guard let user = try session.user(userID) else { throw StoreError.notFound }
                try session.addRebuildVisit(of: user, isProvisional: true, at: context.now)
            }
        } catch StoreError.alreadyExists {
            // A simultaneous request of the same person was faster.
        } catch is EarlierGrant.Lost {
            throw StoreError.busy
        }
    }

    private func takeOver(_ person: SignedInPerson, for user: UserRecord) throws {
        guard try store(person, for: user), let storage = user.accountType.cloudStorageType else { return }
        try context.store.transaction { session in
            try session.scheduleManifestReading(OwningUser(userID: user.userID, storageType: storage), at: context.now)
        }
    }

    /// Stores the presented credentials if they are new.
    @discardableResult
    private func store(_ person: SignedInPerson, for user: UserRecord) throws -> Bool {
        let exchange = CredentialExchange(person, context)
        do {
            return try context.services.storage.vault.update(user, context.logger) { kept in
                try exchange.newCredentials(besides: kept)
            }?.isChanged == true
        } catch AccountError.codeRejected {
            // The lost server, or this one after the backup, has already used the code.
            return false
        }
    }

    // MARK: Members

    /// Gives a person their places in the groups that name them; `nil` if no group names them.
    private func recognised(_ person: SignedInPerson) throws -> UserRecord? {
        guard notesVisits else { return nil }
        let account = (type: person.presented.accountType, id: person.profile.providerUserID)
        let places = try context.store.withSession { try $0.placesOfAbsentMembers(account.type, account.id) }
        guard !places.isEmpty else { return nil }
        let folderName = account.type.needsCloudFolderName ? mode.cloudFolderName : nil
        guard !account.type.needsCloudFolderName || folderName != nil else { return nil }
        do {
            return try EarlierGrant.retryingOnceIfRevoked {
                let newUser = try NewUser.obtained(
                    by: CredentialExchange(person, context), folderName: folderName, acceptsUsedCode: true,
                    in: context)
                return try context.store.transaction { session in
                    let former = places.first { $0.isSigned && $0.formerUserID < mode.firstNewUser }?.formerUserID
                    let userID = try newUser.add(to: &session, preferring: former, in: context)
                    guard let user = try session.user(userID) else { throw StoreError.notFound }
                    for place in places { _ = try session.seat(user, as: place) }
                    return user
                }
            }
        } catch StoreError.alreadyExists {
            // A simultaneous request of the same person was faster.
            return try context.store.withSession { try $0.user(account.type, account.id, device: nil)?.user }
        }
    }
}

extension StoreSession {
    /// The absent members as whom an account is recognised: their hashes are those of the account.
    mutating func placesOfAbsentMembers(
        _ accountType: AccountType, _ providerUserID: String
    ) throws -> [RebuildMembership] {
        try saltsOfAbsentMembers().compactMap { group in
            let identity = ManifestIdentity.hash(accountType, providerUserID, salt: group.salt)
            return try absentMember(identity, in: group.groupID)
        }
    }
}

/// The hash by which manifests identify accounts.
enum ManifestIdentity {
    static func hash(_ accountType: AccountType, _ providerUserID: String, salt: [UInt8]) -> [UInt8] {
        let input = GroupManifest.identityInput(salt: salt, accountType: accountType, accountID: providerUserID)
        return Array(IncrementalDigest.digest(of: input, .sha256).prefix(GroupManifest.identityBytes))
    }
}
