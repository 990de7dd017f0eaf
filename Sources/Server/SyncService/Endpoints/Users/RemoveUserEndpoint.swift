import Store
import SyncProtocol

/// Removes the caller's user, with memberships, devices and tokens; the files in their storage are theirs and stay.
///
/// All of it is one transaction. Of two equal requests at once the second finds nothing left to do and gets the same
/// reply; a later one is told that there is no such user.
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
