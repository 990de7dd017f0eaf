import Providers
import Store
import SyncProtocol

/// Makes the caller's account the active one of the identity for which it was proposed.
///
/// One transaction; a repeated request finds the switch confirmed and gets the same reply. If the server is asked to
/// move the files' bytes, it first checks that it can still read them.
struct ConfirmAccountSwitchEndpoint: Endpoint {
    func respond(
        to request: ConfirmAccountSwitchRequest, from caller: SignedInPerson, in context: RequestContext
    ) throws -> EndpointReply {
        let (accountType, providerUserID) = (caller.presented.accountType, caller.profile.providerUserID)
        let move =
            request.moveContents
            ? try ContentMoveOffer(context: context).accept(request.switchId, from: caller) : nil
        let (confirmed, isMoving) = try context.store.transaction { session in
            let known = try session.accountSwitch(request.switchId, at: context.now)
            guard let known, known.leads(to: accountType, providerUserID) else { throw EndpointError.switchUnknown }
            let confirmed = try session.confirmSwitch(
                request.switchId, expecting: request.expectedEpoch, moving: move, at: context.now)
            if known.state == .proposed {
                if let storage = accountType.cloudStorageType, context.services.settings.writesWarningFile {
                    try session.addWarningFile(
                        for: OwningUser(userID: confirmed.userID, storageType: storage), at: context.now)
                }
                try session.addPush(
                    SwitchNotice.confirmed(to: accountType), toDevicesOf: confirmed.userID, at: context.now)
            }
            return (confirmed, try session.movesContents(of: confirmed.userID, since: confirmed.id))
        }
        guard let epoch = confirmed.accountEpoch, let total = confirmed.filesTotal else {
            throw StoreError.corrupt(table: "account_switches", column: "account_epoch")
        }
        return .json(
            ConfirmAccountSwitchResponse(
                accountEpoch: epoch, numberAwaiting: total, movesContents: request.moveContents ? isMoving : nil))
    }
}

extension ConfirmAccountSwitchRequest: ServedRequest {
    typealias Handler = ConfirmAccountSwitchEndpoint
}
