import SyncEngine
import SyncProtocol

/// A request about accounts in transit.
struct AccountCall {
    let device: Int
    let process: Int
    let signIn: ModelSignIn
    let request: ModelAccountRequest
    /// The request that waits until the user is identified.
    let waiting: WaitingRequest?
    /// The delay of its reply after it was carried out; nil if the reply is lost.
    var replyDelay: Double?

    /// A request that is sent once the user is known.
    struct WaitingRequest {
        let request: ServerRequest
        let token: EngineToken
        let contents: String?
        /// Whether it was sent before, with an older epoch.
        let isRepeated: Bool
    }
}

// The library's work outside its engine when a user signs in and switches accounts, with processes that end at any
// step, and lost requests and replies.
extension Simulation {
    /// Gives every user an identity with one account.
    func setUpAccounts() {
        for user in server.users.sorted() {
            guard let userAppID = UserAppID(makeUUID()) else { preconditionFailure("makeUUID makes UUIDs") }
            server.identities[user] = ModelIdentity(userAppID: userAppID, active: makeAccount())
        }
        for device in devices {
            guard let identity = server.identities[device.caller.user] else { continue }
            device.account = identity.active
            device.accountStorage = identity.active.storage
        }
    }

    func makeAccount() -> ModelAccount {
        madeAccounts += 1
        return ModelAccount(number: madeAccounts)
    }

    // MARK: Requests

    func send(_ request: ModelAccountRequest, _ device: SimulatedDevice, _ waiting: AccountCall.WaitingRequest?) {
        guard let account = device.account else { return }
        var call = AccountCall(
            device: device.index, process: device.process,
            signIn: ModelSignIn(account: account, epoch: device.engine?.account?.epoch), request: request,
            waiting: waiting,
            replyDelay: delay(600))
        let faults = options.hasNetworkFaults && !isSettling
        switch faults ? random.below(20) : 19 {
        case 0:
            // The request does not arrive, or arrives too late.
            queue.plan(.accountReply(call, .lost), at: time + 60)
            guard random.once(in: 2) else { return }
            call.replyDelay = nil
            queue.plan(.arriveAccount(call), at: time + 60 + delay(60_000))
        case 1, 2:
            queue.plan(.accountReply(call, .lost), at: time + 60)
            call.replyDelay = nil
            queue.plan(.arriveAccount(call), at: time + delay(800))
        case 3:
            var copy = call
            copy.replyDelay = nil
            queue.plan(.arriveAccount(copy), at: time + delay(20_000))
            queue.plan(.arriveAccount(call), at: time + delay(800))
        default: queue.plan(.arriveAccount(call), at: time + (faults ? delay(800) : delay(50)))
        }
    }

    func arrive(_ call: AccountCall) {
        let device = devices[call.device]
        let epoch = server.identities[device.caller.user]?.epoch
        let before = liveVersions(of: device.caller.user)
        let reply = server.perform(call.request, from: device.caller, with: call.signIn, at: now)
        log("server: \(call.request) of \(call.device) with account \(call.signIn.account.number) -> \(reply)")
        if epoch != server.identities[device.caller.user]?.epoch {
            report.switches += 1
            if before != liveVersions(of: device.caller.user) { violation("a switch has changed or deleted files") }
        }
        if let delay = call.replyDelay { queue.plan(.accountReply(call, reply), at: time + delay) }
    }

    private func liveVersions(of user: UserID) -> [FileUUID: FileVersion] {
        server.groups.values.reduce(into: [:]) { versions, group in
            for (id, file) in group.files where file.owner == user && !file.isDeleted { versions[id] = file.version }
        }
    }

    /// Identifies the signed-in user, before a process's first request and when the server reports another epoch.
    func identify(_ device: SimulatedDevice, for waiting: AccountCall.WaitingRequest?) {
        send(.checkCredentials, device, waiting)
    }

