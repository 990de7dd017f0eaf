import Store
import SyncProtocol

/// Ends a switch. One transaction; a repeated request finds the switch finished and gets the same reply.
struct FinishAccountSwitchEndpoint: Endpoint {
    func respond(
        to request: FinishAccountSwitchRequest, from caller: SignedInUser, in context: RequestContext
    ) throws -> EndpointReply {
        let isKnown = try context.store.transaction { session in
            let isKnown = try session.finishSwitch(
                request.switchId, of: caller.userID, request.missing, at: context.now)
            try context.scheduleIndexPage(of: caller.record, using: &session)
            return isKnown
        }
        guard isKnown else { throw EndpointError.switchUnknown }
        return .json(FinishAccountSwitchResponse(accountEpoch: caller.record.accountEpoch))
    }
}

extension FinishAccountSwitchRequest: ServedRequest {
    typealias Handler = FinishAccountSwitchEndpoint
}
