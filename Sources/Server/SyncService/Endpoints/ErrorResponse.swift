import Providers
import HTTPTransport
import Store
import SyncProtocol
import Vault

/// An error as it goes to the client.
///
/// This file is the only place where an error becomes an HTTP status. The codes are listed in docs/protocol.md.
struct ErrorResponse: Equatable {
    var status: Int
    var code: String
    /// A sentence for developers; never SQL, a path, a token or a provider's text.
    var message: String
    /// Whether the same request may succeed later without anybody changing anything.
    var isRetryable = false
    var goneReason: GoneReason?
    var allowedMethod: String?
    /// Goes into the header `Retry-After`, in whole seconds.
    var retryAfter: Duration?

    init(for error: any Error) {
        switch error {
        case let error as EndpointError: self.init(error)
        case let error as RequestError: self.init(error)
        case let error as AccountError: self.init(error)
        case let error as CloudStorageError: self.init(error)
        case let error as PushError: self.init(error)
        case let error as StoreError: self.init(error)
        case let error as CommitRefusal: self.init(error)
        case is OwnerRemoved: self.init(EndpointError.ownerRemoved)
        default: self.init(500, "internal", "the server made a mistake")
        }
    }

    private init(
        _ status: Int, _ code: String, _ message: String, isRetryable: Bool = false, gone: GoneReason? = nil
    ) {
        self.status = status
        self.code = code
        self.message = message
        self.isRetryable = isRetryable
        goneReason = gone
    }

    // No switch below has a default: a new case must be decided here.

