import Providers
import Store
import SyncProtocol

/// Creates a user with storage, and their first sharing group.
///
/// A second request by the same user for the same group finds both and gets the same reply. Everything is one
/// transaction, so it is never half done. The jobs role writes the warning file later.
struct AddUserEndpoint: Endpoint {
    func respond(
        to request: AddUserRequest, from caller: SignedInPerson, in context: RequestContext
    ) throws -> EndpointReply {
        let exchange = CredentialExchange(caller, context)
        let accountType = caller.presented.accountType
        let identity = IdentityReport(to: caller, isWanted: request.reportIdentity, context)
        if let userID = try existingUser(request, caller, context) { return try reply(userID, identity) }
        try requireNotRetired(request, exchange, context)
        guard let storageType = accountType.cloudStorageType else { throw EndpointError.owningAccountRequired }
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
            throw key == "sharing_group_uuid" ? EndpointError.groupExists : EndpointError.userExists
        }
    }

    /// The caller's user if this same request created it; `nil` if the account has no user.
    /// - Throws: ``EndpointError/userExists`` if another request created the user.
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
                throw EndpointError.userExists
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
        guard request.acceptRetired else { throw EndpointError.accountRetired(by: standing.active) }
        guard try standing.isFinal || exchange.provedCredentials(for: "AddUser") != nil else {
            throw EndpointError.freshSignInRequired
        }
    }

    private func reply(_ userID: UserID, _ identity: IdentityReport, isProved: Bool = false) throws -> EndpointReply {
        .json(UserIDResponse(userId: userID, identity: try identity.make(about: userID, isProved: isProved)))
    }
}

extension AddUserRequest: ServedRequest {
    typealias Handler = AddUserEndpoint
}
