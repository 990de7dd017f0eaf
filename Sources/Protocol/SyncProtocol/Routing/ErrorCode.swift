/// The codes of error replies with their properties: the rows of the protocol's table (docs/protocol.md, section 4.2).
///
/// The server, nginx's files, the OpenAPI document and the client library use these rows.
public enum ErrorCode: String, CaseIterable, Sendable {
    case missingParameter = "missing_parameter"
    case repeatedParameter = "repeated_parameter"
    case malformedParameter = "malformed_parameter"
    case parameterTooLong = "parameter_too_long"
    case parameterOutOfRange = "parameter_out_of_range"
    case malformedQuery = "malformed_query"
    case missingHeader = "missing_header"
    case malformedHeader = "malformed_header"
    case unknownMimeType = "unknown_mime_type"
    case bodyLengthMismatch = "body_length_mismatch"
    case badRequest = "bad_request"
    case credentialsMissing = "credentials_missing"
    case signInTypeNotAllowed = "sign_in_type_not_allowed"
    case credentialsRejected = "credentials_rejected"
    case userUnknown = "user_unknown"
    case accountRetired = "account_retired"
    case storageAccountRequired = "storage_account_required"
    case serverNotAllowed = "server_not_allowed"
    case serverAcceptsAnyPassword = "server_accepts_any_password"
    case storageUnusable = "storage_unusable"
    case endpointUnknown = "endpoint_unknown"
    case notFound = "not_found"
    case fileUnknown = "file_unknown"
    case appMetaDataUnknown = "app_meta_data_unknown"
    case invitationUnknown = "invitation_unknown"
    case groupUnknown = "group_unknown"
    case memberUnknown = "member_unknown"
    case uploadUnknown = "upload_unknown"
    case switchUnknown = "switch_unknown"
    case methodNotAllowed = "method_not_allowed"
    case transferTooSlow = "transfer_too_slow"
    case staleEpoch = "stale_epoch"
    case grantInvalid = "grant_invalid"
    case grantTooYoung = "grant_too_young"
    case freshSignInRequired = "fresh_sign_in_required"
    case undoExpired = "undo_expired"
    case accountInUse = "account_in_use"
    case switchInProgress = "switch_in_progress"
    case switchConfirmed = "switch_confirmed"
    case oldAccountProofRequired = "old_account_proof_required"
    case reuploadByOwnerOnly = "reupload_by_owner_only"
    case permissionTooLow = "permission_too_low"
    case groupExists = "group_exists"
    case userExists = "user_exists"
    case owningAccountRequired = "owning_account_required"
    case authorizationCodeRejected = "authorization_code_rejected"
    case storagePermissionMissing = "storage_permission_missing"
    case alreadyMember = "already_member"
    case ownerMissing = "owner_missing"
    case pushNotConfigured = "push_not_configured"
    case tooManyDevices = "too_many_devices"
    case quotaGroups = "quota_groups"
    case quotaInvitations = "quota_invitations"
    case quotaStagedChanges = "quota_staged_changes"
    case quotaStagedBytes = "quota_staged_bytes"
    case fileVersionMismatch = "file_version_mismatch"
    case appMetaDataVersionMismatch = "app_meta_data_version_mismatch"
    case mimeTypeChanged = "mime_type_changed"
    case fileDeleted = "file_deleted"
    case fileNotDeleted = "file_not_deleted"
    case fileInOtherGroup = "file_in_other_group"
    case uploadConflict = "upload_conflict"
    case uploadOffsetMismatch = "upload_offset_mismatch"
    case uploadNotResumable = "upload_not_resumable"
    case commitIdReused = "commit_id_reused"
    case batchMismatch = "batch_mismatch"
    case lastAdmin = "last_admin"
    case notAMember = "not_a_member"
    case ownerRemoved = "owner_removed"
    case cloudAuthorizationRevoked = "cloud_authorization_revoked"
    case invitationGone = "invitation_gone"
    case lengthRequired = "length_required"
    case protocolVersionUnsupported = "protocol_version_unsupported"
    case bodyTooLarge = "body_too_large"
    case appMetaDataTooLarge = "app_meta_data_too_large"
    case requestTooLong = "request_too_long"
    case mediaTypeUnsupported = "media_type_unsupported"
    case rangeNotSatisfiable = "range_not_satisfiable"
    case misdirectedRequest = "misdirected_request"
    case checksumMismatch = "checksum_mismatch"
    case pieceTooSmall = "piece_too_small"
    case pieceChecksumMismatch = "piece_checksum_mismatch"
    case contentMismatch = "content_mismatch"
    case tooManyRequests = "too_many_requests"
    case tooManyFailedSignIns = "too_many_failed_sign_ins"
    case quotaGroupRate = "quota_group_rate"
    case quotaInvitationRate = "quota_invitation_rate"
    case quotaCodeExchangeRate = "quota_code_exchange_rate"
    case quotaPushRegistrationRate = "quota_push_registration_rate"
    case quotaAccountSwitchRate = "quota_account_switch_rate"
    case tooManySimultaneousRequests = "too_many_simultaneous_requests"
    case tooManyTransfers = "too_many_transfers"
    case busy
    case `internal`
    case serverError = "server_error"
    case notImplemented = "not_implemented"
    case providerUnavailable = "provider_unavailable"
    case providerPaused = "provider_paused"
    case providerBusy = "provider_busy"
    case providerCircuitOpen = "provider_circuit_open"
    case providerMisconfigured = "provider_misconfigured"
    case cloudUnavailable = "cloud_unavailable"
    case cloudRateLimited = "cloud_rate_limited"
    case pushUnavailable = "push_unavailable"
    case pushRefused = "push_refused"
    case cloudRefused = "cloud_refused"
    case storageTermsNotAccepted = "storage_terms_not_accepted"
    case serverUnavailable = "server_unavailable"
    case databaseUnavailable = "database_unavailable"
    case maintenance
    case restoring
    case pushTimeout = "push_timeout"
    case cloudTimeout = "cloud_timeout"
    case serverTimeout = "server_timeout"
    case httpVersionNotSupported = "http_version_not_supported"
    case cloudQuotaExceeded = "cloud_quota_exceeded"