    func receive(_ reply: ModelAccountReply, to call: AccountCall) throws {
        let device = devices[call.device]
        guard device.process == call.process, device.engine != nil else { return }
        if case .checkCredentials = call.request {
            try receive(signIn: reply, call, device)
            return
        }
        device.isSwitching = false
        switch reply {
        case .begun(let id, let state): try noteProposal(id, state, call, device)
        case .confirmed(let epoch, let numberAwaiting, let isMoved):
            device.accountStorage = call.signIn.account.storage
            guard var engine = device.engine else { return }
            engine.use(accountStorage: call.signIn.account.storage)
            let actions = engine.noteConfirmed(
                epoch, numberAwaiting: numberAwaiting, isMovedByServer: isMoved, at: now)
            device.engine = engine
            try perform(actions, on: device)
        case .done:
            if case .finish(let id, _) = call.request { try endSwitch(id, device) } else { try endProposal(device) }
        case .refused(let code):
            let isOver = code == .switchUnknown || code == .staleEpoch || code == .accountInUse
            if case .confirm = call.request, isOver { try endProposal(device) }
        case .lost, .noUser, .retired, .user: break
        }
    }

    private func endSwitch(_ id: AccountSwitchID, _ device: SimulatedDevice) throws {
        guard let actions = device.engine?.endAccountSwitch(id) else { return }
        try perform(actions, on: device)
    }

    private func endProposal(_ device: SimulatedDevice) throws {
        guard let actions = device.engine?.endProposal(at: now) else { return }
        try perform(actions, on: device)
    }

    private func noteProposal(
        _ id: AccountSwitchID, _ state: AccountSwitchState, _ call: AccountCall, _ device: SimulatedDevice
    ) throws {
        device.proposedAccount = call.signIn.account
        device.engine?.noteProposal(id, isConfirmed: state != .proposed)
        try perform([], on: device)
    }

    private func receive(signIn reply: ModelAccountReply, _ call: AccountCall, _ device: SimulatedDevice) throws {
        var failure: RequestFailure?
        switch reply {
        case .user(let identity):
            do throws(SyncError) { try device.engine?.adopt(identity) } catch {
                violation("device \(device.index) does not accept its user: \(error)")
                return
            }
            guard try perform([], on: device), device.process == call.process else { return }
            device.isBound = true
            device.accountStorage = call.signIn.account.storage
            device.engine?.use(userID: device.caller.user)
            device.engine?.use(accountStorage: call.signIn.account.storage)
            device.isIdentified = true
        case .noUser, .done, .begun, .confirmed, .refused: failure = .signInRequired
        case .retired(let type): failure = .accountRetired(type)
        case .lost: failure = .unreachable
        }
        guard let waiting = call.waiting else { return }
        if let failure {
            try tell(device, call.process, .reply(waiting.token, .failed(failure)))
        } else if !device.cancelled.contains(waiting.token) {
            transmit(waiting, device)
        }
    }

    /// Lets the server move a user's file, or the app ask for its progress.
    func moveFiles() throws {
        guard let user = random.pick(server.users.sorted()) else { return }
        server.moveFile(of: user, &random)
        guard random.once(in: 3), let device = random.pick(devices.filter { $0.caller.user == user }),
            let account = device.engine?.account, device.account == server.identities[user]?.active
        else { return }
        let isUnderWay = server.isMoving(account.reuploadingSwitchID, user)
        guard let actions = device.engine?.noteServerMove(isUnderWay: isUnderWay, at: now) else { return }
        try perform(actions, on: device)
    }

    /// Checks that the user's devices upload none of the files that the server is moving.
    func checkLeft(_ upload: FileReupload, _ request: Request) {
        let user = devices[request.device].caller.user
        guard let identity = server.identities[user], let signIn = request.signIn,
            identity.active == signIn.account, identity.epoch == signIn.epoch,
            upload.switchID != nil || !identity.hasWithdrawn,
            server.groups[upload.attributes.sharingGroupUUID]?.files[upload.attributes.fileUUID]?.owner == user,
            identity.switches.contains(where: { $0.move == .moving }), identity.switches.last?.state != .proposed
        else { return }
        violation("device \(request.device) uploads a file that the server is moving")
    }

