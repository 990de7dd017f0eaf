public import HTTPTransport

/// Sends the requests of push services, within a deadline.
public struct PushClient {
    private let transport: Transport
    private let deadline: Deadline

    public init(transport: Transport, deadline: Deadline) {
        self.transport = transport
        self.deadline = deadline
    }

    /// The reply to `request`, whatever its status.
    func send(_ request: OutgoingRequest) throws(PushError) -> Reply {
        do {
            return try transport.send(request, by: deadline)
        } catch {
            switch error {
            case .notSent: throw .unavailable(detail: "no connection")
            case .interrupted: throw .unavailable(detail: "connection lost")
            case .withheld(.circuitOpen(let delay)), .withheld(.paused(let delay)):
                throw .rateLimited(retryAfter: delay)
            case .withheld(.busy): throw .unavailable(detail: "the limit of concurrent calls is reached")
            case .timedOut: throw .timedOut
            case .replyTooLarge, .cancelled: throw .unavailable(detail: "\(error)")
            case .refused(let reason): throw .misconfigured(detail: reason)
            case .forbiddenAddress: throw .misconfigured(detail: "\(error)")
            }
        }
    }
}
