/// Why no complete reply arrived, distinguished by what the caller may do.
public enum TransportError: Error, Equatable {
    /// The request was not sent: retrying is always safe.
    case notSent
    /// The connection ended after all or part of the request was sent: its effect is unknown.
    case interrupted
    /// The deadline passed, or the transfer became too slow; the effect is unknown.
    case timedOut
    /// The reply's body is larger than ``OutgoingRequest/replyLimitBytes``.
    case replyTooLarge
    /// The caller ended the transfer.
    case cancelled
    /// The request was not sent, to protect all other requests: the service already has its share of calls, or keeps
    /// failing.
    case withheld(WithheldCall)
    /// The host has no address allowed for a server named by a person (``OutgoingRequest/Destination``); nothing was
    /// sent.
    case forbiddenAddress
    /// The server could not prove its identity, or the URL may not be opened: a configuration error.
    case refused(String)
}

/// Why a call to a provider was not made.
public enum WithheldCall: Error, Equatable, Sendable {
    /// This service already has its maximum number of calls in progress.
    case busy
    /// The host has failed repeatedly; it is tried again after that time.
    case circuitOpen(retryAfter: Duration)
    /// The service requested a pause, or was unreachable a moment ago; it is called again after that time.
    case paused(retryAfter: Duration)

    /// How long the caller should wait; `nil` for only a moment.
    public var retryAfter: Duration? {
        switch self {
        case .busy: nil
        case .circuitOpen(let delay), .paused(let delay): delay
        }
    }
}

extension TransportError: CustomStringConvertible {
    /// A few words for the log.
    public var description: String {
        switch self {
        case .notSent: "the server could not be reached"
        case .interrupted: "the connection broke"
        case .timedOut: "timed out"
        case .replyTooLarge: "the reply is too large"
        case .cancelled: "cancelled"
        case .withheld(let reason): "not sent: \(reason)"
        case .forbiddenAddress: "forbidden address"
        case .refused(let reason): reason
        }
    }
}

extension WithheldCall: CustomStringConvertible {
    /// A few words for the log.
    public var description: String {
        switch self {
        case .busy: "too many calls are in progress"
        case .circuitOpen: "the host keeps failing"
        case .paused: "the service has requested a pause"
        }
    }
}
