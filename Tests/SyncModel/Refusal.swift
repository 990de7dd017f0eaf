/// An error reply from the list in docs/protocol.md §4.2.
package struct Refusal: Error, Hashable, Sendable, CustomStringConvertible {
    package let status: Int
    package let code: String
    package let goneReason: String?

    /// Creates an error reply.
    package init(_ status: Int, _ code: String, gone goneReason: String? = nil) {
        self.status = status
        self.code = code
        self.goneReason = goneReason
    }

    package var description: String { "\(status) \(code)\(goneReason.map { " (\($0))" } ?? "")" }
}

extension Refusal {
    static let missingParameter = Refusal(400, "missing_parameter")
    static let outOfRange = Refusal(400, "parameter_out_of_range")
    static let unknownMIMEType = Refusal(400, "unknown_mime_type")
    static let userUnknown = Refusal(401, "user_unknown")
    static let storageAccountRequired = Refusal(403, "storage_account_required")
    static let switchUnknown = Refusal(404, "switch_unknown")
    static let fileUnknown = Refusal(404, "file_unknown")
    static let metadataUnknown = Refusal(404, "app_meta_data_unknown")
    static let invitationUnknown = Refusal(404, "invitation_unknown")
    static let groupUnknown = Refusal(404, "group_unknown")
    static let permissionTooLow = Refusal(409, "permission_too_low")
    static let groupExists = Refusal(409, "group_exists")
    static let userExists = Refusal(409, "user_exists")
    static let owningAccountRequired = Refusal(409, "owning_account_required")
    static let memberUnknown = Refusal(404, "member_unknown")
    static let lastAdmin = Refusal(409, "last_admin")
    static let commitIDReused = Refusal(409, "commit_id_reused")
    static let batchMismatch = Refusal(409, "batch_mismatch")
    static let alreadyMember = Refusal(409, "already_member")
    static let staleEpoch = Refusal(409, "stale_epoch")
    static let ownerMissing = Refusal(409, "owner_missing")
    static let fileVersionMismatch = Refusal(409, "file_version_mismatch")
    static let metadataVersionMismatch = Refusal(409, "app_meta_data_version_mismatch")
    static let mimeTypeChanged = Refusal(409, "mime_type_changed")
    static let fileDeleted = Refusal(409, "file_deleted")
    static let fileNotDeleted = Refusal(409, "file_not_deleted")
    static let fileInOtherGroup = Refusal(409, "file_in_other_group")
    static let notAMember = Refusal(410, "not_a_member", gone: "userRemoved")
    static let ownerRemoved = Refusal(410, "owner_removed", gone: "userRemoved")
    static let invitationGone = Refusal(410, "invitation_gone")
    static let checkSumMismatch = Refusal(422, "checksum_mismatch")
    static let contentMismatch = Refusal(422, "content_mismatch")

    /// Errors that a request may get instead while a storage misbehaves; they have no effect.
    package static let cloudFailures = [
        Refusal(502, "cloud_unavailable"), Refusal(502, "cloud_rate_limited"), Refusal(502, "cloud_refused"),
        Refusal(502, "provider_unavailable"), Refusal(429, "provider_paused"), Refusal(429, "provider_busy"),
        Refusal(429, "provider_circuit_open"), Refusal(504, "cloud_timeout"), Refusal(507, "cloud_quota_exceeded"),
    ]
    /// Errors that one of several simultaneous requests may get; they have no effect.
    package static let crowding = [Refusal(429, "busy"), Refusal(409, "upload_conflict")]
}

/// The possible errors of a request with several mistakes, any of which may be reported.
struct AnyRefusal: Error {
    let reasons: [Refusal]

    init(_ reasons: [Refusal]) { self.reasons = reasons }
}
