import Providers
import Store
import SyncProtocol
import UntrustedInput
import Vault

/// Credentials of the account that is to be left, which a person who still has them sends along: the members of a JSON
/// object, as the headers of a sign-in with that account.
private struct ProofHeader: Decodable {
    var accessToken: String
    var accountID: String?
    var microsoftAccessToken: String?
    var accountDetails: String?
}

/// Proof that the person who begins or confirms a switch can still use the account that is to be left.
enum OldAccountProof {
    /// Checks the proof that the request has; without one, whether it is needed.
    /// - Parameter isRequired: whether it is needed in any case; else the configuration decides.
    /// - Throws: ``EndpointError/oldAccountProofRequired``, also if the proof is another account's;
    ///   ``EndpointError/malformedOldAccountProof``; ``AccountError`` if the provider could not be asked.
    static func check(of user: UserRecord, isRequired: Bool = false, in context: RequestContext) throws {
        guard let text = context.head.header(.oldAccountProof) else {
            if isRequired || context.services.settings.requiresOldAccountProof {
                throw EndpointError.oldAccountProofRequired
            }
            return
        }
        guard let header = try? UntrustedJSON.decode(ProofHeader.self, from: Array(text.utf8)) else {
            throw EndpointError.malformedOldAccountProof
        }
        guard let account = context.services.storage.account(user.accountType) else {
            throw EndpointError.oldAccountProofRequired
        }
        let presented = PresentedCredentials(
            accountType: user.accountType, accessToken: header.accessToken, accountID: header.accountID,
            microsoftAccessToken: header.microsoftAccessToken, accountDetails: header.accountDetails)
        do {
            let profile = try context.verify(presented, by: account)
            guard profile.providerUserID == user.providerUserID, profile.identityToken?.isExpired != true else {
                throw EndpointError.oldAccountProofRequired
            }
        } catch AccountError.rejected {
            throw EndpointError.oldAccountProofRequired
        }
    }
}
