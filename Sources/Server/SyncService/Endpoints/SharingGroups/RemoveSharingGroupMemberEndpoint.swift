import Store
import SyncProtocol

/// Removes a member from a sharing group, with the same consequences as if they had left it themselves.
///
/// The only admin cannot be removed. A repeated request is stale, since the first one has advanced the master version.
struct RemoveSharingGroupMemberEndpoint: Endpoint {
    /// - Throws: ``EndpointError/memberUnknown``, ``EndpointError/lastAdmin``.
    func respond(
        to request: RemoveSharingGroupMemberRequest, from caller: GroupCaller, in context: RequestContext
    ) throws -> EndpointReply {
        let change = GroupChange(
            group: request.sharingGroupUUID, masterVersion: request.masterVersion, caller: caller, context: context)
        let response = try change.make { session, member, version in
            let members = try session.members(of: member.groupID)
            try members.check(request.userID, isSpareIfLosingAdmin: true)
            try session.removeMember(request.userID, from: member.groupID, as: version, at: context.now)
        }
        return .json(response)
    }
}

extension RemoveSharingGroupMemberRequest: ServedRequest {
    typealias Handler = RemoveSharingGroupMemberEndpoint
}
