import Store
import SyncProtocol

/// Withdraws a proposed switch. May be repeated: a proposal that no longer exists counts as withdrawn.
struct CancelAccountSwitchEndpoint: Endpoint {
    func respond(
        to request: CancelAccountSwitchRequest, from caller: SignedInPerson, in context: RequestContext
    ) throws -> EndpointReply {
        try context.store.transaction { session in
            guard let known = try session.accountSwitch(request.switchId, locked: true, at: context.now) else { return }
            let party: SwitchParty
            do {
                party = try SwitchParty(caller, about: request.switchId, at: context.now, &session)
            } catch EndpointError.userUnknown {
                throw EndpointError.switchUnknown
            }
            guard party.accountSwitch?.id == known.id else { throw EndpointError.switchUnknown }
            guard known.state == .proposed else { throw EndpointError.switchConfirmed }
            try session.withdraw(known.id)
        }
        return .json(EmptyResponse())
    }
}

extension CancelAccountSwitchRequest: ServedRequest {
    typealias Handler = CancelAccountSwitchEndpoint
}
