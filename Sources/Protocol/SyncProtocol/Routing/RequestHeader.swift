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

    /// Errors: whether they are requested as `application/problem+json`.
    case accept = "Accept"

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
