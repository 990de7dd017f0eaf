import Store
import SyncProtocol

/// Removes the caller's user, with memberships, devices and tokens; the files in their storage belong to them and stay.
///
/// Everything is one transaction. The second of two identical concurrent requests finds nothing left to do and gets the
/// same reply; a later one gets the error for an unknown user.
struct RemoveUserEndpoint: Endpoint {
    func respond(
        to request: RemoveUserRequest, from caller: SignedInUser, in context: RequestContext
    ) throws -> EndpointReply {
        _ = try context.store.transaction { session in
            try session.removeUser(caller.userID, at: context.now)
        }
        return .json(EmptyResponse())
    }
}

extension RemoveUserRequest: ServedRequest {
    typealias Handler = RemoveUserEndpoint
}
