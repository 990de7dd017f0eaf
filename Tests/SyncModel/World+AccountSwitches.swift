/// A confirmed switch of accounts.
package struct AccountSwitch: Equatable, Sendable {
    package let id: String
    /// The number of the person's switches, including this one.
    package let epoch: Int
    /// The former account.
    let former: Account
    /// The number of files that waited for their bytes at the beginning.
    let total: Int
    /// Whether the server moves, or has moved, files.
    let movesContents: Bool
    /// Whether the switch is finished.
    package internal(set) var isFinished: Bool

    /// Whether the server is moving files; its progress is unknown.
    package var isMoving: Bool { movesContents && !isFinished }
}

/// docs/protocol.md §5.11, §8.32 to §8.35.
extension World {
    /// Activates another account: the files keep their versions and wait for their bytes, and changes staged into the
    /// former storage lose their contents.
    mutating func confirm(
        _ confirmation: Request.AccountSwitchConfirmation, by person: Person
    ) throws(Refusal) -> Answer {
        if let known = switches[person], known.id == confirmation.id { return Self.confirmed(known) }
        guard let user = users[person] else { throw .switchUnknown }
        guard confirmation.epoch == switches[person]?.epoch ?? 0 else { throw .staleEpoch }
        let owner = Owner(person: person, user: user)
        let former = account(of: person)
        for (uuid, group) in groups {
            let hasContents = hasContents(of: owner, in: group)
            withdrawStaged(by: person, in: uuid)
            forgetStagedContents(of: owner, in: uuid)
            groups[uuid]?.batches = group.batches.filter { $0.key.person != person }
            if hasContents { groups[uuid]?.masterVersion += 1 }
        }
        let waiting = awaitContents(
            of: owner, at: confirmation.account, as: confirmation.movesContents ? .moving : .awaiting)
        if !former.bringsStorage, confirmation.account.bringsStorage {
            for uuid in groups.keys { groups[uuid]?.members[person]?.owner = nil }
        }
        remains.leave(former, of: owner)
        remains.returnTo(confirmation.account)
        accounts[person] = confirmation.account
        let confirmed = AccountSwitch(
            id: confirmation.id, epoch: confirmation.epoch + 1, former: former, total: waiting,
            movesContents: confirmation.movesContents, isFinished: waiting == 0)
        switches[person] = confirmed
        return Self.confirmed(confirmed)
    }

    private static func confirmed(_ done: AccountSwitch) -> Answer {
        .success(
            .object([
                "accountEpoch": .integer(done.epoch), "numberAwaiting": .integer(done.total),
                "movesContents": done.movesContents ? .flag(true) : .absent,
            ]))
    }

    /// Whether the group has live files of the owner or uploads staged into their storage.
    private func hasContents(of owner: Owner, in group: Group) -> Bool {
        group.files.values.contains { $0.owner == owner && !$0.isDeleted }
            || group.staged.values.joined().contains { $0.value.upload?.owner == owner }
    }

    private mutating func withdrawStaged(by person: Person, in uuid: String) {
        for (caller, changes) in groups[uuid]?.staged ?? [:] where caller.person == person {
            for (file, change) in changes { discard(change, of: file) }
            groups[uuid]?.staged[caller] = nil
        }
    }

    /// Keeps changes that others staged into the owner's storage, without contents, so that no commit silently omits
    /// them.
    private mutating func forgetStagedContents(of owner: Owner, in uuid: String) {
        for (caller, changes) in groups[uuid]?.staged ?? [:] {
            for (file, change) in changes where change.upload?.owner == owner {
                discard(change, of: file)
                groups[uuid]?.staged[caller]?[file]?.upload?.owner = nil
            }
        }
    }

    /// Makes the owner's files wait for their bytes.
    /// - Returns: the number of waiting files.
    private mutating func awaitContents(of owner: Owner, at account: Account, as state: ContentState) -> Int {
        var waiting = 0
        for (uuid, group) in groups {
            for (file, entry) in group.files where entry.owner == owner && !entry.isDeleted {
                if let stored = entry.stored(as: file) { remains.left.insert(stored) }
                groups[uuid]?.files[file]?.account = account
                groups[uuid]?.files[file]?.contentState = state
                groups[uuid]?.files[file]?.changedAt = group.masterVersion
                waiting += 1
            }
        }
        return waiting
    }

