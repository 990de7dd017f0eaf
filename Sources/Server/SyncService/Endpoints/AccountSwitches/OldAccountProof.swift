import Providers
import Store
import SyncProtocol
import UntrustedInput
import Vault

/// Credentials of the account to be left, sent by a person who still has them: the members of a JSON object with the
/// same meaning as the headers of a sign-in with that account.
private struct ProofHeader: Decodable {
    var accessToken: String
    var accountID: String?
    var microsoftAccessToken: String?
    var accountDetails: String?
    var authorizationCode: String?
    var redirectURI: String?
    var codeVerifier: String?
}

/// Proof that the person who begins or confirms a switch can still use the account to be left.
enum OldAccountProof {
    /// Checks the proof in the request; if there is none, checks whether one is required.
    /// - Parameter isRequired: whether a proof is always required; otherwise the configuration decides.
    /// - Parameter purpose: the purpose of a code in the proof, see ``CredentialExchange/provedCredentials(for:)``;
    ///   `nil` if the token suffices, and a code is ignored.
    /// - Returns: whether the proof is stronger than an access token, which every request contains: an authorization
    ///   code exchanged for this purpose, or a password or key.
    /// - Throws: ``EndpointError/oldAccountProofRequired``, also if the proof belongs to another account;
    ///   ``EndpointError/malformedOldAccountProof``; ``AccountError`` if the provider could not be asked, or rejects
    ///   the code.
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
