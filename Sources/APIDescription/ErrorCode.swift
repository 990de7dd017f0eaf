/// The codes of error replies. A test compares them with the table in docs/protocol.md, and another one that table with
/// what the server sends.
public enum ErrorCode: String, CaseIterable, Sendable {
    case missing_parameter, repeated_parameter, malformed_parameter, parameter_too_long, parameter_out_of_range
    case malformed_query, missing_header, malformed_header, unknown_mime_type, body_length_mismatch, bad_request
    case credentials_missing, sign_in_type_not_allowed, credentials_rejected, user_unknown
    case storage_account_required
    case endpoint_unknown, file_unknown, app_meta_data_unknown, invitation_unknown, group_unknown, member_unknown
    case method_not_allowed
    case permission_too_low, group_exists, user_exists, owning_account_required
    case authorization_code_rejected, storage_permission_missing, already_member, owner_missing, too_many_devices
    case file_version_mismatch, app_meta_data_version_mismatch, mime_type_changed, file_deleted, file_not_deleted
    case file_in_other_group, upload_conflict, commit_id_reused, batch_mismatch, last_admin, push_not_configured
    case not_a_member, owner_removed, cloud_authorization_revoked, invitation_gone
    case length_required, body_too_large, app_meta_data_too_large, request_too_long
    case misdirected_request, checksum_mismatch, too_many_requests, busy
    case `internal`, not_implemented
    case provider_unavailable, provider_misconfigured, cloud_unavailable, cloud_rate_limited, cloud_refused
    case push_unavailable, push_refused, push_timeout
    case server_unavailable, database_unavailable, maintenance, cloud_timeout, server_timeout
    case http_version_not_supported, cloud_quota_exceeded

    /// The HTTP status that goes with the code.
    public var status: Int {
        switch self {
        case .missing_parameter, .repeated_parameter, .malformed_parameter, .parameter_too_long,
            .parameter_out_of_range, .malformed_query, .missing_header, .malformed_header, .unknown_mime_type,
            .body_length_mismatch, .bad_request:
            400
        case .credentials_missing, .sign_in_type_not_allowed, .credentials_rejected, .user_unknown: 401
        case .storage_account_required: 403
        case .endpoint_unknown, .file_unknown, .app_meta_data_unknown, .invitation_unknown, .group_unknown,
            .member_unknown:
            404
        case .method_not_allowed: 405
        case .permission_too_low, .group_exists, .user_exists, .owning_account_required,
            .authorization_code_rejected, .storage_permission_missing, .already_member, .owner_missing,
            .too_many_devices, .file_version_mismatch, .app_meta_data_version_mismatch, .mime_type_changed,
            .file_deleted, .file_not_deleted, .file_in_other_group, .upload_conflict, .commit_id_reused,
            .batch_mismatch, .last_admin, .push_not_configured:
            409
        case .not_a_member, .owner_removed, .cloud_authorization_revoked, .invitation_gone: 410
        case .length_required: 411
        case .body_too_large, .app_meta_data_too_large: 413
        case .request_too_long: 414
        case .misdirected_request: 421
        case .checksum_mismatch: 422
        case .too_many_requests, .busy: 429
        case .internal: 500
        case .not_implemented: 501
        case .provider_unavailable, .provider_misconfigured, .cloud_unavailable, .cloud_rate_limited,
            .cloud_refused, .server_unavailable, .push_unavailable, .push_refused:
            502
        case .database_unavailable, .maintenance: 503
        case .cloud_timeout, .server_timeout, .push_timeout: 504
        case .http_version_not_supported: 505
        case .cloud_quota_exceeded: 507
        }
    }

    // MARK: Groups that occur together

    /// On any endpoint: of the query as a whole, of nginx, of the database, and defects.
    static let anywhere: Set<ErrorCode> = [
        .bad_request, .malformed_query, .endpoint_unknown, .method_not_allowed, .body_too_large, .request_too_long,
        .misdirected_request, .too_many_requests, .busy, .internal, .not_implemented, .server_unavailable,
        .database_unavailable, .maintenance, .server_timeout, .http_version_not_supported,
    ]
    /// Where there are parameters.
    static let parameters: Set<ErrorCode> = [
        .missing_parameter, .repeated_parameter, .malformed_parameter, .parameter_too_long, .parameter_out_of_range,
    ]
    /// Where somebody signs in.
    static let signingIn: Set<ErrorCode> = [
        .missing_header, .malformed_header, .credentials_missing, .sign_in_type_not_allowed, .credentials_rejected,
        .provider_unavailable, .provider_misconfigured, .cloud_timeout,
    ]
    /// Where the caller must be a user.
    static let users: Set<ErrorCode> = [.user_unknown, .too_many_devices]
    /// Where tokens are exchanged.
    static let exchange: Set<ErrorCode> = [.authorization_code_rejected, .storage_permission_missing]
    /// Where a cloud storage is used.
    static let storage: Set<ErrorCode> = [
        .cloud_authorization_revoked, .cloud_unavailable, .cloud_rate_limited, .cloud_refused, .cloud_timeout,
        .cloud_quota_exceeded,
    ]
    /// Where a batch of changes may be complete, so that the request commits it.
    static let batches: Set<ErrorCode> = [
        .batch_mismatch, .file_unknown, .file_version_mismatch, .app_meta_data_version_mismatch, .file_in_other_group,
        .owner_removed,
    ]
}
