/// The response headers of the protocol.
///
/// They must be sent byte for byte as spelled here, in lower case: clients look them up case-sensitively.
public enum ResponseHeader: String, Sendable, Hashable, CaseIterable {
    /// The server's version, three integers separated by dots; in every response, including errors.
    case serverVersion = "syncserver-version"
    /// The minimum supported version of the iOS app, three integers separated by dots; only if configured.
    case minimumIOSClientAppVersion = "syncserver-minimum-ios-client-app-version"
    /// A longer-lived token for the client to use from now on (Facebook).
    case accessToken = "syncserver-access-token"
    /// `none`: the server has no refresh token for the caller's storage, so it can use that only until the access token
    /// expires; in replies to CheckCreds, AddUser and RedeemSharingInvitation, absent otherwise.
    case offlineAccess = "syncserver-offline-access"
    /// `account_retired`: the type of the account with which the person signs in now.
    case activeAccountType = "syncserver-active-account-type"
    /// The JSON object of UploadFile and DownloadFile, ASCII on a single line.
    case messageParams = "syncserver-message-params"
    /// Repeats the `code` of an error body, since background transfers see headers before bodies.
    case errorCode = "syncserver-error-code"
    /// Index: identifies the state that the reply describes; DownloadFile: the file's bytes (RFC 9110, section 8.8.3).
    case entityTag = "etag"
}
