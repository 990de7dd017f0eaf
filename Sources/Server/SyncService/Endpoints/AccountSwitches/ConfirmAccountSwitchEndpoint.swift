import Providers
import Store
import SyncProtocol

/// Makes the caller's account the active one of the identity for which it was proposed.
///
/// One transaction; a repeated request finds the switch confirmed and gets the same reply.
struct ConfirmAccountSwitchEndpoint: Endpoint {
    func respond(
        to request: ConfirmAccountSwitchRequest, from caller: SignedInPerson, in context: RequestContext
    ) throws -> EndpointReply {
        let (accountType, providerUserID) = (caller.presented.accountType, caller.profile.providerUserID)
        let confirmed = try context.store.transaction { session in
            let known = try session.accountSwitch(request.switchId, at: context.now)
            guard let known, known.leads(to: accountType, providerUserID) else { throw EndpointError.switchUnknown }
            let confirmed = try session.confirmSwitch(
                request.switchId, expecting: request.expectedEpoch, at: context.now)
            if known.state == .proposed {
                if let storage = accountType.cloudStorageType, context.services.settings.writesWarningFile {
                    try session.addWarningFile(
                        for: OwningUser(userID: confirmed.userID, storageType: storage), at: context.now)
                }
                try session.addPush(
                    SwitchNotice.confirmed(to: accountType), toDevicesOf: confirmed.userID, at: context.now)
            }
            return confirmed
        }
        guard let epoch = confirmed.accountEpoch, let total = confirmed.filesTotal else {
            throw StoreError.corrupt(table: "account_switches", column: "account_epoch")
        }
        return .json(ConfirmAccountSwitchResponse(accountEpoch: epoch, numberAwaiting: total))
    }
}

extension ConfirmAccountSwitchRequest: ServedRequest {
    typealias Handler = ConfirmAccountSwitchEndpoint
}
