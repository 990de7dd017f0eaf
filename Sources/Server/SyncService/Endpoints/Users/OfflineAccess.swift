import Logging
import Providers
import SyncProtocol
import Vault

/// Reports that the server can use a person's storage only until their access token expires.
///
/// Google issues a refresh token only with the first consent, and Dropbox only for codes requested with
/// `token_access_type=offline`. Without one, others cannot access the person's files while the person is away.
enum OfflineAccess {
    /// Reports it if `credentials`, of an account with storage, will expire: in a header of every reply, and in the log
    /// and the statistics for each new sign-in.
    static func note(
        _ credentials: StoredCredentials?, of accountType: AccountType, isNew: Bool, _ context: RequestContext
    ) {
        guard accountType.cloudStorageType != nil, credentials?.hasOfflineAccess != true else { return }
        context.replyHeaders.append((name: ResponseHeader.offlineAccess.rawValue, value: "none"))
        guard isNew else { return }
        context.hasSignedInWithoutOfflineAccess = true
        context.logger.warning(
            "Signed in without a refresh token: the storage is inaccessible once the access token ends")
    }
}
