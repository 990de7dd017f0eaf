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
    /// `none`: the server has no refresh token for the caller's storage, and can use it only until the access token
    /// expires; in replies to CheckCreds, AddUser and RedeemSharingInvitation, absent otherwise.
    case offlineAccess = "syncserver-offline-access"
    /// `account_retired`: the type of the account with which the person signs in now.
    case activeAccountType = "syncserver-active-account-type"
    /// The JSON object of UploadFile and DownloadFile, ASCII on a single line.
    case messageParams = "syncserver-message-params"
    /// Repeats the `code` of an error body, since background transfers see headers before bodies.
    case errorCode = "syncserver-error-code"
    /// The address of a new upload, relative to that of the request.
    case location
    /// The number of bytes of an upload that need not be resent.
    case uploadOffset = "upload-offset"
    /// The total number of bytes of an upload.
    case uploadLength = "upload-length"
    /// Whether all bytes of an upload have arrived, `?1` or `?0` (draft-ietf-httpbis-resumable-upload).
    case uploadComplete = "upload-complete"
    /// The opposite of ``uploadComplete``, for clients of the third interop version.
    case uploadIncomplete = "upload-incomplete"
    /// The allowed sizes (draft-ietf-httpbis-resumable-upload).
    case uploadLimit = "upload-limit"
    /// When an upload expires (tus, extension expiration; RFC 9110, section 5.6.7).
    case uploadExpires = "upload-expires"
    /// The version of the tus protocol that the server uses.
    case tusResumable = "tus-resumable"
    /// The versions of the tus protocol that the server supports.
    case tusVersion = "tus-version"
    /// The extensions of the tus protocol that the server supports.
    case tusExtension = "tus-extension"
    /// The largest size of an upload.
    case tusMaximumSize = "tus-max-size"
    /// The digests that the server computes (tus, extension checksum).
    case tusChecksumAlgorithm = "tus-checksum-algorithm"
    /// What an intermediary may cache (RFC 9111, section 5.2).
    case cacheControl = "cache-control"
    /// Index: identifies the state that the reply describes; DownloadFile: the file's bytes (RFC 9110, section 8.8.3).
    case entityTag = "etag"
}
