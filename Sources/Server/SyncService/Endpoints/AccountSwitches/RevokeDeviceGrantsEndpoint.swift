import Providers
import Store
import SyncProtocol

/// Revokes device grants of the caller, which can then no longer begin an account switch.
///
/// An access token alone revokes nothing; otherwise a stolen token could lock out the identity's devices. The grant in
/// the request revokes itself and younger ones; a new authorization code of the account, or its password, revokes any.
/// May be repeated. A device that still signs in gets a new grant on request.
struct RevokeDeviceGrantsEndpoint: Endpoint {
    func respond(
        to request: RevokeDeviceGrantsRequest, from caller: SignedInUser, in context: RequestContext
    ) throws -> EndpointReply {
        let isProved = try isProved(request, caller, context)
        let (revoked, kept) = try context.store.transaction { session in
            var word: [UInt8]?
            if !isProved {
                guard let grant = context.presentedGrant,
                    try session.useGrant(
                        grant.hash, of: caller.device, caller.userID,
                        signingInAt: context.services.settings.switches.minimumGrantAge, at: context.now)
                else { throw EndpointError.grantInvalid }
                word = grant.hash
            }
            return try session.revokeGrants(
                of: caller.userID, onDevice: request.grantDeviceUUID, exceptOn: caller.device, onTheWordOf: word,
                at: context.now)
        }
        return .json(RevokeDeviceGrantsResponse(numberRevoked: Int64(revoked), numberKept: Int64(kept)))
    }

    /// A code used for another purpose proves nothing, but does not invalidate what the grant permits.
    private func isProved(
        _ request: RevokeDeviceGrantsRequest, _ caller: SignedInUser, _ context: RequestContext
    ) throws -> Bool {
        let purpose = "RevokeDeviceGrants of \(request.grantDeviceUUID?.rawValue ?? "others than \(caller.device)")"
        do {
            return try CredentialExchange(caller.person, context).provedCredentials(for: purpose) != nil
        } catch AccountError.codeRejected {
            return false
        }
    }
}

extension RevokeDeviceGrantsRequest: ServedRequest {
    typealias Handler = RevokeDeviceGrantsEndpoint
}
