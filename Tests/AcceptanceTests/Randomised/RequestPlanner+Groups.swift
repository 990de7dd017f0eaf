import SyncModel

/// Requests about users, groups and invitations.
extension RequestPlanner {
    func signUp(_ random: inout SeededGenerator) -> (request: Request, caller: Caller)? {
        let caller = anybody(&random)
        let isUser = world.users[caller.person] != nil
        if isUser && !random.chance(30) { return nil }
        // Excludes groups that the person joined by invitation.
        let own = world.groups.filter { $0.value.members[caller.person].map { $0.invitation == nil } ?? false }
        var group = random.uuid()
        if isUser, random.chance(50), let again = random.pick(own.keys.sorted()) { group = again }
        if !isUser, random.chance(5), let taken = random.pick(world.groups.keys.sorted()) { group = taken }
        let folder = cast.activeAccount(of: caller.person).provider.needsFolderName && !random.chance(4) ? "Sync" : nil
        return (.addUser(group: group, name: random.chance(70) ? text(&random) : nil, folder: folder), caller)
    }

    func createGroup(_ random: inout SeededGenerator) -> (request: Request, caller: Caller)? {
        let caller = anybody(&random)
        guard world.users[caller.person] != nil || random.chance(5) else { return nil }
        var group = random.uuid()
        if random.chance(15), let taken = random.pick(world.groups.keys.sorted()),
            world.groups[taken]?.members[caller.person]?.invitation == nil
        {
            group = taken
        }
        return (.createSharingGroup(group: group, name: random.chance(70) ? text(&random) : nil), caller)
    }

    func groupChange(
        _ random: inout SeededGenerator, needing permission: Permission,
        _ request: (Request.GroupSelection, String) -> Request
    ) -> (request: Request, caller: Caller)? {
        guard let (group, caller) = place(&random, needing: permission) else { return nil }
        return (request(selection(group, &random), text(&random)), caller)
    }

    func invite(_ random: inout SeededGenerator) -> (request: Request, caller: Caller)? {
        guard let (group, caller) = place(&random, needing: .admin) else { return nil }
        let permission = random.pick(weighted: [(1, Permission.read), (4, .write), (4, .admin)])
        let acceptors = random.chance(4) ? random.pick([0, 11]) ?? 0 : Int.random(in: 1...3, using: &random)
        return (
            .createSharingInvitation(
                group: group, permission, allowsSocial: !random.chance(15), acceptors: acceptors), caller
        )
    }

    func redeem(_ random: inout SeededGenerator) -> (request: Request, caller: Caller)? {
        guard let code = anyInvitation(&random) else { return nil }
        let newcomers = cast.callers.filter { world.users[$0.person] == nil }
        let caller = random.chance(60) ? random.pick(newcomers) ?? anybody(&random) : anybody(&random)
        let folder = cast.activeAccount(of: caller.person).provider.needsFolderName && !random.chance(4) ? "Sync" : nil
        return (.redeemSharingInvitation(code: code, folder: folder), caller)
    }

    /// A known invitation code; rarely an unknown one.
    func anyInvitation(_ random: inout SeededGenerator) -> String? {
        if random.chance(4) { return random.uuid() }
        let open = world.invitations.keys.compactMap { code(of: $0) }.sorted()
        let used = world.groups.values.flatMap { $0.members.values.compactMap { $0.invitation.flatMap(code) } }.sorted()
        return random.pick(random.chance(85) ? open : used)
    }

    private func code(of invitation: Choice) -> String? {
        if case .told(.text(let code)) = invitation { code } else { nil }
    }
}
