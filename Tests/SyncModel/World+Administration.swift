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
