import HTTPTransport

/// Classifies replies of S3 by the action they require ("Error responses", "List of error codes").
///
/// Services differ in their statuses, and agree in the codes; a status counts only if the code says nothing.
enum S3Verdict {
    /// - Parameter answers: the codes with which the caller wants to see the reply.
    static func classify(
        _ reply: Reply, accepting answers: Set<String> = [], correcting signer: S3Signer?
    ) -> ReplyVerdict {
        if (200..<300).contains(reply.status) { return .answer }
        let error = S3ErrorBody(reply.body)
        if let error, answers.contains(error.code) { return .answer }
        if signer?.learns(from: reply, error) == true { return .authorizationCorrected }
        let word = "\(reply.status) \(error?.code ?? "")"
        switch error?.code {
        // `Unauthorized` is Cloudflare R2's ("Error codes").
        case "InvalidAccessKeyId", "SignatureDoesNotMatch", "AccountProblem", "NotSignedUp", "ExpiredToken",
            "InvalidToken", "TokenRefreshRequired", "InvalidSecurity", "Unauthorized":
            return .tokenRejected
        case "AccessDenied" where error?.mentionsQuota == true: return .failure(.quotaExceeded)
        case "NoSuchKey": return .failure(.notFound)
        case "QuotaExceeded", "XMinioStorageFull", "XMinioAdminBucketQuotaExceeded", "InsufficientCapacity":
            return .failure(.quotaExceeded)
        case "BadDigest", "InvalidDigest", "XAmzContentSHA256Mismatch", "XAmzContentChecksumMismatch":
            return .failure(.contentMismatch)
        case "SlowDown", "ServiceUnavailable", "InternalError", "RequestTimeout", "RequestTimeTooSkewed",
            "ConditionalRequestConflict", "OperationAborted", "TooManyRequests":
            return .tryAgain(after: reply.head.retryAfter, detail: word)
        default: break
        }
        switch reply.status {
        case 507: return .failure(.quotaExceeded)
        case 501: return .failure(.rejected(code: word))
        case 408, 429, 500...: return .tryAgain(after: reply.head.retryAfter, detail: word)
        // Nobody has looked for the object; nobody has judged the key.
        case 401, 404:
            guard error == nil else { return .failure(.rejected(code: word)) }
            return .failure(.unavailable(detail: "\(word)from something that is not S3"))
        default: return .failure(.rejected(code: word))
        }
    }
}
