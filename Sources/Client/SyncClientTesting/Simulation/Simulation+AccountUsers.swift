internal import SyncEngine
internal import SyncProtocol

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
        for entry in state.directory.inOrder
        where entry.isAwaited && groups.contains(entry.sharingGroupUUID)
            && state.groups[entry.sharingGroupUUID]?.removedFromGroup == false
        {
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
