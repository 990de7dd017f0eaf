public import HTTPTransport

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
        /// The connection could not be made, or was lost.
        case unreachable
        case timeout
        /// Not made: the provider's share of calls is used up, or it keeps failing.
        case withheld
        /// Ended by us, or not possible.
        case aborted
    }
}

extension ProviderCall.Outcome {
    /// What a reply means.
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

    /// What the lack of a reply means.
    public init(_ error: TransportError) {
        switch error {
        case .notSent, .interrupted: self = .unreachable
        case .timedOut: self = .timeout
        case .withheld: self = .withheld
        case .replyTooLarge, .cancelled, .refused: self = .aborted
        }
    }
}

extension Transport {
    /// A transport that reports each request with its outcome and how long it took.
    public func measured(
        by report: @escaping @Sendable (ProviderCall, ProviderCall.Outcome, Duration) -> Void
    ) -> Transport {
        Transport(
            send: { request, deadline throws(TransportError) in
                let start = ContinuousClock.now
                do throws(TransportError) {
                    let reply = try send(request, by: deadline)
                    report(request.call, .init(status: reply.status), start.duration(to: .now))
                    return reply
                } catch {
                    report(request.call, .init(error), start.duration(to: .now))
                    throw error
                }
            },
            stream: { request, deadline, head, body throws(TransportError) in
                let start = ContinuousClock.now
                do throws(TransportError) {
                    let reply = try stream(request, by: deadline, head: head, body: body)
                    report(request.call, .init(status: reply.status), start.duration(to: .now))
                    return reply
                } catch {
                    report(request.call, .init(error), start.duration(to: .now))
                    throw error
                }
            })
    }
}
