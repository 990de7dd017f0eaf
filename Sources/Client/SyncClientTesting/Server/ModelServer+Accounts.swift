internal import SyncEngine
internal import SyncProtocol

/// An account with storage.
struct ModelAccount: Hashable {
    /// Unique across all users.
    let number: Int

    var accountType: AccountType { [.google, .dropbox, .microsoft][number % 3] }
    var storage: CloudStorageType { [.google, .dropbox, .microsoft][number % 3] }
}

/// The account that a request names, and the epoch that its device knows.
struct ModelSignIn: Equatable {
    let account: ModelAccount
    let epoch: AccountEpoch?
}

/// The identity above a user's accounts.
struct ModelIdentity {
    let userAppID: UserAppID
    var active: ModelAccount
    /// The account with which the user signed up.
    let signedUp: ModelAccount
    /// The former accounts, in the order in which the user left them.
    var retired: [ModelAccount] = []
    var epoch = AccountEpoch(0)
    /// Devices that have a grant.
    var grants: Set<DeviceUUID>
    /// The switches, in the order of their proposals.
    var switches: [ModelSwitch] = []
    /// Whether a proposal has been withdrawn, which may have hidden the previous switch from some devices.
    var hasWithdrawn = false

    init(userAppID: UserAppID, active: ModelAccount, grants: Set<DeviceUUID> = []) {
        self.userAppID = userAppID
        self.active = active
        self.grants = grants
        signedUp = active
    }

    /// Activates an account. Returning to a former account releases the accounts in between, except the one with which
    /// the user signed up.
    mutating func use(_ account: ModelAccount) {
        retired.append(active)
        if let index = retired.firstIndex(of: account) {
            retired = retired.enumerated().filter { position, left in
                left != account && (position < index || left == signedUp)
            }.map(\.element)
        }
        active = account
    }
}

/// A switch of accounts.
struct ModelSwitch {
    let id: AccountSwitchID
    let account: ModelAccount
    var state = AccountSwitchState.proposed
    /// The epoch after the confirmation, and the number of files that wait because of it.
    var outcome: (epoch: AccountEpoch, numberAwaiting: Int64)?
    /// The server's progress in moving the files; nil if it was not asked to, or cannot.
    var move: ServerMoveState?
    let expiresAt: WireDate
}

/// A request about accounts, which belongs to no group.
enum ModelAccountRequest {
    case checkCredentials
    case begin(UserAppID, switchID: AccountSwitchID)
    case confirm(AccountSwitchID, AccountEpoch, movesContents: Bool)
    case cancel(AccountSwitchID)
    case finish(AccountSwitchID, MissingFiles)
}

/// The reply to a request about accounts.
enum ModelAccountReply {
    case user(AccountIdentity)
    case noUser
    case retired(by: AccountType)
    case begun(AccountSwitchID, AccountSwitchState)
    case confirmed(AccountEpoch, numberAwaiting: Int64, isMoved: Bool)
    case done
    case refused(ErrorCode)
    /// No reply arrives.
    case lost
}

// Identities and switches of accounts (docs/protocol.md, sections 5.10 and 5.11). Users without an identity have a
// single account that no request names.
extension ModelServer {
    /// How long a proposal may be confirmed, in seconds.
    private static let proposalLifetimeSeconds: Int64 = 86_400

    /// The storage of a user.
    func storage(of user: UserID) -> CloudStorageType { identities[user]?.active.storage ?? .google }

    /// The refusal of a request with these credentials; nil if they are accepted.
    func refusal(of signIn: ModelSignIn?, _ user: UserID) -> Answer? {
        guard let identity = identities[user], let signIn else { return nil }
        guard identity.active == signIn.account else {
            return Answer(
                .failed(
                    identity.retired.contains(signIn.account)
                        ? .accountRetired(identity.active.accountType) : .signInRequired))
        }
        if let epoch = signIn.epoch, epoch != identity.epoch { return .refused(.staleEpoch) }
        return nil
    }

