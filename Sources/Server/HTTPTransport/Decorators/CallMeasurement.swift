/// Reports each call with its outcome and duration, except early calls that were withheld, since the same call follows.
public struct CallMeasurement: TransportDecorator {
    private let report: @Sendable (ProviderCall, ProviderCall.Outcome, Duration) -> Void

    public init(report: @escaping @Sendable (ProviderCall, ProviderCall.Outcome, Duration) -> Void) {
        self.report = report
    }

    /// A call in progress.
    public struct Call {
        fileprivate var call: ProviderCall
        fileprivate var isEarly: Bool
        fileprivate var start: ContinuousClock.Instant
    }

    public func begin(_ request: OutgoingRequest, by deadline: Deadline) -> Call {
        Call(call: request.call, isEarly: request.isEarly, start: .now)
    }

    public func ended(_ call: Call, _ result: CallResult) {
        if call.isEarly, result.isWithheld { return }
        let outcome: ProviderCall.Outcome =
            switch result {
            case .replied(let head, body: _): .init(status: head.status)
            case .failed(let error, head: _): .init(error)
            }
        report(call.call, outcome, call.start.duration(to: .now))
    }
}

extension ProviderCall {
    /// How it ended.
    public enum Outcome: String, Sendable, CaseIterable {
        /// A status below 400.
        case ok
        /// 401 or 403.
        case denied
        /// 404 or 410.
        case missing
        /// 409, 412 or 416: the state there differs.
        case conflict
        /// Any other status of the 400s.
        case rejected
        /// 429.
        case rateLimited = "rate_limited"
        /// 507.
        case full
        /// Any other status of the 500s.
        case failed
        /// The connection could not be established, or was lost.
        case unreachable
        case timeout
        /// The call was withheld: the provider's share of calls is used up, or it keeps failing.
        case withheld
        /// The server ended the call, or it was impossible.
        case aborted
    }
}

extension ProviderCall.Outcome {
    /// The outcome for a reply's status.
    public init(status: Int) {
        switch status {
        case ..<400: self = .ok
        case 401, 403: self = .denied
        case 404, 410: self = .missing
        case 409, 412, 416: self = .conflict
        case 429: self = .rateLimited
        case ..<500: self = .rejected
        case 507: self = .full
        default: self = .failed
        }
    }

    /// The outcome for a missing reply.
    public init(_ error: TransportError) {
        switch error {
        case .notSent, .interrupted: self = .unreachable
        case .timedOut: self = .timeout
        case .withheld: self = .withheld
        case .replyTooLarge, .cancelled, .refused, .forbiddenAddress: self = .aborted
        }
    }
}
