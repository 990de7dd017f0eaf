import HTTPTransport
import HTTPTypes

/// Classifies the replies of WebDAV servers by the action they require (RFC 4918, section 11; RFC 9110).
///
/// Error bodies differ from server to server, and are examined for two purposes only: whether a page replaces the
/// server's own rejection, and whether Nextcloud requires acceptance of its terms of service.
enum WebDAVVerdict {
    /// - Parameter answers: the error statuses for which the caller wants to see the reply.
    static func classify(_ reply: Reply, accepting answers: Set<Int> = []) -> ReplyVerdict {
        if (200..<300).contains(reply.status) || answers.contains(reply.status) { return .answer }
        switch reply.status {
        // No other sign shows that a password was withdrawn; see ``WebDAVAccount``.
        case 401: return isOwnRefusal(reply) ? .tokenRejected : .tokenDoubted
        case 403 where wantsTermsAccepted(reply): return .failure(.termsNotAccepted)
        case 404, 410: return .failure(.notFound)
        case 507: return .failure(.quotaExceeded)
        case 501, 505, 506, 508, 510: return .failure(.rejected(code: "\(reply.status)"))
        // Locked by somebody else, or while Nextcloud is still assembling a file (423); also statuses of proxies whose
        // server is unavailable, such as Cloudflare's 520 to 530.
        case 408, 423, 425, 500...:
            return .tryAgain(after: reply.head.retryAfter, detail: "status \(reply.status)")
        case 429: return .throttled(after: reply.head.retryAfter, detail: "status 429")
        case 409, 412: return .failure(.unavailable(detail: "status \(reply.status)"))
        default: return .failure(.rejected(code: "\(reply.status)"))
        }
    }

    /// Whether a 401 comes from a WebDAV server. A server's 401 has a challenge (RFC 9110, section 11.6.1, requires
    /// one); a 401 without one comes from a captive portal, a gateway, or a proxy's own sign-in.
    static func isOwnRefusal(_ reply: Reply) -> Bool { !reply.head.headers[values: .wwwAuthenticate].isEmpty }

    /// Whether a 401 offers Digest (RFC 7616), but neither Basic nor bearer tokens.
    static func offersDigestOnly(_ reply: Reply) -> Bool {
        let challenges = reply.head.headers[values: .wwwAuthenticate].map { $0.lowercased() }
        func offers(_ scheme: String) -> Bool {
            challenges.contains { $0.hasPrefix(scheme + " ") || $0.contains(", \(scheme) ") }
        }
        return offers("digest") && !offers("basic") && !offers("bearer")
    }

    /// Whether Nextcloud rejects everything until the person has accepted its terms of service (app `terms_of_service`,
    /// `TermsNotSignedException`).
    static func wantsTermsAccepted(_ reply: Reply) -> Bool {
        String(decoding: reply.body.prefix(4_096), as: UTF8.self).contains("TermsNotSignedException")
    }
}
