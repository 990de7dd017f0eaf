/// Why a notification was not taken, by what the caller can do about it.
///
/// `detail` is for operators' logs; it holds no token, no key and nothing that a person wrote.
public enum PushError: Error, Equatable, Sendable {
    /// The address is dead: forget it. `since`: the last moment, in seconds since 1970, at which it may have been
    /// registered for that to be true; `nil` if the service does not say.
    case gone(since: Int64?)
    /// Too many at once: try later, after `retryAfter` if the service says so.
    case rateLimited(retryAfter: Duration?)
    /// The service does not work now, or cannot be reached: try later.
    case unavailable(detail: String)
    /// The service is too slow; the notification may have been taken: try later.
    case timedOut
    /// The service refuses this server (keys, topic, account): the operator must look.
    case misconfigured(detail: String)
    /// The service refuses this notification: our defect; trying again does not help.
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
        case .misconfigured(let detail): "misconfigured: \(detail)"
        case .rejected(let detail): "rejected: \(detail)"
        }
    }
}

extension PushError {
    /// A word that a service uses for a kind of error, if it looks like one: nothing else of what it writes is passed on.
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
