/// docs/protocol.md §8.4, §8.5, §6.2.
extension World {
    mutating func addUser(
        _ person: Person, group: String, name: String?, folder: String?, as serial: Int
    ) throws(Refusal) -> Answer {
        if let user = users[person] {
            // Only the creator, a member without an invitation, can be repeating the request that created the group.
            guard let member = groups[group]?.members[person], member.permission == .admin, member.invitation == nil
            else { throw .userExists }
            return .success(.object(["userId": .chosen(user)]))
        }
        guard account(of: person).bringsStorage else { throw .owningAccountRequired }
        guard folder != nil || !account(of: person).provider.needsFolderName else { throw .missingParameter }
        guard groups[group] == nil else { throw .groupExists }
        let user = Choice.user(serial)
        users[person] = user
        groups[group] = Group(name: name, creator: person)
        return .success(.object(["userId": .chosen(user)]))
    }

    mutating func removeUser(_ person: Person) -> Answer {
        guard let user = users.removeValue(forKey: person) else { return .done }
        let owner = Owner(person: person, user: user)
        switches[person] = nil
        for uuid in groups.keys.sorted() {
            let isConcerned = takeOut(person, owner, of: uuid, as: (groups[uuid]?.masterVersion ?? 0) + 1)
            if isConcerned { groups[uuid]?.masterVersion += 1 }
        }
        for (uuid, group) in groups {
            groups[uuid]?.commits = group.commits.filter { $0.key.person != person }
            groups[uuid]?.batches = group.batches.filter { $0.key.person != person }
        }
        invitations = invitations.filter { $0.value.owner != owner }
        remains.loseAccess(to: owner)
        return .done
    }

    /// Removes a person from a group. Files that they own are deleted but remain in their storage, and members whose
    /// owner they were have none. Their staged changes are discarded, as are others' changes to their files except
    /// deletions; new files that others staged into their storage lose their contents. A group without members is
    /// deleted; in a group without an admin, a member becomes admin.
    /// - Returns: whether the group changed.
    mutating func takeOut(_ person: Person, _ owner: Owner, of uuid: String, as version: Int) -> Bool {
        guard var group = groups[uuid] else { return false }
        let before = group
        group.members[person] = nil
        for (member, place) in group.members where place.owner == owner { group.members[member]?.owner = nil }
        for (uuid, file) in group.files where file.owner == owner && !file.isDeleted {
            remains.take(file, as: uuid)
            group.files[uuid]?.markDeleted()
            group.files[uuid]?.changedAt = version
        }
        for (caller, changes) in group.staged {
            for (file, change) in changes
            where caller.person == person || (change.kind != .deletion && group.files[file]?.owner == owner) {
                discard(change, of: file)
                group.staged[caller]?[file] = nil
            }
            // The row of a new file without an owner is kept, so that no commit silently omits the file.
            for (file, change) in group.staged[caller] ?? [:] where change.upload?.owner == owner {
                discard(change, of: file)
                group.staged[caller]?[file]?.upload?.owner = nil
            }
        }
        group.batches = group.batches.filter { $0.key.person != person }
        guard group != before else { return false }
        group.heirs = heirs(among: group.members)
        if group.heirs.count == 1 { group.promoteHeir(0) }
        groups[uuid] = group
        invitations = invitations.filter {
            $0.value.group != uuid || ($0.value.owner != owner && $0.value.inviter != person)
        }
        if group.members.isEmpty { delete(uuid) }
        return true
    }

    /// The candidates for admin; empty if the group has an admin.
    ///
    /// Members with storage have priority, and among them those with the highest permission. The longest membership
    /// decides between equals; its duration is unknown to the model.
    private func heirs(among members: [Person: Member]) -> [Person] {
        guard members.values.allSatisfy({ $0.permission != .admin }) else { return [] }
        let owning = members.filter { account(of: $0.key).bringsStorage }
        let highest = owning.values.map(\.permission).max()
        return (owning.isEmpty ? members : owning.filter { $0.value.permission == highest }).keys
            .sorted { $0.name < $1.name }
    }

    /// The worlds that result if one heir is chosen in each group.
    var settled: [World] {
        guard let (uuid, group) = groups.first(where: { !$0.value.heirs.isEmpty }) else { return [self] }
        return group.heirs.indices.flatMap { index in
            var world = self
            world.groups[uuid]?.promoteHeir(index)
            return world.settled
        }
    }

    /// Deletes a group: its files are deleted but remain in their owners' storage; members, invitations and staged
    /// changes are removed.
    mutating func delete(_ uuid: String) {
        guard var group = groups[uuid] else { return }
        for (file, entry) in group.files where !entry.isDeleted {
            remains.take(entry, as: file)
            group.files[file]?.markDeleted()
        }
        for (file, change) in group.staged.values.joined() { discard(change, of: file) }
        group.staged = [:]
        group.members = [:]
        group.isDeleted = true
        groups[uuid] = group
        invitations = invitations.filter { $0.value.group != uuid }
    }
}