    /// Performs a request about accounts, with the credentials of one of the user's accounts.
    func perform(
        _ request: ModelAccountRequest, from caller: ModelCaller, with signIn: ModelSignIn, at now: WireDate
    ) -> ModelAccountReply {
        let account = signIn.account
        guard users.contains(caller.user), var identity = identities[caller.user] else { return .noUser }
        identity.switches.removeAll { $0.state == .proposed && $0.expiresAt <= now }
        defer { identities[caller.user] = identity }
        switch request {
        case .checkCredentials:
            guard identity.active == account else {
                return identity.retired.contains(account) ? .retired(by: identity.active.accountType) : .noUser
            }
            identity.grants.insert(caller.device)
            return .user(
                AccountIdentity(userAppId: identity.userAppID, accountEpoch: identity.epoch, deviceGrant: nil))
        case .begin(let userAppID, let switchID):
            guard userAppID == identity.userAppID, identity.grants.contains(caller.device) else {
                return .refused(.grantInvalid)
            }
            return begin(switchID, account, &identity, now)
        case .confirm(let id, let epoch, let movesContents):
            guard let index = identity.switches.firstIndex(where: { $0.id == id && $0.account == account }) else {
                return .refused(.switchUnknown)
            }
            if identity.switches[index].state == .proposed {
                guard identity.epoch == epoch else { return .refused(.staleEpoch) }
                confirm(index, caller.user, &identity, movesContents: movesContents)
            }
            guard let outcome = identity.switches[index].outcome else { return .refused(.switchUnknown) }
            return .confirmed(
                outcome.epoch, numberAwaiting: outcome.numberAwaiting,
                isMoved: identity.switches[index].move == .moving)
        case .cancel(let id):
            guard let known = identity.switches.first(where: { $0.id == id }) else { return .done }
            guard identity.active == account || (known.state == .proposed && known.account == account) else {
                return identity.retired.contains(account)
                    ? .retired(by: identity.active.accountType) : .refused(.switchUnknown)
            }
            guard known.state == .proposed else { return .refused(.switchConfirmed) }
            identity.switches.removeAll { $0.id == id }
            identity.hasWithdrawn = true
            return .done
        case .finish(let id, let missing):
            guard identity.active == account else {
                return identity.retired.contains(account) ? .retired(by: identity.active.accountType) : .noUser
            }
            if let epoch = signIn.epoch, epoch != identity.epoch { return .refused(.staleEpoch) }
            guard let index = identity.switches.firstIndex(where: { $0.id == id && $0.state != .proposed }) else {
                return .refused(.switchUnknown)
            }
            finish(&identity.switches[index], of: caller.user, missing)
            return .done
        }
    }

    private func begin(
        _ switchID: AccountSwitchID, _ account: ModelAccount, _ identity: inout ModelIdentity, _ now: WireDate
    ) -> ModelAccountReply {
        if account == identity.active {
            guard let known = identity.switches.first(where: { $0.state == .reuploading }) else {
                return .refused(.accountInUse)
            }
            return .begun(known.id, .reuploading)
        }
        if let proposed = identity.switches.first(where: { $0.state == .proposed }) {
            return proposed.account == account ? .begun(proposed.id, .proposed) : .refused(.switchInProgress)
        }
        identity.switches.append(
            ModelSwitch(
                id: switchID, account: account,
                expiresAt: WireDate(
                    secondsSince1970: now.secondsSince1970 + Self.proposalLifetimeSeconds)))
        return .begun(switchID, .proposed)
    }

    private func confirm(
        _ index: Int, _ user: UserID, _ identity: inout ModelIdentity, movesContents: Bool
    ) {
        let isMoving = movesContents && !revokedUsers.contains(user)
        let awaiting = groups.keys.reduce(0) { $0 + flush(user, in: $1, isMoving: isMoving) }
        for known in identity.switches.indices where identity.switches[known].state == .reuploading {
            identity.switches[known].state = .finished
            if identity.switches[known].move == .moving { identity.switches[known].move = .ended }
        }
        identity.use(identity.switches[index].account)
        identity.epoch = AccountEpoch(identity.epoch.rawValue + 1)
        identity.switches[index].state = awaiting == 0 ? .finished : .reuploading
        identity.switches[index].outcome = (identity.epoch, Int64(awaiting))
        identity.switches[index].move = isMoving && awaiting > 0 ? .moving : nil
    }

    /// Makes a user's files in a group wait for their bytes. Withdraws the user's staged changes; changes that others
    /// staged for the user's files lose their contents.
    /// - Returns: The number of waiting files.
    private func flush(_ user: UserID, in id: SharingGroupUUID, isMoving: Bool) -> Int {
        guard var group = groups[id] else { return 0 }
        for (file, known) in group.files where known.owner == user && known.isDeleted && known.deletedFrom == nil {
            group.files[file]?.deletedFrom = storage(of: user)
        }
        let files = group.files.filter { $0.value.owner == user && !$0.value.isDeleted }.keys
        let staged = group.staged.keys.filter { (group.files[$0.file]?.owner ?? $0.caller.user) == user }
        guard !files.isEmpty || !staged.isEmpty else {
            group.staged = group.staged.filter { $0.key.caller.user != user }
            groups[id] = group
            return 0
        }
        group.masterVersion = group.masterVersion.next
        for file in files {
            let known = group.files[file]
            let isThere = known?.content == .stored && known?.bytesInCloud == nil && !missingFiles.contains(file)
            group.files[file]?.isInFormerStorage = isMoving && (isThere || known?.isInFormerStorage == true)
            group.files[file]?.content = .awaiting
            group.files[file]?.bytesInCloud = nil
            group.files[file]?.changedAt = group.masterVersion
        }
        for key in staged { group.staged[key]?.hasLostContents = true }
        group.staged = group.staged.filter { $0.key.caller.user != user }
        groups[id] = group
        return files.count
    }

