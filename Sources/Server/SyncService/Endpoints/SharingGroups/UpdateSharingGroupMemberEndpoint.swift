import Store
import SyncProtocol

/// Gives a member of a sharing group another permission.
///
/// The group always keeps an admin: the last one's permission stays. Invitations of who may not invite any more are
/// withdrawn. A repeated request is stale, since the first one has advanced the master version.
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
            // Else an admin could come back as one through an invitation made beforehand.
            if request.permission < .admin {
                try session.removeInvitations(by: request.userID, to: member.groupID)
            }
        }
        return .json(response)
    }
}

extension [GroupMember] {
    /// Makes sure that a user is among the members and, if they are about to cease to be admin, not the only admin.
    /// - Throws: ``EndpointError/memberUnknown``, ``EndpointError/lastAdmin``.
    func check(_ userID: UserID, isSpareIfLosingAdmin losesAdmin: Bool) throws(EndpointError) {
        guard let member = first(where: { $0.userID == userID }) else { throw .memberUnknown }
        guard losesAdmin, member.permission == .admin else { return }
        guard contains(where: { $0.userID != userID && $0.permission == .admin }) else { throw .lastAdmin }
    }
}
