import FoundationEssentials
public import HTTPTypes

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
