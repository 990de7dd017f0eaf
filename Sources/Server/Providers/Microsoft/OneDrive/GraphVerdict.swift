import HTTPTransport
import UntrustedInput

/// Classifies Graph's replies by the action they require (Microsoft Graph, "Microsoft Graph error responses and
/// resource types" and OneDrive's "Error responses").
enum GraphVerdict {
    /// - Parameter answers: error statuses for which the caller wants to see the reply.
    static func classify(_ reply: Reply, accepting answers: Set<Int>) -> ReplyVerdict {
        if (200..<300).contains(reply.status) || answers.contains(reply.status) { return .answer }
        let codes = codes(reply)
        let word = codes?.last ?? "unknown"
        switch reply.status {
        case 401:
            return codes == nil ? .tokenDoubted : .tokenRejected
        case 400, 404:
            if let missing = MissingDrive(reply) {
                return .failure(.rejected(code: "\(reply.status) \(word): \(missing.rawValue)"))
            }
            if reply.status == 400 { return .failure(.rejected(code: "400 \(word)")) }
            // Not Graph's own reply, so nobody has looked for the object.
            guard codes != nil else {
                return .failure(.unavailable(detail: "status 404 from something that is not OneDrive"))
            }
            return .failure(.notFound)
        case 507:
            return .failure(.quotaExceeded)
        case 403 where codes?.contains(where: quotaCodes.contains) == true:
            return .failure(.quotaExceeded)
        case 429:
            return .throttled(after: reply.head.retryAfter, detail: "status \(reply.status) \(word)")
        case 408, 423, 500...:
            return .tryAgain(after: reply.head.retryAfter, detail: "status \(reply.status) \(word)")
        case 403 where codes?.contains(where: throttlingCodes.contains) == true:
            return .throttled(after: reply.head.retryAfter, detail: "status 403 \(word)")
        // A drive is read-only while its database is being moved, sometimes for hours.
        case 403 where codes?.contains("serviceReadOnly") == true:
            return .tryAgain(after: reply.head.retryAfter, detail: "status 403 \(word)")
        case 410:
            return .failure(.notFound)
        default:
            return .failure(.rejected(code: "\(reply.status) \(word)"))
        }
    }

    /// The error codes of a reply, outermost first; `nil` if its body is not Graph's.
    static func codes(_ reply: Reply) -> [String]? {
        (try? UntrustedJSON.decode(GraphErrorBody.self, from: reply.body))?.codes
    }

    private static let quotaCodes: Set = ["quotaLimitReached", "insufficientStorage"]
    private static let throttlingCodes: Set = ["activityLimitReached", "TooManyRequests", "throttledRequest"]
}
