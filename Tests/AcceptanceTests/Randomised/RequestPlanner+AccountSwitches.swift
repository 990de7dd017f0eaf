import SyncModel

/// Requests after a switch of accounts.
extension RequestPlanner {
    /// Files that wait for their bytes or have been given up.
    var awaiting: [(group: String, file: String)] {
        world.groups.sorted { $0.key < $1.key }.flatMap { uuid, group in
            group.files.filter { [.awaiting, .missing].contains($0.value.contentState) }.keys.sorted().map {
                (uuid, $0)
            }
        }
    }

    /// The devices of people whose files are to be uploaded again.
    var switchers: [Caller] {
        cast.callers.filter { world.switches[$0.person].map { !$0.isFinished && !$0.isMoving } ?? false }
    }

    /// Plans a repeated upload: usually a requested one, rarely another.
    func reupload(_ random: inout SeededGenerator) -> (request: Request, caller: Caller)? {
        guard let (anyGroup, anyCaller) = place(&random, needing: .write) else { return nil }
        let wanted = random.chance(90) ? random.pick(awaiting) : nil
        let (group, uuid) = wanted ?? (anyGroup, anyFile(anyGroup, &random))
        let writers = cast.callers.filter { caller in
            (world.groups[group]?.members[caller.person]?.permission).map { $0 >= .write } ?? false
        }
        let caller = random.chance(95) ? random.pick(writers) ?? anyCaller : anyCaller
        let file = world.groups[group]?.files[uuid]
        // The planner cannot know whether the server is faster.
        guard file?.contentState != .moving else { return nil }
        let content = file.map(\.content) ?? newContent(&random)
        var upload = Request.Reupload(
            uuid, in: group, version: file?.version ?? 0, mimeType: file?.mimeType ?? "text/plain", content: content,
            checkSum: content.checkSums[file?.account.provider.storage ?? "Google"] ?? "")
        if random.chance(15) { spoil(&upload, file, &random) }
        return (.reuploadFile(upload), caller)
    }

    /// Introduces one mistake.
    private func spoil(_ upload: inout Request.Reupload, _ file: File?, _ random: inout SeededGenerator) {
        switch Int.random(in: 0..<4, using: &random) {
        case 0: upload.version = max(0, upload.version + (random.chance(50) ? 1 : -1))
        case 1: upload.mimeType = random.pick(World.mimeTypes) ?? upload.mimeType
        case 2: upload.checkSum = String(upload.checkSum.reversed())
        default:
            upload.content = newContent(&random)
            upload.checkSum = upload.content.checkSums[file?.account.provider.storage ?? "Google"] ?? ""
        }
    }

    func finishSwitch(_ random: inout SeededGenerator) -> (request: Request, caller: Caller)? {
        let switched = cast.callers.filter { world.switches[$0.person]?.isMoving == false }
        guard let caller = random.pick(random.chance(80) ? switchers : switched) else { return nil }
        guard let id = world.switches[caller.person]?.id else { return nil }
        let missing = random.pick(Request.MissingFiles.allCases) ?? .keepGone
        return (.finishAccountSwitch(id: random.chance(95) ? id : random.uuid(), missing), caller)
    }

    /// Chooses a person who may switch accounts, one of their devices, and the new account: a fresh one, or one that
    /// they have left.
    ///
    /// The last person without storage remains without one.
    func accountSwitch(_ random: inout SeededGenerator) -> (caller: Caller, account: Account)? {
        let sharers = cast.people.filter { !cast.activeAccount(of: $0).bringsStorage }
        let mayStay = sharers.count == 1 ? sharers.first : nil
        let candidates = cast.callers.filter { world.users[$0.person] != nil && $0.person != mayStay }
        guard let caller = random.pick(candidates), let storage = random.pick(cast.storages) else { return nil }
        let theirs = cast.accounts.keys.filter { $0.person == caller.person }.sorted { $0.number < $1.number }
        let left = theirs.filter { $0.bringsStorage && $0 != cast.activeAccount(of: caller.person) }
        if random.chance(30), let account = random.pick(left) { return (caller, account) }
        return (caller, Account(of: caller.person, number: theirs.count, at: storage))
    }
}