    private init(_ error: EndpointError) {
        switch error {
        case .missingParameter(let name): self.init(400, "missing_parameter", "\(name.rawValue) is missing")
        case .outOfRange(let rule): self.init(400, "parameter_out_of_range", rule)
        case .missingDeviceUUID: self.init(400, "missing_header", "SyncServer-Device-UUID is missing")
        case .malformedDeviceUUID: self.init(400, "malformed_header", "SyncServer-Device-UUID must be a UUID")
        case .malformedRedirectURI:
            self.init(
                400, "malformed_header",
                "SyncServer-redirect-uri must be http on a loopback host with a port, or one that the server knows")
        case .malformedCodeVerifier:
            self.init(400, "malformed_header", "SyncServer-code-verifier must be 43 to 128 unreserved characters")
        case .unknownMIMEType: self.init(400, "unknown_mime_type", "mimeType is not one that this server knows")
        case .bodyLengthMismatch:
            self.init(400, "body_length_mismatch", "the body has not the announced length", isRetryable: true)
        case .lengthRequired: self.init(411, "length_required", "Content-Length is required")
        case .bodyTooLarge(let maximum):
            self.init(413, "body_too_large", "the body must have at most \(maximum) bytes")
        case .checkSumMismatch:
            self.init(422, "checksum_mismatch", "the bytes that arrived have another checksum", isRetryable: true)
        case .transferTooSlow:
            self.init(408, "transfer_too_slow", "the body came more slowly than it must", isRetryable: true)

        case .tooManyTransfers:
            self.init(
                429, "too_many_transfers", "the user has as many uploads and downloads in progress as allowed",
                isRetryable: true)
            retryAfter = .seconds(5)
        case .tooManySimultaneousRequests:
            self.init(
                429, "too_many_simultaneous_requests", "the user has as many requests in progress as allowed",
                isRetryable: true)
            retryAfter = .seconds(2)
        case .directionFull:
            self.init(429, "busy", "the server moves as many files as it can", isRetryable: true)
            retryAfter = .seconds(5)

        case .credentialsMissing: self.init(401, "credentials_missing", "X-token-type or access_token is missing")
        case .signInTypeNotAllowed:
            self.init(401, "sign_in_type_not_allowed", "this kind of account is not accepted here")
        case .userUnknown: self.init(401, "user_unknown", "there is no such user")
        case .tooManyFailedSignIns(let delay):
            self.init(
                429, "too_many_failed_sign_ins", "too many tokens from this address were rejected", isRetryable: true)
            retryAfter = delay
        case .storageAccountRequired:
            self.init(403, "storage_account_required", "this invitation needs an account with cloud storage")

        case .endpointUnknown: self.init(404, "endpoint_unknown", "there is no such endpoint")
        case .methodNotAllowed(let allowed):
            self.init(405, "method_not_allowed", "this endpoint takes \(allowed)")
            allowedMethod = allowed
        case .fileUnknown: self.init(404, "file_unknown", "the sharing group has no such file")
        case .appMetaDataUnknown: self.init(404, "app_meta_data_unknown", "the file has no appMetaData")
        case .groupUnknown: self.init(404, "group_unknown", "there is no such sharing group for this user")
        case .invitationUnknown: self.init(404, "invitation_unknown", "there is no such invitation")
        case .memberUnknown: self.init(404, "member_unknown", "the sharing group has no such member")
        case .invitationGone: self.init(410, "invitation_gone", "there is no such invitation, or it has expired")

        case .permissionTooLow(let needed):
            self.init(409, "permission_too_low", "this needs the permission \(needed)")
        case .groupExists: self.init(409, "group_exists", "there is a sharing group with this UUID")
        case .userExists: self.init(409, "user_exists", "this account has a user")
        case .owningAccountRequired:
            self.init(409, "owning_account_required", "this needs an account with cloud storage")
        case .alreadyMember: self.init(409, "already_member", "the user is a member of this sharing group")
        case .ownerMissing: self.init(409, "owner_missing", "nobody's storage would take the files")
        case .pushNotConfigured:
            self.init(409, "push_not_configured", "this server does not notify devices of this kind")
        case .tooManyDevices: self.init(409, "too_many_devices", "the user has as many devices as allowed")
        case .quotaReached(let quota):
            self.init(409, Self.code(of: quota), "the user has as many as this server allows: \(quota.rawValue)")
        case .quotaUsedUp(let quota, let delay):
            self.init(
                429, Self.code(of: quota), "the user has done this as often as this server allows within an hour",
                isRetryable: true)
            retryAfter = delay
        case .fileVersionMismatch:
            self.init(409, "file_version_mismatch", "fileVersion is not the one that must come now")
        case .appMetaDataVersionMismatch:
            self.init(409, "app_meta_data_version_mismatch", "the version of appMetaData is not the right one")
        case .mimeTypeChanged: self.init(409, "mime_type_changed", "the file has another mimeType")
        case .fileDeleted: self.init(409, "file_deleted", "the file is deleted")
        case .fileNotDeleted: self.init(409, "file_not_deleted", "there is no deleted file to bring back")
        case .fileInOtherGroup: self.init(409, "file_in_other_group", "the file is in another sharing group")
        case .uploadConflict:
            self.init(409, "upload_conflict", "another upload of this file got in between", isRetryable: true)
        case .commitIDReused:
            self.init(409, "commit_id_reused", "another commit of this device in this sharing group has this commitId")
        case .batchMismatch:
            self.init(409, "batch_mismatch", "the batch has another batchCount, or was committed without this change")
        case .lastAdmin:
            self.init(409, "last_admin", "the sharing group would have members but no admin")
        case .notAMember:
            self.init(410, "not_a_member", "the user is not a member of this sharing group", gone: .userRemoved)
        case .ownerRemoved:
            self.init(410, "owner_removed", "whoever would own the file is no longer here", gone: .userRemoved)
        }
    }

    private static func code(of quota: Quota) -> String {
        switch quota {
        case .devices: "too_many_devices"
        case .groups: "quota_groups"
        case .openInvitations: "quota_invitations"
        case .stagedChanges: "quota_staged_changes"
        case .stagedBytes: "quota_staged_bytes"
        case .groupsPerHour: "quota_group_rate"
        case .invitationsPerHour: "quota_invitation_rate"
        case .codeExchangesPerHour: "quota_code_exchange_rate"
        case .pushRegistrationsPerHour: "quota_push_registration_rate"
        }
    }

