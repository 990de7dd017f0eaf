import Store
import SyncProtocol

/// Reports the progress of a switch, and which files wait for their bytes. Reads only; may be repeated.
struct GetAccountSwitchStatusEndpoint: Endpoint {
    func respond(
        to request: GetAccountSwitchStatusRequest, from caller: SignedInPerson, in context: RequestContext
    ) throws -> EndpointReply {
        try context.store.snapshot { session in
            let party = try SwitchParty(caller, about: request.switchId, at: context.now, &session)
            context.note(party.user)
            guard let accountSwitch = party.accountSwitch else {
                guard request.switchId == nil else { throw EndpointError.switchUnknown }
                return .json(
                    GetAccountSwitchStatusResponse(
                        state: .none, switchId: nil, accountEpoch: party.user.accountEpoch))
            }
            let isInProgress = accountSwitch.state == .reuploading
            let count = isInProgress ? try session.awaitingCount(of: party.user.userID) : 0
            let pageSize = GetAccountSwitchStatusResponse.pageSize
            let page =
                isInProgress
                ? try session.awaitingFiles(of: party.user.userID, after: request.cursor, limit: pageSize) : []
            return .json(
                GetAccountSwitchStatusResponse(
                    state: AccountSwitchState(accountSwitch.state), switchId: accountSwitch.id,
                    accountEpoch: party.user.accountEpoch, numberAwaiting: count,
                    numberDone: max(0, (accountSwitch.filesTotal ?? 0) - count),
                    nextCursor: page.count == pageSize ? page.last?.cursor : nil, awaiting: page.map(\.file),
                    serverMove: try serverMove(of: accountSwitch.id, &session)))
        }
    }

    private func serverMove(
        of id: AccountSwitchID, _ session: inout StoreSession
    ) throws -> GetAccountSwitchStatusResponse.ServerMove? {
        guard let move = try session.accountMove(of: id) else { return nil }
        return GetAccountSwitchStatusResponse.ServerMove(
            state: ServerMoveState(move.state), numberMoved: move.filesMoved, bytesMoved: move.bytesMoved,
            numberFailed: try session.failedCount(of: id))
    }
}

extension ServerMoveState {
    fileprivate init(_ state: AccountMove.State) {
        self =
            switch state {
            case .moving: .moving
            case .done: .done
            case .failed: .failed
            case .ended: .ended
            }
    }
}

extension GetAccountSwitchStatusRequest: ServedRequest {
    typealias Handler = GetAccountSwitchStatusEndpoint
}
