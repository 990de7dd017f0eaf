import Store
import SyncProtocol

/// Lists the members of a sharing group and their permissions.
///
/// Reads only; may be repeated.
struct GetSharingGroupMembersEndpoint: Endpoint {
    func respond(
        to request: GetSharingGroupMembersRequest, from caller: GroupCaller, in context: RequestContext
    ) throws -> EndpointReply {
        let response = try context.store.snapshot { session in
            let member = try caller.member(of: request.sharingGroupUUID, using: &session)
            return GetSharingGroupMembersResponse(
                masterVersion: member.masterVersion,
                sharingGroupMembers: try session.describeMembers(of: member.groupID))
        }
        return .json(response)
    }
}

extension GetSharingGroupMembersRequest: ServedRequest {
    typealias Handler = GetSharingGroupMembersEndpoint
}

/// Changes the permission of a member of a sharing group.
///
/// The group always keeps an admin: the last admin's permission cannot be changed. The invitations of a member who may
/// no longer invite are revoked. A repeated request is stale, since the first one has advanced the master version.
struct UpdateSharingGroupMemberEndpoint: Endpoint {
    /// - Throws: ``ErrorCode/memberUnknown``, ``ErrorCode/lastAdmin``.
    func respond(
        to request: UpdateSharingGroupMemberRequest, from caller: GroupCaller, in context: RequestContext
    ) throws -> EndpointReply {
        try caller.change(request, in: context) { session, member, _ in
            let members = try session.members(of: member.groupID)
            try members.check(request.userID, isSpareIfLosingAdmin: request.permission < .admin)
            try session.setPermission(request.permission, of: request.userID, in: member.groupID)
            // Otherwise an admin could rejoin as admin through an earlier invitation.
            if request.permission < .admin {
                try session.removeInvitations(by: request.userID, to: member.groupID)
            }
        }
    }
}

extension UpdateSharingGroupMemberRequest: GroupChange {
    typealias Handler = UpdateSharingGroupMemberEndpoint
}

/// Removes a member from a sharing group, with the same consequences as if they had left it themselves.
///
/// The only admin cannot be removed. A repeated request is stale, since the first one has advanced the master version.
struct RemoveSharingGroupMemberEndpoint: Endpoint {
    /// - Throws: ``ErrorCode/memberUnknown``, ``ErrorCode/lastAdmin``.
    func respond(
        to request: RemoveSharingGroupMemberRequest, from caller: GroupCaller, in context: RequestContext
    ) throws -> EndpointReply {
        try caller.change(request, in: context) { session, member, version in
            let members = try session.members(of: member.groupID)
            try members.check(request.userID, isSpareIfLosingAdmin: true)
            try session.removeMember(request.userID, from: member.groupID, as: version, at: context.now)
        }
    }
}

extension RemoveSharingGroupMemberRequest: GroupChange {
    typealias Handler = RemoveSharingGroupMemberEndpoint
}

/// Removes the caller from a sharing group, which ends with its last member.
///
/// On a repeated request the caller is no longer a member.
struct RemoveUserFromSharingGroupEndpoint: Endpoint {
    func respond(
        to request: RemoveUserFromSharingGroupRequest, from caller: GroupCaller, in context: RequestContext
    ) throws -> EndpointReply {
        try caller.change(request, in: context) { session, member, version in
            try session.removeMember(member.userID, from: member.groupID, as: version, at: context.now)
        }
    }
}

extension RemoveUserFromSharingGroupRequest: GroupChange {
    typealias Handler = RemoveUserFromSharingGroupEndpoint
}

extension [GroupMember] {
    /// Checks that a user is a member and, if they are about to lose the admin permission, not the only admin.
    /// - Throws: ``ErrorCode/memberUnknown``, ``ErrorCode/lastAdmin``.
    func check(_ userID: UserID, isSpareIfLosingAdmin losesAdmin: Bool) throws(Refusal) {
        guard let member = first(where: { $0.userID == userID }) else { throw Refusal(.memberUnknown) }
        guard losesAdmin, member.permission == .admin else { return }
        guard contains(where: { $0.userID != userID && $0.permission == .admin }) else { throw Refusal(.lastAdmin) }
    }
}
