import Providers
import Store
import SyncProtocol

/// Who asks about a switch: somebody who signs in with the identity's active account, or with the account of its proposal.
struct SwitchParty {
    let user: UserRecord
    /// The switch that was asked for; `nil` if there is none.
    let accountSwitch: AccountSwitch?

    /// - Parameter id: the switch; `nil` for the newest.
    /// - Throws: ``EndpointError/userUnknown``, ``EndpointError/accountRetired(by:)``.
    init(
        _ caller: SignedInPerson, about id: AccountSwitchID?, at now: WireDate, _ session: inout StoreSession
    ) throws {
        let (accountType, providerUserID) = (caller.presented.accountType, caller.profile.providerUserID)
        if let user = try session.user(accountType, providerUserID, device: nil)?.user {
            self.user = user
            let found =
                try id.map { try session.accountSwitch($0, at: now) } ?? session.newestSwitch(of: user.userID, at: now)
            accountSwitch = found.flatMap { $0.userID == user.userID ? $0 : nil }
            return
        }
        // An account that was left may be the one that its owner is about to return to.
        let proposed = try session.switchProposed(to: accountType, providerUserID, at: now)
        if let proposed, id == nil || id == proposed.id, let user = try session.user(proposed.userID) {
            self.user = user
            accountSwitch = proposed
            return
        }
        if let active = try session.activeAccountType(insteadOf: accountType, providerUserID) {
            throw EndpointError.accountRetired(by: active)
        }
        throw EndpointError.userUnknown
    }
}
