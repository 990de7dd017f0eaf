import HTTPTransport

/// Classifies replies of S3 by the action they require ("Error responses", "List of error codes").
///
/// Services differ in their statuses and agree in their codes, so the status counts only if the code is inconclusive. A
/// rejection without a code comes from a proxy, or from a different service at the address, and reveals nothing about
/// the key.
enum S3Verdict {
    /// Error codes for an unacceptable key or secret. `Unauthorized` is Cloudflare R2's ("Error codes").
    private static let keyRejections: Set = [
        "InvalidAccessKeyId", "SignatureDoesNotMatch", "ExpiredToken", "InvalidToken", "TokenRefreshRequired",
        "InvalidSecurity", "Unauthorized",
    ]
    /// Statuses of permanent rejections, because of a request's size or method, that a proxy in front of the service
    /// may also send.
    private static let limits: Set = [411, 413, 414, 431, 501]

    /// - Parameter answers: the error codes for which the caller wants to see the reply.
    static func classify(
        _ reply: Reply, accepting answers: Set<String> = [], correcting signer: S3Signer?
    ) -> ReplyVerdict {
        if (200..<300).contains(reply.status) { return .answer }
        let error = S3ErrorBody(reply.body)
        if let error, answers.contains(error.code) { return .answer }
        if signer?.learns(from: reply, error) == true { return .authorizationCorrected }
        let word = "\(reply.status) \(error?.code ?? "")"
        switch error?.code {
        case let code? where keyRejections.contains(code): return .tokenRejected
        case "AccessDenied" where error?.mentionsKey == true: return .tokenRejected
        // Garage and OpenStack Swift have no code for a quota.
        case "AccessDenied" where error?.mentionsQuota == true, "EntityTooLarge" where error?.mentionsQuota == true:
            return .failure(.quotaExceeded)
        case "AccessDenied" where error?.mentionsClock == true:
            return .tryAgain(after: reply.head.retryAfter, detail: word)
        case "NoSuchKey": return .failure(.notFound)
        case "QuotaExceeded", "XMinioStorageFull", "XMinioAdminBucketQuotaExceeded", "InsufficientCapacity":
            return .failure(.quotaExceeded)
        case "BadDigest", "InvalidDigest", "XAmzContentSHA256Mismatch", "XAmzContentChecksumMismatch":
            return .failure(.contentMismatch)
        case "SlowDown", "TooManyRequests": return .throttled(after: reply.head.retryAfter, detail: word)
        case "ServiceUnavailable", "InternalError", "RequestTimeout", "RequestTimeTooSkewed", "RequestExpired",
            "ConditionalRequestConflict", "OperationAborted":
            return .tryAgain(after: reply.head.retryAfter, detail: word)
        default: break
        }
        switch reply.status {
        case 507: return .failure(.quotaExceeded)
        case let status where limits.contains(status): return .failure(.rejected(code: word))
        case 429: return .throttled(after: reply.head.retryAfter, detail: word)
        case 408, 500...: return .tryAgain(after: reply.head.retryAfter, detail: word)
        default:
            guard error == nil else { return .failure(.rejected(code: word)) }
            return .failure(.unavailable(detail: "\(word)from something that is not S3"))
        }
    }
}
