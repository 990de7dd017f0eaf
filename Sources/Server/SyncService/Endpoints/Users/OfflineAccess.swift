import Logging
import Providers
import SyncProtocol
import Vault

/// Reports that the server can use a person's storage only until their access token expires.
///
/// Google issues a refresh token with the first consent only, Dropbox only for codes requested with
/// `token_access_type=offline`; without one, others cannot reach the person's files while they are away.
enum OfflineAccess {
    /// Reports it if `credentials`, of an account with storage, will expire: in a header of every reply, and
    /// in log and statistics for each new sign-in.
    static func note(
        _ credentials: StoredCredentials?, of accountType: AccountType, isNew: Bool, _ context: RequestContext
    ) {
        guard accountType.cloudStorageType != nil, credentials?.hasOfflineAccess != true else { return }
        context.replyHeaders.append((name: ResponseHeader.offlineAccess.rawValue, value: "none"))
        guard isNew else { return }
        context.hasSignedInWithoutOfflineAccess = true
        context.logger.warning(
            "Signed in without a refresh token: the storage is out of reach once the access token ends")
    }
}
