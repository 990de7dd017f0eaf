/// The state of a server as plain values: an executable summary of docs/protocol.md.
///
/// ``respond(to:from:as:)`` is the complete server. Each group of endpoints is an extension in a separate file.
package struct World: Equatable, Sendable {
    /// The user of each person who is signed up.
    package internal(set) var users: [Person: Choice] = [:]
    /// All groups, including removed ones, by UUID.
    package internal(set) var groups: [String: Group] = [:]
    /// The current account of each person who has switched; they keep it even after removing their user.
    package internal(set) var accounts: [Person: Account] = [:]
    /// The newest switch of each user who has switched.
    package internal(set) var switches: [Person: AccountSwitch] = [:]
    /// Open invitations.
    package internal(set) var invitations: [Choice: Invitation] = [:]
    /// Contents in owners' storages that no file or staged change references.
    package internal(set) var remains = Remains()

    /// Creates a server without users.
    package init() {}

    /// Performs request number `serial` and returns the answer; an error leaves the world unchanged.
    package mutating func respond(to request: Request, from caller: Caller, as serial: Int) -> Answer {
        let before = self
        do {
            let answer = try accept(request, from: caller, as: serial)
            tidy()
            return answer
        } catch let refusal as Refusal {
            self = before
            if refusal == .ownerRemoved, case .uploadFile(let upload) = request {
                forgetWithoutOwner(upload, caller)
                tidy()
            }
            return .refused([refusal])
        } catch let refusals as AnyRefusal {
            self = before
            return .refused(refusals.reasons)
        } catch {
            preconditionFailure("the model throws nothing else")
        }
    }

    private mutating func accept(_ request: Request, from caller: Caller, as serial: Int) throws -> Answer {
        switch request {
        case .healthCheck, .checkPrimaryCreds: return .done
        case .addUser(let group, let name, let folder):
            return try addUser(caller.person, group: group, name: name, folder: folder, as: serial)
        case .redeemSharingInvitation(let code, let folder):
            return try redeem(code, by: caller.person, folder: folder, as: serial)
        case .getSharingInvitationInfo(let code): return try invitationInfo(code)
        default: break
        }
        guard let user = users[caller.person] else { throw Refusal.userUnknown }
        switch request {
        case .registerPushNotificationToken: return .done
        case .checkCreds: return .success(.object(["userId": .chosen(user)]))
        case .removeUser: return removeUser(caller.person)
        case .index(let group, let since): return try index(group, since: since, for: caller.person)
        case .uploadFile(let upload): return try stage(upload, by: caller, as: serial)
        case .uploadAppMetaData(let file, let metadata, let batch):
            return try stage(metadata, of: file, in: batch, by: caller)
        case .uploadDeletion(let file, let version, let batch):
            return try stageDeletion(of: file, version, in: batch, by: caller)
        case .discardUploads(let group, let files, let batch):
            return try discardUploads(in: group, files, batch, by: caller)
        case .getUploads(let group): return try stagedUploads(in: group, of: caller)
        case .doneUploads(let selection, let name, _, _):
            return try commit(selection, newName: name, request, by: caller)
        case .downloadFile(let file, let version, let metadataVersion):
            return try download(file, version, metadataVersion, by: caller.person)
        case .downloadAppMetaData(let file, let version):
            return try downloadMetadata(of: file, version, by: caller.person)
        case .createSharingInvitation(let group, let permission, let allowsSocial, let acceptors):
            return try invite(
                to: group, permission, allowsSocial: allowsSocial, acceptors: acceptors, by: caller.person, as: serial)
        case .createSharingGroup(let group, let name): return try createGroup(group, name: name, by: caller.person)
        case .updateSharingGroup(let selection, let name):
            return try rename(selection, to: name, by: caller.person)
        case .removeSharingGroup(let selection): return try removeGroup(selection, by: caller.person)
        case .removeUserFromSharingGroup(let selection): return try leave(selection, by: caller.person)
        case .getSharingInvitations(let group): return try openInvitations(to: group, for: caller.person)
        case .revokeSharingInvitation(let group, let code): return try revoke(code, to: group, by: caller.person)
        case .getSharingGroupMembers(let group): return try members(of: group, for: caller.person)
        case .updateSharingGroupMember(let selection, let user, let permission):
            return try change(user, in: selection, to: permission, by: caller.person)
        case .removeSharingGroupMember(let selection, let user):
            return try takeOut(user, of: selection, by: caller.person)
        case .confirmAccountSwitch(let confirmation): return try confirm(confirmation, by: caller.person)
        case .reuploadFile(let upload): return try reupload(upload, by: caller)
        case .finishAccountSwitch(let id, let missing): return try finish(id, missing, by: caller.person)
        case .getAccountSwitchStatus: return status(of: caller.person, user)
        case .healthCheck, .checkPrimaryCreds, .addUser, .redeemSharingInvitation, .getSharingInvitationInfo:
            preconditionFailure("answered above")
        }
    }
}

/// A user with storage, as the owner of files.
package struct Owner: Hashable, Sendable {
    package let person: Person
    /// The user, which differs if the person has signed up again since.
    package let user: Choice

    /// Creates an owner.
    package init(person: Person, user: Choice) {
        self.person = person
        self.user = user
    }
}

/// An open invitation.
package struct Invitation: Equatable, Sendable {
    package let group: String
    package let permission: Permission
    package let allowsSocial: Bool
    package let inviter: Person
    /// The future owner of the new files of a redeemer without storage.
    package internal(set) var owner: Owner
    package var acceptorsLeft: Int
}

extension World {
    /// The account that a person signs in with.
    package func account(of person: Person) -> Account { accounts[person] ?? person.firstAccount }

    /// The wire name of an owner's storage.
    package func storage(of owner: Owner) -> String? { account(of: owner.person).provider.storage }

    /// Whether the owner is still a user.
    func isPresent(_ owner: Owner) -> Bool { users[owner.person] == owner.user }

    /// Whether the owner is still in the group, since the server writes only into members' storages.
    func isPresent(_ owner: Owner, in group: String) -> Bool {
        isPresent(owner) && groups[group]?.members[owner.person] != nil
    }

    /// The group, if the caller is a member with at least this permission.
    func group(
        _ uuid: String, for person: Person, needing permission: Permission
    ) throws(Refusal) -> (group: Group, member: Member) {
        guard let group = groups[uuid], let member = group.members[person] else { throw .notAMember }
        guard member.permission >= permission else { throw .permissionTooLow }
        return (group, member)
    }

    /// The owner whose storage receives a member's new files; nil once that owner has left.
    func effectiveOwner(of person: Person, _ member: Member) -> Owner? {
        if account(of: person).bringsStorage { return users[person].map { Owner(person: person, user: $0) } }
        return member.owner
    }
}
