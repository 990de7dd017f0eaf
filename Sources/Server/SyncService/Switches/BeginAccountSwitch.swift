import HTTPTransport
import Providers
import Store
import SyncProtocol
import Vault

/// Proposes to switch an identity to the caller's account.
///
/// The identity does not change yet; an unconfirmed proposal expires. A repeated request, or one from another device
/// for the same account, joins the switch in progress.
struct BeginAccountSwitchEndpoint: Endpoint {
    /// How long a proposal can be confirmed, in seconds.
    private static let lifetimeSeconds: Int64 = 86_400
    /// The maximum number of hosted users in a reply.
    private static let maximumHostedUsers = 1_000

    func respond(
        to request: BeginAccountSwitchRequest, from caller: SignedInPerson, in context: RequestContext
    ) throws -> EndpointReply {
        let (user, grant) = try owner(of: request.userAppId, caller, context)
        context.note(user)
        if let joined = try context.store.withSession({ try standing(user, caller, context, &$0) }) {
            return try reply(joined, of: user, context)
        }
        try requireOwner(of: user, grant, caller, context)
        // Before the provider is asked, so that a request that fails there also counts.
        try context.store.transaction { session in
            try context.use(.accountSwitchesPerHour, of: user.accountType, user.providerUserID, in: &session)
        }
        let proposed = try EarlierGrant.retryingOnceIfRevoked { try propose(request, user, caller, context) }
        return try reply(proposed, of: user, context)
    }

    /// The user of an identity to which the calling device belongs, and the state of the device's grant.
    /// - Throws: ``ErrorCode/grantInvalid`` even for an unknown identity, so that callers cannot find out which
    ///   identities exist.
    private func owner(
        of identity: UserAppID, _ caller: SignedInPerson, _ context: RequestContext
    ) throws -> (UserRecord, GrantStanding) {
        guard let grant = context.presentedGrant else { throw Refusal(.grantInvalid) }
        return try context.store.transaction { session in
            guard let user = try session.user(of: identity),
                let standing = try session.standing(
                    ofGrant: grant.hash, of: caller.device, user.userID,
                    minimumAge: context.services.settings.switches.minimumGrantAge, at: context.now)
            else { throw Refusal(.grantInvalid) }
            return (user, standing)
        }
    }

    /// Requires more proof of the identity than an access token, since anyone with a token gets a grant: either a grant
    /// that is old enough, or a new code of the account to be left.
    private func requireOwner(
        of user: UserRecord, _ grant: GrantStanding, _ caller: SignedInPerson, _ context: RequestContext
    ) throws {
        // An established grant needs no code, and a used code does no harm.
        guard case .young(let time) = grant else {
            try OldAccountProof.check(of: user, on: caller.device, for: nil, in: context)
            return
        }
        let purpose = "BeginAccountSwitch to \(caller.presented.accountType.rawValue) \(caller.profile.providerUserID)"
        let isProved = try OldAccountProof.check(of: user, on: caller.device, for: purpose, in: context)
        guard !isProved else { return }
        throw Refusal.grantTooYoung(
            usableFrom: time, in: .seconds(time.secondsSince1970 - context.now.secondsSince1970))
    }

    /// The switch that the request joins; `nil` if the caller may propose a new one.
    /// - Throws: ``ErrorCode/accountInUse``, ``ErrorCode/switchInProgress``,
    ///   ``ErrorCode/owningAccountRequired``.
    private func standing(
        _ user: UserRecord, _ caller: SignedInPerson, _ context: RequestContext, _ session: inout StoreSession
    ) throws -> AccountSwitch? {
        let (accountType, providerUserID) = (caller.presented.accountType, caller.profile.providerUserID)
        switch try session.binding(of: accountType, providerUserID) {
        case .active(user.userID):
            guard let inProgress = try session.switchInProgress(of: user.userID) else {
                throw Refusal(.accountInUse)
            }
            return inProgress
        // A return to an account that this identity has left, or a switch to an unused account.
        case .retired(user.userID), .free: break
        case .active, .retired: throw Refusal(.accountInUse)
        }
        if let proposed = try session.proposedSwitch(of: user.userID, at: context.now) {
            guard proposed.leads(to: accountType, providerUserID) else {
                throw Refusal.switchInProgress(proposed.id)
            }
            return proposed
        }
        guard try accountType.cloudStorageType != nil || !session.needsStorage(user.userID) else {
            throw Refusal(.owningAccountRequired)
        }
        return nil
    }

