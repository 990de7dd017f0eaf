internal import SyncEngine
internal import SyncProtocol

// Processes that start, work, and end at any time.
extension Simulation {
    func launch(_ device: SimulatedDevice) throws {
        guard device.engine == nil, !device.isRetired else { return }
        device.process += 1
        let source = commitIDs
        var configuration = SyncStateMachine.Configuration(
            deviceUUID: device.caller.device, accountStorage: device.accountStorage, capabilities: server.capabilities,
            maximumTransfers: 1 + (device.index + device.process) % 4,
            maximumBatchBytes: device.index % 3 == 2 ? nil : 0, makeCommitID: { source.make() })
        configuration.userID = device.isBound ? device.caller.user : nil
        configuration.reuploadsForOthers = device.index % 3 == 1
        if let limits = server.smallFileLimits, (device.index + device.process) % 3 > 0 {
            configuration.smallFiles = .limits(limits)
        }
        let state = try device.store.load()
        if state != device.store.state { violation("device \(device.index): SQLite and memory disagree") }
        var engine = SyncStateMachine(state: state, configuration: configuration)
        let actions = engine.launch(at: now)
        device.engine = engine
        device.cancelled = []
        device.isIdentified = !options.hasAccountSwitches
        device.isSwitching = false
        log("\(device.index) launched")
        try perform(actions, on: device)
        compareGroups(device)
        // Removes files that a process left behind without a row.
        guard let engine = device.engine else { return }
        let owned = Set(engine.state.ownedFiles)
        for location in device.storage.keys where location.base == .library && !owned.contains(location) {
            device.storage[location] = nil
        }
        if let group = engine.groupOfOldestClosedQueue { try sync(device, group) }
    }

    /// Ends the process at its current point.
    func kill(_ device: SimulatedDevice) {
        guard let state = device.engine?.state else { return }
        log("\(device.index) died")
        for downloads in state.downloadGroups.inOrder where downloads.status == .downloaded {
            device.mayHaveTaken.formUnion(state.downloads(in: downloads.id).map(\.fileUUID))
        }
        device.engine = nil
        device.process += 1
        report.deaths += 1
        queue.plan(.relaunch(device: device.index), at: time + Double(random.below(30_000)) / 1000)
    }

    private var diesNow: Bool {
        options.hasProcessDeaths && !isSettling && random.once(in: 120)
    }

    /// Stores what an engine changed, then performs its actions. The process may die before, between and after.
    /// - Returns: Whether the changes were stored.
    @discardableResult
    func perform(_ actions: [EngineAction], on device: SimulatedDevice) throws -> Bool {
        // Modified in place: otherwise the engine's whole state would be copied.
        guard let changes = device.engine?.takeChanges() else { return false }
        if diesNow {
            kill(device)
            return false
        }
        try device.store.write(changes)
        #if DEBUG
            if device.store.state != device.engine?.state {
                violation("device \(device.index) has stored a different state")
            }
        #endif
        // A state that has not changed has been examined before.
        let violations = changes.isEmpty ? [] : device.engine?.state.violations() ?? []
        for text in violations { violation("device \(device.index): \(text)") }
        for (index, action) in actions.enumerated() {
            if diesNow {
                // After a relaunch, the app finds unreported events in the library's state.
                for case .report(let event) in actions[index...] { note(event, device) }
                kill(device)
                return true
            }
            perform(action, on: device)
        }
        return true
    }

    /// Compares the app's groups with the library's, as apps do at launch.
    private func compareGroups(_ device: SimulatedDevice) {
        guard let engine = device.engine else { return }
        let known = Set(engine.sharingGroups.map(\.sharingGroupUUID))
        let groups = Set(device.files.values.map(\.group) + device.edits.values.map(\.group))
        for group in groups.sorted() where !known.contains(group) { leave(group, device) }
    }

