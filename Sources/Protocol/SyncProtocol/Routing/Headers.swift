/// The request headers that the protocol knows. Names of request headers are case-insensitive.
public enum RequestHeader: String, Sendable, Hashable, CaseIterable {
    /// The kind of account: ``AccountType/tokenType``.
    case tokenType = "X-token-type"
    /// The third-party token; ``hyphenatedName`` is the same header. nginx drops this spelling unless
    /// `underscores_in_headers on` is set, and Caddy always does.
    case accessToken = "access_token"
    /// The caller's ``DeviceUUID``.
    case deviceUUID = "SyncServer-Device-UUID"
    /// A code that can be exchanged for tokens, once.
    case authorizationCode = "SyncServer-authorization-code"
    /// Obsolete spelling of ``authorizationCode``.
    case googleServerAuthCode = "SyncServer-Google-server-auth-code"
    /// The redirect URI with which ``authorizationCode`` was requested: a ``LoopbackRedirectURI``, or one that the
    /// server allows.
    case redirectURI = "SyncServer-redirect-uri"
    /// The ``CodeVerifier`` of the challenge with which ``authorizationCode`` was requested.
    case codeVerifier = "SyncServer-code-verifier"
    /// Dropbox: the account id.
    case accountID = "X-account-id"
    /// Apple: JSON with the person's name and address.
    case accountDetails = "X-account-details"
    /// Microsoft: the second token.
    case microsoftAccessToken = "X-microsoft-access-token"
    /// The ``AccountEpoch`` that the client knows; a request with an epoch that differs from the server's is rejected.
    case accountEpoch = "SyncServer-Account-Epoch"
    /// The ``DeviceGrant`` of the device.
    case deviceGrant = "SyncServer-Device-Grant"
    /// BeginAccountSwitch, ConfirmAccountSwitch: JSON with credentials of the account to be left; ``OldAccountProof``.
    case oldAccountProof = "SyncServer-Old-Account-Proof"
    /// Debug only: any value makes the endpoint fail.
    case failureTest = "SyncServer-FailureTest"

    /// Index and DownloadFile: what the client has; see ``ResponseHeader/entityTag``.
    case ifNoneMatch = "If-None-Match"
    /// DownloadFile: which bytes are requested (RFC 9110, section 14.2).
    case range = "Range"
    /// DownloadFile: identifies the bytes that the client has in part; if they have changed, it needs all of them.
    case ifRange = "If-Range"
    /// Changes: the state that the client knows: the id of the last event, or the entity tag of an Index without a group.
    case lastEventID = "Last-Event-ID"
    /// CreateUpload: the number of bytes of the whole upload.
    case uploadLength = "Upload-Length"
    /// AppendToUpload: the position in the upload of the body's first byte.
    case uploadOffset = "Upload-Offset"
    /// AppendToUpload: whether the body ends the upload, `?1` or `?0` (draft-ietf-httpbis-resumable-upload).
    case uploadComplete = "Upload-Complete"
    /// The opposite of ``uploadComplete`` in the third interop version of the draft.
    case uploadIncomplete = "Upload-Incomplete"
    /// The version of the draft that the client uses.
    case uploadDraftInteropVersion = "Upload-Draft-Interop-Version"
    /// The version of the tus protocol that the client uses.
    case tusResumable = "Tus-Resumable"
    /// AppendToUpload: algorithm and digest of the body (tus, extension checksum).
    case uploadChecksum = "Upload-Checksum"
    /// AppendToUpload: the media type of the body.
    case contentType = "Content-Type"

    /// Errors: whether they are requested as `application/problem+json`. Changes: whether a stream is requested.
    case accept = "Accept"
    /// Index: whether the reply may be compressed (RFC 9110, section 12.5.3).
    case acceptEncoding = "Accept-Encoding"

    /// The other spelling of a name with underscores, for proxies that drop these; nil for other names.
    public var hyphenatedName: String? {
        guard rawValue.contains("_") else { return nil }
        return rawValue.split(separator: "_", omittingEmptySubsequences: false).joined(separator: "-")
    }

    /// The name under which FastCGI passes the header, in both spellings (RFC 3875, section 4.1.18).
    public var fastCGIParameter: String {
        "HTTP_" + rawValue.uppercased().split(separator: "-", omittingEmptySubsequences: false).joined(separator: "_")
    }
}

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

/// The version of a server or an app as written in the protocol's headers: three integers separated by dots.
public struct ServerVersion: Sendable, Hashable, Comparable, RawRepresentable, CustomStringConvertible {
    /// The first number.
    public let major: Int
    /// The second number.
    public let minor: Int
    /// The third number.
    public let patch: Int

    /// Creates a version.
    public init(_ major: Int, _ minor: Int, _ patch: Int) {
        self.major = major
        self.minor = minor
        self.patch = patch
    }

    /// Parses `X.Y.Z`; nil for anything else, including fewer or more parts and signs.
    public init?(rawValue: String) {
        let parts = rawValue.split(separator: ".", omittingEmptySubsequences: false)
        let numbers = parts.compactMap { $0.utf8.allSatisfy { (0x30...0x39).contains($0) } ? Int($0) : nil }
        guard parts.count == 3, numbers.count == 3 else { return nil }
        self.init(numbers[0], numbers[1], numbers[2])
    }

    /// `X.Y.Z`.
    public var rawValue: String { "\(major).\(minor).\(patch)" }

    /// `X.Y.Z`.
    public var description: String { rawValue }

    /// Compares the first number, then the second, then the third.
    public static func < (left: Self, right: Self) -> Bool {
        (left.major, left.minor, left.patch) < (right.major, right.minor, right.patch)
    }
}

/// The statuses of replies.
package enum HTTPStatus {
    /// The name of a status (RFC 9110, section 15; RFC 6585, section 4; RFC 4918, section 11.5).
    package static func phrase(_ status: Int) -> String {
        switch status {
        case 200: "OK"
        case 201: "Created"
        case 204: "No Content"
        case 206: "Partial Content"
        case 304: "Not Modified"
        case 400: "Bad Request"
        case 401: "Unauthorized"
        case 403: "Forbidden"
        case 404: "Not Found"
        case 405: "Method Not Allowed"
        case 408: "Request Timeout"
        case 409: "Conflict"
        case 410: "Gone"
        case 411: "Length Required"
        case 412: "Precondition Failed"
        case 413: "Content Too Large"
        case 414: "URI Too Long"
        case 415: "Unsupported Media Type"
        case 416: "Range Not Satisfiable"
        case 422: "Unprocessable Content"
        // Of the tus protocol, extension checksum.
        case 460: "Checksum Mismatch"
        case 429: "Too Many Requests"
        case 502: "Bad Gateway"
        case 503: "Service Unavailable"
        case 504: "Gateway Timeout"
        case 507: "Insufficient Storage"
        default: "Internal Server Error"
        }
    }
}
