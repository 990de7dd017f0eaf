import Store
import SyncProtocol

/// Makes a sharing group with the caller as its admin.
///
/// A repeated request finds the group that the first one made, and gets the same reply.
struct CreateSharingGroupEndpoint: Endpoint {
    /// - Throws: ``EndpointError/owningAccountRequired``, ``EndpointError/groupExists``.
    func respond(to request: CreateSharingGroupRequest, in context: RequestContext) throws -> EndpointReply {
        let caller = context.caller
        guard caller.accountType.cloudStorageType != nil else { throw EndpointError.owningAccountRequired }
        do {
            try context.store.transaction { session in
                guard try session.holdUser(caller.userID) else { throw EndpointError.userUnknown }
                try session.addGroup(
                    request.sharingGroupUUID, name: request.sharingGroupName, creator: caller.userID, at: context.now)
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