    private init(_ error: RequestError) {
        switch error {
        case .missing: self.init(400, "missing_parameter", error.description)
        case .repeated: self.init(400, "repeated_parameter", error.description)
        case .malformed: self.init(400, "malformed_parameter", error.description)
        case .outOfRange: self.init(400, "parameter_out_of_range", error.description)
        case .tooLong: self.init(400, "parameter_too_long", error.description)
        case .tooLarge: self.init(413, "app_meta_data_too_large", error.description)
        case .brokenEscape, .invalidUTF8: self.init(400, "malformed_query", error.description)
        case .queryTooLong: self.init(414, "request_too_long", error.description)
        }
    }

    private init(_ error: AccountError) {
        switch error {
        case .rejected: self.init(401, "credentials_rejected", "the access token is not accepted")
        case .codeRejected:
            self.init(
                409, "authorization_code_rejected", "the authorization code is used up, expired or not the user's")
        case .scopeMissing:
            self.init(409, "storage_permission_missing", "the person has not granted the use of their storage")
        case .revoked: self.init(401, "credentials_rejected", "the person must sign in again")
        case .unavailable, .notAsked:
            self.init(502, "provider_unavailable", "the sign-in service does not work now", isRetryable: true)
        case .withheld(let reason): self.init(reason)
        case .timedOut: self.init(504, "cloud_timeout", "the sign-in service is too slow", isRetryable: true)
        case .misconfigured:
            self.init(502, "provider_misconfigured", "the sign-in service refuses this server")
        }
    }

    private init(_ error: CloudStorageError) {
        switch error {
        case .authorizationRevoked:
            self.init(
                410, "cloud_authorization_revoked", "the owner must sign in again", gone: .authTokenExpiredOrRevoked)
        case .quotaExceeded: self.init(507, "cloud_quota_exceeded", "the owner's cloud storage is full")
        case .rateLimited(let delay):
            self.init(502, "cloud_rate_limited", "the cloud storage is too busy", isRetryable: true)
            retryAfter = delay
        case .withheld(let reason): self.init(reason)
        case .unavailable, .contentMismatch, .notFound:
            self.init(502, "cloud_unavailable", "the cloud storage does not work now", isRetryable: true)
        case .timedOut: self.init(504, "cloud_timeout", "the cloud storage is too slow", isRetryable: true)
        case .rejected: self.init(502, "cloud_refused", "the cloud storage refuses")
        case .contentFailed(let cause), .localFailure(let cause): self.init(for: cause)
        case .downloadCancelled: self.init(500, "internal", "the server made a mistake")
        }
    }

    private init(_ reason: WithheldCall) {
        switch reason {
        case .busy:
            self.init(502, "provider_busy", "too many requests wait for this provider", isRetryable: true)
            retryAfter = .seconds(1)
        case .circuitOpen(let delay):
            self.init(502, "provider_circuit_open", "this provider has not answered lately", isRetryable: true)
            retryAfter = delay
        }
    }

    private init(_ error: PushError) {
        switch error {
        case .rateLimited(let delay):
            self.init(502, "push_unavailable", "the push service is too busy", isRetryable: true)
            retryAfter = delay
        case .unavailable, .gone:
            self.init(502, "push_unavailable", "the push service does not work now", isRetryable: true)
        case .timedOut: self.init(504, "push_timeout", "the push service is too slow", isRetryable: true)
        case .misconfigured, .rejected: self.init(502, "push_refused", "the push service refuses")
        }
    }

    private init(_ error: StoreError) {
        switch error {
        case .busy, .contention:
            self.init(429, "busy", "the server is busy", isRetryable: true)
            retryAfter = .seconds(1)
        case .unavailable:
            self.init(503, "database_unavailable", "the database cannot be reached", isRetryable: true)
        // What endpoints look for and may miss is a value; a group that vanishes between two statements is this.
        case .notFound: self.init(EndpointError.notAMember)
        case .alreadyExists, .corrupt, .defect:
            self.init(500, "internal", "the server made a mistake")
        }
    }

    private init(_ error: CommitRefusal) {
        switch error {
        case .outdated: self.init(EndpointError.fileVersionMismatch)
        case .belongsElsewhere: self.init(EndpointError.fileInOtherGroup)
        case .ownerGone: self.init(EndpointError.ownerRemoved)
        }
    }
}
