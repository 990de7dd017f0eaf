import Accounts
import SyncProtocol

/// A sign-in service that knows whoever presents `good NAME`.
struct FakeAccount: AccountProvider {
    var accountType: AccountType

    func verify(
        _ presented: PresentedCredentials, through client: AccountClient
    ) throws(AccountError) -> SignInProfile {
        switch presented.accessToken {
        case "down": throw .unavailable(detail: "s3cret")
        case "slow": throw .timedOut
        case "misconfigured": throw .misconfigured(detail: "s3cret")
        default:
            guard presented.accessToken.hasPrefix("good ") else { throw .rejected }
            let name = String(presented.accessToken.dropFirst(5))
            return SignInProfile(providerUserID: name, displayName: name)
        }
    }

    func credentials(from presented: PresentedCredentials) -> StoredCredentials {
        StoredCredentials(accessToken: presented.accessToken)
    }
}