    private struct Row {
        let status: Int
        let refusalClass: RefusalClass
        let isRetryable: Bool
        let sentence: String

        init(_ status: Int, _ refusalClass: RefusalClass, _ sentence: String, isRetryable: Bool = false) {
            self.status = status
            self.refusalClass = refusalClass
            self.isRetryable = isRetryable
            self.sentence = sentence
        }
    }

    private var row: Row {
        switch self {
        case .missingParameter: Row(400, .file, "a required parameter is missing")
        case .repeatedParameter: Row(400, .file, "a parameter is given more than once")
        case .malformedParameter: Row(400, .file, "a parameter is malformed")
        case .parameterTooLong: Row(400, .file, "a parameter is too long")
        case .parameterOutOfRange: Row(400, .file, "a parameter is out of range")
        case .malformedQuery: Row(400, .file, "the query is not percent-encoded UTF-8")
        case .missingHeader: Row(400, .caller, "SyncServer-Device-UUID is missing")
        case .malformedHeader: Row(400, .caller, "a header is malformed")
        case .unknownMimeType: Row(400, .file, "mimeType is not a type that this server accepts")
        case .bodyLengthMismatch:
            Row(400, .world, "the body is shorter or longer than its Content-Length", isRetryable: true)
        case .badRequest: Row(400, .world, "the request is malformed, or needs HTTPS")
        case .credentialsMissing: Row(401, .caller, "X-token-type or access_token is missing")
        case .signInTypeNotAllowed: Row(401, .caller, "this kind of account is not accepted here")
        case .credentialsRejected: Row(401, .caller, "the access token is not accepted")
        case .userUnknown: Row(401, .caller, "there is no such user")
        case .accountRetired: Row(401, .caller, "the user has switched to another account and must sign in with it")
        case .storageAccountRequired: Row(403, .caller, "this invitation requires an account with cloud storage")
        case .serverNotAllowed: Row(403, .caller, "this server does not allow the address in X-account-details")
        case .serverAcceptsAnyPassword:
            Row(403, .caller, "the server in X-account-details accepts any password, or shows the folder to everybody")
        case .storageUnusable: Row(403, .caller, "files cannot be stored at the address in X-account-details")
        case .endpointUnknown: Row(404, .world, "there is no such endpoint")
        case .notFound: Row(404, .world, "there is nothing at this path")
        case .fileUnknown: Row(404, .knowledge, "the sharing group has no such file")
        case .appMetaDataUnknown: Row(404, .knowledge, "the file has no appMetaData")
        case .invitationUnknown: Row(404, .knowledge, "there is no such invitation")
        case .groupUnknown: Row(404, .caller, "there is no such sharing group for this user")
        case .memberUnknown: Row(404, .knowledge, "the sharing group has no such member")
        case .uploadUnknown: Row(404, .knowledge, "there is no such upload, or it has expired")
        case .switchUnknown: Row(404, .knowledge, "there is no such account switch, or it has expired")
        case .methodNotAllowed: Row(405, .world, "this method is not allowed here")
        case .transferTooSlow: Row(408, .world, "the body arrived too slowly", isRetryable: true)
        case .staleEpoch:
            Row(409, .knowledge, "the user has switched accounts; CheckCreds reports the current epoch")
        case .grantInvalid: Row(409, .caller, "the device has no valid grant for this identity")
        case .grantTooYoung:
            Row(
                409, .caller,
                "the device's grant is too recent; send a new authorization code of the current account, "
                    + "use an older device, or sign in again after `usableFrom`")
        case .freshSignInRequired:
            Row(409, .caller, "this requires a new authorization code of the account, or its password")
        case .undoExpired: Row(409, .caller, "the switch can no longer be undone")
        case .accountInUse: Row(409, .caller, "the account belongs, or used to belong, to an identity")
        case .switchInProgress: Row(409, .knowledge, "a switch to another account is in progress")
        case .switchConfirmed: Row(409, .knowledge, "the switch has been confirmed and can no longer be cancelled")
        case .oldAccountProofRequired:
            Row(409, .caller, "this server requires credentials of the account to be left")
        case .reuploadByOwnerOnly:
            Row(409, .caller, "the server cannot verify these bytes, so only their owner may upload them again")
        case .permissionTooLow: Row(409, .caller, "the member's permission is insufficient")
        case .groupExists: Row(409, .knowledge, "a sharing group with this UUID already exists")
        case .userExists: Row(409, .knowledge, "this account already has a user")
        case .owningAccountRequired: Row(409, .caller, "this requires an account with cloud storage")
        case .authorizationCodeRejected:
            Row(409, .caller, "the authorization code has been used, has expired, or is not the user's")
        case .storagePermissionMissing: Row(409, .storage, "the person has not granted access to their storage")
        case .alreadyMember: Row(409, .knowledge, "the user is already a member of this sharing group")
        case .ownerMissing: Row(409, .storage, "no storage is available for the files")
        case .pushNotConfigured: Row(409, .world, "this server does not notify devices of this kind")
        case .tooManyDevices: Row(409, .caller, "the user has reached the maximum number of devices")
        case .quotaGroups: Row(409, .caller, "the user has reached the maximum number of sharing groups")
        case .quotaInvitations: Row(409, .caller, "the user has reached the maximum number of open invitations")
        case .quotaStagedChanges: Row(409, .caller, "the user has reached the maximum number of staged changes")
        case .quotaStagedBytes: Row(409, .caller, "the user's staged metadata have reached the maximum size")
        case .fileVersionMismatch:
            Row(
                409, .knowledge,
                "fileVersion does not match the current version; an upload requires that plus 1, or 0 for a new file")
        case .appMetaDataVersionMismatch: Row(409, .knowledge, "the version of appMetaData is not the expected one")
        case .mimeTypeChanged: Row(409, .file, "the file has a different mimeType")
        case .fileDeleted: Row(409, .knowledge, "the file is deleted")
        case .fileNotDeleted: Row(409, .knowledge, "there is no deleted file to undelete")
        case .fileInOtherGroup: Row(409, .file, "the file is in another sharing group")
        case .uploadConflict: Row(409, .knowledge, "another upload of this file interfered", isRetryable: true)
        case .uploadOffsetMismatch: Row(409, .knowledge, "the upload continues at a different offset")
        case .uploadNotResumable: Row(409, .knowledge, "this storage accepts a file only in a single request")
        case .commitIdReused:
            Row(409, .knowledge, "this device has used this commitId for another commit in this sharing group")
        case .batchMismatch:
            Row(409, .knowledge, "the batch has a different batchCount, or was committed without this change")
        case .lastAdmin: Row(409, .caller, "the sharing group would have members but no admin")
        case .notAMember: Row(410, .caller, "the user is not a member of this sharing group")
        case .ownerRemoved: Row(410, .storage, "the file's owner is no longer a member")
        case .cloudAuthorizationRevoked: Row(410, .storage, "the owner must sign in again")
        case .invitationGone: Row(410, .knowledge, "there is no such invitation, or it has expired")
        case .lengthRequired: Row(411, .world, "Content-Length is required")
        case .protocolVersionUnsupported: Row(412, .world, "this version of tus is not supported")
        case .bodyTooLarge: Row(413, .file, "the body is larger than this endpoint accepts")
        case .appMetaDataTooLarge: Row(413, .file, "the metadata are larger than this server accepts")
        case .requestTooLong: Row(414, .file, "the query and headers together are longer than this server accepts")
        case .mediaTypeUnsupported: Row(415, .world, "this request requires a different Content-Type")
        case .rangeNotSatisfiable: Row(416, .knowledge, "the file ends before the requested range")
        case .misdirectedRequest: Row(421, .world, "this connection is not for that host")
        case .checksumMismatch: Row(422, .file, "the received bytes have a different checksum", isRetryable: true)
        case .pieceTooSmall: Row(422, .knowledge, "only the last piece may have so few bytes")
        case .pieceChecksumMismatch:
            Row(460, .world, "the body's digest differs from Upload-Checksum", isRetryable: true)
        case .contentMismatch: Row(422, .knowledge, "these are not the bytes that were uploaded as this version")
        case .tooManyRequests: Row(429, .world, "too many requests", isRetryable: true)
        case .tooManyFailedSignIns:
            Row(429, .world, "too many tokens from this address were rejected", isRetryable: true)
        case .quotaGroupRate:
            Row(429, .world, "the user has reached this server's hourly limit for this action", isRetryable: true)
        case .quotaInvitationRate:
            Row(429, .world, "the user has reached this server's hourly limit for this action", isRetryable: true)
        case .quotaCodeExchangeRate:
            Row(429, .world, "the user has reached this server's hourly limit for this action", isRetryable: true)
        case .quotaPushRegistrationRate:
            Row(429, .world, "the user has reached this server's hourly limit for this action", isRetryable: true)
        case .quotaAccountSwitchRate:
            Row(429, .world, "the user has reached this server's hourly limit for this action", isRetryable: true)
        case .tooManySimultaneousRequests:
            Row(429, .world, "the user has reached the maximum number of simultaneous requests", isRetryable: true)
        case .tooManyTransfers:
            Row(429, .world, "the user has reached the maximum number of simultaneous transfers", isRetryable: true)
        case .busy: Row(429, .world, "the server is busy", isRetryable: true)
        case .internal: Row(500, .world, "the server has a defect")
        case .serverError: Row(500, .world, "the server failed", isRetryable: true)
        case .notImplemented: Row(501, .world, "this transfer encoding or method is not supported")
        case .providerUnavailable: Row(502, .world, "the sign-in service is unavailable", isRetryable: true)
        case .providerPaused:
            Row(429, .world, "the provider has asked for a pause, or could not be reached", isRetryable: true)
        case .providerBusy: Row(429, .world, "too many requests are waiting for this provider", isRetryable: true)
        case .providerCircuitOpen: Row(429, .world, "this provider has not answered recently", isRetryable: true)
        case .providerMisconfigured: Row(502, .world, "the sign-in service rejects this server")
        case .cloudUnavailable: Row(502, .storage, "the storage provider is unavailable", isRetryable: true)
        case .cloudRateLimited: Row(502, .storage, "the storage provider is too busy", isRetryable: true)
        case .pushUnavailable: Row(502, .world, "the push service is unavailable", isRetryable: true)
        case .pushRefused: Row(502, .world, "the push service rejected the request")
        case .cloudRefused: Row(502, .file, "the storage provider rejected the request")
        case .storageTermsNotAccepted:
            Row(502, .storage, "the owner must accept the terms of service of their storage")
        case .serverUnavailable: Row(502, .world, "the server is currently unavailable", isRetryable: true)
        case .databaseUnavailable: Row(503, .world, "the database cannot be reached", isRetryable: true)
        case .maintenance: Row(503, .world, "the server is down for maintenance", isRetryable: true)
        case .restoring:
            Row(503, .world, "the server is being rebuilt, and has not got back to this person yet", isRetryable: true)
        case .pushTimeout: Row(504, .world, "the push service is too slow", isRetryable: true)
        case .cloudTimeout: Row(504, .storage, "the storage provider is too slow", isRetryable: true)
        case .serverTimeout: Row(504, .world, "the server took too long", isRetryable: true)
        case .httpVersionNotSupported: Row(505, .world, "this version of HTTP is not supported")
        case .cloudQuotaExceeded: Row(507, .storage, "the owner's cloud storage is full")
        }
    }

