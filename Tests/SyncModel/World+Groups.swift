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

/// docs/protocol.md §8.23 to §8.27.
extension World {
    /// Lists the open invitations. Others may exist whose code is unknown because the reply was lost.
    func openInvitations(to uuid: String, for person: Person) throws(Refusal) -> Answer {
        _ = try group(uuid, for: person, needing: .admin)
        let open = invitations.filter { $0.value.group == uuid && $0.key.isTold }
        return .success(
            .object([
                "sharingInvitations": .including(
                    open.map { choice, invitation in
                        .object([
                            "sharingInvitationUUID": choice.asText,
                            "permission": .text(invitation.permission.rawValue),
                            "allowSocialAcceptance": .flag(invitation.allowsSocial),
                            "numberOfAcceptors": .integer(invitation.acceptorsLeft),
                            "invitingUserId": .optional(users[invitation.inviter]),
                        ])
                    }, by: "sharingInvitationUUID")
            ]))
    }

    mutating func revoke(_ code: String, to uuid: String, by person: Person) throws(Refusal) -> Answer {
        _ = try group(uuid, for: person, needing: .admin)
        let choice = Choice.told(.text(code))
        if invitations[choice]?.group == uuid { invitations[choice] = nil }
        return .done
    }

    func members(of uuid: String, for person: Person) throws(Refusal) -> Answer {
        let group = try group(uuid, for: person, needing: .read).group
        return .success(
            .object([
                "masterVersion": .integer(group.masterVersion),
                "sharingGroupMembers": .list(
                    group.members.map { person, member in
                        .object([
                            "name": .text(person.name),
                            "userId": .optional(users[person]),
                            "permission": .text(member.permission.rawValue),
                            "owningUserId": .optional(effectiveOwner(of: person, member)?.user),
                        ])
                    }, by: "name"),
            ]))
    }

    mutating func change(
        _ user: Int, in selection: Request.GroupSelection, to permission: Permission, by person: Person
    ) throws(Refusal) -> Answer {
        let group = try group(selection.group, for: person, needing: .admin).group
        guard group.masterVersion == selection.masterVersion else { return .stale(group.masterVersion) }
        let member = try self.member(user, of: group, isAboutToLoseAdmin: permission < .admin)
        groups[selection.group]?.masterVersion += 1
        groups[selection.group]?.members[member.person]?.permission = permission
        if permission < .admin {
            invitations = invitations.filter { $0.value.group != selection.group || $0.value.inviter != member.person }
        }
        return .done
    }

    mutating func takeOut(
        _ user: Int, of selection: Request.GroupSelection, by person: Person
    ) throws(Refusal) -> Answer {
        let group = try group(selection.group, for: person, needing: .admin).group
        guard group.masterVersion == selection.masterVersion else { return .stale(group.masterVersion) }
        let member = try self.member(user, of: group, isAboutToLoseAdmin: true)
        groups[selection.group]?.masterVersion += 1
        _ = takeOut(member.person, member, of: selection.group, as: selection.masterVersion + 1)
        return .done
    }

    /// The member with that user id; the only admin must not lose the permission.
    private func member(_ user: Int, of group: Group, isAboutToLoseAdmin: Bool) throws(Refusal) -> Owner {
        let number = Choice.told(.integer(user))
        guard let person = users.first(where: { $0.value == number })?.key, let member = group.members[person] else {
            throw .memberUnknown
        }
        if isAboutToLoseAdmin, member.permission == .admin,
            group.members.values.count(where: { $0.permission == .admin }) == 1
        {
            throw .lastAdmin
        }
        return Owner(person: person, user: number)
    }
}

extension Choice {
    /// Whether a reply has revealed the value.
    fileprivate var isTold: Bool { if case .told = self { true } else { false } }
    /// The pattern for a known text.
    fileprivate var asText: Template { if case .told(.text(let text)) = self { .text(text) } else { .absent } }
}

/// docs/protocol.md §8.14 to §8.16.
extension World {
    mutating func invite(
        to uuid: String, _ permission: Permission, allowsSocial: Bool, acceptors: Int, by person: Person,
        as serial: Int
    ) throws(Refusal) -> Answer {
        guard (1...10).contains(acceptors) else { throw .outOfRange }
        let member = try group(uuid, for: person, needing: .admin).member
        guard let owner = effectiveOwner(of: person, member) else { throw .ownerMissing }
        let invitation = Choice.invitation(serial)
        invitations[invitation] = Invitation(
            group: uuid, permission: permission, allowsSocial: allowsSocial, inviter: person, owner: owner,
            acceptorsLeft: acceptors)
        return .success(.object(["sharingInvitationUUID": .chosen(invitation)]))
    }

    func invitationInfo(_ code: String) throws(Refusal) -> Answer {
        guard let invitation = invitations[.told(.text(code))] else { throw .invitationGone }
        return .success(
            .object([
                "permission": .text(invitation.permission.rawValue),
                "allowSocialAcceptance": .flag(invitation.allowsSocial),
                "sharingGroupName": .optional(groups[invitation.group]?.name),
                "invitingUserName": .text(invitation.inviter.name),
            ]))
    }

    mutating func redeem(
        _ code: String, by person: Person, folder: String?, as serial: Int
    ) throws(Refusal) -> Answer {
        let choice = Choice.told(.text(code))
        if let user = users[person],
            let joined = groups.first(where: { $0.value.members[person]?.invitation == choice })
        {
            // The first reply was lost.
            return Self.redeemed(by: user, joined.key)
        }
        guard var invitation = invitations[choice] else { throw .invitationUnknown }
        guard invitation.allowsSocial || account(of: person).bringsStorage else { throw .storageAccountRequired }
        guard groups[invitation.group]?.members[person] == nil else { throw .alreadyMember }
        guard users[person] != nil || folder != nil || !account(of: person).provider.needsFolderName else {
            throw .missingParameter
        }
        let user = users[person] ?? .user(serial)
        let owner = account(of: person).bringsStorage ? nil : invitation.owner
        users[person] = user
        groups[invitation.group]?.members[person] = Member(
            permission: invitation.permission, owner: owner, invitation: choice)
        groups[invitation.group]?.masterVersion += 1
        invitation.acceptorsLeft -= 1
        invitations[choice] = invitation.acceptorsLeft == 0 ? nil : invitation
        return Self.redeemed(by: user, invitation.group)
    }

    private static func redeemed(by user: Choice, _ group: String) -> Answer {
        .success(.object(["userId": .chosen(user), "sharingGroupUUID": .text(group)]))
    }

    /// Removes invitations whose code is unknown because the reply was lost.
    mutating func forgetUnknownInvitations() {
        invitations = invitations.filter { if case .told = $0.key { true } else { false } }
    }
}