    mutating func reupload(_ request: Request.Reupload, by caller: Caller) throws -> Answer {
        let group = try group(request.group, for: caller.person, needing: .write).group
        guard let file = group.files[request.file] else { throw Refusal.fileUnknown }
        guard !file.isDeleted else { return Self.result("deleted") }
        guard request.version <= file.version else { throw Refusal.fileVersionMismatch }
        guard request.version == file.version else { return Self.result("versionAdvanced", current: file.version) }
        guard request.mimeType == file.mimeType else { throw Refusal.mimeTypeChanged }
        guard file.contentState != .stored else { return Self.result("alreadyStored") }
        guard request.content == file.content else { throw Refusal.contentMismatch }
        guard request.content.checkSums[file.account.provider.storage ?? ""] == request.checkSum else {
            throw AnyRefusal([.contentMismatch, .checkSumMismatch])
        }
        groups[request.group]?.files[request.file]?.contentState = .stored
        groups[request.group]?.files[request.file]?.device = caller.device
        return Self.result("stored")
    }

    private static func result(_ word: String, current: Int? = nil) -> Answer {
        .success(.object(["result": .text(word), "currentVersion": .optional(current)]))
    }

    /// Finishes a switch, and gives up files that still wait.
    mutating func finish(
        _ id: String, _ missing: Request.MissingFiles, by person: Person
    ) throws(Refusal) -> Answer {
        guard let user = users[person], let begun = switches[person], begun.id == id else { throw .switchUnknown }
        let answer = Answer.success(.object(["accountEpoch": .integer(begun.epoch)]))
        guard !begun.isFinished else { return answer }
        finish(for: Owner(person: person, user: user), missing)
        return answer
    }

    /// The states that this one may have become without a request: the server has moved a person's last file and
    /// finished the switch.
    package var afterMoves: [World] {
        switches.filter(\.value.isMoving).keys.sorted { $0.name < $1.name }.reduce([self]) { worlds, person in
            guard let user = users[person] else { return worlds }
            return worlds.flatMap { world in
                var ended = world
                ended.finish(for: Owner(person: person, user: user), .keepGone)
                return [world, ended]
            }
        }
    }

    private mutating func finish(for owner: Owner, _ missing: Request.MissingFiles) {
        for (uuid, group) in groups {
            let files = group.files.filter { $0.value.owner == owner && !$0.value.isDeleted }
            if !files.isEmpty { groups[uuid]?.masterVersion += 1 }
            for (file, entry) in files {
                groups[uuid]?.files[file]?.changedAt = group.masterVersion + 1
                switch (entry.contentState, missing) {
                case (.stored, _), (.missing, _): break
                case (.moving, _): groups[uuid]?.files[file]?.contentState = .stored
                case (.awaiting, .keepGone): groups[uuid]?.files[file]?.contentState = .missing
                case (.awaiting, .markDeleted): groups[uuid]?.files[file]?.markDeleted()
                }
            }
        }
        switches[owner.person]?.isFinished = true
    }

    func status(of person: Person, _ user: Choice) -> Answer {
        guard let newest = switches[person] else {
            return .success(.object(["state": .text("none"), "switchId": .absent, "accountEpoch": .integer(0)]))
        }
        guard !newest.isMoving else {
            return .success(.object(["state": .text("reuploading"), "switchId": .text(newest.id)]))
        }
        let owner = Owner(person: person, user: user)
        let awaiting =
            newest.isFinished
            ? []
            : groups.sorted { $0.key < $1.key }.flatMap { uuid, group in
                group.files.filter { $0.value.owner == owner && $0.value.contentState == .awaiting }
                    .sorted { $0.key < $1.key }.map { file, entry in
                        Template.object([
                            "fileUUID": .text(file), "sharingGroupUUID": .text(uuid),
                            "fileGroupUUID": .optional(entry.fileGroup), "fileVersion": .integer(entry.version),
                            "mimeType": .text(entry.mimeType), "owningUserId": .chosen(user),
                        ])
                    }
            }
        return .success(
            .object([
                "state": .text(newest.isFinished ? "finished" : "reuploading"), "switchId": .text(newest.id),
                "accountEpoch": .integer(newest.epoch), "numberAwaiting": .integer(awaiting.count),
                "numberDone": .integer(newest.total - awaiting.count), "awaiting": .list(awaiting, by: "fileUUID"),
            ]))
    }
}

extension Request {
    /// Whether the request may change the location of contents without a new master version.
    var mayLeaveMasterVersions: Bool {
        switch self {
        case .reuploadFile, .confirmAccountSwitch: true
        default: false
        }
    }
}

extension Group {
    /// Whether the groups differ only in files that have their bytes again, or in members' owners. The ETag of Index
    /// changes nevertheless.
    func differsOnlyByStorage(from before: Group) -> Bool {
        var same = before
        for (uuid, file) in files where file.contentState == .stored {
            same.files[uuid]?.contentState = .stored
            same.files[uuid]?.device = file.device
        }
        for person in members.keys { same.members[person]?.owner = members[person]?.owner }
        return same.files == files && same.members == members && same.name == name
    }
}
