import HTTPTransport

/// Classifies the replies of WebDAV servers by the action they require (RFC 4918, section 11; RFC 9110).
///
/// The bodies of errors differ from server to server and are not looked at.
enum WebDAVVerdict {
    /// - Parameter answers: the statuses with which the caller wants to see the reply, besides the successes.
    static func classify(_ reply: Reply, accepting answers: Set<Int> = []) -> ReplyVerdict {
        if (200..<300).contains(reply.status) || answers.contains(reply.status) { return .answer }
        switch reply.status {
        // There is no other sign that a password was withdrawn; see ``WebDAVAccount``.
        case 401: return .tokenRejected
        case 404, 410: return .failure(.notFound)
        case 507: return .failure(.quotaExceeded)
        case 501, 505, 506, 508, 510: return .failure(.rejected(code: "\(reply.status)"))
        // Locked by somebody else, or while Nextcloud still assembles a file (423); also what proxies say of a server that is away, such as Cloudflare's 520 to 530.
        case 408, 423, 425, 429, 500...:
            return .tryAgain(after: reply.head.retryAfter, detail: "status \(reply.status)")
        case 409, 412: return .failure(.unavailable(detail: "status \(reply.status)"))
        default: return .failure(.rejected(code: "\(reply.status)"))
        }
    }
}
