import Logging
import Providers
import SyncProtocol
import Vault

/// Tells everybody concerned that the server can use a person's storage only until their access token ends.
///
/// Google gives a refresh token with the first consent only, Dropbox only for codes asked for with
/// `token_access_type=offline`; without one, files of theirs cannot be reached by others while they are away.
enum OfflineAccess {
    /// Says so if `credentials`, of an account with storage, have no refresh token: with a header in every reply, and in log
    /// and statistics for each new sign-in.
    static func note(
        _ credentials: StoredCredentials?, of accountType: AccountType, isNew: Bool, _ context: RequestContext
    ) {
        guard accountType.cloudStorageType != nil, credentials?.refreshToken == nil else { return }
        context.replyHeaders.append((name: ResponseHeader.offlineAccess.rawValue, value: "none"))
        guard isNew else { return }
        context.hasSignedInWithoutOfflineAccess = true
        context.logger.warning(
            "Signed in without a refresh token: the storage is out of reach once the access token ends")
    }
}
