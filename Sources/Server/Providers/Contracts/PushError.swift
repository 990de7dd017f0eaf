/// Why a notification was not accepted, classified by what the caller can do.
///
/// `detail` is for operators' logs; it contains no token, no key, and no text written by a person.
public enum PushError: Error, Equatable, Sendable {
    /// The service no longer knows the address: delete it. `since`: the latest registration time, in seconds since
    /// 1970, for which this holds; `nil` if the service does not report one.
    case gone(since: Int64?)
    /// Rate limited: retry later, after `retryAfter` if the service specifies it.
    case rateLimited(retryAfter: Duration?)
    /// The service is failing or cannot be reached: retry later.
    case unavailable(detail: String)
    /// The service is too slow; the notification may have been accepted: retry later.
    case timedOut
    /// The service rejects the address or the message, and no other device has accepted the same message: the server's
    /// settings may be wrong. Keep the address and retry later.
    case doubtful(detail: String)
    /// The service rejects this server (keys, topic, account): the operator must investigate.
    case misconfigured(detail: String)
    /// The service rejects this notification because of a defect of ours; a retry does not help.
    case rejected(detail: String)
}

extension PushError: CustomStringConvertible {
    /// A few words for the log and for the column `last_error`.
    public var description: String {
        switch self {
        case .gone: "the device is gone"
        case .rateLimited: "rate limited"
        case .unavailable(let detail): "unavailable: \(detail)"
        case .timedOut: "timed out"
        case .doubtful(let detail): "doubtful: \(detail)"
        case .misconfigured(let detail): "misconfigured: \(detail)"
        case .rejected(let detail): "rejected: \(detail)"
        }
    }
}

extension PushError {
    /// A service's error code, if it looks like one; no other text of the service is passed on.
    static func word(_ text: String?) -> String {
        guard let text, (1...64).contains(text.utf8.count),
            text.utf8.allSatisfy({ byte in
                (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
                    || byte == UInt8(ascii: "_") || byte == UInt8(ascii: ".")
            })
        else { return "no reason" }
        return text
    }
}