    private func finish(_ known: inout ModelSwitch, of user: UserID, _ missing: MissingFiles) {
        guard known.state == .reuploading else { return }
        known.state = .finished
        if known.move == .moving { known.move = .ended }
        for (id, group) in groups where group.files.values.contains(where: { $0.owner == user && !$0.isDeleted }) {
            var group = group
            group.masterVersion = group.masterVersion.next
            for (file, before) in group.files where before.owner == user && !before.isDeleted {
                group.files[file]?.changedAt = group.masterVersion
                group.files[file]?.isInFormerStorage = false
                guard before.content == .awaiting else { continue }
                switch missing {
                case .keepGone: group.files[file]?.content = .missing
                case .markDeleted:
                    group.files[file]?.content = .stored
                    group.files[file]?.isDeleted = true
                    note(group.files[file], file, nil, nil, undeletes: false, in: &group)
                }
            }
            groups[id] = group
        }
    }

    /// The files of a user that wait for their bytes.
    func numberAwaiting(of user: UserID) -> Int64 {
        groups.values.reduce(0) { sum, group in
            sum
                + Int64(
                    group.files.values.filter { $0.owner == user && !$0.isDeleted && $0.content == .awaiting }.count)
        }
    }

    /// Reports the state of a switch, and ends it if no files are waiting: two requests of the library.
    func settle(_ id: AccountSwitchID, _ user: UserID) -> Answer {
        guard let index = identities[user]?.switches.firstIndex(where: { $0.id == id }),
            var known = identities[user]?.switches[index], known.state == .reuploading
        else { return Answer(.accountSwitchSettled(numberAwaiting: 0)) }
        let awaiting = numberAwaiting(of: user)
        if awaiting == 0 {
            finish(&known, of: user, .keepGone)
            identities[user]?.switches[index] = known
        }
        return Answer(.accountSwitchSettled(numberAwaiting: awaiting))
    }

    /// Moves one of a user's waiting files; after the last one, ends the switch.
    func moveFile(of user: UserID, _ random: inout SplitMix64) {
        guard let index = identities[user]?.switches.firstIndex(where: { $0.move == .moving }),
            var known = identities[user]?.switches[index], users.contains(user)
        else { return }
        let waiting = groups.flatMap { id, group in
            group.files.filter { $0.value.owner == user && !$0.value.isDeleted && $0.value.isInFormerStorage }
                .filter { $0.value.content == .awaiting }.map { (group: id, file: $0.key) }
        }
        if let next = random.pick(waiting.sorted { $0.file < $1.file }) {
            // Sometimes its owner has changed it in the former storage.
            if !random.once(in: 5) { groups[next.group]?.files[next.file]?.content = .stored }
            groups[next.group]?.files[next.file]?.isInFormerStorage = false
            missingFiles.remove(next.file)
        }
        if waiting.count <= 1 { known.move = .done }
        if numberAwaiting(of: user) == 0 { finish(&known, of: user, .keepGone) }
        identities[user]?.switches[index] = known
    }

    /// Whether the server moves files of a switch; of the newest switch if `id` is nil.
    func isMoving(_ id: AccountSwitchID?, _ user: UserID) -> Bool? {
        let switches = identities[user]?.switches ?? []
        guard let known = id.flatMap({ id in switches.first { $0.id == id } }) ?? switches.last else { return false }
        return known.state == .proposed ? nil : known.move == .moving
    }

    /// Accepts the bytes of a waiting version; versions, dates and master version do not change.
    func reupload(
        _ upload: FileReupload, _ contents: String, _ caller: ModelCaller, _ group: inout ModelGroup
    ) -> Answer {
        let file = upload.attributes.fileUUID
        guard let known = group.files[file] else { return .refused(.fileUnknown) }
        guard !known.isDeleted else { return Answer(.reuploaded(.outdated)) }
        guard upload.fileVersion <= known.version else { return .refused(.fileVersionMismatch) }
        guard upload.fileVersion == known.version else { return Answer(.reuploaded(.outdated)) }
        guard known.content != .stored else { return Answer(.reuploaded(.alreadyStored)) }
        guard group.members[known.owner] != nil else { return Answer(.gone(.userRemoved, appMetaData: nil, nil)) }
        guard !revokedUsers.contains(known.owner) else {
            return Answer(.gone(.authTokenExpiredOrRevoked, appMetaData: nil, nil))
        }
        guard contents == known.contents else { return .refused(.contentMismatch) }
        group.files[file]?.content = .stored
        group.files[file]?.isInFormerStorage = false
        group.files[file]?.bytesInCloud = nil
        group.files[file]?.device = caller.device
        missingFiles.remove(file)
        return Answer(.reuploaded(.stored(bytes: Int64(contents.utf8.count))))
    }
}
