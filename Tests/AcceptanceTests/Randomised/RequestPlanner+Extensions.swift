import SyncModel

/// Requests that deployed clients do not know.
extension RequestPlanner {
    /// Rarely returns a batch: one that this device has begun, or a new one.
    func batch(_ group: String, _ caller: Caller, _ random: inout SeededGenerator) -> Request.Batch? {
        let open = world.groups[group]?.batches[caller] ?? [:]
        // A device that has begun a batch usually continues it.
        guard random.chance(open.isEmpty ? 12 : 50) else { return nil }
        if random.chance(85), let uuid = random.pick(open.keys.sorted()), let known = open[uuid] {
            return Request.Batch(uuid, of: random.chance(96) ? known.count : known.count + 1)
        }
        return Request.Batch(random.uuid(), of: Int.random(in: 1...4, using: &random))
    }

    /// Repeats a request of a committed batch, as after a lost reply.
    func committedMember(_ group: String, _ caller: Caller, _ random: inout SeededGenerator) -> Request? {
        let batches = (world.groups[group]?.commits[caller] ?? [:]).filter { !$0.value.members.isEmpty }
        guard let uuid = random.pick(batches.keys.sorted()), let members = batches[uuid]?.members,
            let file = random.pick(members.keys.sorted()), let request = members[file]?.request
        else { return nil }
        let batch = Request.Batch(uuid, of: members.count)
        let version = selection(group, &random).masterVersion
        switch request {
        case .uploadFile(var upload):
            upload.group.masterVersion = version
            upload.batch = batch
            return .uploadFile(upload)
        case .uploadAppMetaData(var file, let metadata, _):
            file.group.masterVersion = version
            return .uploadAppMetaData(file, metadata, batch: batch)
        case .uploadDeletion(var file, let deleted, _):
            file.group.masterVersion = version
            return .uploadDeletion(file, version: deleted, batch: batch)
        default: return nil
        }
    }

    func repeatBatchMember(_ random: inout SeededGenerator) -> (request: Request, caller: Caller)? {
        guard let (group, caller) = place(&random, needing: .write) else { return nil }
        return committedMember(group, caller, &random).map { ($0, caller) }
    }

    func discard(_ random: inout SeededGenerator) -> (request: Request, caller: Caller)? {
        guard let (group, caller) = place(&random, needing: .write) else { return nil }
        let staged = world.groups[group]?.staged[caller] ?? [:]
        let batches = world.groups[group]?.batches[caller] ?? [:]
        let file = random.pick(staged.keys.sorted())
        return (
            .discardUploads(
                group: group, files: random.chance(60) ? [file, random.uuid()].compactMap(\.self) : nil,
                batch: random.chance(30) ? random.pick(batches.keys.sorted()) : nil), caller
        )
    }

    func revoke(_ random: inout SeededGenerator) -> (request: Request, caller: Caller)? {
        guard let (group, caller) = place(&random, needing: .admin), let code = anyInvitation(&random) else {
            return nil
        }
        return (.revokeSharingInvitation(group: group, code: code), caller)
    }

    /// The user id of a member; rarely one that no member has.
    private func anyUser(of group: String, _ random: inout SeededGenerator) -> Int? {
        let members = cast.people.filter { world.groups[group]?.members[$0] != nil }
        let person = random.chance(90) ? random.pick(members) : random.pick(cast.people)
        guard let person, case .told(.integer(let number))? = world.users[person] else { return nil }
        return random.chance(97) ? number : number + 1_000_000
    }

    func changePermission(_ random: inout SeededGenerator) -> (request: Request, caller: Caller)? {
        guard let (group, caller) = place(&random, needing: .admin), let user = anyUser(of: group, &random) else {
            return nil
        }
        let permission = random.pick(weighted: [(1, Permission.read), (4, .write), (4, .admin)])
        return (.updateSharingGroupMember(selection(group, &random), user: user, permission), caller)
    }

    func removeMember(_ random: inout SeededGenerator) -> (request: Request, caller: Caller)? {
        guard let (group, caller) = place(&random, needing: .admin), let user = anyUser(of: group, &random) else {
            return nil
        }
        return (.removeSharingGroupMember(selection(group, &random), user: user), caller)
    }

    /// Plans an Index request, sometimes only for changes.
    func look(_ random: inout SeededGenerator) -> (request: Request, caller: Caller) {
        guard random.chance(80), let group = anyGroup(&random) else {
            return (.index(group: nil), anybody(&random))
        }
        let version = world.groups[group]?.masterVersion ?? 0
        let since = random.chance(50) ? Int.random(in: 0...(version + 1), using: &random) : nil
        return (.index(group: group, since: since), anybody(&random))
    }
}
