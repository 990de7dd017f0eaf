import HTTPTransport
import UntrustedInput

/// Classifies Dropbox's replies by the action they require (HTTP documentation, "Errors by status code").
enum DropboxVerdict {
    /// - Parameter answers: error tags, anywhere in an error's path, for which the caller wants to see the reply.
    static func classify(_ reply: Reply, accepting answers: Set<String> = []) -> ReplyVerdict {
        if (200..<300).contains(reply.status) { return .answer }
        let error = DropboxErrorBody(reply.body)
        switch reply.status {
        case 401: return unauthorized(error)
        case 409:
            guard let error else { return .failure(.unavailable(detail: "unreadable conflict")) }
            return answers.isDisjoint(with: error.tags) ? conflict(error, reply) : .answer
        // The only verdict on a token that is plain text.
        case 400 where String(decoding: reply.body.prefix(500), as: UTF8.self).contains("access token is malformed"):
            return .tokenRejected
        case 429:
            return .throttled(after: retryAfter(reply, error), detail: "status \(reply.status) \(error?.path ?? "")")
        case 408, 500...:
            return .tryAgain(after: retryAfter(reply, error), detail: "status \(reply.status) \(error?.path ?? "")")
        case 404:
            // No route of Dropbox replies with 404, so nobody has looked for the object.
            return .failure(.unavailable(detail: "status 404 from something that is not Dropbox"))
        default: return .failure(.rejected(code: "\(reply.status) \(error?.path ?? "")"))
        }
    }

    private static func unauthorized(_ error: DropboxErrorBody?) -> ReplyVerdict {
        switch error?.tags.first {
        case "expired_access_token", "invalid_access_token": .tokenRejected
        case nil: .tokenDoubted
        // A suspended user or a missing scope: a new token would be rejected as well, and nobody has revoked anything.
        case .some: .failure(.rejected(code: "401 \(error?.path ?? "")"))
        }
    }

    private static func conflict(_ error: DropboxErrorBody, _ reply: Reply) -> ReplyVerdict {
        if error.tags.contains("too_many_write_operations") || error.tags.contains("too_many_requests") {
            return .throttled(after: retryAfter(reply, error), detail: error.path)
        }
        if error.tags.contains("insufficient_space") { return .failure(.quotaExceeded) }
        if error.tags.contains("content_hash_mismatch") { return .failure(.contentMismatch) }
        if error.tags.last == "not_found" { return .failure(.notFound) }
        return .failure(.rejected(code: "409 \(error.path)"))
    }

    /// How long to wait, according to the header or the body.
    private static func retryAfter(_ reply: Reply, _ error: DropboxErrorBody?) -> Duration? {
        // Limited to a day, like the header.
        reply.head.retryAfter
            ?? error?.retryAfterSeconds.map { min(.untrusted(seconds: $0), ReplyHead.longestRetryAfter) }
    }
}
