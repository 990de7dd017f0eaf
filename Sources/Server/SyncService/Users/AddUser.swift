import HTTPTransport
import Providers
import Store
import SyncProtocol
import Vault

/// Creates a user with storage, and their first sharing group.
///
/// A second request by the same user for the same group finds both and gets the same reply. Everything is one
/// transaction, so it is never half done. The jobs role writes the warning file later.
struct AddUserEndpoint: Endpoint {
    func respond(
        to request: AddUserRequest, from caller: SignedInPerson, in context: RequestContext
    ) throws -> EndpointReply {
        try RebuildGate(context)?.admit(newcomer: caller, folderName: request.cloudFolderName)
        let exchange = CredentialExchange(caller, context)
        let accountType = caller.presented.accountType
        let identity = IdentityReport(to: caller, isWanted: request.reportIdentity, context)
        if let userID = try existingUser(request, caller, context) { return try reply(userID, identity) }
        try requireNotRetired(request, exchange, context)
        guard let storageType = accountType.cloudStorageType else { throw Refusal(.owningAccountRequired) }
        let folderName = try NewUser.folderName(request.cloudFolderName, for: accountType)
        do {
            let (userID, credentials) = try EarlierGrant.retryingOnceIfRevoked {
                let newUser = try NewUser.obtained(by: exchange, folderName: folderName, in: context)
                try exchange.account.requireStorage(with: newUser.credentials, through: context.accountClient)
                let userID = try context.store.transaction { session in
                    let userID = try newUser.add(
                        to: &session, acceptsRetired: request.acceptRetired, in: context)
                    try session.addGroup(
                        request.sharingGroupUUID, name: request.sharingGroupName, creator: userID, at: context.now)
                    // Removing the account and signing up again also counts as creating groups.
                    try context.use(.groupsPerHour, of: caller, in: &session)
                    if context.services.settings.writesWarningFile {
                        try session.addWarningFile(
                            for: OwningUser(userID: userID, storageType: storageType), at: context.now)
                    }
                    return userID
                }
                return (userID, newUser.credentials)
            }
            OfflineAccess.note(credentials, of: accountType, isNew: true, context)
            // The identity is new, so this device is its first.
            return try reply(userID, identity, isProved: true)
        } catch StoreError.alreadyExists(let key) {
            // A duplicate of this request may have been faster.
            if let userID = try existingUser(request, caller, context) { return try reply(userID, identity) }
            throw Refusal(key == "sharing_group_uuid" ? .groupExists : .userExists)
        }
    }

    /// The caller's user if this same request created it; `nil` if the account has no user.
    /// - Throws: ``ErrorCode/userExists`` if another request created the user.
    private func existingUser(
        _ request: AddUserRequest, _ caller: SignedInPerson, _ context: RequestContext
    ) throws -> UserID? {
        try context.store.snapshot { session in
            guard
                let found = try session.user(
                    caller.presented.accountType, caller.profile.providerUserID, device: nil)
            else {
                return nil
            }
            let userID = found.user.userID
            let membership = try session.membership(of: userID, in: request.sharingGroupUUID)
            guard let membership, membership.permission == .admin, membership.invitation == nil else {
                throw Refusal(.userExists)
            }
            return userID
        }
    }

    /// Rejects, before a code is exchanged, an account from which an identity has switched away. While that switch can
    /// be undone, also rejects somebody who wants to sign up with the account again but has only an access token, since
    /// that would prevent the undo.
    private func requireNotRetired(
        _ request: AddUserRequest, _ exchange: CredentialExchange, _ context: RequestContext
    ) throws {
        let (accountType, providerUserID) = (exchange.presented.accountType, exchange.person.profile.providerUserID)
        let standing = try context.store.withSession { session -> (active: AccountType, isFinal: Bool)? in
            guard let active = try session.activeAccountType(insteadOf: accountType, providerUserID),
                case .retired(let userID) = try session.binding(of: accountType, providerUserID)
            else { return nil }
            let undoable = try session.undoableSwitch(
                of: userID, awayFrom: accountType, providerUserID,
                since: context.services.settings.switches.undoStart(at: context.now))
            return (active, undoable.map(\.isUndone) ?? true)
        }
        guard let standing else { return }
        guard request.acceptRetired else { throw Refusal.accountRetired(by: standing.active) }
        guard try standing.isFinal || exchange.provedCredentials(for: "AddUser") != nil else {
            throw Refusal(.freshSignInRequired)
        }
    }

    private func reply(_ userID: UserID, _ identity: IdentityReport, isProved: Bool = false) throws -> EndpointReply {
        .json(UserIDResponse(userId: userID, identity: try identity.make(about: userID, isProved: isProved)))
    }
}

extension AddUserRequest: ServedRequest {
    typealias Handler = AddUserEndpoint
}

/// A user about to be added, with all data obtained from providers.
struct NewUser {
    var accountType: AccountType
    var profile: SignInProfile
    var folderName: String?
    var credentials: StoredCredentials
    var earlierGrant: EarlierGrant