    // MARK: The app's part

    /// Asks the app for contents to upload again.
    func sendAgain(_ upload: FileReupload, _ token: EngineToken, _ device: SimulatedDevice) {
        let file = upload.attributes.fileUUID
        let known = server.groups[upload.attributes.sharingGroupUUID]?.history[file]?.last {
            $0.version == upload.fileVersion && $0.contents != nil
        }
        var answer = ServerReply.ReuploadResult.notAvailable
        if let contents = device.files[file]?.contents, isSettling || !random.once(in: 10) {
            // An app with other contents may or may not be aware of that.
            if contents == known?.contents || random.once(in: 2) {
                let waiting = AccountCall.WaitingRequest(
                    request: .reuploadFile(upload), token: token, contents: contents, isRepeated: false)
                transmitOnceIdentified(waiting, device)
                return
            }
            answer = .differentVersion
        }
        queue.plan(
            .tell(device: device.index, process: device.process, .reply(token, .reuploaded(answer))),
            at: time + delay(500))
    }
}

// Users' decisions about their accounts, until the end of a history.
extension Simulation {
    /// A user's action about accounts on a device.
    func manageAccount(_ device: SimulatedDevice) throws {
        guard let identity = server.identities[device.caller.user], device.engine?.account != nil, !device.isSwitching
        else { return }
        switch device.engine?.account?.phase {
        case .proposed:
            switch random.below(4) {
            case 0, 1: try confirm(device)
            case 2: cancel(device)
            default: break
            }
        case .confirming: try confirm(device)
        case .reuploading where random.once(in: 2): try supervise(device)
        default:
            if device.account != identity.active, random.once(in: 2) {
                signIn(identity.active, device)
            } else if device.account != identity.active || random.once(in: 3) {
                propose(device, identity)
            }
        }
    }

    private func signIn(_ account: ModelAccount, _ device: SimulatedDevice) {
        log("\(device.index) signs in with account \(account.number)")
        device.account = account
        // The app may identify the user, or leave that to the next request.
        if random.once(in: 2) { identify(device, for: nil) }
    }

    /// Begins a switch: to another account, or back to a former one.
    private func propose(_ device: SimulatedDevice, _ identity: ModelIdentity) {
        guard let userAppID = device.engine?.account?.userAppID, let id = AccountSwitchID(makeUUID()) else { return }
        if device.account == identity.active {
            let former = identity.retired.sorted { $0.number < $1.number }
            device.account = random.once(in: 3) ? random.pick(former) ?? makeAccount() : makeAccount()
        }
        log("\(device.index) wants to switch to account \(device.account?.number ?? 0)")
        device.isSwitching = true
        send(.begin(userAppID, switchID: id), device, nil)
    }

    private func confirm(_ device: SimulatedDevice) throws {
        guard var engine = device.engine, let (id, epoch) = try? engine.noteConfirmation() else { return }
        device.engine = engine
        device.isSwitching = true
        guard try perform([], on: device) else { return }
        send(.confirm(id, epoch, movesContents: random.once(in: 2)), device, nil)
    }

    private func cancel(_ device: SimulatedDevice) {
        guard let id = device.engine?.account?.switchID else { return }
        device.isSwitching = true
        send(.cancel(id), device, nil)
    }

    /// Pauses, continues or ends the uploads of a confirmed switch.
    private func supervise(_ device: SimulatedDevice) throws {
        switch random.below(12) {
        case 0..<4:
            device.engine?.pauseReuploads()
            try perform([], on: device)
        case 4..<10: try resume(device)
        default:
            guard let id = device.engine?.account?.switchID else { return }
            device.isSwitching = true
            send(.finish(id, random.once(in: 2) ? .keepGone : .markDeleted), device, nil)
        }
    }

    private func resume(_ device: SimulatedDevice) throws {
        guard let actions = device.engine?.resumeReuploads(at: now) else { return }
        try perform(actions, on: device)
    }
}

