import Store
import SyncProtocol

/// Creates a sharing group with the caller as its admin.
///
/// A repeated request finds the group that the first one created, and gets the same reply.
struct CreateSharingGroupEndpoint: Endpoint {
    /// - Throws: ``EndpointError/owningAccountRequired``, ``EndpointError/groupExists``, a reached quota.
    func respond(
        to request: CreateSharingGroupRequest, from caller: SignedInUser, in context: RequestContext
    ) throws -> EndpointReply {
        guard caller.record.accountType.cloudStorageType != nil else { throw EndpointError.owningAccountRequired }
        do {
            try context.store.transaction { session in
                // An exclusive lock, so that the caller's groups can be counted.
                guard try session.lockUser(caller.userID) else { throw EndpointError.userUnknown }
                try session.addGroup(
                    request.sharingGroupUUID, name: request.sharingGroupName, creator: caller.userID, at: context.now)
                try context.checkGroups(of: caller.userID, in: &session)
                try context.use(.groupsPerHour, of: caller.person, in: &session)
            }
        } catch StoreError.alreadyExists {
            let existing = try context.store.withSession { session in
                try session.membership(of: caller.userID, in: request.sharingGroupUUID)
            }
            guard let existing, existing.permission == .admin, existing.invitation == nil else {
                throw EndpointError.groupExists
            }
        }
        return .json(EmptyResponse())
    }
}

extension CreateSharingGroupRequest: ServedRequest {
    typealias Handler = CreateSharingGroupEndpoint
}
