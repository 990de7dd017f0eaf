import HTTPTransport
import HTTPTypes

/// Classifies the replies of WebDAV servers by the action they require (RFC 4918, section 11; RFC 9110).
///
/// The bodies of errors differ from server to server, and are looked at for two things only: whether a page stands in the place
/// of the server's own refusal, and whether a Nextcloud wants its terms of service accepted.
enum WebDAVVerdict {
    /// - Parameter answers: the statuses with which the caller wants to see the reply, besides the successes.
    static func classify(_ reply: Reply, accepting answers: Set<Int> = []) -> ReplyVerdict {
        if (200..<300).contains(reply.status) || answers.contains(reply.status) { return .answer }
        switch reply.status {
        // There is no other sign that a password was withdrawn; see ``WebDAVAccount``.
        case 401: return isOwnRefusal(reply) ? .tokenRejected : .tokenDoubted
        case 403 where wantsTermsAccepted(reply): return .failure(.termsNotAccepted)
        case 404, 410: return .failure(.notFound)
        case 507: return .failure(.quotaExceeded)
        case 501, 505, 506, 508, 510: return .failure(.rejected(code: "\(reply.status)"))
        // Locked by somebody else, or while Nextcloud still assembles a file (423); also what proxies say of a server that is away, such as Cloudflare's 520 to 530.
        case 408, 423, 425, 500...:
            return .tryAgain(after: reply.head.retryAfter, detail: "status \(reply.status)")
        case 429: return .throttled(after: reply.head.retryAfter, detail: "status 429")
        case 409, 412: return .failure(.unavailable(detail: "status \(reply.status)"))
        default: return .failure(.rejected(code: "\(reply.status)"))
        }
    }

    /// Whether a 401 is the word of a WebDAV server. That has a challenge (RFC 9110, section 11.6.1: it must); without one it is a
    /// captive portal's, a gateway's, or of a proxy's own sign-in.
    static func isOwnRefusal(_ reply: Reply) -> Bool { !reply.head.headers[values: .wwwAuthenticate].isEmpty }

    /// Whether a 401 offers Digest (RFC 7616), but neither Basic nor bearer tokens.
    static func offersDigestOnly(_ reply: Reply) -> Bool {
        let challenges = reply.head.headers[values: .wwwAuthenticate].map { $0.lowercased() }
        func offers(_ scheme: String) -> Bool {
            challenges.contains { $0.hasPrefix(scheme + " ") || $0.contains(", \(scheme) ") }
        }
        return offers("digest") && !offers("basic") && !offers("bearer")
    }

    /// Whether a Nextcloud refuses everything until the person has accepted its terms of service (app `terms_of_service`,
    /// `TermsNotSignedException`).
    static func wantsTermsAccepted(_ reply: Reply) -> Bool {
        String(decoding: reply.body.prefix(4_096), as: UTF8.self).contains("TermsNotSignedException")
    }
}
