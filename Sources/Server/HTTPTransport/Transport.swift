import FoundationEssentials
public import HTTPTypes
import SyncProtocol

/// Sends requests to providers; created by the composition root for each worker thread.
///
/// A value of closures, so that the domain does not depend on an HTTP library and tests can script replies. Not
/// `Sendable`: closures of tests and decorators may keep state that belongs to one thread.
public struct Transport {
    /// Receives a part of a reply's body; returning `false` ends the transfer with ``TransportError/cancelled``.
    public typealias BodyReceiver = (Span<UInt8>) -> Bool

    private let sendRequest: (OutgoingRequest, Deadline) throws(TransportError) -> Reply
    private let streamReply:
        (OutgoingRequest, Deadline, (ReplyHead) -> Bool, BodyReceiver) throws(TransportError) -> ReplyHead

    public init(
        send: @escaping (OutgoingRequest, Deadline) throws(TransportError) -> Reply,
        stream:
            @escaping (
                OutgoingRequest, Deadline, (ReplyHead) -> Bool, BodyReceiver
            ) throws(TransportError) -> ReplyHead
    ) {
        sendRequest = send
        streamReply = stream
    }

    /// Sends `request` and returns the reply, whatever its status, before `deadline`.
    public func send(_ request: OutgoingRequest, by deadline: Deadline) throws(TransportError) -> Reply {
        try sendRequest(request, deadline)
    }

    /// Sends `request` and passes on the reply's body as it arrives.
    ///
    /// The deadline applies until the head has arrived; after that the body may take any time as long as data keeps
    /// flowing.
    /// - Parameters:
    ///   - head: called once, before the body; returning `false` skips the body and ends the call normally.
    ///   - body: called for each part, in order.
    public func stream(
        _ request: OutgoingRequest, by deadline: Deadline, head: (ReplyHead) -> Bool, body: BodyReceiver
    ) throws(TransportError) -> ReplyHead {
        try streamReply(request, deadline, head, body)
    }
}

/// The status line and header of a provider's reply.
public struct ReplyHead: Sendable {
    /// The longest wait that is accepted: a day.
    public static let longestRetryAfter: Duration = .seconds(86_400)

    public var status: Int
    public var headers: HTTPFields

    public init(status: Int, headers: HTTPFields) {
        self.status = status
        self.headers = headers
    }

    /// The sender's clock, in seconds since 1970; `nil` if the header is missing.
    public var date: Int64? { headers[.date].flatMap(HTTPDate.init)?.secondsSince1970 }

    /// The wait that the provider requests, in seconds or until a date (RFC 9110, section 10.2.3); at most a day.
    ///
    /// A date is measured against the reply's own `Date` if there is one, so that clock skew does no harm. A value that
    /// cannot be parsed counts as absent.
    public var retryAfter: Duration? {
        guard let value = headers[.retryAfter] else { return nil }
        let seconds: Double
        if let number = Int64(value) {
            seconds = Double(number)
        } else if let moment = HTTPDate(value) {
            seconds = Double(moment.secondsSince1970) - (date.map(Double.init) ?? Date().timeIntervalSince1970)
        } else {
            return nil
        }
        return min(max(.zero, .seconds(seconds)), Self.longestRetryAfter)
    }
}

/// A provider's whole reply.
public struct Reply: Sendable {
    public var head: ReplyHead
    public var body: [UInt8]

    public init(head: ReplyHead, body: [UInt8]) {
        self.head = head
        self.body = body
    }

    public var status: Int { head.status }
}

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

/// The time by which a piece of work must be done; passed down through every call that may wait.
public struct Deadline: Sendable {
    private let instant: ContinuousClock.Instant

    /// A deadline `duration` from now.
    public static func after(_ duration: Duration) -> Deadline {
        Deadline(instant: .now.advanced(by: duration))
    }

    /// A deadline `duration` after an instant.
    public static func after(_ duration: Duration, from instant: ContinuousClock.Instant) -> Deadline {
        Deadline(instant: instant.advanced(by: duration))
    }

    /// The time left; never negative.
    public var remaining: Duration { max(.zero, instant - .now) }

    public var hasPassed: Bool { instant <= .now }

    /// The earlier of this deadline and `duration` from now.
    public func orAfter(_ duration: Duration) -> Deadline {
        Deadline(instant: min(instant, .now.advanced(by: duration)))
    }
}
