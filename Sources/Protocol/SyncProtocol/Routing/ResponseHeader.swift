/// The response headers of the protocol.
///
/// They must be sent byte for byte as spelled here, in lower case: clients look them up in a case-sensitive way.
public enum ResponseHeader: String, Sendable, Hashable, CaseIterable {
    /// The server's version, three integers with dots; in every response, also in errors.
    case serverVersion = "syncserver-version"
    /// The least version of the iOS app that may go on, three integers with dots; only if configured.
    case minimumIOSClientAppVersion = "syncserver-minimum-ios-client-app-version"
    /// A longer-lived token for the client to use from now on (Facebook).
    case accessToken = "syncserver-access-token"
    /// `none`: the server has no refresh token for the caller's storage, so it can use that only until the access token ends;
    /// in replies to CheckCreds, AddUser and RedeemSharingInvitation, absent otherwise.
    case offlineAccess = "syncserver-offline-access"
    /// The JSON object of UploadFile and DownloadFile, ASCII on a single line.
    case messageParams = "syncserver-message-params"
    /// Repeats the `code` of an error body, since background transfers see headers before bodies.
    case errorCode = "syncserver-error-code"
    /// Index: names the state that the reply describes (RFC 9110, section 8.8.3).
    case entityTag = "etag"
}
