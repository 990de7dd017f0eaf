import HTTPTransport
import UntrustedInput

extension DriveErrorBody {
    /// `nil` if the reply is not Drive's own.
    init?(_ reply: Reply) {
        guard let body = try? UntrustedJSON.decode(Self.self, from: reply.body) else { return nil }
        self = body
    }
}

/// Classifies Google's replies by the action they require (Drive API, "Resolve errors"; RFC 6750, section 3.1).
enum DriveVerdict {
    /// - Parameter answers: error statuses for which the caller wants to see the reply.
    static func classify(_ reply: Reply, accepting answers: Set<Int>) -> ReplyVerdict {
        if (200..<300).contains(reply.status) || answers.contains(reply.status) { return .answer }
        let error = DriveErrorBody(reply)
        let reason = error?.reason ?? "unknown"
        switch (reply.status, reason) {
        case (401, _) where error == nil: return .tokenDoubted
        // `tokeninfo` replies with 400.
        case (401, _), (403, "dailyLimitExceededUnreg"), (400, "invalid_token"):
            return .tokenRejected
        case (403, "rateLimitExceeded"), (403, "userRateLimitExceeded"), (403, "RATE_LIMIT_EXCEEDED"), (429, _):
            return .throttled(after: reply.head.retryAfter, detail: "status \(reply.status) \(reason)")
        case (408, _), (500..., _):
            return .tryAgain(after: reply.head.retryAfter, detail: "status \(reply.status) \(reason)")
        // The last three limit the number of files. A person who reaches such a limit must delete files, as when the
        // storage is full.
        case (403, "storageQuotaExceeded"), (403, "quotaExceeded"), (403, "teamDriveFileLimitExceeded"),
            (403, "numChildrenInNonRootLimitExceeded"), (403, "activeItemCreationLimitExceeded"):
            return .failure(.quotaExceeded)
        case (403, "dailyLimitExceeded"), (403, "downloadQuotaExceeded"), (403, "sharingRateLimitExceeded"):
            return .failure(.rateLimited(retryAfter: reply.head.retryAfter))
        case (404, _) where error == nil:
            // Not Drive's own reply, so nobody has looked for the object.
            return .failure(.unavailable(detail: "status 404 from something that is not Drive"))
        case (404, _), (403, "appNotAuthorizedToFile"):
            return .failure(.notFound)
        case (403, "accessNotConfigured"), (403, "SERVICE_DISABLED"):
            return .failure(.misconfigured(detail: "the Drive API is not enabled for the Google project"))
        default:
            // Includes a missing scope (`insufficientPermissions`): a new token would lack it as well, and nobody has
            // revoked the grant.
            return .failure(.rejected(code: "\(reply.status) \(reason)"))
        }
    }
}
