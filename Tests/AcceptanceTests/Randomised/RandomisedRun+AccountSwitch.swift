import SyncModel
import TestSupport

/// The course of a switch after its beginning.
private enum SwitchCourse: String {
    case confirmed
    case replyLost = "reply lost"
    case hungUp = "hung up"
    case responderKilled = "responder killed"
    case simultaneous
    case movedByServer = "moved by the server"
    case cancelled
}

/// Switches of accounts (docs/protocol.md, section 5.11): for others, the person stays the same.
extension RandomisedRun {
    /// A person begins a switch, others act meanwhile, and the switch is confirmed despite disturbances.
    mutating func switchAccount() async throws {
        let world = possibilities.likeliest
        guard possibilities.worlds.count == 1,
            let (caller, next) = RequestPlanner(world: world, cast: cast).accountSwitch(&random)
        else { return }
        let former = cast.activeAccount(of: caller.person)
        let isWayBack = cast.accounts[next] != nil
        let mayMove = cast.accounts[next] == nil && former.bringsStorage && world.hasAllFiles(of: caller.person)
        if cast.accounts[next] == nil { try cast.add(next) } else { try cast.signInAgain(with: next) }
        let begun = try begin(by: caller, to: next)
        for _ in 0..<Int.random(in: 0...2, using: &random) { try letAnybodyAct(duringSwitchOf: caller.person) }
        let course: SwitchCourse = random.pick(weighted: [
            (35, .confirmed), (15, .replyLost), (15, .hungUp), (mayKill ? 15 : 0, .responderKilled),
            (15, .simultaneous), (mayMove ? 60 : 0, .movedByServer), (15, .cancelled),
        ])
        tally.switches[course.rawValue, default: 0] += 1
        let confirmation = Request.AccountSwitchConfirmation(
            begun.id, at: begun.epoch, to: next,
            movesContents: course == .movedByServer && possibilities.likeliest.hasAllFiles(of: caller.person))
        let request = Request.confirmAccountSwitch(confirmation)
        switch course {
        case .confirmed, .movedByServer: try make(request, by: caller)
        case .replyLost: try account(for: [perform(request, by: caller, "reply lost").withoutReply])
        case .hungUp: try await makeTwice(request, by: caller)
        case .responderKilled:
            try await makeWhileKilling(request, by: caller, Int.random(in: 0...20_000, using: &random))
        case .simultaneous: try await makeSimultaneously(request, by: caller)
        case .cancelled: return try cancel(begun.id, to: next, by: caller)
        }
        // A phone repeats the confirmation until it receives a reply.
        for _ in 0..<5 where !isConfirmed(confirmation) { try make(request, by: caller, "again") }
        guard isConfirmed(confirmation) else { throw difference(["a switch is never confirmed"]) }
        cast.take(next)
        try expectRetired(former, by: caller, mayBeFree: isWayBack)
        try observe(after: .index(group: nil), by: caller)
        if confirmation.movesContents { try await actDuringMove(for: caller) }
    }

    /// Lets all people act while the server moves the files, until it has moved the last one.
    private mutating func actDuringMove(for caller: Caller) async throws {
        for _ in 0..<Int.random(in: 0...12, using: &random) {
            let (request, other) = RequestPlanner(world: possibilities.likeliest, cast: cast).next(&random)
            if possibilities.likeliest.users[other.person] == nil { try cast.signInAgain(other.person) }
            if case .uploadFile = request, random.chance(30) {
                try make(request, by: other, during: .random(isUpload: true, at: cast.storages, &random))
            } else {
                try make(request, by: other, "while the server moves files")
            }
            try observe(after: request, by: other)
        }
        // The person may have removed their user meanwhile and signed up again.
        if possibilities.worlds.contains(where: { $0.switches[caller.person]?.isMoving == true }) {
            try await awaitMoves(for: caller)
        }
        guard possibilities.movesHaveEnded() else { throw difference(["the end of the moves was not foreseen"]) }
        try observe(after: .index(group: nil), by: caller)
    }

    private func awaitMoves(for caller: Caller) async throws {
        let begin = ContinuousClock.now
        var reply: HTTPReply?
        do {
            try await eventually("the files are moved", within: .seconds(60)) {
                let status = try server.address.perform(httpCall(.getAccountSwitchStatus, by: caller))
                if status.json?.state?.text == "finished" { return true }
                // The move may have met a fault meant for a phone.
                if begin.duration(to: .now) > .seconds(5) { try server.endLeasesOfMoves() }
                reply = status
                return false
            }
        } catch is NotEventually {
            throw difference(["the server does not move all of \(caller)'s files: \(reply.map { "\($0)" } ?? "")"])
        }
    }

    private func isConfirmed(_ confirmation: Request.AccountSwitchConfirmation) -> Bool {
        possibilities.worlds.allSatisfy { $0.account(of: confirmation.account.person) == confirmation.account }
    }