    private func perform(_ action: EngineAction, on device: SimulatedDevice) {
        log("\(device.index) \(action)")
        switch action {
        case .send(let token, let request): send(request, token, device)
        case .cancel(let token):
            // The cancellation is sometimes in time, sometimes too late.
            guard random.once(in: 2) else { return }
            device.cancelled.insert(token)
            queue.plan(
                .tell(device: device.index, process: device.process, .reply(token, .failed(.unreachable))),
                at: time + delay(100))
        case .resolveContentConflict(let token, let conflict):
            show(conflict, device)
            device.lastItemWhenAsked = RowID(device.engine?.state.lastIDs.item ?? 0)
            queue.plan(
                .answer(device: device.index, process: device.process, token, conflict), at: time + delay(3_000))
        case .resolveDeletionConflicts(let token, let conflicts):
            for conflict in conflicts { device.seenDeletions.insert(conflict.attributes.fileUUID) }
            report.conflicts += 1
            device.lastItemWhenAsked = RowID(device.engine?.state.lastIDs.item ?? 0)
            queue.plan(
                .answerDeletions(device: device.index, process: device.process, token, conflicts),
                at: time + delay(3_000))
        case .askForContents(let token, let attributes, _): supply(attributes.fileUUID, token, device)
        case .deliver(let token, let operations, let containsGone):
            if containsGone != operations.contains(where: { $0.kind == .fileGone }) {
                violation("a delivery reports incorrectly whether a file is gone")
            }
            let isTaken = isSettling || !random.once(in: 60)
            if isTaken { take(operations, device) }
            let sizes = Dictionary(operations.map { ($0.attributes.fileUUID, Int64(1)) }, uniquingKeysWith: { $1 })
            queue.plan(
                .tell(device: device.index, process: device.process, .delivered(token, taken: isTaken, sizes: sizes)),
                at: time + delay(500))
        case .wait(let token, let seconds):
            let wait = seconds.lowerBound + random.below(seconds.upperBound - seconds.lowerBound)
            queue.plan(
                .tell(device: device.index, process: device.process, .waited(token)), at: time + Double(wait))
        case .removeFile(let location):
            if device.storage.removeValue(forKey: location) == nil, device.process == 1 {
                violation("device \(device.index) removes \(location), which does not exist")
            }
        case .report(let event): note(event, device)
        case .reportError(let error): note(error, device)
        case .syncFailed: break
        case .reportSharingGroups(_, _, let deleted):
            for group in deleted { leave(group.sharingGroupUUID, device) }
        }
    }

    private func note(_ error: SyncError, _ device: SimulatedDevice) {
        device.errors.append(error)
        if let file = error.fileUUID { device.toldFiles.insert(file) }
        if error.code == .permissionDenied, let group = error.sharingGroupUUID { checkDenial(in: group, device) }
        guard error.code == .serverRestored, let file = error.fileUUID,
            device.engine?.state.directory[file]?.fileVersion == nil
        else { return }
        // Neither the server nor the app still has the contents.
        if device.files[file]?.contents == nil { device.files[file] = nil }
    }

    /// A random time in seconds.
    func delay(_ milliseconds: Int) -> Double {
        Double(1 + random.below(milliseconds)) / 1000
    }

    func tell(_ device: SimulatedDevice, _ process: Int, _ event: EngineEvent) throws {
        let wasSyncing = device.engine?.isSyncing
        guard device.process == process, let actions = device.engine?.handle(event, at: now) else { return }
        try perform(actions, on: device)
        guard wasSyncing == true, device.engine?.isSyncing == false else { return }
        checkKept(by: device)
        checkOthersSent(by: device)
    }

    /// Requests a sync on a device, as its app would.
    func sync(_ device: SimulatedDevice, _ group: SharingGroupUUID?, reAttemptGone: Bool = false) throws {
        let request = SyncRequest(sharingGroupUUID: group, reAttemptGoneDownloads: reAttemptGone)
        let isDelayed = device.engine?.isSyncing == true
        guard let actions = try? device.engine?.sync(request, at: now) else { return }
        if !isDelayed { device.endedEarly = false }
        log("\(device.index) wants a sync of \(group?.rawValue ?? "the list")")
        try perform(actions, on: device)
    }

    // MARK: Network