// MARK: The end of a history

extension Simulation {
    /// Completes a switch that the user has begun, and continues to upload.
    func settleAccount(_ device: SimulatedDevice) throws {
        guard let identity = server.identities[device.caller.user], device.engine != nil else { return }
        device.isSwitching = false
        // Nothing prevents the server from moving the files that it can.
        for _ in 0..<10 { server.moveFile(of: device.caller.user, &random) }
        let isStanding = identity.switches.contains { known in
            known.id == device.engine?.account?.switchID && known.state == .proposed
        }
        device.account = isStanding ? device.proposedAccount ?? identity.active : identity.active
        switch device.engine?.account?.phase {
        case .proposed where random.once(in: 2): cancel(device)
        case .proposed, .confirming: try confirm(device)
        case .reuploading, nil: break
        }
        try runUntilQuiet()
        device.account = server.identities[device.caller.user]?.active
        try resume(device)
        try runUntilQuiet()
    }

    /// Handles files whose bytes nobody has uploaded again: a member uploads a next version, or they are deleted.
    func replaceMissing() throws {
        for (id, group) in server.groups.sorted(by: { $0.key < $1.key }) {
            let missing = group.files.filter { !$0.value.isDeleted && $0.value.content != .stored }
            for (file, known) in missing.sorted(by: { $0.key < $1.key }) {
                let members = devices.filter { group.members[$0.caller.user] != nil && $0.engine != nil }
                for device in members where device.caller.user == known.owner { checkKept(file, known, device) }
                let holder = members.first { device in
                    device.files[file]?.contents != nil && device.engine?.state.directory[file]?.goneReason == nil
                }
                if let holder, try edit(file, holder) {
                    log("\(holder.index) replaces \(file.rawValue.suffix(4)) in \(id)")
                } else if let device = members.first(where: { $0.engine?.state.directory[file] != nil }) {
                    if let entry = device.engine?.state.directory[file], entry.isIndexOnly { see(entry, device) }
                    try delete([file], device)
                }
            }
        }
    }

    /// Checks that the user's device has uploaded its contents again.
    private func checkKept(_ file: FileUUID, _ known: ModelFile, _ device: SimulatedDevice) {
        guard known.content == .awaiting, device.files[file]?.contents == known.contents,
            let state = device.engine?.state, state.directory[file]?.fileVersion == known.version,
            state.directory[file]?.goneReason == nil, state.pendingItems(of: file).isEmpty
        else { return }
        violation("device \(device.index) has the contents of \(file), but does not upload them again")
    }

    /// Checks that, after a sync of some groups, a device has all of their files that the server has again.
    func checkFetched(_ device: SimulatedDevice, in groups: [SharingGroupUUID]) {
        guard device.errors.isEmpty, let state = device.engine?.state else { return }
        let awaited = state.directory.rows { entry in
            entry.isAwaited && groups.contains(entry.sharingGroupUUID)
                && state.groups[entry.sharingGroupUUID]?.removedFromGroup == false
        }
        for entry in awaited {
            guard let file = server.groups[entry.sharingGroupUUID]?.files[entry.fileUUID], !file.isDeleted,
                file.content == .stored
            else { continue }
            violation("device \(device.index) does not fetch \(entry.fileUUID), which the server has again")
        }
    }

    /// Checks that, at the end, no switch is in progress, and all devices know the same identity.
    func checkAccounts() {
        for (user, identity) in server.identities where server.users.contains(user) {
            if identity.switches.contains(where: { $0.state == .reuploading }) {
                violation("the switch of user \(user) does not end")
            }
            if server.numberAwaiting(of: user) > 0 { violation("files of user \(user) still wait") }
            for device in devices where device.caller.user == user {
                guard let account = device.engine?.account else { continue }
                if account.epoch != identity.epoch { violation("device \(device.index) knows another epoch") }
                if account.phase != nil { violation("device \(device.index) never ends its switch") }
            }
        }
    }
}
