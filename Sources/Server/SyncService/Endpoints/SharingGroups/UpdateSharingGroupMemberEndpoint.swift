import Store
import SyncProtocol

/// Changes the permission of a member of a sharing group.
///
/// The group always keeps an admin: the last admin's permission cannot be changed. The invitations of a member who may
/// no longer invite are revoked. A repeated request is stale, since the first one has advanced the master version.
struct UpdateSharingGroupMemberEndpoint: Endpoint {
    /// - Throws: ``EndpointError/memberUnknown``, ``EndpointError/lastAdmin``.
    func respond(
        to request: UpdateSharingGroupMemberRequest, from caller: GroupCaller, in context: RequestContext
    ) throws -> EndpointReply {
        let change = GroupChange(
            group: request.sharingGroupUUID, masterVersion: request.masterVersion, caller: caller, context: context)
        let response = try change.make { session, member, _ in
            let members = try session.members(of: member.groupID)
            try members.check(request.userID, isSpareIfLosingAdmin: request.permission < .admin)
            try session.setPermission(request.permission, of: request.userID, in: member.groupID)
            // Otherwise an admin could rejoin as admin through an earlier invitation.
            if request.permission < .admin {
                try session.removeInvitations(by: request.userID, to: member.groupID)
            }
        }
        return .json(response)
    }
}

extension UpdateSharingGroupMemberRequest: ServedRequest {
    typealias Handler = UpdateSharingGroupMemberEndpoint
}

extension [GroupMember] {
    /// Checks that a user is a member and, if they are about to lose the admin permission, not the only admin.
    /// - Throws: ``EndpointError/memberUnknown``, ``EndpointError/lastAdmin``.
    func check(_ userID: UserID, isSpareIfLosingAdmin losesAdmin: Bool) throws(EndpointError) {
        guard let member = first(where: { $0.userID == userID }) else { throw .memberUnknown }
        guard losesAdmin, member.permission == .admin else { return }
        guard contains(where: { $0.userID != userID && $0.permission == .admin }) else { throw .lastAdmin }
    }
}