    /// What the refusal is about; this determines how a client treats a queued change.
    public var refusalClass: RefusalClass { row.refusalClass }
    /// The HTTP status of the code.
    public var status: Int { row.status }
    /// Whether the same request may succeed later, unchanged.
    public var isRetryable: Bool { row.isRetryable }
    /// A description for developers; a more specific error may replace it.
    public var sentence: String { row.sentence }
}

/// What a refusal is about. It determines how a client treats a queued change and the changes behind it.
public enum RefusalClass: String, CaseIterable, Sendable {
    /// This change: it would be refused again, while others would not. The client sets it aside and sends the others.
    case file
    /// The storage of the file's owner. The change waits until the owner has freed space or signed in again, or until
    /// the storage can be reached; the client sends files of other owners.
    case storage
    /// The caller: who they are, or what they may do. Changes wait until that changes.
    case caller
    /// The client's knowledge: its versions are out of date. It reads the index and applies the rules for conflicts.
    case knowledge
    /// None of these: the network, load, maintenance, a defect. The same request may succeed later.
    case world

    /// The class of a reply without a known code, such as a proxy's or a newer server's (RFC 9110, section 15).
    public init(status: Int) {
        self =
            switch status {
            case 413, 414: .file
            case 401: .caller
            case 507: .storage
            default: .world
            }
    }
}