    private func propose(
        _ request: BeginAccountSwitchRequest, _ user: UserRecord, _ caller: SignedInPerson, _ context: RequestContext
    ) throws -> AccountSwitch {
        let exchange = CredentialExchange(caller, context)
        let accountType = caller.presented.accountType
        let folderName = try NewUser.folderName(request.cloudFolderName, for: accountType)
        let newcomer = try NewUser.obtained(by: exchange, folderName: folderName, in: context)
        try exchange.account.requireStorage(with: newcomer.credentials, through: context.accountClient)
        var credentials = newcomer.credentials
        var folderID: String?
        if accountType.cloudStorageType != nil {
            var candidate = user
            (candidate.accountType, candidate.providerUserID) = (accountType, caller.profile.providerUserID)
            (candidate.cloudFolderName, candidate.cloudFolderID) = (folderName, nil)
            candidate.accountEpoch = AccountEpoch(user.accountEpoch.rawValue + 1)
            let storage = try context.services.storage.storage(
                of: candidate, account: .candidate(credentials), transport: context.transport,
                deadline: context.deadline, logger: context.logger)
            try StorageProbe(name: "SyncServer \(try context.services.makeUUID()).txt", storage: storage).run()
            (credentials, folderID) = (storage.heldCredentials ?? credentials, storage.access.folder.folderID)
        }
        OfflineAccess.note(credentials, of: accountType, isNew: true, context)
        let account = ProposedAccount(
            accountType: accountType, providerUserID: caller.profile.providerUserID, cloudFolderName: folderName,
            cloudFolderID: folderID,
            credentials: try context.services.storage.vault.sealed(credentials, ofNextAccountOf: user.userID),
            hasOfflineAccess: credentials.hasOfflineAccess)
        guard let id = AccountSwitchID(try context.services.makeUUID()) else { preconditionFailure("a UUID") }
        let until = WireDate(secondsSince1970: context.now.secondsSince1970 + Self.lifetimeSeconds)
        return try context.store.transaction { session in
            guard try session.lockUser(user.userID), let current = try session.user(user.userID),
                current.accountEpoch == user.accountEpoch
            else { throw Refusal(.staleEpoch) }
            if let joined = try standing(current, caller, context, &session) { return joined }
            try session.propose(
                id, of: current, to: account, with: context.presentedGrant?.hash, until: until, at: context.now)
            try newcomer.earlierGrant.keep(in: &session)
            try session.addPush(SwitchNotice.begun(to: accountType), toDevicesOf: user.userID, at: context.now)
            guard let proposed = try session.accountSwitch(id, at: context.now) else {
                throw Refusal(.switchUnknown)
            }
            return proposed
        }
    }

    private func reply(
        _ proposed: AccountSwitch, of user: UserRecord, _ context: RequestContext
    ) throws -> EndpointReply {
        try context.store.snapshot { session in
            let contents =
                proposed.state == .proposed
                ? try session.ownedContents(of: user.userID)
                : (files: try session.awaitingCount(of: user.userID), bytes: 0)
            return .json(
                BeginAccountSwitchResponse(
                    switchId: proposed.id, state: AccountSwitchState(proposed.state),
                    fromAccountType: proposed.fromAccountType, toAccountType: proposed.toAccountType,
                    numberOfFiles: contents.files, approximateBytes: contents.bytes,
                    hostedUsers: try session.hostedUsers(of: user.userID, limit: Self.maximumHostedUsers),
                    expiresAt: proposed.expiresAt))
        }
    }
}

extension BeginAccountSwitchRequest: ServedRequest {
    typealias Handler = BeginAccountSwitchEndpoint
}

extension AccountSwitchState {
    init(_ state: AccountSwitch.State) {
        self =
            switch state {
            case .proposed: .proposed
            case .reuploading: .reuploading
            case .finished: .finished
            }
    }
}

/// Tests a storage: writes a file there, and deletes it.
struct StorageProbe {
    let name: String
    let storage: UserStorage

    /// - Throws: ``CloudStorageError`` if the storage does not accept files.
    func run() throws(CloudStorageError) {
        let reservation = try storage.provider.reserve(name: name, in: storage.access)
        let content = BytesContent(Array("SyncServer".utf8), for: storage.provider.storageType)
        let stored = try storage.provider.upload(
            content, as: reservation, mimeType: "text/plain", to: storage.access)
        try storage.provider.delete(objectID: stored.objectID, in: storage.access)
    }
}