    /// Begins a switch with a phone that has signed in with both accounts.
    private mutating func begin(by caller: Caller, to account: Account) throws -> (id: String, epoch: Int) {
        let world = possibilities.likeliest
        let device = [("SyncServer-Device-UUID", caller.device)]
        let identity = try server.call(
            "GET", "CheckCreds", ["reportIdentity": "1"], headers: cast.account(of: caller.person).headers + device)
        let epoch = world.switches[caller.person]?.epoch ?? 0
        guard identity.json?.accountEpoch?.integer == Int64(epoch), let id = identity.json?.userAppId?.text,
            let grant = identity.json?.deviceGrant?.text
        else { throw difference(["\(caller) is told about the identity, in epoch \(epoch): \(identity)"]) }
        try server.establish(grant)
        let begun = try server.call(
            "POST", "BeginAccountSwitch",
            ["userAppId": id, "cloudFolderName": account.provider.needsFolderName ? "Sync" : nil],
            headers: cast.known(account).headers + device + [("SyncServer-Device-Grant", grant)])
        note("\(caller) begins a switch to \(account) → \(begun.status) \(begun.json?.switchId?.text ?? "nothing")")
        let files = world.ownedFiles(of: caller.person)
        let hosted = Set(begun.json?.hostedUsers?.array?.compactMap { $0.name?.text } ?? [])
        guard begun.status == 200, let switchID = begun.json?.switchId?.text,
            begun.json?.state?.text == "proposed", begun.json?.numberOfFiles?.integer == Int64(files.count),
            begun.json?.approximateBytes?.integer == files.reduce(0, { $0 + Int64($1.content.bytes.count) }),
            hosted == world.hosted(by: caller.person)
        else {
            throw difference([
                "\(caller), who has \(files.count) files and hosts \(world.hosted(by: caller.person)), begins a "
                    + "switch to \(account): \(begun)"
            ])
        }
        return (switchID, epoch)
    }

    /// Lets a caller send a request while a switch is proposed, which affects only the status of the switch.
    private mutating func letAnybodyAct(duringSwitchOf person: Person) throws {
        let planner = RequestPlanner(world: possibilities.likeliest, cast: cast)
        var next = planner.next(&random)
        while next.caller.person == person, [.removeUser, .getAccountSwitchStatus].contains(next.request) {
            next = planner.next(&random)
        }
        if possibilities.likeliest.users[next.caller.person] == nil { try cast.signInAgain(next.caller.person) }
        try make(next.request, by: next.caller, "while \(person)'s switch is proposed")
    }

    private mutating func cancel(_ id: String, to next: Account, by caller: Caller) throws {
        let accounts = [next, cast.activeAccount(of: caller.person)]
        for account in random.chance(50) ? accounts : accounts.reversed() {
            let reply = try server.call(
                "POST", "CancelAccountSwitch", ["switchId": id],
                headers: cast.known(account).headers + [("SyncServer-Device-UUID", caller.device)])
            // Once the switch is cancelled, the new account belongs to no user.
            guard reply.status == 200 || (account == next && reply.status == 401) else {
                throw difference(["a switch is cancelled with \(account): \(reply)"])
            }
        }
        note("\(caller) cancels it")
        try observe(after: .index(group: nil), by: caller)
    }

    /// Expects that devices with the former account are rejected as retired; after switching back, an account that
    /// never signed up is free.
    private func expectRetired(_ account: Account, by caller: Caller, mayBeFree: Bool) throws {
        let active = cast.activeAccount(of: caller.person)
        for device in cast.callers(of: caller.person).map(\.device) {
            let reply = try server.call(
                "GET", "Index", headers: cast.known(account).headers + [("SyncServer-Device-UUID", device)])
            if mayBeFree, reply.status == 401, reply.json?.code?.text == "user_unknown" { continue }
            guard reply.status == 401, reply.json?.code?.text == "account_retired",
                reply.values(of: "syncserver-active-account-type") == [active.provider.storage]
            else { throw difference(["\(account) is retired, \(active) active, but: \(reply)"]) }
        }
    }
}

extension World {
    /// Whether a person has files and none of them waits for its bytes.
    fileprivate func hasAllFiles(of person: Person) -> Bool {
        let files = ownedFiles(of: person)
        return !files.isEmpty && files.allSatisfy { $0.contentState == .stored }
            && switches[person]?.isFinished != false
    }

    /// The live files that are in a person's storage or to be moved there.
    fileprivate func ownedFiles(of person: Person) -> [File] {
        guard let user = users[person] else { return [] }
        let owner = Owner(person: person, user: user)
        return groups.values.flatMap(\.files.values).filter { $0.owner == owner && !$0.isDeleted }
    }

    /// The names of the people whose new files go to a person's storage.
    fileprivate func hosted(by person: Person) -> Set<String> {
        Set(groups.values.flatMap { $0.members.filter { $0.value.owner?.person == person }.keys.map(\.name) })
    }
}
