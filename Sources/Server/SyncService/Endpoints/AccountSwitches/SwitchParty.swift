import Providers
import Store
import SyncProtocol

/// The caller of a request about a switch: somebody who signs in with the identity's active account or its proposed
/// one.
struct SwitchParty {
    let user: UserRecord
    /// The requested switch; `nil` if there is none.
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
        // The owner may be about to return to an account that they left.
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