    private func send(_ request: ServerRequest, _ token: EngineToken, _ device: SimulatedDevice) {
        if case .reuploadFile(let upload) = request {
            sendAgain(upload, token, device)
            return
        }
        checkRequest(request, device)
        var contents: String?
        if case .uploadFile(let upload) = request {
            contents = device.storage[upload.source]
            if contents == nil { violation("device \(device.index) uploads a file that does not exist") }
        }
        if case .uploadSmallFiles(let uploads) = request {
            let texts = uploads.compactMap { device.storage[$0.source] }
            contents = texts.joined(separator: String(ModelServer.separator))
            if texts.count < uploads.count { violation("device \(device.index) uploads files that do not exist") }
            report.requestsWithSmallFiles += 1
        }
        guard !offline.contains(device.index) else {
            queue.plan(
                .tell(device: device.index, process: device.process, .reply(token, .failed(.unreachable))),
                at: time + 60)
            return
        }
        transmitOnceIdentified(
            .init(request: request, token: token, contents: contents, isRepeated: false), device)
    }

    func transmitOnceIdentified(_ waiting: AccountCall.WaitingRequest, _ device: SimulatedDevice) {
        if device.isIdentified {
            transmit(waiting, device)
        } else {
            identify(device, for: waiting)
        }
    }

    func transmit(_ waiting: AccountCall.WaitingRequest, _ device: SimulatedDevice) {
        let token = waiting.token
        let faults = options.hasNetworkFaults && !isSettling
        var replyDelay: Double? = delay(600)
        var failure: RequestFailure?
        var isLost = false
        if faults {
            switch random.below(40) {
            case 0: isLost = true
            case 1: replyDelay = nil
            case 2: failure = .serverDown(message: nil)
            case 3: failure = .refused(status: 502, code: "cloud_unavailable")
            case 4:
                // A duplicate arrives later, and nobody waits for its reply.
                plan(waiting, device, replyDelay: nil, failure: nil, at: time + delay(20_000))
            case 5:
                // The reply belongs to the duplicate.
                plan(waiting, device, replyDelay: nil, failure: nil, at: time + delay(400))
            default: break
            }
        }
        if isLost || replyDelay == nil {
            queue.plan(
                .tell(device: device.index, process: device.process, .reply(token, .failed(.unreachable))),
                at: time + 60)
        }
        // Some requests arrive only after the client has stopped waiting for them.
        if isLost, random.once(in: 2) {
            plan(waiting, device, replyDelay: nil, failure: nil, at: time + 60 + delay(60_000))
        }
        guard !isLost else { return }
        plan(
            waiting, device, replyDelay: replyDelay, failure: failure,
            at: time + (faults ? delay(800) : delay(50)))
    }

    private func plan(
        _ waiting: AccountCall.WaitingRequest, _ device: SimulatedDevice, replyDelay: Double?,
        failure: RequestFailure?, at time: Double
    ) {
        let signIn = device.account.map { ModelSignIn(account: $0, epoch: device.engine?.account?.epoch) }
        queue.plan(
            .arrive(
                Request(
                    device: device.index, process: device.process, token: waiting.token, request: waiting.request,
                    contents: waiting.contents, signIn: signIn, isRepeated: waiting.isRepeated, replyDelay: replyDelay,
                    failure: failure, restorations: report.restorations)), at: time)
    }

    func arrive(_ request: Request) {
        let device = devices[request.device]
        let answer: ModelServer.Answer
        if request.restorations != report.restorations || time < closedUntil {
            // The server is closed during a restoration, and no request outlives that.
            answer = ModelServer.Answer(.failed(.unreachable))
        } else if let failure = request.failure {
            answer = ModelServer.Answer(.failed(failure))
        } else {
            if case .reuploadFile(let upload) = request.request { checkLeft(upload, request) }
            let before = request.request.committedGroup.map { (server.groups[$0]?.masterVersion, $0) }
            answer = server.perform(
                request.request, from: device.caller, with: request.signIn, contents: request.contents, at: now)
            if let before, let group = server.groups[before.1], before.0 != group.masterVersion {
                report.commits += 1
                checkCommit(in: group, by: device)
            }
        }
        if case .stale = answer.reply { report.staleReplies += 1 }
        log("server: \(request.request) of \(request.device) -> \(answer.reply)")
        checkRefusal(answer.reply, isExpected: answer.isExpected, of: request)
        if case .reuploaded(.stored) = answer.reply { report.reuploads += 1 }
        guard let replyDelay = request.replyDelay else { return }
        queue.plan(
            .reply(request, answer), at: time + replyDelay)
    }

