import Store
import SyncProtocol

/// Takes a member out of a sharing group, with the same consequences as if they had left it themselves.
///
/// The only admin cannot be taken out. A repeated request is stale, since the first one has advanced the master version.
struct RemoveSharingGroupMemberEndpoint: Endpoint {
    /// - Throws: ``EndpointError/memberUnknown``, ``EndpointError/lastAdmin``.
    func respond(to request: RemoveSharingGroupMemberRequest, in context: RequestContext) throws -> EndpointReply {
        let change = GroupChange(
            group: request.sharingGroupUUID, masterVersion: request.masterVersion, permission: .admin,
            context: context)
        let response = try change.make { session, membership, version in
            let members = try session.members(of: membership.groupID)
            try members.check(request.userID, isSpareIfLosingAdmin: true)
            try session.removeMember(request.userID, from: membership.groupID, as: version, at: context.now)
        }
        return .json(response)
    }
}
