/// docs/protocol.md §8.17 to §8.20.
extension World {
    mutating func createGroup(_ uuid: String, name: String?, by person: Person) throws(Refusal) -> Answer {
        guard account(of: person).bringsStorage else { throw .owningAccountRequired }
        if let existing = groups[uuid] {
            guard let member = existing.members[person], member.permission == .admin, member.invitation == nil else {
                throw .groupExists
            }
            return .done
        }
        groups[uuid] = Group(name: name, creator: person)
        return .done
    }

    mutating func rename(
        _ selection: Request.GroupSelection, to name: String, by person: Person
    ) throws(Refusal) -> Answer {
        let group = try group(selection.group, for: person, needing: .admin).group
        guard group.masterVersion == selection.masterVersion else { return .stale(group.masterVersion) }
        groups[selection.group]?.masterVersion += 1
        groups[selection.group]?.name = name
        return .done
    }

    mutating func removeGroup(_ selection: Request.GroupSelection, by person: Person) throws(Refusal) -> Answer {
        let group = try group(selection.group, for: person, needing: .admin).group
        guard group.masterVersion == selection.masterVersion else { return .stale(group.masterVersion) }
        groups[selection.group]?.masterVersion += 1
        delete(selection.group)
        return .done
    }

    mutating func leave(_ selection: Request.GroupSelection, by person: Person) throws(Refusal) -> Answer {
        let group = try group(selection.group, for: person, needing: .read).group
        guard group.masterVersion == selection.masterVersion else { return .stale(group.masterVersion) }
        guard let user = users[person] else { throw .userUnknown }
        groups[selection.group]?.masterVersion += 1
        _ = takeOut(person, Owner(person: person, user: user), of: selection.group, as: selection.masterVersion + 1)
        return .done
    }
}
