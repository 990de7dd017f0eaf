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
    var authorizationCode: String?
    var redirectURI: String?
    var codeVerifier: String?
}

/// Proof that the person who begins or confirms a switch can still use the account that is to be left.
enum OldAccountProof {
    /// Checks the proof that the request has; without one, whether it is needed.
    /// - Parameter isRequired: whether it is needed in any case; else the configuration decides.
    /// - Parameter purpose: what a code in the proof is good for, see ``CredentialExchange/provedCredentials(for:)``; `nil` if
    ///   the token is enough, and a code is left alone.
    /// - Returns: whether the proof is more than an access token, which travels in every request: an authorization code that
    ///   was exchanged for this, or a password or key.
    /// - Throws: ``EndpointError/oldAccountProofRequired``, also if the proof is another account's;
    ///   ``EndpointError/malformedOldAccountProof``; ``AccountError`` if the provider could not be asked, or rejects the code.
    @discardableResult
    static func check(
        of user: UserRecord, isRequired: Bool = false, on device: DeviceUUID, for purpose: String?,
        in context: RequestContext
    ) throws -> Bool {
        guard let text = context.head.header(.oldAccountProof) else {
            if isRequired || context.services.settings.requiresOldAccountProof {
                throw EndpointError.oldAccountProofRequired
            }
            return false
        }
        guard let header = try? UntrustedJSON.decode(ProofHeader.self, from: Array(text.utf8)) else {
            throw EndpointError.malformedOldAccountProof
        }
        guard let account = context.services.storage.account(user.accountType) else {
            throw EndpointError.oldAccountProofRequired
        }
        let presented = PresentedCredentials(
            accountType: user.accountType, accessToken: header.accessToken,
            authorizationCode: header.authorizationCode, redirectURI: header.redirectURI,
            codeVerifier: header.codeVerifier.flatMap { CodeVerifier($0) }, accountID: header.accountID,
            microsoftAccessToken: header.microsoftAccessToken, accountDetails: header.accountDetails)
        guard header.codeVerifier == nil || presented.codeVerifier != nil,
            presented.redirectURI.map({ context.isAllowedRedirect($0) }) ?? true
        else { throw EndpointError.malformedOldAccountProof }
        do {
            let profile = try context.verify(presented, by: account)
            guard profile.providerUserID == user.providerUserID, profile.identityToken?.isExpired != true else {
                throw EndpointError.oldAccountProofRequired
            }
            guard let purpose else { return false }
            let person = SignedInPerson(
                presented: presented, account: account, profile: profile, device: device, isFresh: true)
            return try CredentialExchange(person, context).provedCredentials(for: purpose) != nil
        } catch AccountError.rejected {
            throw EndpointError.oldAccountProofRequired
        }
    }
}