    /// Obtains the credentials of the caller's account from the provider.
    /// - Parameter acceptsUsedCode: whether to ignore a code that no longer works, because a lost server has used it;
    ///   the access token must then suffice until the next sign-in.
    /// - Throws: ``AccountError``, ``StoreError``.
    static func obtained(
        by exchange: CredentialExchange, folderName: String?, acceptsUsedCode: Bool = false, in context: RequestContext
    ) throws -> NewUser {
        let earlierGrant = try EarlierGrant.found(of: exchange.person, in: context)
        return NewUser(
            accountType: exchange.presented.accountType, profile: exchange.person.profile, folderName: folderName,
            credentials: acceptsUsedCode && earlierGrant.credentials == nil
                ? try exchange.replacement(isReplacement: true)
                : try exchange.firstCredentials(keeping: earlierGrant.credentials), earlierGrant: earlierGrant)
    }

    /// The folder name to store for an account: required if the storage has folders that people name, otherwise
    /// ignored.
    /// - Throws: ``ErrorCode/missingParameter``.
    static func folderName(_ name: String?, for accountType: AccountType) throws -> String? {
        guard accountType.needsCloudFolderName else { return nil }
        guard let name, name.contains(where: { !$0.isWhitespace }) else {
            throw Refusal(.missingParameter, "\(ParameterName.cloudFolderName.rawValue) is missing")
        }
        return name
    }

    /// Adds the user and their sealed credentials.
    /// - Parameters:
    ///   - acceptsRetired: whether an account from which an identity has switched away may start over.
    ///   - former: the former number of a person who has been recognised during a rebuild; if it is taken, the user
    ///     gets another number.
    /// - Throws: ``StoreError/alreadyExists(key:)`` if the account has a user; ``ErrorCode/accountRetired``;
    ///   ``EarlierGrant/Lost``.
    func add(
        to session: inout StoreSession, acceptsRetired: Bool = false, preferring former: UserID? = nil,
        in context: RequestContext
    ) throws -> UserID {
        let userID: UserID
        if let former, try session.user(former) == nil {
            userID = try session.addImportedUser(
                accountType, profile.providerUserID, displayName: profile.displayName, cloudFolderName: folderName,
                preferred: former, at: context.now)
        } else {
            userID = try session.addUser(
                accountType, profile.providerUserID, displayName: profile.displayName, cloudFolderName: folderName,
                at: context.now)
        }
        // Checked after the insertion, which also succeeds if a concurrent switch has just left this account.
        if let active = try session.activeAccountType(insteadOf: accountType, profile.providerUserID) {
            guard acceptsRetired else { throw Refusal.accountRetired(by: active) }
            try session.detachRetiredAccount(accountType, profile.providerUserID)
        }
        try earlierGrant.keep(in: &session)
        // The user's number is bound into the record, so it can be sealed only now.
        try context.services.storage.vault.add(credentials, of: userID, in: &session)
        return userID
    }
}

/// The grant of an account from before its user was removed, as long as it has not been revoked at the provider.
///
/// An account that signs up again keeps it: revoking it would also invalidate the new user's tokens, and Google issues
/// a refresh token only with the first consent after a revocation.
struct EarlierGrant {
    private static let pollInterval: Duration = .milliseconds(100)

    /// `nil` if no grant is waiting to be revoked.
    let credentials: StoredCredentials?
    private let accountType: AccountType
    private let providerUserID: String

    /// Looks up the grant of a person's account, and waits if it is being revoked at the provider.
    /// - Throws: ``AccountError/timedOut`` if that takes longer than the request's deadline,
    ///   ``AccountError/withheld(_:)`` if too many others are waiting already.
    static func found(of person: SignedInPerson, in context: RequestContext) throws -> EarlierGrant {
        let (accountType, providerUserID) = (person.presented.accountType, person.profile.providerUserID)
        repeat {
            let pending = try context.store.withSession { session in
                try session.pendingRevocation(of: accountType, providerUserID)
            }
            let credentials: StoredCredentials?
            switch pending {
            case .none: credentials = nil
            case .waiting(let record, let userID):
                credentials = try context.services.storage.vault.open(record, from: .user(userID), context.logger)
            case .underWay: continue
            }
            return EarlierGrant(credentials: credentials, accountType: accountType, providerUserID: providerUserID)
        } while context.services.storage.backoff.pause(
            Self.pollInterval, deadline: context.deadline, for: accountType.rawValue)
        throw context.deadline.remaining > Self.pollInterval ? AccountError.withheld(.busy) : .timedOut
    }

    /// Prevents the revocation of the new user's grant. Call in the transaction that adds the user.
    /// - Throws: ``Lost`` if its revocation was requested in the meantime; the grant must then be looked up again.
    func keep(in session: inout StoreSession) throws {
        let isKept = try session.cancelRevocations(
            of: accountType, providerUserID, isGrantKept: credentials != nil)
        guard isKept else { throw Lost() }
    }

    /// The grant was revoked between the lookup and the transaction.
    struct Lost: Error {}

    /// Runs `body`, which adds a user; runs it once more from the beginning if a revocation happened in between.
    static func retryingOnceIfRevoked<Value>(_ body: () throws -> Value) throws -> Value {
        do { return try body() } catch is Lost {}
        do { return try body() } catch is Lost { throw StoreError.busy }
    }
}
