/// The codes of error replies. A test compares them with the table in docs/protocol.md, and another one that table with
/// what the server sends.
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
    case storageAccountRequired = "storage_account_required"
    case endpointUnknown = "endpoint_unknown"
    case fileUnknown = "file_unknown"
    case appMetaDataUnknown = "app_meta_data_unknown"
    case invitationUnknown = "invitation_unknown"
    case groupUnknown = "group_unknown"
    case memberUnknown = "member_unknown"
    case methodNotAllowed = "method_not_allowed"
    case permissionTooLow = "permission_too_low"
    case groupExists = "group_exists"
    case userExists = "user_exists"
    case owningAccountRequired = "owning_account_required"
    case authorizationCodeRejected = "authorization_code_rejected"
    case storagePermissionMissing = "storage_permission_missing"
    case alreadyMember = "already_member"
    case ownerMissing = "owner_missing"
    case tooManyDevices = "too_many_devices"
    case quotaGroups = "quota_groups"
    case quotaInvitations = "quota_invitations"
    case quotaStagedChanges = "quota_staged_changes"
    case quotaStagedBytes = "quota_staged_bytes"
    case quotaGroupRate = "quota_group_rate"
    case quotaInvitationRate = "quota_invitation_rate"
    case quotaCodeExchangeRate = "quota_code_exchange_rate"
    case quotaPushRegistrationRate = "quota_push_registration_rate"
    case fileVersionMismatch = "file_version_mismatch"
    case appMetaDataVersionMismatch = "app_meta_data_version_mismatch"
    case mimeTypeChanged = "mime_type_changed"
    case fileDeleted = "file_deleted"
    case fileNotDeleted = "file_not_deleted"
    case fileInOtherGroup = "file_in_other_group"
    case uploadConflict = "upload_conflict"
    case commitIdReused = "commit_id_reused"
    case batchMismatch = "batch_mismatch"
    case lastAdmin = "last_admin"
    case pushNotConfigured = "push_not_configured"
    case notAMember = "not_a_member"
    case ownerRemoved = "owner_removed"
    case cloudAuthorizationRevoked = "cloud_authorization_revoked"
    case invitationGone = "invitation_gone"
    case lengthRequired = "length_required"
    case bodyTooLarge = "body_too_large"
    case appMetaDataTooLarge = "app_meta_data_too_large"
    case requestTooLong = "request_too_long"
    case misdirectedRequest = "misdirected_request"
    case checksumMismatch = "checksum_mismatch"
    case transferTooSlow = "transfer_too_slow"
    case tooManyRequests = "too_many_requests"
    case tooManyFailedSignIns = "too_many_failed_sign_ins"
    case tooManySimultaneousRequests = "too_many_simultaneous_requests"
    case tooManyTransfers = "too_many_transfers"
    case busy
    case `internal`
    case notImplemented = "not_implemented"
    case providerUnavailable = "provider_unavailable"
    case providerBusy = "provider_busy"
    case providerCircuitOpen = "provider_circuit_open"
    case providerMisconfigured = "provider_misconfigured"
    case cloudUnavailable = "cloud_unavailable"
    case cloudRateLimited = "cloud_rate_limited"
    case cloudRefused = "cloud_refused"
    case pushUnavailable = "push_unavailable"
    case pushRefused = "push_refused"
    case pushTimeout = "push_timeout"
    case serverUnavailable = "server_unavailable"
    case databaseUnavailable = "database_unavailable"
    case maintenance
    case cloudTimeout = "cloud_timeout"
    case serverTimeout = "server_timeout"
    case httpVersionNotSupported = "http_version_not_supported"
    case cloudQuotaExceeded = "cloud_quota_exceeded"

    /// The HTTP status that goes with the code.
    public var status: Int {
        switch self {
        case .missingParameter, .repeatedParameter, .malformedParameter, .parameterTooLong,
            .parameterOutOfRange, .malformedQuery, .missingHeader, .malformedHeader, .unknownMimeType,
            .bodyLengthMismatch, .badRequest:
            400
        case .credentialsMissing, .signInTypeNotAllowed, .credentialsRejected, .userUnknown: 401
        case .storageAccountRequired: 403
        case .endpointUnknown, .fileUnknown, .appMetaDataUnknown, .invitationUnknown, .groupUnknown,
            .memberUnknown:
            404
        case .methodNotAllowed: 405
        case .permissionTooLow, .groupExists, .userExists, .owningAccountRequired,
            .authorizationCodeRejected, .storagePermissionMissing, .alreadyMember, .ownerMissing,
            .tooManyDevices, .fileVersionMismatch, .appMetaDataVersionMismatch, .mimeTypeChanged,
            .fileDeleted, .fileNotDeleted, .fileInOtherGroup, .uploadConflict, .commitIdReused,
            .batchMismatch, .lastAdmin, .pushNotConfigured, .quotaGroups, .quotaInvitations, .quotaStagedChanges,
            .quotaStagedBytes:
            409
        case .notAMember, .ownerRemoved, .cloudAuthorizationRevoked, .invitationGone: 410
        case .lengthRequired: 411
        case .bodyTooLarge, .appMetaDataTooLarge: 413
        case .requestTooLong: 414
        case .misdirectedRequest: 421
        case .checksumMismatch: 422
        case .transferTooSlow: 408
        case .tooManyRequests, .tooManySimultaneousRequests, .tooManyTransfers, .tooManyFailedSignIns, .busy,
            .quotaGroupRate, .quotaInvitationRate, .quotaCodeExchangeRate, .quotaPushRegistrationRate:
            429
        case .internal: 500
        case .notImplemented: 501
        case .providerUnavailable, .providerBusy, .providerCircuitOpen, .providerMisconfigured, .cloudUnavailable,
            .cloudRateLimited,
            .cloudRefused, .serverUnavailable, .pushUnavailable, .pushRefused:
            502
        case .databaseUnavailable, .maintenance: 503
        case .cloudTimeout, .serverTimeout, .pushTimeout: 504
        case .httpVersionNotSupported: 505
        case .cloudQuotaExceeded: 507
        }
    }

    // MARK: Groups that occur together

    /// On any endpoint: of the query as a whole, of nginx, of the database, and defects.
    static let anywhere: Set<ErrorCode> = [
        .badRequest, .malformedQuery, .endpointUnknown, .methodNotAllowed, .bodyTooLarge, .requestTooLong,
        .misdirectedRequest, .tooManyRequests, .busy, .internal, .notImplemented, .serverUnavailable,
        .databaseUnavailable, .maintenance, .serverTimeout, .httpVersionNotSupported,
    ]
    /// Where there are parameters.
    static let parameters: Set<ErrorCode> = [
        .missingParameter, .repeatedParameter, .malformedParameter, .parameterTooLong, .parameterOutOfRange,
    ]
    /// Where somebody signs in.
    static let signingIn: Set<ErrorCode> = [
        .missingHeader, .malformedHeader, .credentialsMissing, .signInTypeNotAllowed, .credentialsRejected,
        .tooManyFailedSignIns, .providerUnavailable, .providerBusy, .providerCircuitOpen, .providerMisconfigured,
        .cloudTimeout, .quotaCodeExchangeRate,
    ]
    /// Where the caller must be a user.
    static let users: Set<ErrorCode> = [.userUnknown, .tooManyDevices, .tooManySimultaneousRequests]
    /// Where tokens are exchanged.
    static let exchange: Set<ErrorCode> = [.authorizationCodeRejected, .storagePermissionMissing]
    /// Where a change is staged.
    static let staging: Set<ErrorCode> = [.quotaStagedChanges, .quotaStagedBytes]
    /// Where a cloud storage is used.
    static let storage: Set<ErrorCode> = [
        .cloudAuthorizationRevoked, .cloudUnavailable, .cloudRateLimited, .cloudRefused, .cloudTimeout,
        .cloudQuotaExceeded,
    ]
    /// Where a batch of changes may be complete, so that the request commits it.
    static let batches: Set<ErrorCode> = [
        .batchMismatch, .fileUnknown, .fileVersionMismatch, .appMetaDataVersionMismatch, .fileInOtherGroup,
        .ownerRemoved,
    ]
}
