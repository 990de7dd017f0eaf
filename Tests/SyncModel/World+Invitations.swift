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