    /// Passes a reply to the client that waits for it; bytes are first stored as a file of its library.
    func receive(
        _ answer: ModelServer.Answer, to request: Request
    ) throws {
        let (device, process, token) = (devices[request.device], request.process, request.token)
        guard device.process == process, device.engine != nil, !device.cancelled.contains(token) else { return }
        var reply = answer.reply
        if case .failed(let failure) = reply, failure.isRefusal(.staleEpoch), !request.isRepeated {
            // Another device has switched accounts: the request is sent again once the user is identified.
            device.isIdentified = false
            identify(
                device,
                for: .init(
                    request: request.request, token: token, contents: request.contents, isRepeated: true))
            return
        }
        if case .fileDownloaded(let file) = reply {
            let location = device.makeLocation(.library, answer.contents ?? "")
            reply = .fileDownloaded(
                .init(
                    location: location, appMetaData: file.appMetaData, cloudStorageType: file.cloudStorageType,
                    contentsChanged: file.contentsChanged))
        }
        try tell(device, process, .reply(token, reply))
    }
}

// A server that loses its latest changes.
extension Simulation {
    /// How long the server is closed for a restoration, in seconds: longer than any client waits between two requests
    /// that rely on the same index. Operators close it before they restore it (docs/operations.md, section 7).
    private static let restorationSeconds = 5.0

    func backUpServer() {
        backup = server.groups
        log("server: a backup")
    }

    /// Restores the server from its last backup, if any.
    func restoreServer() {
        guard let backup else { return }
        report.restorations += 1
        closedUntil = time + Self.restorationSeconds
        for device in devices { forgetLost(device, backup) }
        server.restore(backup)
        log("server: restored")
    }

    /// Versions that a device saw after the backup no longer prove that it knows the server's versions. Of the changes
    /// committed since, only the last contents of a file that some device still has must be restored.
    private func forgetLost(_ device: SimulatedDevice, _ backup: [SharingGroupUUID: ModelGroup]) {
        for (id, then) in backup {
            guard let now = server.groups[id] else { continue }
            for (file, changes) in now.history {
                let kept = then.history[file]?.count ?? 0
                let version = then.files[file]?.version
                device.seenVersions = device.seenVersions.filter {
                    $0.file != file || $0.version <= version ?? FileVersion(-1)
                }
                if let version, device.store.state.directory[file]?.fileVersion ?? FileVersion(-1) >= version {
                    device.seenVersions.insert(.init(file: file, version: version))
                }
                if let text = then.files[file]?.text { device.seenTexts.insert(text.contents) }
                let lost = changes.dropFirst(kept)
                guard !lost.isEmpty else { continue }
                let last = now.files[file]
                let isPending = devices.contains { $0.store.state.items.contains(at: .file(file)) }
                for change in lost {
                    if let contents = change.contents {
                        let isHeld = devices.contains { $0.files[file]?.contents == contents }
                        device.edits[contents]?.mayBeRepeated = true
                        if isPending || !isHeld || last?.isDeleted == true || last?.contents != contents {
                            device.edits[contents]?.isExcused = true
                        }
                    }
                    // A text has no date: the changes on two sides may have the same version.
                    if let text = change.text?.contents { device.textEdits[text]?.isExcused = true }
                }
            }
            for (contents, edit) in device.edits where edit.group == id { device.edits[contents]?.mayBeRepeated = true }
        }
    }
}

extension ServerRequest {
    /// The group, if the request is a commit, or may be the last of a batch.
    var committedGroup: SharingGroupUUID? {
        switch self {
        case .doneUploads(let commit): commit.sharingGroupUUID
        case .uploadFile(let upload): upload.batch == nil ? nil : upload.sharingGroupUUID
        case .uploadSmallFiles(let uploads): uploads.first { $0.batch != nil }?.sharingGroupUUID
        case .uploadAppMetaData(_, _, _, let group, let batch), .uploadDeletion(_, _, _, let group, let batch):
            batch == nil ? nil : group
        default: nil
        }
    }
}
