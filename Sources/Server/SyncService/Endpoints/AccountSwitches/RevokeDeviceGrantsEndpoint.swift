import Store
import SyncProtocol

/// Revokes device grants of the caller: nobody can begin an account switch with them any more.
///
/// May be repeated. A device that still signs in gets a new grant when it asks for one.
struct RevokeDeviceGrantsEndpoint: Endpoint {
    func respond(
        to request: RevokeDeviceGrantsRequest, from caller: SignedInUser, in context: RequestContext
    ) throws -> EndpointReply {
        try context.store.transaction { session in
            try session.revokeGrants(
                of: caller.userID, onDevice: request.grantDeviceUUID, exceptOn: caller.device)
        }
        return .json(EmptyResponse())
    }
}

extension RevokeDeviceGrantsRequest: ServedRequest {
    typealias Handler = RevokeDeviceGrantsEndpoint
}
